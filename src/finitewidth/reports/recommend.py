"""`recommend`: how to initialise and train a network of this shape on this data, every number with its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._memory import check_layers
from .._validation import as_count, as_inputs
from ..activations import ACTIVATIONS, Activation, as_activation
from ..advice import tune
from ..advice.global_rate import Number, numbers_of_rates
from ..advice.numbers import (
    SPREAD,
    DepthCurves,
    advised_network,
    as_data,
    depth_curves,
    numbers_of_initialisation,
    numbers_of_shape,
)
from ..critical import criticality
from ..exact.typical import typical_scale_invariant
from ..figures import depth_and_width
from ..figures.style import one_axes
from ..networks import MLP, LayeredNetwork
from .document import Document
from .inputs import best_mean_square, generic_inputs
from .plain import meta, plain
from .section import Section, Tone, Words
from .sections.advised import (
    about_code,
    about_numbers,
    about_place,
    about_typical_networks,
    about_verdict,
    deepest_shown,
    median_C_W,
)
from .sections.network import about_network
from .sections.typical import quick_typical
from .sections.what_to_do import alternative, initialisation, of_inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEATURES = 64
_LIMIT = (
    "All of it is about initialisation and the first steps. Which of several sound settings trains best, and what is learned, it does not "
    "decide: search over the learning rate about the one given."
)


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Document):
    """What `recommend` returns. Print it, or ask for `to_json()`, `to_html()` or its `data`.

    - `net`: the network as advised, tuned, with relative learning rates, for `learning_rates`: an MLP, or where that would be too deep
      for its width a `ResidualMLP`; `plain`: the MLP in any case.
    - `numbers`: every number by name, with `value`, `meaning`, `reason`, `equation` and `trust`.
    - `data["verdict"]`, `data["numbers"]`, `data["code"]`, `data["typical"]` where averages describe few networks, `data["place"]`: curves
      by depth; `curves` has them as arrays.
    """

    kind = "recommendation"

    net: LayeredNetwork
    plain: LayeredNetwork
    numbers: dict[str, Number]
    curves: DepthCurves | None

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The map of depth and width for the plain network's kernel; for one layer, which has no depth, an empty one."""
        axes = one_axes(ax)
        if self.curves is None:
            return axes
        width = (self.net.depth - 1) / self.net.depth_over_width
        return depth_and_width(self.curves.kernel, width, self.net.depth, axes, title="kernel, $V/(nK^2)$")


@entry()
def recommend(
    *,
    activation: str | Activation | Callable[[Array], Array] = "gelu",
    depth: int = 32,
    width: int = 512,
    outputs: int = 1,
    data: Any = None,
    seed: int = 0,
) -> Recommendation:
    r"""Initialisation, scale of inputs, learning rates, and what depth and width do, for an MLP; each number with its reason, its equation
    and how far to trust it.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable. One that cannot be tuned is replaced, with the reason.
    - `depth`, `width`, `outputs`: $L$, counting the output layer, the width $n$ of hidden layers, and $n_L$.
    - `data`: inputs, shape (N, n_0), as they are; by default generic ones of 64 features.
    - `seed`: of the networks that are drawn where averages describe few of them.

    Examples:
        >>> advice = fw.recommend(activation="relu", depth=3, width=8)
        >>> advice.numbers["C_W"].value
        2.0
    """
    sigma = as_activation(activation)
    L, n, n_L = as_count(depth, "depth"), as_count(width, "width"), as_count(outputs, "outputs")
    check_layers(L)
    given = None if data is None else np.asarray(as_inputs(data, "data"))
    features = _FEATURES if given is None else given.shape[1]
    asked = MLP(sigma, (features, *[n] * (L - 1), n_L))
    refused = criticality(sigma)
    other = alternative(asked, refused)
    found = refused if other is None else other.verdict
    point = found.point
    assert point is not None
    net = tune(asked if other is None else asked.replace(activation=other.activation))

    target = best_mean_square(point)
    x, correlation, scale, described = _scaled(given, features, target)
    numbers = numbers_of_initialisation(found, target, scale)
    sections: list[Section] = []
    curves = None
    if L > 1:
        first = point.C_b + point.C_W * target
        curves = depth_curves(net, first, _behind(net, x, correlation, target), deepest_shown(L))
        numbers += numbers_of_shape(net, first, curves)
        sections.append(about_place(net, curves))
    gamma = next((each.value for each in numbers if each.name == "gamma"), 0.0)
    advised = advised_network(net, gamma)
    numbers += numbers_of_rates(advised, x)
    by_name = {each.name: each for each in numbers}
    if L > 1 and by_name["fluctuation"].value > SPREAD:
        typical = quick_typical(net, x[:1], seed)
        C_W = median_C_W(typical_scale_invariant(net, x[:1]), point.C_W, L)
        sections.insert(0, about_typical_networks(typical, C_W))
    reason = None if other is None else refused.reason
    code = about_code(
        initialisation(point), of_inputs(point), _call(sigma, L, n, n_L), gamma, "cross_entropy_rate" in by_name
    )
    head = about_verdict(net, sigma.name, reason, by_name)
    made = plain(meta(seed=seed, inputs=described))
    foot = Section(
        "meta", "How this was made", made, (Words(_LIMIT, Tone.SOFT), Words(f"Inputs: {described}.", Tone.SOFT))
    )
    told = (head, about_numbers(numbers), *sections, code)
    return Recommendation(about_network(net), told, foot, advised, advised_network(net, None), by_name, curves)


def _call(sigma: Activation, depth: int, width: int, outputs: int) -> str:
    name = repr(sigma.name) if sigma.name in ACTIVATIONS else "activation"
    return (
        "import finitewidth as fw\n"
        f"shape = dict(depth={depth}, width={width}, outputs={outputs})\n"
        f"advice = fw.recommend(activation={name}, **shape, data=x)\n"
        "eta = advice.numbers['sgd_rate'].value\n"
        "rates = fw.learning_rates(advice.net, 'sgd', rate=eta)\n"
        "optimizer = torch.optim.SGD(rates.parameter_groups(linear_layers))\n"
        "# or, with inputs as scaled above:\n"
        "inputs = advice.numbers['input_scale'].value * x\n"
        "eta = advice.numbers['adam_rate'].value\n"
        "rates = fw.learning_rates(advice.net, 'adam', rate=eta, x=inputs)\n"
        "optimizer = torch.optim.Adam(rates.parameter_groups(linear_layers))"
    )


def _scaled(given: np.ndarray | None, features: int, target: float) -> tuple[np.ndarray, float, float | None, str]:
    """Inputs of the size wanted, the correlation of a typical pair, the factor that was needed, and what they are."""
    if given is None:
        x, described = generic_inputs(features, target)
        return x, float(x[0] @ x[1] / (x[0] @ x[0])), None, described
    mean_square, correlation = as_data(given, features)
    if mean_square == 0:
        raise DomainError("data", "inputs that are all zero", "inputs that differ from zero")
    scale = float(np.sqrt(target / mean_square))
    described = f"{len(given)} given ones, mean square {mean_square:.4g}, median correlation {correlation:.3g}"
    return scale * given, correlation, scale, described


def _behind(net: MLP, x: np.ndarray, correlation: float, mean_square: float) -> float:
    """The correlation of that pair behind the first layer."""
    C_b, C_W = float(net.C_b[0]), float(net.C_W[0]) * mean_square
    return float(np.clip((C_b + C_W * correlation) / (C_b + C_W), -1.0, 1.0))
