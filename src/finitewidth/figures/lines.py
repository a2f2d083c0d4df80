"""The picture of a result that has none of its own: its columns as lines over the first of them."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._result import Result, picture_of
from .style import one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 10  # colours that can be told apart
_MOST_POINTS = 20_000
_DECADES = 3.0  # of variation from which an axis is logarithmic


@picture_of(Result)
@entry()
def lines(result: Result, axes: "Axes | None" = None) -> "Axes":
    """Every column of numbers, up to ten, over the first; bars if there is a single row.

    **Arguments:**

    - `result`: any result of the library.

    Examples:
        >>> fw.figures.lines(fw.proportional.log_norm(0.5)).get_title()
        'Normal'
    """
    axes = one_axes(axes)
    numbers = {name: column.astype(float) for name, column in result.table().columns.items() if _is_drawn(column)}
    rows = max((len(column) for column in numbers.values()), default=0)
    if rows == 1:
        axes.barh(list(numbers), [_finite(column)[0] for column in numbers.values()])
    elif numbers:
        (first, at), *others = numbers.items()
        every = max(1, rows // _MOST_POINTS)
        shown = [(name, _finite(column)) for name, column in others][:_MOST_LINES]
        for name, column in shown:
            axes.plot(at[::every], column[::every], marker="." if rows <= 50 else "", label=name)
        if shown:
            axes.legend(loc="best")
        sizes = np.abs(np.concatenate([column for _, column in shown] or [at]))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if len(sizes) and np.log10(sizes.max() / sizes.min()) > _DECADES:
            axes.set_yscale("symlog", linthresh=float(sizes.min()))
        axes.set_xlabel(first)
    axes.set_title(type(result).__name__)
    return axes


def _is_drawn(column: np.ndarray) -> bool:
    return column.dtype.kind in "iuf"


def _finite(column: np.ndarray) -> np.ndarray:
    """Gaps where a number is infinite."""
    return np.where(np.isfinite(column), column, np.nan)
