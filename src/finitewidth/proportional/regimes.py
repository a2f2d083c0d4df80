r"""What becomes of a shaped network, as the exponent $p$ of its shaping and its depth vary with the width.

Per layer the covariance drifts by $n^{-2p}b$ and fluctuates with variance $\Sigma_{\rm lin}/n$: whichever is faster sets the
depth at which something happens.
"""

import math
from enum import StrEnum
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._validation import as_count, as_covariance, as_number
from ..networks.shaped import ShapedActivation, ShapedReLU
from .ode import followed

_NEAR = 0.1  # one minus a correlation, from which on its last law holds for inputs that began well apart, within a factor of two
_MOST_GROWTH = 1e6  # beyond, the time that is left to a blow-up has lost as many digits


class Regime(StrEnum):
    """The limit of a shaped MLP of depth $d = Tn^q$."""

    FROZEN = "frozen: nothing moves at this depth"
    ODE = "ode: the covariance follows its drift without noise"
    SDE = "sde: drift and noise together"
    LINEAR = "linear: noise without drift, the law of a linear network"
    DEGENERATE = "degenerate: drift or noise has run its course, and inputs have collapsed or blown up"


@entry()
def scaling_regime(exponent: float, depth_exponent: float = 1.0) -> Regime:
    r"""The limit for shaping $n^{-p}$ and depth $n^q$, $q$ = `depth_exponent`; $p = 0$ is an unshaped network.

    Examples:
        >>> str(fw.proportional.scaling_regime(0.5))
        'sde: drift and noise together'
    """
    p = as_number(exponent, "exponent", low=0.0)
    q = as_number(depth_exponent, "depth_exponent", low=0.0)
    first = min(1.0, 2 * p)  # the depth at which the faster of the two acts
    if q < first:
        return Regime.FROZEN
    if q > first:
        return Regime.DEGENERATE
    return Regime.SDE if 2 * p == 1 else Regime.ODE if 2 * p < 1 else Regime.LINEAR


@entry()
def drift_ode(
    activation: ShapedActivation, V0: Any, time: float, steps: int = 200
) -> Float[np.ndarray, "{steps}+1 m m"]:
    r"""$\dot V = b(V)$, the limit for $p < 1/2$ at depth $Tn^{2p}$ (lecture 17), at equal steps of time from 0 to `time`.

    Between them the equation is integrated as closely as it demands; a blow-up before `time`, or so close to it that the norm
    has grown a million times, is an error.

    Examples:
        >>> fw.proportional.drift_ode(fw.shaped.shaped_relu(), fw.shaped.equal_tokens(2, 0.2), 0.5, steps=4).shape
        (5, 2, 2)
    """
    if not isinstance(activation, ShapedActivation):
        raise ArgumentError("activation", repr(activation), "a shaped activation")
    start = as_covariance(V0, "V0")
    time, steps = as_number(time, "time", low=0.0), as_count(steps, "steps")
    largest = _MOST_GROWTH * max(float(np.linalg.norm(start)), 1.0)
    path = np.asarray(jax.jit(lambda V: followed(activation.drift, V, time, steps, largest))(start))
    if not np.isfinite(path).all():
        last = time * (int(np.argmin(np.isfinite(path).all(axis=(1, 2)))) - 1) / steps
        raise DomainError("time", time, f"less than the time of blow-up, which is after {last:.4g} and not long after")
    return path


@entry()
def fluctuation(exponent: float, time: float, n: int) -> float:
    r"""The standard deviation $\sqrt{2T}\,n^{p-1/2}$ of $\log V^{\alpha\alpha}$ about the ODE of $p < 1/2$, at depth $Tn^{2p}$.

    Examples:
        >>> fw.proportional.fluctuation(0.5, time=1.0, n=100)
        1.414214
    """
    p, time = as_number(exponent, "exponent", low=0.0, high=0.5), as_number(time, "time", low=0.0)
    return math.sqrt(2 * time) * as_count(n, "n") ** (p - 0.5)


@entry()
def collapse(activation: ShapedReLU, n: int, depth: int) -> float:
    r"""$1 - \rho \simeq \frac{18\pi^2}{(c_+-c_-)^4}(d\,n^{-2p})^{-2}$: how inputs collapse at depths well beyond $n^{2p}$,
    for $p < 1/2$.

    Inputs that began close together are closer still. Where this exceeds 0.1, correlations remember their start in any case: such depths
    are refused, and `drift_ode` follows them.

    Examples:
        >>> round(fw.proportional.collapse(fw.shaped.shaped_relu(exponent=0.25), n=100, depth=500), 6)
        0.071061
    """
    if not isinstance(activation, ShapedReLU) or not activation.chi_squared:
        raise ArgumentError("activation", repr(activation), "a shaped ReLU of two slopes")
    if activation.exponent >= 1 / 2:
        raise ArgumentError(
            "activation", repr(activation), "an exponent below 1/2: with it, noise moves correlations too"
        )
    layers, unit = as_count(depth, "depth"), as_count(n, "n") ** (2 * activation.exponent)
    return _law_of_collapse(18 * math.pi**2 / (16 * activation.chi_squared**2) * unit**2, layers)


@entry()
def unshaped_relu_collapse(depth: int) -> float:
    r"""$1 - \rho_\ell \simeq \frac{9\pi^2}{2\ell^2}$ for a plain ReLU, whatever its width, from layer 22 on, where it is a tenth.

    Examples:
        >>> round(fw.proportional.unshaped_relu_collapse(50), 6)
        0.017765
    """
    return _law_of_collapse(9 * math.pi**2 / 2, as_count(depth, "depth"))


def _law_of_collapse(strength: float, depth: int) -> float:
    """`strength` over the square of the depth, which without its beginning is far more than the two that it cannot exceed."""
    found = strength / depth**2
    if found > _NEAR:
        want = f"at least {math.ceil(math.sqrt(strength / _NEAR))} layers: before, inputs remember where they began"
        raise DomainError("depth", depth, want)
    return found
