"""`save` and `load`: a description or a result in one file, without pickle.

A file is a zip of `finitewidth.json`, which says what it is made of, and of `0.npy`, `1.npy`, ..., its arrays. Objects of the library are
written field by field under the name by which users find their class (`critical:PhaseDiagram`); activations as the function of the
library that makes them, and its arguments. Nothing else is known, and nothing else from a file is run.
"""

import dataclasses
import functools
import importlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import jax
import numpy as np

from ._errors import ArgumentError, DomainError
from ._table import values_of

FORMAT = 1
_PACKAGE = __name__.partition(".")[0]
_HEAD = "finitewidth.json"
_MAKERS, _PICTURES = f"{_PACKAGE}.activations", f"{_PACKAGE}.figures"  # rooms whose functions a file may name
Path: TypeAlias = str | os.PathLike[str]


def save(thing: Any, path: Path) -> None:
    """Write a network, a block, an activation or any result of the library to one file, which `load` reads.

    Activations are saved by name, or by family and parameters. One made from a callable of yours cannot be: describe the network with a
    name or family, save that, and put the callable back after loading, `load(path).replace(activation=f)`.

    **Arguments:**

    - `thing`: what to save; tuples, lists and dictionaries of such things, of arrays and of numbers too.
    - `path`: where; an existing file is replaced.

    Examples:
        >>> fw.save(fw.MLP("gelu", (8, 64, 1)), path)
        >>> fw.load(path).activation.name
        'gelu'
    """
    arrays: list[np.ndarray] = []
    content = _encode(thing, arrays, type(thing).__name__)
    head = {"finitewidth": FORMAT, "content": content}
    where = _as_path(path)
    unfinished = f"{where}.part"
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(_HEAD, json.dumps(head))
            for number, array in enumerate(arrays):
                sink = io.BytesIO()
                np.save(sink, array, allow_pickle=False)
                file.writestr(f"{number}.npy", sink.getvalue())
        os.replace(unfinished, where)
    except OSError as error:
        raise ArgumentError("path", f"{where} ({error.strerror})", "a file that can be written") from error


def load(path: Path) -> Any:
    """What `save` wrote. A file of another kind, or of a version that this one does not know, is refused.

    **Arguments:**

    - `path`: the file.

    Examples:
        >>> fw.save({"rates": fw.learning_rates(fw.MLP("relu", (8, 64, 1)))}, path)
        >>> fw.load(path)["rates"].optimizer
        'sgd'
    """
    where = _as_path(path)
    try:
        with zipfile.ZipFile(where) as file:
            head = json.loads(file.read(_HEAD))
            if not isinstance(head, dict) or head.get("finitewidth") != FORMAT:
                version = head.get("finitewidth") if isinstance(head, dict) else None
                raise DomainError(
                    "path", f"a file of format {version!r}", f"format {FORMAT}: it may need a newer version"
                )
            return _decode(head["content"], file)
    except OSError as error:
        raise ArgumentError("path", f"{where} ({error.strerror})", "a file that `save` wrote") from error
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(
            "path", f"{where}, which is damaged or something else", "a file that `save` wrote"
        ) from error


def _as_path(path: Any) -> str:
    try:
        return os.fsdecode(os.fspath(path))
    except TypeError:
        raise ArgumentError("path", type(path).__name__, "the name of a file") from None


def _encode(thing: Any, arrays: list[np.ndarray], where: str) -> Any:
    """In types that JSON knows; arrays are put aside."""

    def each(value: Any, name: str) -> Any:
        return _encode(value, arrays, f"{where}.{name}")

    if isinstance(thing, Enum):
        return {"enum": public_name(type(thing), where), "name": thing.name}
    if thing is None or type(thing) in (bool, int, str):
        return thing
    if type(thing) is float:
        return thing if np.isfinite(thing) else {"float": str(thing)}
    if type(thing) is complex:
        return {"complex": [each(thing.real, "real"), each(thing.imag, "imag")]}
    if isinstance(thing, np.ndarray | np.generic | jax.Array):
        return _encode_array(thing, arrays, where)
    recipe = getattr(thing, "recipe", None)
    if recipe is not None:
        maker, arguments = recipe
        return {"made by": public_name(maker, where), "of": [each(value, str(i)) for i, value in enumerate(arguments)]}
    if hasattr(thing, "_fields") or (dataclasses.is_dataclass(thing) and not isinstance(thing, type)):
        fields = {name: each(value, name) for name, value in values_of(thing).items()}
        return {"object": public_name(type(thing), where), "fields": fields}
    if isinstance(thing, functools.partial):
        parts = (thing.func, thing.args, dict(thing.keywords))
        return {"partial": [each(part, name) for part, name in zip(parts, ("func", "args", "keywords"), strict=True)]}
    if isinstance(thing, tuple | list) and type(thing) in (tuple, list):
        return {type(thing).__name__: [each(value, str(i)) for i, value in enumerate(thing)]}
    if isinstance(thing, dict):
        return {"dict": [[each(key, str(key)), each(value, str(key))] for key, value in thing.items()]}
    if callable(thing):
        return {"function": public_name(thing, where)}
    raise _unknown(thing, where)


