"""Whoever calls a public function wrongly is told which of *its* arguments is wrong, not which one of a function inside.

The right calls are those of the docstrings' examples, as far as the function itself, which is not run. Then each argument in turn is
replaced by what cannot be right, and the field `argument` of the error must name a parameter of the function, or an entry of one.
"""

import collections
import contextlib
import doctest
import inspect
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
import matplotlib as mpl
import numpy as np
import pytest

import finitewidth as fw
from finitewidth import ArgumentError
from fuzzer import fuzzer
from public_names import public_things

mpl.use("Agg")

FUZZ = fuzzer()
COSTLY = {  # the lines before them in their examples take a second
    "aspect_ratio_curve",
    "averaged_tangent_covariance",
    "compare",
    "covariance_density",
    "ddntk",
    "deviations_by_time",
    "differential_correlator",
    "feature_density",
    "information_by_depth",
    "second_differential_mean",
}
WRONG = {"an object", "'abc'", "text", "nan", "NaN in it", "ragged", "[3]", "'no such name'", "3"}


def functions() -> dict[str, list[Callable[..., Any]]]:
    """Public functions by room."""
    found = collections.defaultdict(list)
    for thing in sorted({each for each in public_things() if inspect.isfunction(each)}, key=lambda each: each.__name__):
        if thing.__name__ not in COSTLY | FUZZ.LEFT_OUT and thing.__module__.count(".") > 1:
            found[thing.__module__.split(".")[1]].append(thing)
    return found


ROOMS = functions()


class Reached(BaseException):
    """The function of which an example is; not an `Exception`, which the library might take for its own."""


def right_call(function: Callable[..., Any], folder: Path) -> dict[str, Any] | None:
    """The arguments that the first example gives, if there are any."""
    found = {}

    def record(*args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        found.update(bound.arguments)
        raise Reached

    places = [(room, name) for room in PLACES for name, thing in FUZZ.named(room) if thing is function]
    names = {"fw": fw, "np": np, "path": folder / "thing.fw"}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        for room, name in places:
            patch.setattr(room, name, record)
        with contextlib.suppress(Reached):
            for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
                exec(compile(example.source, "example", "single"), names)
    return found or None


PLACES = FUZZ.public_modules()


def told(function: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """What is wrong with what a wrong call meets; nothing if it meets an error that names a parameter."""
    signature = inspect.signature(function)
    bound = inspect.BoundArguments(signature, collections.OrderedDict(arguments))
    try:
        function(*bound.args, **bound.kwargs)
    except ArgumentError as error:
        name = error.argument.partition(",")[0].partition("[")[0].partition(".")[0]  # of entries, of fields, of several
        return None if name in signature.parameters else f"names {error.argument}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "is accepted"


def offenders(function: Callable[..., Any], good: dict[str, Any]) -> list[str]:
    """Wrong calls that do not meet an error which names a parameter."""
    calls = FUZZ.wrong_calls(good, function)
    never = [(what, bad) for what, bad, verdict in calls if verdict == FUZZ.NEVER and what.partition(" = ")[2] in WRONG]
    found = ((what, told(function, bad)) for what, bad in never)
    return [f"{function.__name__}({what}) {said}" for what, said in found if said is not None]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_every_error_names_an_argument_of_the_function_that_was_called(room, tmp_path):
    found, without = [], []
    jaxtyping.config.update("jaxtyping_disable", True)  # as for users
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for function in ROOMS[room]:
                good = right_call(function, tmp_path)
                without += [function.__name__] if good is None else []
                found += offenders(function, good or {})
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    assert found == []
    assert set(without) <= {"smooth_labels"}, "examples do not call the function that they are of"


def test_an_error_of_a_function_inside_is_found():
    """What is looked for: another's argument, an error without one, and no error."""

    def inside(depth: float) -> None:
        raise ArgumentError("depth", depth, "another")

    def outside(layers: float, width: float = 1.0, rest: float = 1.0) -> None:
        if isinstance(layers, float) and isinstance(width, float):
            return
        if not isinstance(layers, float):
            inside(layers)
        raise KeyError(width)

    good = {"layers": 1.0, "width": 1.0, "rest": 1.0}
    assert told(outside, good | {"layers": "abc"}) == "names depth"
    assert told(outside, good | {"width": "abc"}) == "KeyError: 'abc'"
    assert told(outside, good | {"rest": "abc"}) == "is accepted"
    assert len(offenders(outside, good)) == 3 * len(offenders(lambda rest: None, {"rest": 1.0}))
