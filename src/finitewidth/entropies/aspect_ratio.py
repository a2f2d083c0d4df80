r"""Depth over width at which neurons of the last layer would share most information, and how much of that is truncation.

PDLT (A.71) keeps two terms of a series in $\varepsilon = \nu r$ and finds a maximum where the second is two thirds of the first. What the
series stands for has none: the exact information grows with $r$ throughout.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, NotTunableError
from .._result import Result
from .._validation import as_count, as_number
from ..critical import criticality, optimal_gamma, residual_nu
from ..critical.classes.classes import UniversalityClass
from ..networks import LayeredNetwork, ResidualMLP, as_layered
from ..networks.residual import refuse_norm
from .mixtures import entropies_of_neurons

_POINTS, _REACH = 49, 6.0  # of the curve, and how far beyond the optimum it goes
_NODES = np.linspace(-9.0, 9.0, 181)  # of a normal variable: the trapezoid rule is exact to rounding


@dataclass(frozen=True, repr=False)
class AspectRatio(Result):
    r"""What `aspect_ratio` returns, beginning with what it assumes.

    - `nu`: $V/(nK^2) \to \nu r$ at criticality; `outputs`: $n_L$; `ratio`: $r = \sum1/n$ of the network; `coupling`: $\nu r$.
    - `optimum`: $r^\star = \frac4{20+3n_L}\frac1\nu$, PDLT (A.73), and `layers`, the depth it would mean at this width; `maximum`: the
      information $I^\star$ there, by the truncated series, PDLT (A.74).
    - `gamma`: of residual networks, their own; `optimal_gamma`: $\gamma^\star(r)$, PDLT (B.37), with which this depth would be optimal.
    - the curve: at depths over width `curve_ratio`, between the two halves of the last layer, `leading` $\propto\varepsilon^2$,
      `truncated` PDLT (A.71), `consistent` with the second order of $\varepsilon$ in it as well, and `exact`: of the limit in which
      depth and width grow together, where the metric is log-normal. The last two are known for scale-invariant activations only.
    """

    axes = ("point",)

    assumes: str
    nu: float
    outputs: int
    ratio: float
    coupling: float
    optimum: float
    layers: float
    maximum: float
    gamma: float
    optimal_gamma: float
    curve_ratio: Float[np.ndarray, " point"]
    leading: Float[np.ndarray, " point"]
    truncated: Float[np.ndarray, " point"]
    consistent: Float[np.ndarray, " point"] | None
    exact: Float[np.ndarray, " point"] | None

    def __str__(self) -> str:
        lines = [
            f"r* = {self.optimum:.4g} at nu = {self.nu:.4g} and {self.outputs} outputs, a depth of about {self.layers:.2g} layers at "
            f"this width; this network has r = {self.ratio:.4g}.",
            self.assumes,
        ]
        if self.exact is not None:
            at = int(np.argmin(np.abs(self.curve_ratio - self.optimum)))
            lines.append(
                f"At r* the two terms kept give {self.truncated[at]:.3g} nats, the exact value is {self.exact[at]:.3g}, and it keeps "
                f"growing: {self.exact[-1]:.3g} at r = {self.curve_ratio[-1]:.3g}."
            )
        return "\n".join(lines)


@entry()
def aspect_ratio(net: LayeredNetwork) -> AspectRatio:
    r"""$\nu$ and the optimal depth over width $r^\star$ of PDLT (A.68)-(A.74), (B.36)-(B.37), with the exact curve beside it.

    $\nu$ is that of the activation at criticality, and of the residual network's $\gamma$ in its complete form; $n_L$, the width of the
    last layer, is split in two halves (into one neuron and one for a single output).

    **Arguments:**

    - `net`: an `MLP` or a `ResidualMLP`, of any hyperparameters; its activation must have a critical point.

    Examples:
        >>> found = fw.aspect_ratio(fw.MLP("relu", (2, 100, 100, 10)))
        >>> round(found.optimum, 6)
        0.016
    """
    if as_layered(net).depth < 2:
        raise DomainError("net", "one layer", "a network with hidden layers")
    refuse_norm(net, "net", "no aspect ratio", "norm=None: how fluctuations of normalised networks grow is not known")
    verdict = criticality(net.activation)
    if verdict.point is None or verdict.exponents is None:
        raise NotTunableError(verdict.activation, verdict.reason)
    outputs = max(2, net.widths[-1])
    gamma = float(net.gamma) if isinstance(net, ResidualMLP) else 0.0
    nu = residual_nu(net.activation, gamma) if gamma else verdict.exponents.nu
    if not nu > 0:
        raise DomainError("net", f"nu = {nu:g}: its fluctuations do not grow with depth", "one whose fluctuations do")
    ratio = net.depth_over_width
    optimum, maximum = optimal_ratio(nu, outputs)
    r = np.linspace(0.0, _REACH * optimum, _POINTS)
    known = verdict.universality_class is UniversalityClass.SCALE_INVARIANT and gamma == 0
    return AspectRatio(
        _assumptions(known, isinstance(net, ResidualMLP)),
        nu,
        outputs,
        ratio,
        nu * ratio,
        optimum,
        1 + optimum * (net.depth - 1) / ratio,
        maximum,
        gamma,
        optimal_gamma(net.activation, ratio, outputs=outputs),
        r,
        *series(nu * r, outputs, known),
        log_normal_information(nu * r, outputs) if known else None,
    )


@entry()
def optimal_ratio(nu: float, outputs: int) -> tuple[float, float]:
    r"""$r^\star = \frac4{20+3n_L}\frac1\nu$ and $I^\star = \frac16\big(\frac{n_L}{20+3n_L}\big)^2$, PDLT (A.72)-(A.74), for any $\nu$,
    such as `residual_nu` gives in its complete or its printed form, PDLT (B.36).

    Examples:
        >>> [round(number, 6) for number in fw.entropies.optimal_ratio(5.0, 10)]
        [0.016, 0.006667]
    """
    slope, n_L = as_number(nu, "nu"), as_count(outputs, "outputs", at_least=2)
    if slope <= 0:
        raise DomainError("nu", f"{slope:g}", "a positive slope")
    return 4 / (20 + 3 * n_L) / slope, (n_L / (20 + 3 * n_L)) ** 2 / 6


def series(
    epsilon: Float[np.ndarray, " point"], outputs: int, consistent: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    r"""The leading order, PDLT (A.71), and what it is with $\varepsilon = e^{\nu r} - 1$, to third order: $14$ in place of $20$."""
    pairs, whole = (outputs / 2) ** 2, 3 * outputs
    leading = pairs / 8 * epsilon**2
    third = pairs / 48 * epsilon**3
    return leading, leading - (20 + whole) * third, leading - (14 + whole) * third if consistent else None


def log_normal_information(variances: Float[np.ndarray, " point"], outputs: int) -> Float[np.ndarray, " point"]:
    """Between halves of a layer whose metric is log-normal with these variances of its logarithm."""
    first = outputs // 2
    weights = scipy.stats.norm.pdf(_NODES)[None] / scipy.stats.norm.pdf(_NODES).sum()

    def between(variance: float) -> float:
        metrics = np.exp(math.sqrt(variance) * _NODES - variance / 2)[:, None]
        one, other, both = (entropies_of_neurons(metrics, m, weights)[0] for m in (first, outputs - first, outputs))
        return float(one + other - both)

    return np.array([between(variance) if variance > 0 else 0.0 for variance in variances])


def _assumptions(known: bool, residual: bool) -> str:
    said = (
        "It assumes that more information between neurons of the last layer is better, and takes the maximum of a series cut after two "
        "terms, of which at r* the second is two thirds of the first: read it as the depth up to which the first terms describe "
        "networks, not as an optimum."
    )
    if residual:
        return f"{said} With skip connections further terms of the same size are left out."
    return said if known else f"{said} The exact curve of this class is not known; `information` samples it."
