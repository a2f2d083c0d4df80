"""What to do: the end of every report on an MLP, in numbers and lines to copy."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...activations import ACTIVATIONS, Activation
from ...critical import Criticality, CriticalPoint, criticality
from ...networks import MLP, ResidualMLP
from ..inputs import best_mean_square
from ..plain import plain
from ..section import Code, Part, Section, Words
from .criticality import is_tuned
from .typical import WIDE_SPREAD, wide_enough

_ALLOWED = WIDE_SPREAD * (1 + 1e-9)  # rounding does not decide


@dataclass(frozen=True)
class Alternative:
    """A tunable activation to take instead of one that is not."""

    name: str
    verdict: Criticality
    code: str
    """What `MLP` takes for it."""
    activation: Activation

    @property
    def point(self) -> CriticalPoint:
        """Its critical point."""
        assert self.verdict.point is not None
        return self.verdict.point


def about_what_to_do(
    net: MLP, verdict: Criticality, fluctuations: Float[np.ndarray, " L"], no_worse: bool = False
) -> Section:
    """`fluctuations` are the relative variances of the metric by layer, to first order; `no_worse`: tuning gains nothing at this depth."""
    tuned, other = is_tuned(net, verdict), alternative(net, verdict)
    chosen = verdict if other is None else other.verdict
    point = chosen.point
    assert point is not None
    if not tuned:
        fluctuations = when_tuned(net, chosen)
    how = "Keep the initialisation, or for more layers take this one" if no_worse else "Initialise"
    data = {
        "C_b": point.C_b,
        "C_W": point.C_W,
        "mean_square": best_mean_square(point),
        "activation": net.activation.name if other is None else other.name,
        "widest_needed": wide_enough(net, float(fluctuations.max())) if net.depth > 1 else None,
        "deepest_allowed": deepest_allowed(net, fluctuations) if net.depth > 1 else None,
    }
    parts: list[Part] = [
        Words(of_activation(net, verdict, other)),
        Words(f"{'Keep the initialisation' if tuned else how}, in every linear layer:"),
        Code(initialisation(point)),
        Words(of_inputs(point)),
        Words(RATES + OTHERS),
        Code(optimiser(net, other)),
    ]
    if net.depth > 1:
        parts.append(Words(of_shape(net, fluctuations, tuned)))
    return Section("what_to_do", "What to do", plain(data), tuple(parts))


def alternative(net: MLP | ResidualMLP, verdict: Criticality) -> Alternative | None:
    r"""For an activation that cannot be tuned, the same without its value at zero, $\sigma(z) - \sigma(0)$, or else tanh."""
    if verdict.point is not None:
        return None
    at_zero = float(np.asarray(net.activation(np.zeros(()))))
    if at_zero != 0 and not net.activation.kinks:
        value = net.activation.value
        centred = Activation(lambda z: value(z) - at_zero, name=f"{net.activation.name}(z) - {at_zero:.6g}")
        found = criticality(centred)
        if found.point is not None:
            return Alternative(centred.name, found, f"lambda z: {_called(net)}(z) - {at_zero!r}", centred)
    return Alternative("tanh", criticality("tanh"), '"tanh"', ACTIVATIONS["tanh"])


def when_tuned(net: MLP, verdict: Criticality) -> Float[np.ndarray, " L"]:
    r"""The relative variances of the metric at the critical point, $\nu\sum\frac1n$ over the hidden layers so far, PDLT (5.129)."""
    assert verdict.exponents is not None
    return verdict.exponents.nu * np.append(0.0, np.cumsum(1 / np.asarray(net.hidden_widths, dtype=float)))


def of_activation(net: MLP | ResidualMLP, verdict: Criticality, other: Alternative | None) -> str:
    """Whether to keep it."""
    if other is None:
        return (
            f"Keep {net.activation.name}: initialised as below, depth neither blows up nor kills signals and gradients of "
            "infinitely wide networks exponentially."
        )
    return (
        f"Take another activation: {net.activation.name} cannot be tuned ({verdict.reason}). {other.name} can, "
        "with the numbers below."
    )


def initialisation(point: CriticalPoint) -> str:
    """PyTorch's lines."""
    bias = f"normal_(layer.bias, std={math.sqrt(point.C_b):.6g})" if point.C_b else "zeros_(layer.bias)"
    return (
        "for layer in linear_layers:  # torch.nn.Linear, in order\n"
        f"    std = ({point.C_W:.8g} / layer.in_features) ** 0.5\n"
        "    torch.nn.init.normal_(layer.weight, std=std)\n"
        f"    torch.nn.init.{bias}"
    )


