"""`save` and `load`: a description or a result in one file, without pickle.

A file is a zip of `finitewidth.json`, which says what it is made of, and of `0.npy`, `1.npy`, ..., its arrays. Objects of the library are
written field by field under the name by which users find their class (`critical:PhaseDiagram`); activations as the function of the
library that makes them, and its arguments. Nothing else is known, and nothing else from a file is run; what is made from one passes the
checks of its class.
"""

import dataclasses
import functools
import importlib
import inspect
import json
import os
import typing
import zipfile
from enum import Enum
from typing import Any, TypeAlias

import jax
import numpy as np

from ._archive import Archive, opened
from ._drafts import as_path, draft_of
from ._errors import ArgumentError, DomainError
from ._kinds import check_kinds
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
    where = as_path(path, "path")
    arrays: list[np.ndarray] = []
    try:
        content = _encode(thing, arrays, type(thing).__name__)
        head = json.dumps({"finitewidth": FORMAT, "content": content})
    except RecursionError:
        raise ArgumentError("thing", "something nested too deeply, or within itself", "a network or a result") from None
    with draft_of(where, "path") as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_HEAD, head)
        for number, array in enumerate(arrays):
            with file.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.save(member, array, allow_pickle=False)


def load(path: Path) -> Any:
    """What `save` wrote. A file of another kind, or of a version that this one does not know, is refused.

    **Arguments:**

    - `path`: the file.

    Examples:
        >>> fw.save({"rates": fw.learning_rates(fw.MLP("relu", (8, 64, 1)))}, path)
        >>> fw.load(path)["rates"].optimizer
        'sgd'
    """
    where = as_path(path, "path")
    with opened(where, "path", "a file that `save` wrote") as file:
        head = json.loads(file.text(_HEAD))
        version = head.get("finitewidth") if isinstance(head, dict) else None
        if version != FORMAT:
            raise DomainError("finitewidth", f"format {version!r}", f"format {FORMAT}: it may need a newer version")
        return _decode(head["content"], file)


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
    rooms = room.split(".") if room else []
    found = None
    if colon and wanted.isidentifier() and all(part.isidentifier() and not part.startswith("_") for part in rooms):
        try:
            found = getattr(importlib.import_module(f"{_PACKAGE}.{room}" if room else _PACKAGE), wanted, None)
        except ImportError:
            found = None
    module = f"{getattr(found, '__module__', '')}."
    known = isinstance(found, type) if room_of_functions is None else inspect.isfunction(found)
    if not (known and module.startswith(f"{room_of_functions or _PACKAGE}.")):
        raise _strange(name)
    return found


def _strange(what: Any) -> DomainError:
    return DomainError("content", f"{what!r}"[:80], "what this version knows: it may need another one")


def _decode(content: Any, file: Archive) -> Any:
    if not isinstance(content, dict):
        if isinstance(content, list):
            raise _strange(content)
        return content
    match content:
        case {"float": str(text)}:
            return float(text)
        case {"complex": [real, imag]}:
            return complex(_decode(real, file), _decode(imag, file))
        case {"enum": name, "name": member}:
            return _member(_find(name), member)
        case {"array": int(number), "of": str(kind)}:
            return _decode_array(file.array(f"{number}.npy"), kind)
        case {"objects": list(values), "shape": shape}:
            array = np.empty(len(values), dtype=object)
            array[:] = [_decode(value, file) for value in values]
            return array.reshape(shape)
        case {"tuple": list(values)}:
            return tuple(_decode(value, file) for value in values)
        case {"list": list(values)}:
            return [_decode(value, file) for value in values]
        case {"dict": list(pairs)}:
            return {_decode(key, file): _decode(value, file) for key, value in pairs}
        case {"partial": list(parts)}:
            function, args, keywords = (_decode(part, file) for part in parts)
            return functools.partial(function, *args, **keywords)
        case {"function": name}:
            return _find(name, _PICTURES)
        case {"made by": name, "of": list(arguments)}:
            return _maker(name)(*(_decode(value, file) for value in arguments))
        case {"object": name, "fields": dict(fields)}:
            return _made(_find(name), {key: _decode(value, file) for key, value in fields.items()}, name)
    raise _strange(content)


def _member(kind: type, name: Any) -> Any:
    members = getattr(kind, "__members__", {})
    if name not in members:
        raise DomainError(kind.__name__, f"{name!r}"[:80], f"one of {', '.join(members)}")
    return members[name]


def _maker(name: Any) -> Any:
    """A function that makes activations; others of that room compute."""
    maker = _find(name, _MAKERS)
    made = typing.get_type_hints(maker).get("return")
    if not (isinstance(made, type) and hasattr(made, "recipe")):
        raise _strange(name)
    return maker


def _decode_array(array: np.ndarray, kind: str) -> Any:
    if kind == "scalar":
        return array[()]
    if kind == "jax":
        with jax.enable_x64(True):
            return jax.numpy.asarray(array)
    if kind.startswith("key "):
        return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=kind.removeprefix("key "))
    if kind != "numpy":
        raise _strange(kind)
    return array


def _made(kind: type, fields: dict[str, Any], name: str) -> Any:
    """An object with these fields: of the kinds that its class says, and by its own constructor where they are the arguments."""
    is_tuple = hasattr(kind, "_fields")
    known = set(getattr(kind, "_fields", ()))
    if dataclasses.is_dataclass(kind):
        known = {field.name for field in dataclasses.fields(kind)}
    if known != set(fields) or not (is_tuple or dataclasses.is_dataclass(kind)):
        got = f"a {name!r} with fields {sorted(fields)}"
        raise DomainError("content", got, f"{sorted(known)}: it was saved by another version")
    check_kinds(kind, fields)
    parameters = inspect.signature(kind).parameters.values()
    if all(each.name in fields or each.default is not each.empty for each in parameters):
        made, given = _constructed(kind, list(parameters), fields)
    else:
        made, given = object.__new__(kind), set()
    for field in known - given:
        object.__setattr__(made, field, fields[field])
    return made


def _constructed(kind: type, parameters: list[inspect.Parameter], fields: dict[str, Any]) -> tuple[Any, set[str]]:
    """What the constructor makes of the fields that are its arguments, and which these were."""
    given = [each for each in parameters if each.name in fields]
    args = [value for each in given if each.kind is each.VAR_POSITIONAL for value in fields[each.name]]
    named = {each.name: fields[each.name] for each in given if each.kind is not each.VAR_POSITIONAL}
    return kind(*args, **named), {each.name for each in given}
