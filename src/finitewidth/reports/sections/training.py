"""The part of a report that is about training: tangent kernel, learning rates, gradients."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._ratio import ratio_or_zero
from ...advice import diagnose_gradients, learning_rates
from ...critical.one_input.tangent_single_input import tangent_single_input_flow
from ...expansion import flow
from ...kernels.tangent_map import has_tangent_kernel
from ...networks import MLP
from ..numbers import digits
from ..plain import plain
from ..section import BY_LAYER, Column, Details, Section, Table, Words

_UNEVEN = 10.0  # the ratio of the layers' contributions from which they are called so
_NOISY = 0.1  # relative variance of the tangent kernel from which single networks are not the average
_MOST = 0.9  # the share of a tangent kernel that counts as most of it
_NOTE = (
    "Tangent kernel of the first input, its variance between networks, what biases and weights of each layer "
    "contribute to that of the output, and their rates under gradient descent with global rate 1."
)


@entry()
def about_training(net: MLP, x: Any) -> Section:
    """For the first input; nothing for activations that jump, which have no tangent kernel."""
    if not has_tangent_kernel(net.activation):
        return Section("training", "Training", None)
    columns = _columns(net, np.asarray(x, dtype=float)[:1])
    parts = Words(columns["verdict"]), Details("All layers", (_table(columns),))
    return Section("training", "Training", plain(columns), parts)


def _columns(net: MLP, first: Float[np.ndarray, "1 n_0"]) -> dict[str, Any]:
    r"""By layer: $\Theta$, its relative variance $(A + 2B)/(n\Theta^2)$, the share of each layer's biases and weights in
    the output's $\Theta$, and the rates of plain gradient descent for a global rate of one."""
    theta, fluctuation = _tangent_kernel(net, first)
    gradients, rates = diagnose_gradients(net, first), learning_rates(net)
    shares = {"bias": ratio_or_zero(gradients.bias, theta[-1]), "weight": ratio_or_zero(gradients.weight, theta[-1])}
    moving = (np.asarray(net.lambda_b) > 0) | (np.asarray(net.lambda_W) > 0)
    return {
        "Theta": theta,
        "relative_fluctuation": fluctuation,
        "share": shares,
        "lambda_b": net.lambda_b,
        "lambda_W": net.lambda_W,
        "rates": {"optimizer": rates.optimizer, "bias": rates.bias, "weight": rates.weight},
        "chi_parallel": gradients.chi_parallel,
        "chi_perp": gradients.chi_perp,
        "gradient_factor": gradients.factor,
        "critical": gradients.critical,
        "problems": gradients.problems,
        "verdict": _verdict(gradients.verdict, gradients.healthy, shares, moving, float(fluctuation[-1])),
    }


