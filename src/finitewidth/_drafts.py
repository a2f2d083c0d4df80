"""A file that is whole at every moment: written aside under a name that nobody has, and moved into its place at once."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import IO, Any

from ._errors import ArgumentError, FileError

_WANT = "the path of a file that can be written"


def as_path(path: Any, argument: str) -> str:
    """The name of a file."""
    try:
        name = os.fsdecode(os.fspath(path))
    except TypeError:
        raise ArgumentError(argument, type(path).__name__, "the path of a file") from None
    if "\0" in name:
        raise ArgumentError(argument, repr(name), "the path of a file, without a zero byte")
    return name


@contextlib.contextmanager
def draft_of(path: str, argument: str) -> Iterator[IO[bytes]]:
    """A new file beside `path`, which takes its place when the block ends, and is gone if it fails.

    Readers find the old file or the new one, and of several writers the last one stays. `FileError` where it cannot be written.
    """
    with _beside(path, argument) as draft:
        with open(draft, "xb") as file:  # "x" refuses what exists, links among it, and leaves the permissions to umask
            yield file
            file.flush()
            os.fsync(file.fileno())  # a machine that loses power keeps one of the two
        if _exists(path):
            shutil.copymode(path, draft)
        os.replace(draft, path)


def check_writable(path: str, argument: str) -> None:
    """`FileError` where no draft can be begun."""
    with _beside(path, argument) as draft, open(draft, "xb"):
        pass


@contextlib.contextmanager
def _beside(path: str, argument: str) -> Iterator[str]:
    """A name in the same folder that nobody has, of 128 random bits, and short whatever the path is; nothing of that name is left over."""
    draft = os.path.join(os.path.dirname(path), f".{secrets.token_hex(16)}.part")
    try:
        # Only a file may be replaced: the system would move a draft over /dev/null as well.
        if _exists(path) and not os.path.isfile(path):
            raise FileError(argument, f"{path}, which is no file", _WANT)
        try:
            yield draft
        finally:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(draft)
    except OSError as error:
        raise FileError(argument, f"{path} ({error.strerror or error})", _WANT) from error


def _exists(path: str) -> bool:
    """Other than `os.path.exists`, which says no as well of names that cannot be."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True
