"""What to do: the end of every report on an MLP, in numbers and lines to copy."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...activations import Activation
from ...critical import Criticality, CriticalPoint, criticality
from ...networks import MLP
from ..inputs import best_mean_square
from ..plain import plain
from ..section import Code, Part, Section, Words
from .criticality import is_tuned
from .typical import WIDE_SPREAD, wide_enough


@dataclass(frozen=True)
class Alternative:
    """A tunable activation to take instead of one that is not."""

    name: str
    point: CriticalPoint


def about_what_to_do(net: MLP, verdict: Criticality, fluctuations: Float[np.ndarray, " L"]) -> Section:
    """`fluctuations` are the relative variances of the metric by layer, to first order."""
    tuned, other = is_tuned(net, verdict), alternative(net, verdict)
    point = verdict.point or (other.point if other else None)
    data = {
        "C_b": None if point is None else point.C_b,
        "C_W": None if point is None else point.C_W,
        "mean_square": None if point is None else best_mean_square(point),
        "activation": net.activation.name if verdict.point else (other.name if other else None),
        "widest_needed": wide_enough(net, float(fluctuations.max())) if net.depth > 1 else None,
        "deepest_allowed": deepest_allowed(net, fluctuations, tuned),
    }
    parts: list[Part] = [Words(of_activation(net, verdict, other))]
    if point is not None:
        changed = "Keep the initialisation" if tuned else "Initialise"
        parts += [
            Words(f"{changed}, in every layer with fan-in n:"),
            Code(initialisation(point)),
            Words(of_inputs(point)),
        ]
        parts += [Words(_RATES), Code(optimiser(other))]
    if net.depth > 1:
        parts.append(Words(of_shape(net, fluctuations, tuned)))
    return Section("what_to_do", "What to do", plain(data), tuple(parts))


def alternative(net: MLP, verdict: Criticality) -> Alternative | None:
    r"""For an activation that cannot be tuned, the same without its value at zero, $\sigma(z) - \sigma(0)$, or else tanh."""
    if verdict.point is not None:
        return None
    at_zero = float(np.asarray(net.activation(np.zeros(()))))
    if at_zero != 0 and not net.activation.kinks:
        value = net.activation.value
        centred = Activation(lambda z: value(z) - at_zero, name=f"{net.activation.name}(z) - {at_zero:.6g}")
        found = criticality(centred)
        if found.point is not None:
            return Alternative(centred.name, found.point)
    point = criticality("tanh").point
    assert point is not None
    return Alternative("tanh", point)


def of_activation(net: MLP, verdict: Criticality, other: Alternative | None) -> str:
    """Whether to keep it."""
    if other is None:
        return f"Keep {net.activation.name}: it can be tuned so that depth neither blows signals up nor kills them."
    return (
        f"Take another activation: {net.activation.name} cannot be tuned ({verdict.reason}). {other.name} can, "
        "with the numbers below."
    )


def initialisation(point: CriticalPoint) -> str:
    """PyTorch's lines."""
    bias = f"normal_(layer.bias, std={math.sqrt(point.C_b):.6g})" if point.C_b else "zeros_(layer.bias)"
    return (
        "for layer in linear_layers:\n"
        f"    torch.nn.init.normal_(layer.weight, std=({point.C_W:.8g} / layer.in_features) ** 0.5)\n"
        f"    torch.nn.init.{bias}"
    )


def of_inputs(point: CriticalPoint) -> str:
    """How to scale the data."""
    if point.K_star:
        return (
            f"Scale every input vector to a mean square of {best_mean_square(point):.5g} per component: "
            "the kernel then starts where it stays."
        )
    return "Scale inputs to a mean square of about one per component, all of them alike."


_RATES = (
    "Give every layer its own learning rate, so that all of them change the output by as much: rates for plain gradient descent, "
    "where `eta` is the rate you search over."
)


def optimiser(other: Alternative | None) -> str:
    """Lines that make its groups."""
    changed = "" if other is None else f"net = net.replace(activation=...)  # {other.name}\n"
    return (
        f"{changed}rates = fw.advice.learning_rates(fw.tune(net), rate=eta)\n"
        "optimizer = torch.optim.SGD(rates.parameter_groups(linear_layers))"
    )


def deepest_allowed(net: MLP, fluctuations: Float[np.ndarray, " L"], tuned: bool) -> int | None:
    """The number of layers, at these widths, up to which the kernel's relative variance stays below `WIDE_SPREAD`; beyond the
    network's own depth only for critical ones, in which it grows in proportion to depth."""
    above = np.flatnonzero(fluctuations >= WIDE_SPREAD)
    if len(above):
        return int(above[0])
    if not tuned or fluctuations[-1] <= 0:
        return None
    return math.floor(1 + (net.depth - 1) * WIDE_SPREAD / float(fluctuations[-1]))


def of_shape(net: MLP, fluctuations: Float[np.ndarray, " L"], tuned: bool) -> str:
    """Which depth or width would change the verdict."""
    deepest, wide = deepest_allowed(net, fluctuations, tuned), wide_enough(net, float(fluctuations.max()))
    if fluctuations.max() < WIDE_SPREAD:
        fine = "Depth and width are fine: kernels of different networks agree within a third."
        return fine if deepest is None else f"{fine} At widths like these that holds up to about {deepest} layers."
    return (
        f"Depth over width is large: at this depth take hidden layers of about {wide} neurons, or at these widths about {deepest} "
        f"layer{'s' if deepest != 1 else ''}, for kernels of different networks to agree within a third; or add residual branches."
    )
