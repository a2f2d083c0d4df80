"""Every error and warning a user of the library can meet."""

import contextlib
import copy
import copyreg
import difflib
from collections.abc import Iterable, Iterator
from typing import Any


class ArgumentError(ValueError):
    """An argument cannot be used: names it, says what came and what is wanted, each of which is a field in words."""

    def __init__(self, argument: str, got: object, want: str):
        super().__init__(f"`{argument}`: got {got}; expected {want}.")
        self.argument = argument
        self.got = f"{got}"
        self.want = want

    def __reduce__(self) -> tuple[Any, ...]:
        # By default Python would call the class with the text alone, in the process that waits for the error.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ShapeError(ArgumentError):
    """An array has the wrong shape."""


class DomainError(ArgumentError):
    """A value lies outside the domain on which the quantity is defined."""


class FileError(ArgumentError):
    """A file cannot be written or read, or holds something else than it should; the message names its path."""


class NotTunableError(DomainError):
    """The activation has no critical point that attracts; the message says why."""

    def __init__(self, activation: str, reason: str):
        super().__init__("activation", f"{activation!r}, which cannot be tuned: {reason}", "one with a critical point")
        self.reason = reason


class UnknownNameError(ArgumentError):
    """A name is not in a registry; the message suggests the nearest one."""

    def __init__(self, argument: str, got: object, known: Iterable[str]):
        names = sorted(known)
        near = difflib.get_close_matches(str(got), names, n=1)
        hint = f"did you mean {near[0]!r}? Known: " if near else "one of "
        super().__init__(argument, repr(got), hint + ", ".join(names))


class UnknownArgumentError(ArgumentError, TypeError):
    """A function has no argument of this name; the message suggests the nearest one. Also the `TypeError` that Python would raise."""

    def __init__(self, argument: str, function: str, known: Iterable[str]):
        names = list(known)
        near = [name for name in names if name.lower() == argument.lower()]  # C_b is as near to C_w as C_W
        near += difflib.get_close_matches(argument, names, n=1)
        hint = f" (did you mean `{near[0]}`?)" if near else ""
        super().__init__(argument, f"an argument that `{function}` does not have", f"one of {', '.join(names)}{hint}")


@contextlib.contextmanager
def named(**names: str) -> Iterator[None]:
    """Errors about an argument of what is called within, by the name that the caller of the calling function gave it."""
    try:
        yield
    except ArgumentError as error:
        if error.argument not in names:
            raise
        same, want = copy.copy(error), error.want
        for theirs, ours in names.items():
            want = want.replace(f"`{theirs}`", f"`{ours}`")
        ArgumentError.__init__(same, names[error.argument], error.got, want)
        raise same from None


class BlowUpError(ArithmeticError, ValueError):
    """A computation left the range of finite numbers."""


class ValidityWarning(UserWarning):
    """A result is outside the range in which its approximation can be trusted."""
