"""What theory advises for an MLP, number by number: each with its reason, its equation and how far to trust it."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, ValidityWarning
from .._memory import check_layers
from .._result import Result
from .._validation import as_count, as_number
from ..critical import Criticality, criticality, tangent_single_input_flow
from ..expansion import flow
from ..networks import MLP, LayeredNetwork, ResidualMLP, as_mlp
from .equivalence import equivalence_rates
from .global_rate import Number
from .learning_rates import with_slow_biases
from .tune import tune

SPREAD = 0.1
"""The relative variance of a kernel up to which networks drawn alike are called alike: a third, in one standard deviation."""

_CLOSEST = 1e-5  # to one: skip connections that `tune` still has an initialisation for
_DEEPEST = 128  # network that is looked at for its skip connections
_WITH_SKIPS = "PDLT (B.20)-(B.26), completed"
_MOST_SAMPLES = 256  # of the data, of which pairs are looked at


@dataclass(frozen=True, repr=False)
class DepthCurves(Result):
    """By layer, to be divided by the width: relative variances of kernel and tangent kernel; and the correlation of two inputs."""

    axes = ("layer",)

    kernel: Float[np.ndarray, " L"]
    tangent: Float[np.ndarray, " L"]
    correlation: Float[np.ndarray, " L"]


@entry()
def depth_curves(net: MLP, first_kernel: float, correlation: float, depth: int) -> DepthCurves:
    r"""$V/K^2$, PDLT (5.109), and $(A+2B)/\Theta^2$, PDLT (9.23), of one input, and the correlation of two inputs at infinite width,
    PDLT (4.118), for a network like `net`, of equal layers, down to a `depth` of its own.

    Examples:
        >>> net = fw.tune(fw.MLP("relu", (2, 8, 8, 1)))
        >>> fw.advice.depth_curves(net, 1.0, 0.5, depth=3).kernel.round(4).tolist()
        [0.0, 5.0, 10.0]
    """
    verdict = criticality(as_mlp(net).activation)
    if verdict.point is None:
        raise DomainError("net", f"a network of {verdict.activation!r}: {verdict.reason}", "one that can be tuned")
    first_kernel = as_number(first_kernel, "first_kernel", low=float(np.finfo(float).tiny))
    correlation, layers = as_number(correlation, "correlation", low=-1.0, high=1.0), as_count(depth, "depth")
    check_layers(layers)
    C_b, C_W = float(net.C_b[0]), float(net.C_W[0])
    deeper = MLP(net.activation, (1, *[1] * (layers - 1), 1), C_b, C_W)
    rates = equivalence_rates(deeper)  # their powers of the whole depth drop out of the ratio
    one = tangent_single_input_flow(net.activation, first_kernel, layers, C_b, C_W, *rates)
    pair = first_kernel * np.array([[1.0, correlation], [correlation, 1.0]])
    K = np.asarray(flow(deeper, kernel=pair, through="kernel").K)
    ratios = one.ratios
    return DepthCurves(
        np.asarray(ratios.V),
        np.asarray(ratios.A) + 2 * np.asarray(ratios.B),
        K[:, 0, 1] / np.sqrt(K[:, 0, 0] * K[:, 1, 1]),
    )


def numbers_of_initialisation(verdict: Criticality, mean_square: float, scale: float | None) -> list[Number]:
    """Variances, and the size of the inputs."""
    point = verdict.point
    assert point is not None
    finite = bool(point.K_star)
    equation = "PDLT (5.71)-(5.72)" if finite else "PDLT (5.67)" if point.K_star is None else "PDLT (5.90)"
    why = f"{verdict.universality_class}: with it neither signals nor gradients of wide networks grow or fall exponentially with depth"
    exact = "exact at infinite width"
    found = [
        Number("C_W", point.C_W, "variance of weights, times fan-in", why, equation, exact),
        Number("C_b", point.C_b, "variance of biases", why, equation, exact),
        Number(
            "mean_square",
            mean_square,
            "of an input's components",
            "critical at one size of its signals only: in wide networks they then start at K* and stay"
            if finite
            else "any size does; one keeps numbers of order one",
            "PDLT (4.8), (5.55)-(5.56)" if finite else "PDLT (4.8)",
            f"matters: K* {point.stability}" if finite else "a convention",
        ),
    ]
    if scale is not None:
        reason = "brings the data, whose mean square is not that, to it"
        trust = "of the data's mean; single inputs differ, scale each of them where that loses nothing"
        found.append(Number("input_scale", scale, "factor for all inputs", reason, "PDLT (4.8)", trust))
    return found


def numbers_of_shape(net: MLP, first_kernel: float, curves: DepthCurves) -> list[Number]:
    """What depth over width does at this depth, and which shapes, or skip connections, would keep it small."""
    width = (net.depth - 1) / net.depth_over_width
    kernel, tangent = (float(curve[net.depth - 1]) / width for curve in (curves.kernel, curves.tangent))
    trust = of_order(max(kernel, tangent))
    found = [
        Number(
            "fluctuation",
            kernel,
            "relative variance of the kernel between networks, V/(nK^2)",
            f"grows in proportion to depth over width, here {net.depth_over_width:.3g}",
            "PDLT (5.109), (5.129)",
            trust,
        ),
        Number(
            "tangent_fluctuation",
            tangent,
            "relative variance of one output's tangent kernel, (A + 2B)/(n Theta^2)",
            "networks that differ in it learn at different speeds",
            "PDLT (9.23)-(9.27)",
            trust,
        ),
        Number(
            "widest_needed",
            float(math.ceil(width * kernel / SPREAD)),
            "width at which kernels of networks drawn alike differ by a third at this depth",
            f"the relative variance falls as 1/n, to {SPREAD:g}",
            "PDLT (5.129)",
            "first order in 1/n",
        ),
    ]
    found += numbers_of_skips(net, first_kernel, kernel, float(curves.kernel[1]) / width)
    correlation = float(curves.correlation[net.depth - 1])
    found.append(
        Number(
            "correlation",
            correlation,
            f"of the outputs of two inputs of correlation {curves.correlation[0]:.3g} behind the first layer",
            "what is left for the last layer to tell inputs apart",
            "PDLT (4.118), (5.166)",
            "infinite width",
        )
    )
    return found


def numbers_of_skips(net: MLP, first_kernel: float, plain: float, readout: float) -> list[Number]:
    """Skip connections for the relative variance that the `plain` network has at its output, of which the `readout` alone, around which
    there is none, makes so much; none where they would not help."""
    wanted = max(SPREAD, 2 * readout)
    if plain <= SPREAD:
        return [_gamma(0.0, "none are needed")]
    gamma = skip_needed(net, first_kernel, wanted) if plain > wanted else None
    if not gamma:
        return []
    reached = "a tenth" if wanted == SPREAD else "twice that of the readout, which no skip connection goes around"
    return [
        _gamma(gamma, f"brings the relative variance of the output's kernel from {plain:.3g} down to {reached}"),
        Number(
            "fluctuation_with_skips",
            wanted,
            "relative variance of the output's kernel with these skip connections",
            f"the readout alone makes {readout:.3g} of it, which only width makes smaller",
            _WITH_SKIPS,
            of_order(wanted),
        ),
    ]


def _gamma(gamma: float, reason: str) -> Number:
    meaning = "strength of skip connections, z' = block(z) + gamma z, with C_b and C_W times 1 - gamma^2"
    return Number("gamma", gamma, meaning, reason, _WITH_SKIPS, "first order in 1/n")


def skip_needed(net: MLP, first_kernel: float, wanted: float) -> float | None:
    r"""$\gamma$ at which $V/(nK^2)$ of the output, with a readout around which no skip goes, is what is `wanted` of the plain network,
    complete to first order in $1/n$; `None` if there is none below one.

    Where fluctuations are small $1-\gamma$ is of order $1/L$, and $V$ depends on $(1-\gamma)(L-2)$ only: of the deepest networks fewer
    layers are looked at."""
    if net.depth < 3:  # a first layer and a readout: no skip goes around them
        return None
    depth = min(net.depth, _DEEPEST)
    skipping = ResidualMLP(net.activation, net.hidden_widths[0], depth, 0.0, inputs=1, outputs=1)

    def excess(gamma: float) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)  # a search begins where fluctuations are large
            theory = flow(tune(skipping.replace(gamma=gamma)), kernel=[[first_kernel]])
        return float(np.asarray(theory.relative_fluctuation)[-1, 0]) - wanted

    # V may first grow with gamma, then it falls: what is too large comes down through what is wanted once. From the right, in steps.
    rests = np.geomspace(_CLOSEST, 1.0, 17)
    if excess(1 - rests[0]) > 0:
        return None
    high = next((i for i, rest in enumerate(rests) if excess(1 - float(rest)) > 0), None)
    if high is None:
        return 0.0
    found = scipy.optimize.brentq(lambda rest: excess(1 - rest), rests[high - 1], rests[high], rtol=1e-6)
    rest = float(np.asarray(found)) * (depth - 2) / (net.depth - 2)
    return 1 - rest if rest >= _CLOSEST else None


def advised_network(net: MLP, gamma: float | None) -> LayeredNetwork:
    """The network to train: with skip connections where they are needed, and with slow biases."""
    if gamma:
        first, last = net.widths[0], net.widths[-1]
        skipping = ResidualMLP(net.activation, net.hidden_widths[0], net.depth, gamma, inputs=first, outputs=last)
        return with_slow_biases(tune(skipping))
    return with_slow_biases(net)


def of_order(epsilon: float) -> str:
    """How far a first order is to be trusted."""
    if epsilon < SPREAD:
        return f"first order in 1/n; what it leaves out is about {100 * epsilon:.2g} % of it"
    if epsilon < 0.5:
        return "first order in 1/n: the size is right, orders left out are a sizeable part of it"
    return "first order in 1/n, which is no measure of it any more: go by typical networks"


def as_data(data: Any, features: int) -> tuple[float, float]:
    """Mean square of the components, and the median correlation of pairs, of inputs."""
    x = np.asarray(data, dtype=float).reshape(-1, features)[:_MOST_SAMPLES]
    sizes = np.sqrt(np.mean(x**2, axis=1))
    unit = x / np.where(sizes > 0, sizes, 1.0)[:, None]
    pairs = (unit @ unit.T / features)[np.triu_indices(len(x), 1)]
    return float(np.mean(np.asarray(data, dtype=float) ** 2)), float(np.median(pairs)) if len(pairs) else 0.5
