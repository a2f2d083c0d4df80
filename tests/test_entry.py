"""What every public function has in common: precision, NumPy results, the blow-up error, warnings at the caller's line."""

import functools
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._entry import entry, is_traced
from finitewidth._errors import ArgumentError, BlowUpError, ValidityWarning


@entry()
def third(x):
    """One third of `x`, which 32 bits do not hold."""
    return jnp.asarray(x) / 3


@entry(remedy="take a larger number")
def inverses(x):
    """A nested result with numbers, names and keys in it."""
    return {"inverse": 1 / jnp.asarray(x), "name": "inverse", "count": 3, "missing": None, "key": jax.random.key(0)}


@pytest.fixture
def in_32_bits():
    with jax.enable_x64(False):
        yield


def test_float64_in_32_bit_mode(in_32_bits):
    """The caller's setting is left as it was, whether the call succeeds or fails."""
    found = third(1.0)
    assert found.dtype == np.float64
    assert float(found) == 1 / 3
    assert jnp.ones(()).dtype == np.float32
    with pytest.raises(BlowUpError):
        inverses(0.0)
    assert jnp.ones(()).dtype == np.float32


def test_precision_of_the_caller_where_it_is_asked_for(in_32_bits):
    """Functions that follow their arguments."""
    assert entry(float64=False)(lambda x: jnp.asarray(x) / 3)(1.0).dtype == np.float32


def test_results_are_of_numpy():
    """Arrays anywhere in the result; random keys, names and numbers stay what they are."""
    found = inverses(np.array([1.0, 2.0]))
    assert type(found["inverse"]) is np.ndarray
    assert (found["name"], found["count"], found["missing"]) == ("inverse", 3, None)
    assert jax.dtypes.issubdtype(found["key"].dtype, jax.dtypes.prng_key)


def test_traced_results_are_left_alone():
    """In 64-bit mode everything composes with `jit`, `vmap` and `grad`; blow-ups cannot be seen there."""
    assert float(jax.jit(third)(1.0)) == float(jax.vmap(third)(jnp.ones(2))[0]) == float(jax.grad(third)(1.0)) == 1 / 3
    assert np.isinf(jax.jit(lambda x: inverses(x)["inverse"])(0.0))
    assert jax.jit(lambda x: x * is_traced({"x": x}))(2.0) == 2.0
    assert not is_traced({"x": jnp.ones(1)})


@pytest.mark.parametrize("transformed", [jax.jit(third), jax.vmap(third), jax.grad(lambda x: third(x).sum())])
def test_traced_arguments_in_32_bit_mode_are_refused(in_32_bits, transformed):
    """The backward pass would run outside the call, in 32 bits: the error names the function and what to write."""
    with pytest.raises(ArgumentError, match=r"`third` under jit, vmap or grad.*jax\.enable_x64\(True\)"):
        transformed(jnp.ones(3))


@pytest.mark.parametrize("x", [0.0, np.array([1.0, 0.0]), np.array([1.0, np.nan])])
def test_blow_up_names_the_call_and_the_remedy(x):
    """Of any entry of the result; without a remedy nothing is checked."""
    with pytest.raises(BlowUpError, match=r"`inverses` of .* leaves the finite numbers: take a larger number\."):
        inverses(x)
    assert np.isinf(third(np.inf))


def test_blow_up_of_keyword_arguments():
    """Whichever way the argument came."""
    with pytest.raises(BlowUpError, match=r"`inverses` of 0\.0 leaves"):
        inverses(x=0.0)


def test_name_and_documentation_are_kept():
    """`help` shows the function, not the door."""
    assert third.__name__ == "third"
    assert third.__doc__.startswith("One third")
    assert list(inspect.signature(third).parameters) == ["x"]


DEEP = fw.MLP("relu", (2, *[2] * 12, 1), C_W=2.0)


def deep_flow():
    """The line on which a user calls, and what was said there."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fw.flow(DEEP, [[1.0, 0.5]])
        line = inspect.currentframe().f_lineno - 1
    return line, said


def test_a_warning_points_at_the_callers_line():
    """Not at a wrapper's, nor at a line of the library."""
    line, said = deep_flow()
    assert [warning.category for warning in said] == [ValidityWarning]
    assert (said[0].filename, said[0].lineno) == (__file__, line)
    assert "not to be trusted" in str(said[0].message)


def test_a_warning_through_the_users_own_transformation():
    """A library call inside the user's function that JAX calls back still belongs to the user's file."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        jax.tree.map(lambda x: fw.flow(DEEP, x), [np.array([[1.0, 0.5]])])
    assert said[0].filename == __file__


def test_a_warning_when_jax_itself_calls_the_library():
    """Between the user's line and the library there is no other line of the user's."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        jax.tree.map(functools.partial(fw.flow, DEEP), [np.array([[1.0, 0.5]])])
        line = inspect.currentframe().f_lineno - 1
    assert (said[0].filename, said[0].lineno) == (__file__, line)


def test_a_warning_is_remembered_by_the_callers_module():
    """Where Python looks to show it once a line."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        fw.flow(DEEP, [[1.0, 0.5]])
    remembered = [key for key in globals()["__warningregistry__"] if isinstance(key, tuple)]
    assert any(category is ValidityWarning for _, category, _ in remembered)


@entry()
def mixed(x):
    """Integers meet numbers, and a row a matrix."""
    return jnp.arange(3) * jnp.asarray(x) + jnp.ones((2, 3))


def test_callers_may_be_strict_with_their_own_arithmetic():
    """Their settings hold again after the call, for their own."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(mixed(0.5), np.tile([1.0, 1.5, 2.0], (2, 1)))
        with pytest.raises(ValueError, match="dtype_promotion"):
            jnp.arange(3) * jnp.ones(3)
        with pytest.raises(ValueError, match="rank_promotion"):
            jnp.ones(3) + jnp.ones((2, 3))
