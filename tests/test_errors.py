"""Errors say in fields what they say in words, and arrive whole in another process."""

import copy
import importlib
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import named
from finitewidth.learning.end_of_training.statistics import Statistics

PACKAGE = Path(fw.__file__).parent
CLASS = re.compile(r"^ *class (\w+)\([^)]*(?:Error|Exception|Warning|Group)\b", re.MULTILINE)

MADE_FROM = {
    "ArgumentError": ("x", 3, "a matrix; no number"),
    "ShapeError": ("x", "an array of shape (3,)", "a matrix"),
    "DomainError": ("steps", -1, "a positive number"),
    "FileError": ("x", "net.fw, which is damaged or something else", "a file that `save` wrote"),
    "NotTunableError": ("sin", "its critical point repels"),
    "UnknownNameError": ("activation", "tahn", ["tanh", "relu"]),
    "UnknownArgumentError": ("x", "predict", ["net", "x_train"]),
    "BlowUpError": ("`kernel` of MLP leaves the finite numbers: take fewer layers.",),
    "ValidityWarning": ("not to be trusted",),
}


def error_classes():
    """Those of every module of the package, public or not."""
    for file in PACKAGE.rglob("*.py"):
        for name in CLASS.findall(file.read_text("utf-8")):
            module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            yield getattr(importlib.import_module(module), name)


def test_every_error_survives_pickle_and_copy():
    classes = list(error_classes())
    assert {kind.__name__ for kind in classes} == set(MADE_FROM)
    for kind in classes:
        error = kind(*MADE_FROM[kind.__name__])
        error.add_note("a note")
        protocols = range(pickle.HIGHEST_PROTOCOL + 1)
        sent = (pickle.loads(pickle.dumps(error, protocol)) for protocol in protocols)
        for other in (copy.copy(error), copy.deepcopy(error), *sent):
            assert type(other) is kind
            assert (str(other), repr(other), other.args) == (str(error), repr(error), error.args)
            assert vars(other) == vars(error)


@pytest.mark.parametrize("name", [name for name, arguments in MADE_FROM.items() if len(arguments) > 1])
def test_fields_are_what_the_text_says(name):
    error = getattr(fw, name)(*MADE_FROM[name])
    assert str(error) == f"`{error.argument}`: got {error.got}; expected {error.want}."
    assert error.argument in {"x", "steps", "activation"}
    assert isinstance(error.got, str)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ("tahn", "did you mean 'tanh'? Known: gelu, relu, tanh"),
        ("rleu", "did you mean 'relu'? Known: gelu, relu, tanh"),
        ("xyz", "one of gelu, relu, tanh"),
        (3, "one of gelu, relu, tanh"),
    ],
)
def test_the_nearest_name_is_suggested(got, want):
    """And all of them are told, in the order of the alphabet, however they are kept."""
    error = fw.UnknownNameError("activation", got, ("tanh", "relu", "gelu"))
    assert (error.got, error.want) == (repr(got), want)


def test_an_error_in_the_words_of_another():
    """What came stands in the second error whole, whatever signs are in it."""
    tensors = {name: np.zeros((2, 2, 2, 2)) for name in "ABDFPQRSTU"}
    singular = Statistics(np.eye(2), np.eye(2), np.ones((2, 2)), tensors, 2)
    with pytest.raises(fw.DomainError) as caught:
        singular.turned()
    assert re.fullmatch(
        r"a tangent kernel of training inputs with eigenvalues from \S+ to 2, to order 1/n", caught.value.got
    )


def test_a_pool_of_processes_hands_errors_on():
    """Every one: of a process that cannot send its error, the pool waits for ever."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        error = pool.submit(fw.MLP, "tahn", (2, 8, 1)).exception(timeout=120)
        for name, made_from in MADE_FROM.items():
            sent = pool.submit(exec, f"import finitewidth as fw\nraise fw.{name}{made_from!r}").exception(timeout=120)
            assert type(sent) is getattr(fw, name)
            assert str(sent) == str(getattr(fw, name)(*made_from))
    assert isinstance(error, fw.UnknownNameError)
    assert error.argument == "activation"
    assert "did you mean 'tanh'" in error.want


@pytest.mark.parametrize(
    ("call", "argument", "near"),
    [
        (lambda: fw.MLP("relu", (2, 8, 1), **{"C_w": 2.0}), "C_w", "C_W"),
        (lambda: fw.flow(fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], **{"trough": "ntk"}), "trough", "through"),
        (lambda: fw.bayes(y_train=[1.0], **{"kernal": [[1.0]]}), "kernal", "kernel"),
    ],
)
def test_a_mistyped_keyword_is_named_with_the_nearest_one(call, argument, near):
    """It is a wrong argument like any other, and the `TypeError` that Python programs expect."""
    with pytest.raises(fw.ArgumentError, match=f"did you mean `{near}`") as error:
        call()
    assert error.value.argument == argument
    assert isinstance(error.value, TypeError)


def test_what_python_says_of_a_call_stays():
    """A missing argument, and one given twice."""
    with pytest.raises(TypeError, match="missing") as missing:
        fw.flow(**{})
    assert not isinstance(missing.value, fw.ArgumentError)
    with pytest.raises(fw.UnknownArgumentError, match="expected one of net"):
        fw.flow(fw.MLP("relu", (2, 8, 1)), **{"qqqq": 1})


def test_errors_by_the_name_that_the_caller_knows():
    """The same error, kind and fields, but for the name; others pass as they are."""
    made = fw.ShapeError("x", "shape (3,)", "a matrix")
    with (
        pytest.raises(fw.ShapeError, match=r"`x_train`: got shape .3,.; expected a matrix") as error,
        named(x="x_train"),
    ):
        raise made
    assert (error.value.argument, error.value.got, error.value.want) == ("x_train", made.got, made.want)
    assert made.argument == "x"
    with pytest.raises(fw.ShapeError) as untouched, named(kernel="x_train"):
        raise made
    assert untouched.value is made
