r"""The geodesic step: covariances stay positive because they only ever appear as $FF^{\mathsf T}$.

$$F \to \exp\bigl(C\Delta + A\sqrt\Delta\bigr)\;F\;\exp\tfrac12\Bigl(\sqrt{\kappa\Delta}\,N' - \tfrac{\kappa\Delta}2(r+1)I\Bigr)$$

The right factor is the noise of the values, a step along a geodesic of the positive cone; the left one is the mixing of
tokens by attention, with the part $C$ of the drift that acts on tokens. A drift $P$ that is itself a kernel is taken out and
Strang-split: half a step of $\dot V = P(V)$ before, half after. Nothing is inverted or factorised unless there is a $P$,
so that singular covariances are no exception. For linear networks the determinant has its exact law at every step.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Bool, Float, Key

from .._arrays import Array
from .._errors import DomainError
from ..gaussian.root import covariance_root
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square, symmetric_normal
from .matrix_exponential import matrix_exponential, product
from .scheme import Scheme, State, among, gram, normal_matrices


class ExponentialStep(Scheme):
    """The default: positive at every step; of weak order one, and exact in the determinant of linear networks."""

    stays_positive: ClassVar[bool] = True

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """The kernel map must not take away more than there is."""
        check_kernel_map(block, step)

    def draw(
        self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]
    ) -> Float[Array, "1+{block.mixings} r r"]:
        """One Gaussian matrix for the values, one for each mixing."""
        rank = state.factor.shape[1]
        return normal_matrices(key, 1 + block.mixings, rank, state.factor.dtype)

    def noisy(
        self, block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> State:
        """Noise and generator; what stays keeps its rows."""
        factor = jnp.where(moving[:, None], _noise_step(block, state, drawn, step, moving), state.factor)
        return State(gram(factor), factor)

    def ready(self, block: ShapedBlock, noisy: State, last: Array, step: Array, moving: Bool[Array, " m"]) -> State:
        """Both halves of the kernel drift that meet between two steps."""
        return _drifted(block, noisy, (last + step) / 2, moving)

    def observed_factor(
        self, block: ShapedBlock, state: State, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> Float[Array, "m r"]:
        """After the first half of the kernel drift; without one nothing is multiplied out, and small eigenvalues keep
        their digits."""
        return _drifted(block, state, step / 2, moving).factor


def check_kernel_map(block: ShapedBlock, step: float) -> None:
    """Refuse steps after which kernels are no longer positive."""
    if step > float(block.largest_step):
        limit = f"steps of at most {float(block.largest_step):.3g}: more `steps`"
        raise DomainError("steps", f"steps of {step:.3g} in depth time, too large to keep V positive", limit)


def _noise_step(
    block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""], moving: Bool[Array, " m"]
) -> Float[Array, "m r"]:
    factor = jnp.where(moving[:, None], state.factor, 0.0)
    of_values = geodesic(symmetric_normal(drawn[0]), block.value_noise * step) / 2
    C, A = block.generator(among(moving, state.V)), block.mixing(drawn[1:], factor)
    if C is None and A is None:
        return product(factor, matrix_exponential(of_values))
    exponent = 0 if C is None else step * C
    exponent = exponent if A is None else exponent + jnp.sqrt(step) * A
    return _mixed(jnp.where(moving[:, None], exponent, 0.0), factor, of_values)


def _mixed(X: Square, factor: Float[Array, "m r"], of_values: Float[Array, "r r"]) -> Float[Array, "m r"]:
    r"""$e^XFe^Y = D\,e^{D^{-1}XD}D^{-1}Fe^Y$ with the norms of the tokens in $D$: what a huge token takes from a small one is large
    as a number, not beside itself."""
    norms = jnp.linalg.norm(factor, axis=1)
    scale = jnp.where(norms > 0, norms, 1.0)[:, None]
    mixing = X * scale.T / scale
    if mixing.shape == of_values.shape:  # both in one loop, which is compiled once
        mixed, moved = jax.vmap(matrix_exponential)(jnp.stack([mixing, of_values]))
    else:
        mixed, moved = matrix_exponential(mixing), matrix_exponential(of_values)
    return scale * product(mixed, product(factor, moved) / scale)


def geodesic(N: Float[Array, "r r"], kappa: Array) -> Float[Array, "r r"]:
    r"""The exponent of the values' step, $\sqrt{\kappa\Delta}\,N' - \tfrac{\kappa\Delta}2(r+1)I$, whose law is that of
    $\log V$ after a step from the identity, to second order.

    In the cone the heat kernel is a Gaussian times $\prod_{i<j}(\sinh\frac{\lambda_i-\lambda_j}2/\frac{\lambda_i-\lambda_j}2)^{1/2}
    \simeq \exp\frac1{48}\sum_{i<j}(\lambda_i-\lambda_j)^2$, a Gaussian again: $N'$ is $N$ with the variance of its traceless part
    multiplied by $1 + r\kappa\Delta/12$. Without it $E[V]$ would fall by $r^2\kappa^2\Delta^2/24$ a step."""
    rank = len(N)
    identity = jnp.eye(rank, dtype=N.dtype)
    mean = jnp.trace(N) / rank * identity
    spread = jnp.sqrt(1 + rank * kappa / 12)
    return jnp.sqrt(kappa) * (mean + spread * (N - mean)) - kappa / 2 * (rank + 1) * identity


def _drifted(block: ShapedBlock, state: State, step: Array, moving: Bool[Array, " m"]) -> State:
    V = _kernel_drift(block, state.V, step, moving)
    return state if V is None else State(V, covariance_root(V))


def _kernel_drift(block: ShapedBlock, V: Square, step: Array, moving: Bool[Array, " m"]) -> Square | None:
    r"""$\dot V = P(V)$ by Heun's method in the form $\tfrac12V + \tfrac12M(M(V))$, $M(V) = V + P(V)\Delta$: a mixture of
    positive matrices is positive."""
    start = among(moving, V)
    if jax.eval_shape(block.positive_drift, start) is None:
        return None

    def mapped(_: Array, found: Square) -> Square:
        P = block.positive_drift(found)
        assert P is not None
        return found + step * P

    twice = lax.fori_loop(0, 2, mapped, start)  # in a loop, which is compiled once
    return among(moving, (start + twice) / 2, V)
