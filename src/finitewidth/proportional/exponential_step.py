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
import numpy as np
from jaxtyping import Float, Key

from .._arrays import Array
from .._errors import DomainError
from ..gaussian.root import covariance_root
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square, symmetric_normal
from .matrix_exponential import matrix_exponential, product
from .scheme import Scheme, State, gram

_MOST_GROWTH = float(np.finfo(float).eps) ** -0.5
_MOST_MIXING = 5.0  # steps that resolve a path have exponents below one


class ExponentialStep(Scheme):
    """The default: positive at every step; of weak order one, and exact in the determinant of linear networks."""

    stays_positive: ClassVar[bool] = True

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """The kernel map must not take away more than there is."""
        check_kernel_map(block, step)

    def start(self, block: ShapedBlock, factor: Float[Array, "m r"], step: Float[Array, ""]) -> State:
        """Half a step of the kernel drift, if there is one."""
        V = gram(factor)
        return State(V, _drifted_factor(block, V, factor, step / 2))

    def draw(
        self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]
    ) -> Float[Array, "1+{block.mixings} r r"]:
        """One Gaussian matrix for the values, one for each mixing."""
        rank = state.factor.shape[1]
        return jax.random.normal(key, (1 + block.mixings, rank, rank), state.factor.dtype)

    def advance(self, block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""]) -> State:
        """Noise and generator, then both halves of the kernel drift that meet at the next depth."""
        factor = _noise_step(block, state.factor, drawn, step)
        V = gram(factor)
        return State(V, _drifted_factor(block, V, factor, step))

    def observed(self, block: ShapedBlock, state: State, step: Float[Array, ""]) -> Square:
        """After the first half of the kernel drift."""
        drifted = _kernel_drift(block, state.V, step / 2)
        return state.V if drifted is None else drifted


def check_kernel_map(block: ShapedBlock, step: float) -> None:
    """Refuse steps after which kernels are no longer positive."""
    if step > float(block.largest_step):
        limit = f"steps of at most {float(block.largest_step):.3g}: more `steps`"
        raise DomainError("steps", f"steps of {step:.3g} in depth time, too large to keep V positive", limit)


def _noise_step(
    block: ShapedBlock, factor: Float[Array, "m r"], drawn: Array, step: Float[Array, ""]
) -> Float[Array, "m r"]:
    kappa = block.value_noise * step
    moved = product(factor, matrix_exponential(_geodesic(symmetric_normal(drawn[0]), kappa) / 2))
    C, A = block.generator(gram(factor)), block.mixing(drawn[1:], factor)
    exponent = 0 if C is None else step * C
    exponent = exponent if A is None else exponent + jnp.sqrt(step) * A
    return moved if C is None and A is None else _mixed(jnp.asarray(exponent), moved)


def _mixed(exponent: Square, factor: Float[Array, "m r"]) -> Float[Array, "m r"]:
    r"""$e^XF$, or infinite where the step is too long to follow an explosion, so that the path is stopped there.

    Beside a direction that grows by more than $\epsilon^{-1/2}$ the others lose half their digits, and a factor along them
    would silently vanish; tokens that mix many times over in one step would come out alike. What activations add is diagonal
    and may shrink a norm at any rate."""
    mixing = matrix_exponential(exponent)
    exchanged = jnp.sum(jnp.abs(exponent - jnp.diag(jnp.diagonal(exponent))), axis=1)
    resolved = (jnp.max(jnp.abs(mixing)) < _MOST_GROWTH) & (jnp.max(exchanged) < _MOST_MIXING)
    return jnp.where(resolved, product(mixing, factor), jnp.inf)


def _geodesic(N: Float[Array, "r r"], kappa: Array) -> Float[Array, "r r"]:
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


def _drifted_factor(
    block: ShapedBlock, V: Square, factor: Float[Array, "m r"], step: Float[Array, ""]
) -> Float[Array, "m r"]:
    drifted = _kernel_drift(block, V, step)
    return factor if drifted is None else covariance_root(drifted)


def _kernel_drift(block: ShapedBlock, V: Square, step: Float[Array, ""]) -> Square | None:
    r"""$\dot V = P(V)$ by Heun's method in the form $\tfrac12V + \tfrac12M(M(V))$, $M(V) = V + P(V)\Delta$: a mixture of
    positive matrices is positive."""
    first = block.positive_drift(V)
    if first is None:
        return None
    once = V + step * first
    again = block.positive_drift(once)
    assert again is not None
    return (V + once + step * again) / 2
