"""Programs that are compiled in haste, and those that are kept."""

import gc
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth import _compile
from finitewidth._compile import compiled_in_haste, long_run


@compiled_in_haste(static_argnums=(0,))
def power(exponent, x):
    return x**exponent


def test_the_same_function_in_every_surrounding():
    """Alone, under the caller's transformations, and with numbers inside a function that is being traced."""
    assert float(power(3, 2.0)) == 8.0
    assert float(jax.jit(lambda x: power(3, x))(2.0)) == 8.0
    assert float(jax.grad(lambda x: power(3, x))(2.0)) == 12.0
    np.testing.assert_array_equal(jax.vmap(lambda x: power(3, x))(jnp.arange(3.0)), [0.0, 1.0, 8.0])
    assert float(jax.jit(lambda x: x * power(3, np.float64(2.0)))(2.0)) == 16.0


@pytest.fixture
def options(monkeypatch):
    """The compiler's options of programs that run, in their order."""
    seen, jit = [], jax.jit

    def recording(function, **how):
        program = jit(function, **how)

        def called(*args):
            seen.append(how.get("compiler_options"))
            return program(*args)

        called.lower = program.lower
        return called

    monkeypatch.setattr(jax, "jit", recording)
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield seen
    jax.config.update("jax_disable_most_optimizations", before)


def test_haste_yields_to_who_asks_for_less(options):
    """The options of the library would override those that JAX was told of."""
    double = compiled_in_haste()(lambda x: 2 * x)
    for less in (True, False):
        jax.config.update("jax_disable_most_optimizations", less)
        assert float(double(1.5)) == 3.0
    assert options[0] is None
    assert options[1]["xla_backend_optimization_level"] == 1


def test_light_programs_of_few_numbers_are_not_optimised(options):
    """With many numbers it pays, and so it does for programs that are not light."""
    few, many = np.ones(20), np.ones(21)
    for light in (20, 0):
        double = compiled_in_haste(light=light)(lambda x: 2 * x)
        for x in (few, many):
            np.testing.assert_array_equal(double(x), 2 * x)
    assert [each["xla_backend_optimization_level"] for each in options] == [0, 1, 1, 1]


def test_callers_know_how_much_a_program_has_to_do(options):
    """Better than its numbers, and of two callers the outer one knows of more."""
    double = compiled_in_haste(light=20)(lambda x: 2 * x)
    with long_run(True):
        double(np.ones(20))
        with long_run(False):
            double(np.ones(20))
    with long_run(False):
        double(np.ones(21))
    double(np.ones(21))
    assert [each["xla_backend_optimization_level"] for each in options] == [1, 1, 0, 1]


def test_options_are_wishes(options, monkeypatch):
    """A name that the compiler does not know, as some version will not know one of ours, is tried once and costs no result."""
    known = _compile._known()
    tried, compile_ = [], jax.stages.Lowered.compile

    def recording(lowered, compiler_options=None):
        tried.append(dict(compiler_options or {}))
        return compile_(lowered, compiler_options)

    monkeypatch.setattr(jax.stages.Lowered, "compile", recording)
    monkeypatch.setitem(_compile._IN_HASTE, "xla_cpu_of_another_version", True)
    monkeypatch.setitem(_compile._UNOPTIMISED, "xla_cpu_of_another_version", True)
    _compile._known.cache_clear()
    try:
        for light in (20, 0):
            double = compiled_in_haste(light=light)(lambda x: 2 * x)
            for x in (np.ones(2), np.ones(30)):
                np.testing.assert_array_equal(double(x), 2 * x)
        assert _compile._known() == known
    finally:
        _compile._known.cache_clear()
    assert tried == [{option: value} for option, value in _compile._IN_HASTE.items()]
    assert len(options) == 4
    assert all(set(each) == known for each in options)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_again_after_a_program(collecting):
    """As it was before, an error in the program or none."""
    seen = []

    @compiled_in_haste()
    def program(x):
        seen.append(gc.isenabled())
        if x.shape:
            raise ZeroDivisionError
        return x

    try:
        (gc.enable if collecting else gc.disable)()
        program(np.float64(1.0))
        after = [gc.isenabled()]
        with pytest.raises(ZeroDivisionError):
            program(np.ones(2))
        after.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [False, False]
    assert after == [collecting, collecting]


@pytest.fixture
def settings():
    names = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
    before = [getattr(jax.config, name) for name in names]
    yield
    for name, value in zip(names, before, strict=True):
        jax.config.update(name, value)


def test_where_programs_are_kept(settings, tmp_path, monkeypatch):
    """Where the user keeps such things, unless JAX or the caller says otherwise."""
    assert fw.compilation_cache() == type(tmp_path)(jax.config.jax_compilation_cache_dir)  # the tests' own
    assert fw.compilation_cache(tmp_path / "here") == tmp_path / "here"
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "here")
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fw.compilation_cache() == tmp_path / "finitewidth"
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert fw.compilation_cache() == tmp_path / ".cache" / "finitewidth"


HALF_WRITTEN = """
import jax
import finitewidth as fw

fw.compilation_cache()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
print(jax.jit(lambda x: 3 * x + 1)(2.0))
"""


def test_entries_that_another_process_is_writing(tmp_path):
    """JAX writes them in place: who reads half an entry compiles the program, and is not told of it."""
    surroundings = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "always", "-c", HALF_WRITTEN]
    for _ in range(2):
        ran = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
        assert (ran.stdout, ran.stderr) == ("7.0\n", "")
        entries = list(tmp_path.glob("*-cache"))
        assert entries
        for entry in entries:
            entry.write_bytes(entry.read_bytes()[:-20])