def _table(columns: dict[str, Any]) -> Table:
    def shares(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        values = columns["share"][name]
        return tuple(f"{100 * value:.3g} %" for value in values), digits(values, 4)

    def numbers(values: np.ndarray) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return digits(values, 3), digits(values, 4)

    return Table(
        (
            Column("layer", tuple(str(layer) for layer in range(1, len(columns["Theta"]) + 1))),
            Column("Θ", digits(columns["Theta"], 4)),
            Column("variance/Θ²", *numbers(columns["relative_fluctuation"])),
            Column("share of\nbiases", *shares("bias")),
            Column("of\nweights", *shares("weight")),
            Column("rate of\nbiases", *numbers(columns["rates"]["bias"])),
            Column("of\nweights", *numbers(columns["rates"]["weight"])),
        ),
        note=_NOTE,
        lines=BY_LAYER,
    )


def _tangent_kernel(net: MLP, first: Float[np.ndarray, "1 n_0"]) -> tuple[np.ndarray, np.ndarray]:
    """The tangent kernel of one input and its relative variance, by the cheapest route."""
    n = np.asarray([1, *net.hidden_widths])
    alike = all(len(np.unique(np.asarray(values))) == 1 for values in (net.C_b, net.C_W, n[1:]))
    if not alike:
        theory = flow(net, first, through="ntk")
        return np.asarray(theory.Theta[:, 0, 0]), np.asarray(theory.relative_tangent_fluctuation[:, 0])
    K1 = float(net.first_kernel(first)[0, 0])
    single = tangent_single_input_flow(
        net.activation, K1, net.depth, float(net.C_b[0]), float(net.C_W[0]), net.lambda_b, net.lambda_W
    )
    return np.asarray(single.Theta), np.asarray(single.ratios.A + 2 * single.ratios.B) / n


def _verdict(
    about_gradients: str, healthy: bool, shares: dict[str, np.ndarray], moving: np.ndarray, fluctuation: float
) -> str:
    if not moving.any():
        return f"{about_gradients} All rates are zero: nothing learns."
    sentences = [about_gradients]
    if not moving.all():
        frozen = np.flatnonzero(~moving) + 1
        one = len(frozen) == 1
        sentences.append(
            f"Layer{'' if one else 's'} {_listed(frozen)} {'does' if one else 'do'} not learn, at rates of zero."
        )
    of_layers = shares["bias"] + shares["weight"]
    sentences.append(_alike(of_layers, moving, fluctuation) if healthy else _concentrated(of_layers))
    sentences.append(
        f"The tangent kernel of one output varies between networks by {_size(np.sqrt(fluctuation))}: {_meaning(fluctuation)}"
    )
    return " ".join(filter(None, sentences))


def _alike(of_layers: np.ndarray, moving: np.ndarray, fluctuation: float) -> str:
    """Whether the layers that learn do so alike."""
    if moving.sum() < 2:
        return ""
    uneven = float(of_layers[moving].max() / max(of_layers[moving].min(), np.finfo(float).tiny))
    everyone, they = ("All layers", "Layers") if moving.all() else ("The others", "The others")
    if uneven >= _UNEVEN:
        return f"{they} learn unevenly, by a factor of {uneven:.3g}: `tune` sets rates that mend it."
    differ = "are equal" if f"{uneven:.3g}" == "1" else f"differ by a factor of {uneven:.3g} at most"
    if fluctuation < _NOISY:
        return f"{everyone} learn alike: their shares {differ}."
    return (
        f"In infinitely wide networks the layers' shares {differ}; in a single one of this width "
        "they scatter as widely as its gradients do."
    )


def _concentrated(of_layers: np.ndarray) -> str:
    """Which layers do most of the learning, where it is far fewer than all."""
    total, layers = of_layers.sum(), len(of_layers)
    if total <= 0:
        return ""
    first, last = (1 + int(np.argmax(np.cumsum(part) >= _MOST * total)) for part in (of_layers, of_layers[::-1]))
    count, where = min((first, "first"), (last, "last"))
    if count > layers // 2:
        return ""
    share = f"{100 * _MOST:.0f} % of what the first step of training changes"
    if count == 1:
        return f"The {where} of {layers} layers alone makes up {share}."
    return f"The {where} {count} of {layers} layers make up {share}."


def _size(spread: float) -> str:
    return f"{100 * spread:.3g} % of its mean" if spread < 1 else f"{spread:.3g} times its mean"


def _meaning(fluctuation: float) -> str:
    """Of the tangent kernel's relative variance for training, as far as it tells."""
    if fluctuation < _NOISY:
        return "the first steps of training are, to within that, those of kernel regression with the mean kernel."
    return (
        "single networks start from tangent kernels of their own, not from the mean one. How much the network's features change "
        "while it learns, this number alone does not say."
    )


def _listed(layers: np.ndarray) -> str:
    """`1 to 3, 5`: runs of neighbours by their ends."""
    runs = np.split(layers, np.flatnonzero(np.diff(layers) > 1) + 1)
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
