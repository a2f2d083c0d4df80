"""Which layers of a network learn: their shares of the tangent kernel."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._errors import DomainError
from .._result import picture_of
from .._validation import as_count
from ..expansion.tangent_layers import TangentContributions
from .style import BLUE, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@picture_of(TangentContributions)
@entry()
def tangent_contributions(
    contributions: TangentContributions, axes: "Axes | None" = None, *, sample: int = 0, title: str = ""
) -> "Axes":
    r"""What the biases and weights of each layer add to $\Theta^{(L)}_{\alpha\alpha}$ of one input, times the depth, PDLT (9.28): with
    rates by the equivalence principle, PDLT (9.94)-(9.96), no layer is left behind.

    **Arguments:**

    - `contributions`: what `finitewidth.flow.tangent_layers.tangent_contributions` gives.
    - `sample`: which of the inputs.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> parts = fw.expansion.tangent_contributions(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> fw.figures.tangent_contributions(parts, title="relu").get_title()
        'relu'
    """
    axes = one_axes(axes)
    s, samples = as_count(sample, "sample", at_least=0), contributions.bias.shape[-1]
    if s >= samples:
        raise DomainError("sample", s, f"one of the {samples} inputs, from 0")
    depth = len(contributions.bias)
    layers = np.arange(1, depth + 1)
    for name, part, color in (("biases", contributions.bias, BLUE), ("weights", contributions.weight, ORANGE)):
        axes.plot(layers, depth * part[:, s, s], color=color, label=name)
    axes.set(xlim=(1, depth), xlabel=r"layer $\ell$", ylabel=r"$L\,\times$ contribution to $\Theta^{(L)}$", title=title)
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")
    return axes
