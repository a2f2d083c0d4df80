r"""Averages of smooth functions by Mehler's expansion in Hermite polynomials, for one pair or for two groups of variables.

For standard normal $u, v$ with correlation $\rho$, $\langle h_k(u) h_l(v)\rangle = \delta_{kl}\rho^k$, so that

$$\langle f(z_a)\,g(z_b)\rangle_K = \sum_k \rho^k f_k(K_{aa})\,g_k(K_{bb}),\qquad
  f_k(K) = \langle f(\sqrt K u)\,h_k(u)\rangle .$$

Each coefficient belongs to one input, so a Gram matrix of $N$ inputs costs $N$ one-dimensional integrals and a
polynomial in $\rho$. Two groups of variables are brought to the same form by their canonical correlations: four-point
averages cost two-dimensional integrals, six-point averages three-dimensional ones, and nothing inverts $K$.
The trapezoid rule below is spectrally accurate and, unlike Gauss-Hermite, is not hurt by the complex poles of
activations such as tanh.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array

ElementwiseFunction = Callable[[Array], Array]

_FEW = 4096  # numbers whose powers are taken at once: a shorter program
_BLOCK = 16  # Hermite modes summed per pass over the Gram matrix


@dataclass(frozen=True)
class HermiteRule:
    """How finely to integrate: a static setting, chosen from the functions and the largest variance they meet.

    `order` modes are kept, from integrals over `nodes` equispaced points within `reach` deviations. `parity` is that
    of the functions where it is known (0 even, 1 odd): then every second mode vanishes and is left out.
    """

    order: int
    nodes: int
    reach: float = 12.0
    parity: int | None = None


@functools.lru_cache(maxsize=256)
def hermite_table(rule: HermiteRule) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes $u_q$ and weights $w_q h_k(u_q)$, shape (nodes, order), with $h_k = He_k/\sqrt{k!}$."""
    u = np.linspace(-rule.reach, rule.reach, rule.nodes)
    root_density = np.exp(-(u**2) / 4) / (2 * math.pi) ** 0.25
    waves = np.zeros((rule.order, rule.nodes))  # h_k times the root of the density, which never overflows
    waves[0] = root_density
    for k in range(1, rule.order):
        waves[k] = u * waves[k - 1] / math.sqrt(k)
        if k > 1:
            waves[k] -= math.sqrt((k - 1) / k) * waves[k - 2]
    return u, ((u[1] - u[0]) * root_density * waves).T


def coefficients(
    function: ElementwiseFunction, K: Array, rule: HermiteRule, parity: int | None = None
) -> Float[Array, "*K k"]:
    r"""$f_k(K) = \langle f(\sqrt K u) h_k(u)\rangle$ for each variance in `K`; only modes of `parity` if it is given."""
    u, weights = hermite_table(rule)
    modes = weights if parity is None else weights[:, parity::2]
    return function(jnp.sqrt(K)[..., None] * u) @ modes


def _power_series(f: Float[Array, "*A k"], g: Float[Array, "*B k"], x: Array) -> Array:
    r"""$\sum_k f_k g_k x^k$: for many `x` by Horner's rule, in blocks, a handful of passes over them however many modes."""
    modes = f.shape[-1]
    if x.size <= _FEW:
        return jnp.sum(f * g * x[..., None] ** np.arange(modes), axis=-1)
    pad = -modes % _BLOCK

    def blocks(c: Array) -> Array:
        c = jnp.pad(c, [(0, 0)] * (c.ndim - 1) + [(0, pad)])
        return jnp.moveaxis(c, -1, 0).reshape(-1, _BLOCK, *c.shape[:-1])[::-1]

    def horner(total: Array, block: tuple[Array, Array]) -> tuple[Array, None]:
        for f_k, g_k in zip(block[0][::-1], block[1][::-1], strict=True):
            total = total * x + f_k * g_k
        return total, None

    start = jnp.zeros(jnp.broadcast_shapes(f.shape[:-1], g.shape[:-1], x.shape), x.dtype)
    return jax.lax.scan(horner, start, (blocks(f), blocks(g)))[0]


