"""Zip files of arrays that nobody vouches for: how much they unpack to is known before, and nothing in them is run."""

import contextlib
import io
import math
import zipfile
from collections.abc import Iterator

import numpy as np

from ._errors import ArgumentError, FileError
from ._memory import available_memory, gigabytes

_COPIES = 3  # of an array while it is read: packed, unpacked, and as an array
_OBJECTS = 64  # bytes of Python's objects for each byte of text: `[],` is a list of 56 bytes, and another one when it is decoded
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive:
    """The members of a zip file, read one by one, each once."""

    def __init__(self, members: zipfile.ZipFile):
        self._members = members
        self._unread = {info.filename: info for info in members.infolist()}

    def text(self, name: str) -> bytes:
        """A member that will be decoded."""
        self._check_memory(_OBJECTS * self._info(name).file_size)
        return self._read(name)

    def array(self, name: str) -> np.ndarray:
        """A member in NumPy's format. What its header promises must be there, and no more: NumPy would allocate the promise."""
        self._check_memory(_COPIES * self._info(name).file_size)
        content = bytearray(self._read(name))
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = header(stream)
        if dtype.hasobject:
            raise ValueError(f"{name} has pickled objects")
        if dtype.itemsize * math.prod(shape) != len(content) - stream.tell():
            raise ValueError(f"{name} does not hold what its header says")
        return np.ndarray(shape, dtype, content, stream.tell(), order="F" if is_fortran else "C")

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._unread[name]
        if info.compress_type not in _KINDS:
            raise ValueError(f"{name} is packed in a way that is not ours")
        return info

    def _read(self, name: str) -> bytes:
        """No more than its declared size is ever unpacked: by `ZipFile.read`, up to 2 GB would be, whatever is declared."""
        # Taken out, for a small file could name one large member a thousand times.
        info = self._unread.pop(name)
        with self._members.open(info) as stream:
            content = stream.read(info.file_size)
        if len(content) != info.file_size:
            raise EOFError(f"{name} ends early")
        return content

    def _check_memory(self, needed: int) -> None:
        there = available_memory()
        if needed > there:
            raise MemoryError(f"{gigabytes(needed)} of memory where {gigabytes(there)} are available")


@contextlib.contextmanager
def opened(path: str, argument: str, want: str) -> Iterator[Archive]:
    """The archive at `path`. Whatever goes wrong inside the block is a `FileError` that names the path."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except (OSError, ValueError) as error:
            raise FileError(argument, f"{path} ({getattr(error, 'strerror', None) or error})", want) from error
        try:
            with zipfile.ZipFile(file) as members:
                yield Archive(members)
        except FileError:
            raise
        except MemoryError as error:
            raise FileError(argument, f"{path}, which unpacks to {error or 'more than fits'}", want) from error
        except ArgumentError as error:  # of what is made from the content
            raise FileError(argument, f"{path}, where `{error.argument}` is {error.got}", error.want) from error
        except (
            Exception
        ) as error:  # broken files make zipfile, zlib, json and NumPy raise a dozen kinds, other ones in each version
            raise FileError(argument, f"{path}, which is damaged or something else ({error})", want) from error
