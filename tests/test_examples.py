"""The examples in the docstrings of public functions run, and give what they say.

They are run as users run them, without 64 bits of JAX's own, with `fw`, `np` and, for those that write a file, `path`. Numbers are
compared to six digits: compilers differ in the last ones.
"""

import doctest
import inspect
import math
import re
import warnings

import jax
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import finitewidth as fw
from finitewidth import ValidityWarning
from public_names import public_things

mpl.use("Agg")

COMPILED_FOR_LONG = {
    "report",
    "transformer_report",
    "recommend_shaping",
    "step_advice",
    "penultimate_step",
    "train",
    "deviations_by_time",
    "averaged_tangent_covariance",
    "feature_density",
    "token_fates",
    "sample_scale_invariant",
    "second_differential_mean",
    "leap",
}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def public_functions():
    ours = (
        thing for thing in public_things() if inspect.isfunction(thing) and thing.__module__.startswith("finitewidth.")
    )
    return dict(sorted((f"{thing.__module__}.{thing.__name__}", thing) for thing in ours))


FUNCTIONS = public_functions()
WITH = [name for name, function in FUNCTIONS.items() if ">>>" in (function.__doc__ or "")]
RUN = [name for name in WITH if name != "finitewidth._compile.compilation_cache"]  # it changes JAX's settings
FAST = [name for name in RUN if name.rpartition(".")[2] not in COMPILED_FOR_LONG]


@pytest.fixture(autouse=True)
def jax_as_users_have_it():
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


class Close(doctest.OutputChecker):
    """The same words, and numbers that agree to six digits."""

    def check_output(self, want, got, optionflags):
        if NUMBER.sub("", want) != NUMBER.sub("", got):
            return False
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
        return all(math.isclose(float(one), float(other), rel_tol=2e-6, abs_tol=2e-6) for one, other in pairs)


def run(name, tmp_path):
    names = {"fw": fw, "np": np, "path": tmp_path / "thing.fw"}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(FUNCTIONS[name]), names, name, None, 0)
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)  # networks as narrow as these are beyond what theory trusts
        found = doctest.DocTestRunner(checker=Close(), verbose=False).run(test, out=said.append)
    pyplot.close("all")
    assert found.attempted > 0
    assert found.failed == 0, "".join(said)


@pytest.mark.parametrize("name", FAST)
def test_an_example_runs(name, tmp_path):
    run(name, tmp_path)


@pytest.mark.measured
@pytest.mark.parametrize("name", sorted(set(RUN) - set(FAST)))
def test_a_long_example_runs(name, tmp_path):
    run(name, tmp_path)


def test_every_public_function_has_an_example():
    assert sorted(set(FUNCTIONS) - set(WITH)) == []
    assert len(FUNCTIONS) > 250


def test_an_example_that_is_wrong_is_found():
    """In its words, or in the sixth digit of a number; not in the tenth."""
    check = Close().check_output
    assert check("[0.1, 2.0]\n", "[0.1000000001, 2.0]\n", 0)
    assert not check("[0.1, 2.0]\n", "[0.1001, 2.0]\n", 0)
    assert not check("'tanh'\n", "'relu'\n", 0)
    assert not check("[0.1]\n", "[0.1, 2.0]\n", 0)
