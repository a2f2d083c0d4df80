r"""The one number that `learning_rates` leaves open: the global rate $\eta$, from the tangent kernel on the data.

The loss is a mean over the batch, of half the squared error summed over outputs or of the cross-entropy, and $\lambda$ is the largest
eigenvalue of $\Theta^{(L)}/N$ on $N$ samples: along its direction outputs change fastest.

- **Squared error.** Gradient descent on all samples is stable up to $\eta = 2/\lambda$ while the tangent kernel stays what it is, PDLT
  section 10.2. It does not: beyond, networks move to where it is smaller, up to about $12/\lambda$ for ReLU (arXiv:2003.02218);
  those of tanh were seen to diverge soon. Hence $\eta = c/\lambda$ with $c$ = 3 for scale-invariant and half-stable activations
  and 1 for others.
- **Cross-entropy.** Its curvature in the outputs is $\mathrm{diag}(p) - pp^{\mathsf T}$, whose largest eigenvalue is at most $1/2$, where
  two classes are tied, however many there are: as long as that is so everywhere gradient descent is stable up to $4/\lambda$. Hence
  $\eta = 4c/\lambda$. At outputs that favour no class the edge is farther away, but training does not stay there.
- **Adam.** With the groups of `learning_rates` a step at $\eta$ is one of gradient descent at $\eta/|\epsilon|$, with $|\epsilon|$ the size
  of errors: it overshoots errors below $\eta\lambda/2$. Hence $\eta = 2r/\lambda$ with $r$ = 0.6 where $c$ = 3 and 0.3
  elsewhere, of targets of unit variance; half of that for cross-entropy, whose errors are differences of probabilities.

$c$ and $r$ are round numbers in the middle of what networks trained best with; `benchmarks/rates.py` trains them, also on data that were
not looked at before, and `benchmarks/results/rates.json` has what came out.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, UnknownNameError
from .._result import Result
from .._validation import as_inputs
from ..critical import UniversalityClass, criticality
from ..kernels import frozen_ntk
from ..networks import LayeredNetwork, as_layered
from .learning_rates import LearningRates, learning_rates

Optimizer = Literal["sgd", "adam"]
Loss = Literal["mse", "cross_entropy"]

_ERRORS = {"mse": 1.0, "cross_entropy": 0.5}  # their size when training begins, of targets of unit variance
_LARGEST_CURVATURE = {"mse": 1.0, "cross_entropy": 0.5}  # in the outputs
_STEEP = (UniversalityClass.SCALE_INVARIANT, UniversalityClass.HALF_STABLE)
_SATURATES, _GROWS = (1.0, 0.3), (3.0, 0.6)  # c and r: of activations like tanh, and of those like ReLU and GELU
_RECORD = {
    "sgd": (34, 34, 29),
    "adam": (34, 33, 30),
}  # of `benchmarks/rates.py`: all networks, within four, within three
_MOST_SAMPLES = 64  # of the data: of more the largest eigenvalue is hardly another, and pairs of tanh take long


@dataclass(frozen=True, repr=False)
class Number(Result):
    """One number of an advice."""

    name: str
    value: float
    meaning: str
    reason: str
    equation: str
    trust: str


_EDGE, _BY_SIGNS = "PDLT section 10.2; arXiv:2003.02218", "PDLT (8.6), (9.93), with signs for gradients"

TRUST = (
    "a search over a factor of four on either side: of {cases} networks trained (width 64 to 256, depth 4 to 32, batches of 8 to 256, "
    "250 steps at a constant rate) the best rate was within it for {four}, within a factor of three for {three}"
)
"""Filled in from the record of `benchmarks/rates.py`, which a test compares."""


@entry()
def global_rate(net: LayeredNetwork, x: Any, optimizer: Optimizer = "sgd", loss: Loss = "mse") -> Number:
    r"""$\eta$ of `learning_rates(net, optimizer, rate=...)` at which to begin a search, for a loss that is a mean over the batch: of half
    the squared error, summed over outputs, or of the cross-entropy.

    $$\eta = \frac c\lambda\ \text{(squared error)},\qquad \eta = \frac{4c}\lambda\ \text{(cross-entropy)},\qquad
      \eta = \frac{2r}\lambda,\ \frac r\lambda\ \text{(Adam, the two losses)},$$

    with $\lambda$ the largest eigenvalue of $\Theta^{(L)}/N$ on `x`, and $c = 3$, $r = 0.6$ for scale-invariant and half-stable
    activations (ReLU, GELU), $c = 1$, $r = 0.3$ for others (tanh).
    `recommend` and reports print it. For `torch.nn.MSELoss`, which is a mean over outputs too and has no half, rates of SGD are $n_L/2$ as
    large.

    **Arguments:**

    - `net`: tuned, and as it will be trained: the rates `lambda_b`, `lambda_W` are part of $\Theta$.
    - `x`: the inputs it will see, (N, n_0); of more than 64, some.
    - `optimizer`: `"sgd"` or `"adam"`. `loss`: `"mse"` or `"cross_entropy"`, of as many classes as there are outputs.

    Examples:
        >>> net = fw.advice.with_slow_biases(fw.tune(fw.MLP("relu", (2, 8, 8, 1))))
        >>> rate = fw.advice.global_rate(net, [[1.0, 0.5], [0.3, -1.0]], "sgd")
        >>> print(f"{rate.value:.3g}: {rate.meaning}")
        5.7: eta of learning_rates(net, 'sgd'), for a mean over the batch of half the squared error, summed over outputs
    """
    for value, name, known in ((optimizer, "optimizer", get_args(Optimizer)), (loss, "loss", get_args(Loss))):
        if not isinstance(value, str) or value not in known:
            raise UnknownNameError(name, value, known)
    if loss == "cross_entropy" and as_layered(net).widths[-1] < 2:
        raise DomainError("loss", "'cross_entropy' of one output", "a network of two classes or more, or 'mse'")
    net = as_layered(net).reading(x)
    some = _some(np.asarray(as_inputs(x, "x", net.widths[0])))
    return _number(net, largest_eigenvalue(net, some), optimizer, loss)


def largest_eigenvalue(net: LayeredNetwork, x: Float[np.ndarray, "N n_0"]) -> float:
    r"""$\lambda$, that of $\Theta^{(L)}/N$."""
    return float(np.linalg.eigvalsh(np.asarray(frozen_ntk(net, x)))[-1]) / len(x)


def _some(x: Float[np.ndarray, "N n_0"]) -> Float[np.ndarray, "M n_0"]:
    return x[:: max(1, -(-len(x) // _MOST_SAMPLES))]


def _number(net: LayeredNetwork, largest: float, optimizer: Optimizer, loss: Loss) -> Number:
    if largest <= 0:
        raise DomainError("net", "a tangent kernel of zero", "rates `lambda_b`, `lambda_W` that are not all zero")
    c, r = steepness(net)
    of = {"mse": "half the squared error, summed over outputs", "cross_entropy": "the cross-entropy"}[loss]
    meaning = f"eta of learning_rates(net, '{optimizer}'{', x=inputs' if optimizer == 'adam' else ''}), for a mean over the batch of {of}"
    if optimizer == "adam":
        overshot = r * _ERRORS[loss]
        reason = (
            f"a step overshoots errors below {overshot:g} where outputs change fastest; lower it as the error falls"
        )
        name = "adam_rate" if loss == "mse" else "adam_cross_entropy_rate"
        return Number(name, 2 * overshot / largest, meaning, reason, _BY_SIGNS, trusted("adam"))
    edge = 2 / (_LARGEST_CURVATURE[loss] * largest)
    if loss == "mse":
        value = c / largest
        reason = f"{value / edge:g} times 2/lambda_max, the edge of gradient descent on all samples while the tangent kernel stays"
    else:
        value = 4 * c / largest
        reason = f"{value / edge:g} times 4/lambda_max, the edge of gradient descent on all samples where two classes are tied"
    if value > edge:
        reason += "; beyond it the tangent kernels of such activations at first shrink"
    return Number("sgd_rate" if loss == "mse" else "cross_entropy_rate", value, meaning, reason, _EDGE, trusted("sgd"))


def steepness(net: LayeredNetwork) -> tuple[float, float]:
    """$c$ and $r$; one layer has a tangent kernel that stays."""
    verdict = criticality(net.activation)
    return _GROWS if net.depth > 1 and verdict.universality_class in _STEEP else _SATURATES


def trusted(optimizer: Optimizer) -> str:
    """How far, in words that the record of the benchmark fills."""
    cases, four, three = _RECORD[optimizer]
    return TRUST.format(cases=cases, four=four, three=three)


def numbers_of_rates(net: LayeredNetwork, x: Float[np.ndarray, "N n_0"]) -> list[Number]:
    """All that `recommend` says of rates: the global ones, and what Adam's means for weights, group by group."""
    some = _some(x)
    largest = largest_eigenvalue(net, some)
    factor = Number(
        "bias_factor",
        1 / net.widths[-2],
        "what the equal shares of biases are divided by, last layer",
        "equal shares would spend half of the largest stable rate on moving all outputs together",
        "departs from PDLT (9.94)",
        "a choice, settled on one data set (digits, the best of a few rates); elsewhere untested",
    )
    losses: list[Loss] = ["mse", "cross_entropy"] if net.widths[-1] > 1 else ["mse"]
    descent, adam = ([_number(net, largest, optimizer, loss) for loss in losses] for optimizer in get_args(Optimizer))
    groups = learning_rates(net, "adam", adam[0].value, some)
    return [*descent, factor, *adam, *_groups_of_adam(groups, adam[0].trust)]


def _groups_of_adam(rates: LearningRates, trust: str) -> list[Number]:
    """Rates of weights: the rule of $s = 0$."""
    depth = len(rates.weight)
    groups = {"first": [0], "hidden": range(1, depth - 1), "last": [depth - 1] if depth > 1 else []}
    powers = {"first": "-1/2", "hidden": "-3/2", "last": "-1"}
    found = []
    for name, layers in groups.items():
        if len(layers) == 0:
            continue
        group = rates.weight[list(layers)]
        least, most = (f"{rate:.2g}" for rate in (group.min(), group.max()))
        spread = f"median of {len(layers)} layers, {least} to {most}" if least != most else f"each of {len(layers)}"
        those = f", {spread}" if len(layers) > 1 else ""
        scaling = (
            f"falls with the width as n^({powers[name]}) at fixed skips (the NTK's rule, s = 0)"
            if depth > 1
            else "no hidden width"
        )
        found.append(
            Number(
                f"adam_{name}",
                float(np.median(group)),
                f"at adam_rate, rate of Adam for weights of the {name} layer{'s' if name == 'hidden' else ''}{those}",
                scaling,
                "`scaling_rule(s=0)`, PDLT (8.6)",
                trust,
            )
        )
    return found
