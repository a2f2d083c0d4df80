"""Laws of features: densities of one entry, and bands over depth."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError, DomainError, UnknownNameError
from .._result import picture_of
from ..results import FeatureLaw
from .law_densities import as_entry, density
from .style import BLUE, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS, _BINS, _SHOWN = 400, 60, 0.99
_LABELS = {
    "Phi": r"$\Phi$", "G": "$G$", "Q": "$Q$", "S": "$S$", "C": "$C$", "K": "$K$", "R": "$R$", "velocity": r"$\mathcal{V}$",
    "dPhi": r"$\partial\Phi$", "NTK": r"$\overline{\Theta}$",
}  # fmt: skip


@entry()
def feature_density(
    first: FeatureLaw,
    second: FeatureLaw | None = None,
    axes: "Axes | None" = None,
    field: str = "velocity",
    entry: tuple[int, int] = (0, 0),
) -> "Axes":
    """Densities of one entry of a field at the last depth, or of the tangent kernel: the limit dashed, networks with a histogram.

    **Arguments:**

    - `first`, `second`: laws of two paths or more.
    - `field`: `"NTK"` or a field that goes by depth, such as `"Phi"`, `"velocity"` or `"dPhi"`; those of training need targets.

    Examples:
        >>> block = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
        >>> law = fw.feature_learning_sde(block, fw.shaped.equal_tokens(2, 0.3), 0.2, targets=[1.0, -0.5], paths=8, steps=4)
        >>> fw.figures.feature_density(law, field="dPhi").get_ylabel()
        'density'
    """
    laws = [law for law in (first, second) if law is not None]
    if any(law.paths < 2 for law in laws):
        raise DomainError("first, second", "a law of one path", "at least 2 paths: a density needs as many")
    axes = one_axes(axes)
    values = [_values(law, field, entry) for law in laws]
    ends = [(1 - _SHOWN) / 2, (1 + _SHOWN) / 2]
    low, high = (float(end) for end in np.quantile(np.concatenate(values), ends))
    at = np.linspace(low, high, _POINTS)
    for law, of, color in zip(laws, values, (ORANGE, BLUE), strict=False):
        if law.width is not None:
            axes.hist(of, bins=_BINS, range=(low, high), density=True, color=color, alpha=0.25)
        label, line = ("limit", "--") if law.width is None else (f"networks, n = {law.width}", "-")
        inside = of[(of >= low - (high - low)) & (of <= high + (high - low))]  # far tails would widen the kernel
        axes.plot(at, density(inside, at) * len(inside) / len(of), color=color, linestyle=line, label=label)
    axes.set(xlabel=f"{_LABELS[field]}({entry[0]},{entry[1]})", ylabel="density")
    axes.legend(loc="best")
    return axes


@picture_of(FeatureLaw)
@entry()
def features_by_depth(first: FeatureLaw, axes: "Axes | None" = None, second: FeatureLaw | None = None) -> "Axes":
    """Medians and central halves against depth time: how fast features move under training, or, without targets, how large they are.

    Examples:
        >>> block = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
        >>> law = fw.feature_learning_sde(block, fw.shaped.equal_tokens(2, 0.3), 0.2, targets=[1.0, -0.5], paths=8, steps=4)
        >>> fw.figures.features_by_depth(law).get_xlabel()
        'depth time $t$'
    """
    axes = one_axes(axes)
    for law, color in zip((first, second), (ORANGE, BLUE), strict=True):
        if law is None:
            continue
        field = law.Phi if law.velocity is None else law.velocity
        values = field[:, :, 0, 0]
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        label, line = ("limit", "--") if law.width is None else (f"networks, n = {law.width}", "-")
        axes.fill_between(law.times, low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(law.times, middle, color=color, linestyle=line, label=label)
    name = "Phi" if first.velocity is None else "velocity"
    axes.set(xlabel="depth time $t$", ylabel=f"{_LABELS[name]}(0,0)")
    axes.legend(loc="best")
    return axes


def _values(law: FeatureLaw, field: str, entry: tuple[int, int]) -> Float[np.ndarray, " paths"]:
    if not isinstance(field, str) or field not in _LABELS:
        raise UnknownNameError("field", str(field), _LABELS)
    known = law.at_depths | {"NTK": law.NTK[:, None]}
    if field not in known:
        raise ArgumentError("field", repr(field), f"one of {', '.join(known)}: without targets nothing is trained")
    shape = known[field].shape[2:]
    a, b = as_entry(entry, max(shape))
    if a >= shape[0] or b >= shape[1]:
        raise DomainError("entry", entry, f"two indices below {shape[0]} and {shape[1]}")
    return known[field][:, -1, a, b]