def pair_average(
    f: ElementwiseFunction, g: ElementwiseFunction, Kaa: Array, Kab: Array, Kbb: Array, rule: HermiteRule
) -> Array:
    r"""$\langle f(z_a)g(z_b)\rangle_K$, elementwise over covariances that broadcast against each other."""
    rho = jnp.clip(Kab / jnp.sqrt(Kaa * Kbb), -1.0, 1.0)
    f_k, g_k = (coefficients(h, K, rule, rule.parity) for h, K in ((f, Kaa), (g, Kbb)))
    if rule.parity is None:
        return _power_series(f_k, g_k, rho)
    return rho**rule.parity * _power_series(f_k, g_k, rho**2)


def _root(K: Float[Array, "m m"]) -> tuple[Float[Array, "m m"], Float[Array, "m m"]]:
    """A root R of a covariance, K = R R^T, and its pseudo-inverse."""
    values, vectors = jnp.linalg.eigh(K)
    tiny = jnp.finfo(K.dtype).eps * K.shape[0] * jnp.max(jnp.abs(values))
    kept = values > tiny
    roots = jnp.sqrt(jnp.where(kept, values, 0.0))
    inverses = jnp.where(kept, 1.0 / jnp.where(kept, roots, 1.0), 0.0)
    return vectors * roots, inverses[:, None] * vectors.T


def canonical_variables(
    K: Float[Array, "n n"], m: int
) -> tuple[Float[Array, "m m"], Float[Array, " r"], Float[Array, "k k"]]:
    r"""Roots of the covariances of the first $m$ variables and of the rest, $z_A = R_Au$ and $z_B = R_Bv$, turned so that
    $\langle u v^T\rangle$ is diagonal, and the canonical correlations on that diagonal."""
    root_left, inverse_left = _root(K[:m, :m])
    root_right, inverse_right = _root(K[m:, m:])
    turn_left, r, turn_right = jnp.linalg.svd(inverse_left @ K[:m, m:] @ inverse_right.T, full_matrices=True)
    return root_left @ turn_left, jnp.clip(r, 0.0, 1.0), root_right @ turn_right.T


def _on_grid(
    products: Sequence[Sequence[ElementwiseFunction]], root: Float[Array, "m m"], rule: HermiteRule
) -> Float[Array, "products ..."]:
    r"""Each $\prod_i f_i(z_i)$, $z = Ru$, on the grid of the $m$ variables $u$."""
    axes = jnp.meshgrid(*[jnp.asarray(hermite_table(rule)[0])] * len(root), indexing="ij")
    variables = jnp.tensordot(root, jnp.stack(axes), axes=(1, 0))

    def product(functions: Sequence[ElementwiseFunction]) -> Array:
        return functools.reduce(operator.mul, (f(z) for f, z in zip(functions, variables, strict=True)))

    return jnp.stack([product(functions) for functions in products])


def split_averages(
    left: Sequence[Sequence[ElementwiseFunction]],
    right: Sequence[Sequence[ElementwiseFunction]],
    K: Float[Array, "n n"],
    rule: HermiteRule,
) -> Float[Array, "left right"]:
    r"""$\langle F\,G\rangle_K$ of each $F = \prod f_i(z_i)$ over the first variables with each $G$ over the rest.

    With $z_A = R_A u$, $z_B = R_B v$ rotated so that $\langle u v^T\rangle$ is diagonal with canonical correlations $r$,
    $\langle FG\rangle = \sum_{k_1 k_2\dots} r_1^{k_1} r_2^{k_2}\cdots F_{k_1k_2\dots}G_{k_1k_2\dots}$. On the grid each sum is a
    smoothing matrix $\sum_k r^k w_p h_k(u_p)\,h_k(u_q) w_q$ along one axis, so the modes themselves are never formed.
    """
    root_left, r, root_right = canonical_variables(K, len(left[0]))
    F, G = _on_grid(left, root_left, rule), _on_grid(right, root_right, rule)
    _, weights = hermite_table(rule)
    while F.ndim > 1 + len(r):  # directions that the other group does not see average out
        F = F @ weights[:, 0]
    while G.ndim > 1 + len(r):
        G = G @ weights[:, 0]
    powers = r[:, None] ** np.arange(rule.order)
    for axis_powers in powers:  # each pass smooths the first axis and puts it last
        F = jnp.tensordot(F, (weights * axis_powers) @ weights.T, axes=(1, 0))
    return F.reshape(len(F), -1) @ G.reshape(len(G), -1).T