def _encode_array(thing: Any, arrays: list[np.ndarray], where: str) -> dict[str, Any]:
    kind = "scalar" if isinstance(thing, np.generic) else "numpy"
    if isinstance(thing, jax.Array):
        is_key = jax.numpy.issubdtype(thing.dtype, jax.dtypes.prng_key)
        kind = f"key {jax.random.key_impl(thing)}" if is_key else "jax"
        thing = jax.random.key_data(thing) if is_key else thing
    array = np.asarray(thing)
    if array.dtype == object:
        values = [_encode(value, arrays, where) for value in array.ravel().tolist()]
        return {"objects": values, "shape": array.shape}
    arrays.append(array)
    return {"array": len(arrays) - 1, "of": kind}


def _unknown(thing: Any, where: str) -> ArgumentError:
    if callable(thing):
        got = f"{where}, a function that is not the library's"
        want = (
            "an activation by name or family; with one of your own, save the network with a name in its place, and after loading "
            "`.replace(activation=f)`"
        )
        return ArgumentError("thing", got, want)
    return ArgumentError("thing", f"{where}, a {type(thing).__name__}", "descriptions and results of the library")


def public_name(thing: Any, where: str = "") -> str:
    """Where users find a class or function of the library, `critical:PhaseDiagram`: the shortest module that offers it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    parts = (module or "").split(".")
    if parts[0] == _PACKAGE and name:
        for length in range(1, len(parts) + 1):
            place = ".".join(parts[:length])
            if getattr(importlib.import_module(place), name, None) is thing:
                return f"{'.'.join(parts[1:length])}:{name}"
    raise _unknown(thing, where)


def _find(name: Any, room_of_functions: str | None = None) -> Any:
    """The class of that public name, or the function of that room; nothing outside the library."""
    room, colon, wanted = name.partition(":") if isinstance(name, str) else ("", "", "")
    found = None
    if colon and wanted.isidentifier() and all(part.isidentifier() for part in room.split(".") if room):
        try:
            found = getattr(importlib.import_module(f"{_PACKAGE}.{room}" if room else _PACKAGE), wanted, None)
        except ImportError:
            found = None
    module = f"{getattr(found, '__module__', '')}."
    known = isinstance(found, type) if room_of_functions is None else callable(found) and not isinstance(found, type)
    if not (known and module.startswith(f"{room_of_functions or _PACKAGE}.")):
        raise DomainError("path", f"a file with a {name!r} in it", "what this version knows: it may need another one")
    return found


def _decode(content: Any, file: zipfile.ZipFile) -> Any:
    if not isinstance(content, dict):
        return content
    match content:
        case {"float": text}:
            return float(text)
        case {"complex": [real, imag]}:
            return complex(_decode(real, file), _decode(imag, file))
        case {"enum": name, "name": member}:
            return _find(name)[member]
        case {"array": number, "of": kind}:
            return _decode_array(np.load(io.BytesIO(file.read(f"{number}.npy")), allow_pickle=False), kind)
        case {"objects": values, "shape": shape}:
            array = np.empty(len(values), dtype=object)
            array[:] = [_decode(value, file) for value in values]
            return array.reshape(shape)
        case {"tuple": values}:
            return tuple(_decode(value, file) for value in values)
        case {"list": values}:
            return [_decode(value, file) for value in values]
        case {"dict": pairs}:
            return {_decode(key, file): _decode(value, file) for key, value in pairs}
        case {"partial": parts}:
            function, args, keywords = (_decode(part, file) for part in parts)
            return functools.partial(function, *args, **keywords)
        case {"function": name}:
            return _find(name, _PICTURES)
        case {"made by": name, "of": arguments}:
            return _find(name, _MAKERS)(*(_decode(value, file) for value in arguments))
        case {"object": name, "fields": fields}:
            return _made(_find(name), {key: _decode(value, file) for key, value in fields.items()}, name)
    raise DomainError("path", f"a file with an entry {sorted(content)}", "what this version knows")


def _decode_array(array: np.ndarray, kind: str) -> Any:
    if kind == "scalar":
        return array[()]
    if kind == "jax":
        with jax.enable_x64(True):
            return jax.numpy.asarray(array)
    if kind.startswith("key "):
        return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=kind.removeprefix("key "))
    return array


def _made(kind: Callable[..., Any], fields: dict[str, Any], name: str) -> Any:
    """An object with these fields, which were checked when it was made first."""
    if hasattr(kind, "_fields"):
        known = set(getattr(kind, "_fields", ()))
    else:
        known = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    if known != set(fields) or not isinstance(kind, type):
        got = f"a {name!r} with fields {sorted(fields)}"
        raise DomainError("path", got, f"{sorted(known)}: it was saved by another version")
    if hasattr(kind, "_fields"):
        return kind(**fields)
    made = object.__new__(kind)
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made