def of_inputs(point: CriticalPoint) -> str:
    """How to scale the data."""
    if point.K_star:
        return (
            f"Scale every input vector to a mean square of {best_mean_square(point):.5g} per component: this activation is critical at "
            "one size of its signals only, and in wide networks they then start there and stay."
        )
    return "Scale inputs to a mean square of about one per component, all of them alike."


RATES = (
    "Give every layer its own learning rate, so that all of them change the output by as much; biases learn about as slowly as weights. "
    "`eta` is for a loss that is a mean over the batch, of half the squared error summed over outputs or of the cross-entropy: search "
    "over a factor of four on either side."
)
"""Before lines that make rates, here and in recommendations."""

OTHERS = (
    ' `x` are your inputs, scaled as above. For cross-entropy write "cross_entropy" for "mse"; for Adam "adam" for "sgd", '
    "`fw.learning_rates(..., x=x)` and torch.optim.Adam."
)
"""What else may stand in the lines of `optimiser`."""

LINES_OF_RATES = (
    "net = fw.advice.with_slow_biases(net)\n"
    'eta = fw.advice.global_rate(net, x, "sgd", "mse").value\n'
    'rates = fw.learning_rates(net, "sgd", rate=eta)\n'
    "groups = rates.parameter_groups(linear_layers)\n"
    "optimizer = torch.optim.SGD(groups)"
)


def optimiser(net: MLP, other: Alternative | None = None) -> str:
    """Lines that make its groups."""
    name = net.activation.name
    own = f'"{name}"' if name in ACTIVATIONS else f"activation  # {name}"
    return (
        "import finitewidth as fw\n"
        f"sigma = {own if other is None else other.code}\n"
        f"net = fw.tune(fw.MLP(sigma, {_widths(net)}))\n"
        f"{LINES_OF_RATES}"
    )


def _called(net: MLP | ResidualMLP) -> str:
    """The function itself, in code."""
    name = net.activation.name
    return f'fw.ACTIVATIONS["{name}"].value' if name in ACTIVATIONS else "activation"


def _widths(net: MLP) -> str:
    """`(64, *[512] * 31, 1)`: short where hidden layers are alike."""
    hidden = net.hidden_widths
    if len(hidden) > 2 and len(set(hidden)) == 1:
        return f"({net.widths[0]}, *[{hidden[0]}] * {len(hidden)}, {net.widths[-1]})"
    return repr(tuple(int(width) for width in net.widths))


def deepest_allowed(net: MLP, fluctuations: Float[np.ndarray, " L"]) -> int:
    """The number of layers, at these widths, up to which the kernel's relative variance stays below `WIDE_SPREAD`, growing in
    proportion to depth beyond the network's own."""
    above = np.flatnonzero(fluctuations > _ALLOWED)
    if len(above):
        return int(above[0])
    return math.floor(1 + (net.depth - 1) * WIDE_SPREAD / max(float(fluctuations[-1]), np.finfo(float).tiny))


def of_shape(net: MLP, fluctuations: Float[np.ndarray, " L"], tuned: bool) -> str:
    """Which depth or width would change the verdict; `fluctuations` are those of the network as advised."""
    deepest, wide = deepest_allowed(net, fluctuations), wide_enough(net, float(fluctuations.max()))
    so = "" if tuned else "Initialised so, "
    if fluctuations.max() <= _ALLOWED:
        fine = f"{so}{'D' if tuned else 'd'}epth and width are fine: kernels of networks drawn alike differ by less than a third"
        return f"{fine} (one standard deviation). At widths like these that holds up to about {deepest} layers."
    few = (
        f"or at these widths about {deepest} layers"
        if deepest > 2
        else f"for at these widths even {('one hidden layer', 'two hidden layers')[deepest - 1]} would be too many"
    )
    return (
        f"{so}{'T' if tuned else 't'}he network is deep for its width. For kernels of networks drawn alike to differ by less than a "
        f"third, at this depth take hidden layers of about {wide} neurons, {few}; or give it skip connections: "
        "`fw.recommend` says how strong."
    )
