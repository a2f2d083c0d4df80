"""What theory advises for an MLP, number by number: each with its reason, its equation and how far to trust it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError
from .._memory import check_layers
from .._result import Result
from .._validation import as_count, as_number
from ..critical import Criticality, criticality, residual_nu, tangent_single_input_flow
from ..expansion import flow
from ..kernels import frozen_ntk
from ..networks import MLP, LayeredNetwork, ResidualMLP, as_mlp
from .equivalence import equivalence_rates
from .learning_rates import learning_rates
from .tune import tune

SPREAD = 0.1
"""The relative variance of a kernel up to which networks drawn alike are called alike: a third, in one standard deviation."""

_FIRST_STEP = 0.1  # by which Adam's first step moves an output, in units of the outputs
_CLOSEST = 0.999  # a skip connection beyond which hardly anything is added
_MOST_SAMPLES = 256  # of the data, on which the tangent kernel is looked at


@dataclass(frozen=True, repr=False)
class Number(Result):
    """One number of an advice."""

    name: str
    value: float
    meaning: str
    reason: str
    equation: str
    trust: str


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


def numbers_of_shape(net: MLP, verdict: Criticality, curves: DepthCurves) -> list[Number]:
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
    gamma = skip_needed(net, verdict, width) if kernel > SPREAD else 0.0
    if gamma is not None:
        found.append(
            Number(
                "gamma",
                gamma,
                "strength of skip connections, z' = block(z) + gamma z, with C_b and C_W times 1 - gamma^2",
                "keeps the kernel's relative variance at a tenth at this depth and width"
                if gamma
                else "none are needed",
                "PDLT (B.20)-(B.21), its nu completed",
                "leading order in 1/n, layers of equal width",
            )
        )
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


def skip_needed(net: MLP, verdict: Criticality, width: float) -> float | None:
    r"""$\gamma > 0$ with $\nu(\gamma)(L-1)/n$ = `SPREAD`, beyond which it falls; `None` if there is none below one."""
    wanted = SPREAD * width / (net.depth - 1)

    def excess(gamma: float) -> float:
        return residual_nu(net.activation, gamma) - wanted

    if excess(0.0) <= 0:
        return 0.0
    # Nu may first grow with gamma, then it falls to zero: what begins too large comes down through what is wanted once. From the
    # right, because each nu takes long and the root lies there.
    low = next((g for g in np.arange(0.95, -0.01, -0.05) if excess(max(float(g), 0.0)) > 0), None)
    if low is None or excess(_CLOSEST) > 0:
        return None if excess(_CLOSEST) > 0 else _CLOSEST
    return float(np.asarray(scipy.optimize.brentq(excess, max(float(low), 0.0), _CLOSEST, xtol=1e-6)))


def advised_network(net: MLP, gamma: float | None) -> LayeredNetwork:
    """The network to train: with skip connections where they are needed, and with slow biases."""
    if gamma:
        first, last = net.widths[0], net.widths[-1]
        skipping = ResidualMLP(
            net.activation, net.hidden_widths[0], net.depth, min(gamma, _CLOSEST), inputs=first, outputs=last
        )
        return with_slow_biases(tune(skipping))
    return with_slow_biases(net)


def with_slow_biases(net: LayeredNetwork) -> LayeredNetwork:
    r"""Rates of biases divided by the width before them, so that one rate per layer serves both groups in an ordinary optimiser."""
    return net.replace(lambda_b=np.asarray(net.lambda_b) / np.asarray(net.widths[:-1], dtype=float))


def numbers_of_rates(net: LayeredNetwork, x: Float[np.ndarray, "N n_0"]) -> list[Number]:
    """Global learning rates for the groups of `learning_rates`, from the tangent kernel on (some of) the inputs."""
    some = x[:: max(1, -(-len(x) // _MOST_SAMPLES))]
    largest = float(np.linalg.eigvalsh(np.asarray(frozen_ntk(net, some)))[-1]) / len(some)
    trust = "of wide networks on these inputs, while the tangent kernel stays what it is: search over a factor of ten about it"
    found = [
        Number(
            "sgd_rate",
            1 / largest,
            "eta of learning_rates(advice.net, 'sgd'), for a mean over samples of half the squared error",
            "half of 2/lambda_max, from which on gradient descent on all samples diverges",
            "PDLT section 10.2",
            trust,
        ),
        Number(
            "bias_factor",
            1 / net.widths[-2],
            "what the equal shares of biases are divided by, last layer",
            "equal shares would spend half of the largest stable rate on moving all outputs together",
            "departs from PDLT (9.94)",
            "a choice, settled on one data set (digits, the best of a few rates); elsewhere untested",
        ),
    ]
    found += numbers_of_adam(net, some)
    if net.widths[-1] > 1:
        found.insert(
            1,
            Number(
                "cross_entropy_rate",
                net.widths[-1] / largest,
                "the same for cross-entropy of as many classes as there are outputs",
                "at outputs that favour no class its curvature is smaller by the number of classes",
                "PDLT section 10.2",
                f"{trust}; curvature grows as classes are told apart",
            ),
        )
    return found


def numbers_of_adam(net: LayeredNetwork, x: Float[np.ndarray, "N n_0"]) -> list[Number]:
    r"""$\eta$ of `learning_rates(net, "adam")`, and the rates of weights that it means, group by group: the rule of $s = 0$."""
    unit = learning_rates(net, "adam", 1.0, x)
    assert unit.tangent_kernel is not None
    eta = _FIRST_STEP / unit.tangent_kernel
    trust = (
        "of Adam's first step, which moves by signs, at one input of this size; a step of a tenth is a choice: search over a factor of ten "
        "about it, and lower it as the error falls"
    )
    found = [
        Number(
            "adam_rate",
            eta,
            "eta of learning_rates(advice.net, 'adam', x=inputs)",
            f"its first step moves an output by {_FIRST_STEP:g}, each layer by its share",
            "PDLT (8.6), (9.93), with signs for gradients",
            trust,
        )
    ]
    hidden = range(1, net.depth - 1)
    groups = {"first": [0], "hidden": hidden, "last": [net.depth - 1] if net.depth > 1 else []}
    powers = {"first": "-1/2", "hidden": "-3/2", "last": "-1"}
    for name, layers in groups.items():
        if len(layers) == 0:
            continue
        rates = eta * unit.weight[list(layers)]
        least, most = (f"{rate:.2g}" for rate in (rates.min(), rates.max()))
        spread = f"median of {len(layers)} layers, {least} to {most}" if least != most else f"each of {len(layers)}"
        those = f", {spread}" if len(layers) > 1 else ""
        scaling = (
            f"falls with the width as n^({powers[name]}) at fixed skips (the NTK's rule, s = 0)"
            if net.depth > 1
            else "no hidden width"
        )
        found.append(
            Number(
                f"adam_{name}",
                float(np.median(rates)),
                f"rate of Adam for weights of the {name} layer{'s' if name == 'hidden' else ''}{those}",
                scaling,
                "`scaling_rule(s=0)`, PDLT (8.6)",
                trust,
            )
        )
    return found


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
