r"""Two groups of Gaussian variables, each turned so that every variable of one depends on at most one of the other (Hotelling 1936).

$z_A = R_Au$ and $z_B = R_Bv$ with independent $u$ and independent $v$ of variance one, and $\langle uv^{\mathsf T}\rangle$ diagonal: its
entries are the canonical correlations. Groups of one or two variables have closed forms, larger ones go to LAPACK.

Covariances are rounded, so that nearly dependent variables may seem correlated by more than one: with the little that tells them
apart, and through the turns with everything. Each variance within a group is therefore taken larger by a few units of rounding.
"""

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array, diagonal
from .triangular import inverse

_ROUNDINGS = 8
Roots = tuple[Float[Array, "m m"], Float[Array, "m m"]]
"""A root R of a covariance, K = R R^T, and its inverse, zero where a variable is always zero."""


def canonical_variables(
    K: Float[Array, "n n"], m: int
) -> tuple[Float[Array, "m m"], Float[Array, " r"], Float[Array, "k k"]]:
    r"""$R_A$ of the first $m$ variables, the canonical correlations, largest first, and $R_B$ of the rest, as many or one less."""
    root_left, inverse_left = _root(K[:m, :m])
    root_right, inverse_right = _root(K[m:, m:])
    turn_left, r, turn_right = _turned(inverse_left @ K[:m, m:] @ inverse_right.T)
    return root_left @ turn_left, jnp.clip(r, 0.0, 1.0), root_right @ turn_right.T


def _root(K: Float[Array, "m m"]) -> Roots:
    deviations = jnp.sqrt(jnp.maximum(diagonal(K), 0.0))
    scales = inverse(deviations)
    rho = jnp.clip(K * scales[:, None] * scales, -1.0, 1.0)
    of_size = {1: _root_of_one, 2: _root_of_two}
    root, inverted = of_size.get(len(K), _root_by_eigenvectors)(rho, _ROUNDINGS * float(jnp.finfo(K.dtype).eps))
    return deviations[:, None] * root, inverted * scales


def _root_of_one(rho: Float[Array, "1 1"], rounding: float) -> Roots:
    return jnp.ones_like(rho), jnp.ones_like(rho)


def _root_of_two(rho: Float[Array, "2 2"], rounding: float) -> Roots:
    """The second is a share of the first and a rest."""
    share = rho[0, 1]
    rest = jnp.sqrt((1 - share) * (1 + share) + rounding)
    zero, one = jnp.zeros_like(share), jnp.ones_like(share)
    first = jnp.stack([one, zero])
    return jnp.stack([first, jnp.stack([share, rest])]), jnp.stack([first, jnp.stack([-share, one]) / rest])


def _root_by_eigenvectors(rho: Float[Array, "m m"], rounding: float) -> Roots:
    values, vectors = jnp.linalg.eigh(rho)
    roots = jnp.sqrt(jnp.maximum(values, 0.0) + rounding)
    return vectors * roots, vectors.T / roots[:, None]


def _turned(M: Float[Array, "m k"]) -> tuple[Float[Array, "m m"], Float[Array, " r"], Float[Array, "k k"]]:
    """The singular values of a matrix, largest first, between two turns."""
    if len(M) > 2:
        turn_left, r, turn_right = jnp.linalg.svd(M, full_matrices=True)
        return turn_left, r, turn_right
    if M.shape == (2, 2):
        return _turned_plane(M)
    only = jnp.ones((1, 1), M.dtype)
    if len(M) == 1:
        return jnp.where(M < 0, -1.0, 1.0), jnp.abs(M[0]), only
    return _turn(*_unit(*M[:, 0])), jnp.linalg.norm(M)[None], only


def _turned_plane(M: Float[Array, "2 2"]) -> tuple[Float[Array, "2 2"], Float[Array, " 2"], Float[Array, "2 2"]]:
    r"""On points $z$ of the complex plane it acts as $z \to Pz + Q\bar z$. With $P = |P|p$ and $Q = |Q|q$ it takes $v = \sqrt{q\bar p}$ to
    $(|P| + |Q|)\,pv$ and $iv$ to $(|P| - |Q|)\,ipv$."""
    (a, b), (c, d) = M
    P, Q = ((a + d) / 2, (c - b) / 2), ((a - d) / 2, (c + b) / 2)
    size_P, size_Q = (jnp.sqrt(x * x + y * y) for x, y in (P, Q))
    p, q = _unit(*P), _unit(*Q)
    v = _square_root(q[0] * p[0] + q[1] * p[1], q[1] * p[0] - q[0] * p[1])
    u = p[0] * v[0] - p[1] * v[1], p[0] * v[1] + p[1] * v[0]
    signs = jnp.stack([jnp.ones_like(size_P), jnp.where(size_P < size_Q, -1.0, 1.0)])
    return _turn(*u) * signs, jnp.stack([size_P + size_Q, jnp.abs(size_P - size_Q)]), _turn(*v).T


def _unit(x: Array, y: Array) -> tuple[Array, Array]:
    """The point of the circle in the direction of (x, y); (1, 0) if there is none."""
    largest = jnp.maximum(jnp.abs(x), jnp.abs(y))
    scale = inverse(largest)  # lest squares underflow
    x, y = jnp.where(largest > 0, x * scale, 1.0), y * scale
    length = jnp.sqrt(x * x + y * y)
    return x / length, y / length


def _square_root(x: Array, y: Array) -> tuple[Array, Array]:
    """Of a point of the circle: half of its angle, without loss of digits."""
    upwards = jnp.where(y < 0, -1.0, 1.0)
    return _unit(jnp.where(x > 0, 1 + x, jnp.abs(y)), jnp.where(x > 0, y, upwards * (1 - x)))


def _turn(x: Array, y: Array) -> Float[Array, "2 2"]:
    return jnp.stack([jnp.stack([x, -y]), jnp.stack([y, x])])
