"""What every result can do: print itself in a few lines, show itself in a notebook, become a data frame, draw itself."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._entry import is_traced
from ._table import Table, as_dataframe, as_html, as_text, table_of, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PACKAGE = __name__.partition(".")[0]
Picture = TypeVar("Picture", bound=Callable[..., Any])
_PICTURES: dict[type, Callable[..., Any]] = {}


class Result:
    """A result, by inheritance: `class Posterior(Result, eqx.Module)`, or a dataclass with `repr=False`.

    All is made from its `table`, by default that of its fields: arrays with a common first axis, which `axes` names, are columns.
    A result of another form overrides `table`. Its picture is the function of `figures` that says `@picture_of(Posterior)`;
    without one it is a line for each column.
    """

    axes: ClassVar[tuple[str, ...]] = ("index",)

    def table(self) -> Table:
        """Facts, and columns of equal length."""
        return table_of(values_of(self), self.axes)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(being traced)" if is_traced(list(values_of(self).values())) else as_text(name, self.table())

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self.table())

    def to_dataframe(self) -> Any:
        """The table as a `pandas.DataFrame`, which `pip install 'finitewidth[notebook]'` brings."""
        return as_dataframe(self.table())

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw it, on a new figure unless axes are given, and return the axes."""
        figures = import_module(f"{_PACKAGE}.figures")
        for name in figures.__all__:
            getattr(figures, name)  # loads its file, where pictures say what they are of
        picture = next(_PICTURES[kind] for kind in type(self).__mro__ if kind in _PICTURES)
        return picture(self, ax)


def picture_of(*kinds: type) -> Callable[[Picture], Picture]:
    """A decorator for functions of `figures`, which are above all results and cannot be imported by them: `plot` of results of
    these types is this function of the result and of matplotlib axes or `None`."""

    def register(picture: Picture) -> Picture:
        for kind in kinds:
            _PICTURES[kind] = picture
        return picture

    return register
