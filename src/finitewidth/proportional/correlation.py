r"""The correlation of two inputs of a shaped-ReLU network, which moves by itself.

With noise $\kappa\,\Sigma_{\rm lin}$ and drift $\gamma_b\,b_{\rm ReLU}$,

$$d\rho = \bigl[\gamma_b\nu(\rho) - \tfrac\kappa2\rho(1-\rho^2)\bigr]dt + \sqrt\kappa\,(1-\rho^2)\,dB,$$

and $y = {\rm artanh}\,\rho$ has additive noise, $dy = [\tfrac\kappa2\tanh y + \gamma_b\nu\cosh^2y]\,dt + \sqrt\kappa\,dB$, so that
$\rho$ cannot leave $(-1, 1)$.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Key

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._memory import check_memory
from .._random import key_of
from .._result import Result
from .._table import Table, table_of_paths
from .._validation import as_count, as_number, as_seed
from ..networks.shaped import ShapedBlock, ShapedMLP, ShapedReLU, ShapedResNet
from ..networks.shaped.shaped_relu_kernel import kernel_excess

_LARGEST = 300.0  # e^(2y) is still a number
_SMALL_ANGLE = 1e-2
_COPIES = 3  # of all correlations: as they come, side by side, and turned over


class _CorrelationPaths(NamedTuple):
    times: Float[np.ndarray, " times"]
    rho: Float[np.ndarray, "paths times"]


class CorrelationPaths(Result, _CorrelationPaths):
    """Sampled correlations."""

    def table(self) -> Table:
        """One row for each path and depth time."""
        return table_of_paths(self.times, {"rho": self.rho})


class Coefficients(NamedTuple):
    r"""$\kappa$ and $\gamma_b\chi^2$."""

    value_noise: Float[Array, ""] | float
    kernel_rate: Float[Array, ""] | float

    def drift(self, rho: Float[Array, "*s"]) -> Float[Array, "*s"]:
        r"""$\gamma_b\nu(\rho) - \tfrac\kappa2\rho(1-\rho^2)$."""
        return self.kernel_rate * kernel_excess(rho) - self.value_noise / 2 * rho * (1 - rho**2)

    def diffusion(self, rho: Float[Array, "*s"]) -> Float[Array, "*s"]:
        r"""$\sqrt\kappa\,(1-\rho^2)$."""
        return jnp.sqrt(self.value_noise) * (1 - rho**2)


@entry()
def correlation_coefficients(block: ShapedBlock) -> Coefficients:
    """The coefficients of a block, or a stack, of MLPs and ResNets with shaped ReLUs; other correlations are not autonomous.

    Examples:
        >>> fw.proportional.correlation_coefficients(fw.ShapedMLP()).value_noise
        1.0
    """
    if not isinstance(block, ShapedBlock):
        raise ArgumentError("block", type(block).__name__, "a shaped block: ShapedMLP, ShapedResNet or a stack of them")
    rate = 0.0
    for part in block.parts:
        if isinstance(part, ShapedMLP) and isinstance(part.activation, ShapedReLU):
            rate += part.activation.chi_squared if part.activation.exponent <= 0.5 else 0.0
        elif isinstance(part, ShapedResNet) and isinstance(part.activation, ShapedReLU):
            rate += float(part.gamma) ** 2 * part.activation.chi_squared
        else:
            wanted = "MLPs and ResNets with shaped ReLUs: only their correlation moves by itself"
            raise ArgumentError("block", repr(part), wanted)
    return Coefficients(float(block.value_noise), rate)


@entry()
def correlation_sde(
    block: ShapedBlock, rho0: float, depth_to_width: float, paths: int = 4096, seed: int = 0, steps: int = 100
) -> CorrelationPaths:
    r"""Paths of the correlation of two inputs, of weak order two.

    Strang splitting: $\dot\rho = \gamma_b\nu(\rho)$ in $1/\sin\frac\theta2$, $\rho = \cos\theta$, where it is almost uniform
    motion however fast it is, around a Heun step of the rest in $y$, where the noise is additive.

    Examples:
        >>> fw.proportional.correlation_sde(fw.ShapedMLP(), 0.2, 0.25, paths=8, steps=4).rho.shape
        (8, 5)
    """
    coefficients = correlation_coefficients(block)
    rho0 = as_number(rho0, "rho0", low=-1.0, high=1.0)
    time = as_number(depth_to_width, "depth_to_width", low=0.0)
    if time == 0 or abs(rho0) == 1:
        name, value = ("depth_to_width", time) if time == 0 else ("rho0", rho0)
        raise DomainError(name, value, "a positive number" if time == 0 else "a correlation inside (-1, 1)")
    paths, steps = as_count(paths, "paths"), as_count(steps, "steps")
    what = f"{paths} paths of {steps} steps"
    check_memory(8.0 * _COPIES * paths * (steps + 1), "paths", what, "fewer paths or steps: each keeps its correlation")
    key = key_of(as_seed(seed))
    rho = _sample(coefficients, rho0, time / steps, key, paths, steps)
    return CorrelationPaths(np.linspace(0.0, time, steps + 1), np.asarray(rho))


@compiled_in_haste(static_argnames=("paths", "steps"))
def _sample(
    coefficients: Coefficients,
    rho0: Float[Array, ""] | float,
    step: Float[Array, ""] | float,
    key: Key[Array, ""],
    paths: int,
    steps: int,
) -> Float[Array, "paths times"]:
    kappa, rate = coefficients

    def kernel_flow(y: Array) -> Array:
        """Half a step of the activation's drift, by Heun's method."""
        square = jnp.exp(2 * jnp.minimum(y, _LARGEST))
        c = square / (1 + jnp.sqrt(1 + square))  # 1/sin(theta/2) - 1
        speed = _speed(c)
        ahead = c + step / 2 * rate * speed
        c = c + step / 4 * rate * (speed + _speed(ahead))
        return jnp.where(y < _LARGEST, jnp.log(c * (c + 2)) / 2, y)

    def advance(y: Array, number: Array) -> tuple[Array, Array]:
        noise = jnp.sqrt(kappa * step) * jax.random.normal(jax.random.fold_in(key, number), y.shape, y.dtype)
        y = kernel_flow(y)
        ahead = y + step * kappa / 2 * jnp.tanh(y) + noise
        y = kernel_flow(y + step * kappa / 4 * (jnp.tanh(y) + jnp.tanh(ahead)) + noise)
        return y, y

    first = jnp.full(paths, jnp.arctanh(rho0))
    return jnp.tanh(jnp.concatenate([first[None], lax.scan(advance, first, jnp.arange(steps))[1]]).T)


def _speed(c: Float[Array, "*s"]) -> Float[Array, "*s"]:
    r"""$\frac d{dt}\frac1{\sin(\theta/2)}$ where $\dot\rho = \kappa(\rho) - \rho$, which is $\frac{\sin\theta - \theta\cos\theta}
    {2\pi\sin^3(\theta/2)}$, between $\tfrac12$ at $\theta = \pi$ and $\tfrac4{3\pi}$ at coincidence; $c = 1/\sin(\theta/2) - 1$."""
    sine = 1 / (1 + c)
    theta = 2 * jnp.arcsin(jnp.minimum(sine, 1.0))
    series = 4 / (3 * jnp.pi) * (1 + theta**2 / 40)
    exact = kernel_excess(1 - 2 * sine**2) / 4 / sine**3
    return jnp.where(theta < _SMALL_ANGLE, series, exact)
