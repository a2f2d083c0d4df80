"""What to do: the end of a report on a residual network, in numbers and lines to copy."""

from ...activations import ACTIVATIONS
from ...critical import Criticality
from ...networks import ResidualMLP
from ..inputs import best_mean_square
from ..plain import plain
from ..section import Code, Part, Section, Words
from .criticality import is_tuned
from .typical import WIDE_SPREAD, wide_enough
from .what_to_do import (
    LINES_OF_RATES,
    OTHERS,
    RATES,
    Alternative,
    alternative,
    initialisation,
    of_activation,
    of_inputs,
)

_TOO_STRONG = (
    "Take skips with gamma² below one, and the initialisation of `fw.tune` for them: from one on, layers only add to signals, and no "
    "initialisation is critical."
)


def about_what_to_do_with_skips(net: ResidualMLP, verdict: Criticality, fluctuation: float) -> Section:
    """`fluctuation` is the largest relative variance of the metric, to first order."""
    gamma = float(net.gamma)
    if gamma**2 >= 1:
        return Section("what_to_do", "What to do", plain({"gamma": "below one"}), (Words(_TOO_STRONG),))
    tuned, other = is_tuned(net, verdict), alternative(net, verdict)
    point = (verdict if other is None else other.verdict).point
    assert point is not None
    readout = net.outputs is not None
    data = {
        "C_b": point.C_b,
        "C_W": point.C_W,
        "share_of_layers_with_skips": 1 - gamma**2,
        "mean_square": best_mean_square(point),
        "activation": net.activation.name if other is None else other.name,
        "widest_needed": wide_enough(net, fluctuation) if tuned and net.depth > 1 else None,
    }
    parts: list[Part] = [
        Words(of_activation(net, verdict, other)),
        Words(f"{'Keep the initialisation' if tuned else 'Initialise'}, in every linear layer:"),
        Code(initialisation(point)),
        Words("Then make layers with a skip smaller, by as much as the skip brings:"),
        Code(skip_lines(gamma, readout)),
        Words(of_inputs(point)),
        Words(RATES + OTHERS),
        Code(optimiser(net, other)),
    ]
    if net.depth > 1:
        parts.append(Words(of_width(net, fluctuation) if tuned else _LOOK_AGAIN))
    return Section("what_to_do", "What to do", plain(data), tuple(parts))


def skip_lines(gamma: float, readout: bool) -> str:
    """PyTorch's lines after those of `initialisation`; `readout` says whether the last layer is without a skip."""
    return (
        f"gamma = {gamma:.9g}\n"
        f"for layer in linear_layers[1:{'-1' if readout else ''}]:\n"
        "    with torch.no_grad():\n"
        "        layer.weight *= (1 - gamma**2) ** 0.5\n"
        "        layer.bias *= (1 - gamma**2) ** 0.5\n"
        "# forward, these layers: z = layer(activation(z)) + gamma * z"
    )


def optimiser(net: ResidualMLP, other: Alternative | None) -> str:
    """Lines that make its groups."""
    name = net.activation.name
    own = f'"{name}"' if name in ACTIVATIONS else f"activation  # {name}"
    ends = f"inputs={net.widths[0]}" + ("" if net.outputs is None else f", outputs={net.outputs}")
    return (
        "import finitewidth as fw\n"
        f"sigma = {own if other is None else other.code}\n"
        f"shape = dict(width={net.width}, depth={net.depth}, {ends})\n"
        f"net = fw.tune(fw.ResidualMLP(sigma, gamma={float(net.gamma):.9g}, **shape))\n"
        f"{LINES_OF_RATES}"
    )


_LOOK_AGAIN = "Initialised so, networks differ by other numbers than above: ask for a report on `net`, the network of these lines."


def of_width(net: ResidualMLP, fluctuation: float) -> str:
    """Of a tuned network, whether it is wide enough for its depth."""
    if fluctuation <= WIDE_SPREAD * (1 + 1e-9):  # rounding does not decide
        return "Depth and width are fine: kernels of networks drawn alike differ by less than a third (one standard deviation)."
    return (
        "The network is deep for its width. For kernels of networks drawn alike to differ by less than a third, take hidden layers of "
        f"about {wide_enough(net, fluctuation)} neurons, or fewer layers."
    )
