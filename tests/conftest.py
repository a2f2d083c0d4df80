"""Tests run in float64 with all annotations checked; `references` and other helpers beside this file can be imported.

What decides correctness runs always; with `--measured` or `--recorded` the tests of that mark instead, compiled as users run them.
"""

import contextlib
import gc
import os
import subprocess
import sys
from pathlib import Path

import jax
import jaxtyping
import pytest
import threadpoolctl

HERE = Path(__file__).parent
MAPPED_REGIONS = Path("/proc/self/maps")
MANY_REGIONS = 20_000  # Linux allows a process 65,530
ON_DEMAND = {
    "measured": "large ensembles, whole figures",
    "recorded": "numbers as they were when they were written down",
}

jax.config.update("jax_enable_x64", True)
# Compiled code for the next run, and for other workers; another place may be given where it survives a clean checkout.
CACHE = os.environ.get("FINITEWIDTH_TEST_CACHE", str(HERE.parent / ".pytest_cache" / "jax"))
jax.config.update("jax_compilation_cache_dir", CACHE)
os.environ["JAX_COMPILATION_CACHE_DIR"] = CACHE  # for processes that tests start
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
# XLA's older code generator and one module a program: two fifths of the fast tier's time. Names that a compiler may not know: it then
# ends the process, so that another one tries.
HASTE = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"

_raises = pytest.raises


@contextlib.contextmanager
def raises(*expected, **how):
    """`pytest.raises`, with annotations unchecked inside: a user's wrong call must meet our own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with _raises(*expected, **how) as caught:
            yield caught
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


pytest.raises = raises


def pytest_addoption(parser):
    for mark, what in ON_DEMAND.items():
        parser.addoption(f"--{mark}", action="store_true", help=f"run the tests marked {mark}, not the others: {what}")


def asked_for(config):
    """The marks whose tests are to run instead of the others."""
    return {mark for mark in ON_DEMAND if config.getoption(f"--{mark}")}


def is_worker(config):
    """Whether this is one of several processes that share the tests, with the environment of who started them."""
    return hasattr(config, "workerinput")


def pytest_configure(config):
    """For what modules share, too, which is made before their first test."""
    if asked_for(config):
        return
    jax.config.update("jax_disable_most_optimizations", True)
    if not is_worker(config) and "XLA_FLAGS" not in os.environ and compiler_knows(HASTE):
        os.environ["XLA_FLAGS"] = HASTE


def compiler_knows(flags):
    """Seen in a process of its own; of this one they are read when it first computes, which is later."""
    program = [sys.executable, "-c", "import jax; jax.jit(abs)(1.0)"]
    return subprocess.run(program, env=os.environ | {"XLA_FLAGS": flags}, capture_output=True).returncode == 0


def pytest_collection_modifyitems(config, items):
    wanted = asked_for(config)
    chosen = []
    for item in items:
        marks = {mark for mark in ON_DEMAND if item.get_closest_marker(mark)}
        if marks & wanted or not (marks or wanted):
            chosen.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_collection_finish(session):
    """Traces of programs are many small objects that live long: to look for rubbish among them as usual takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    if is_worker(session.config) or not asked_for(session.config):
        # Each worker has one core: threads of linear algebra would wait for each other.
        threadpoolctl.threadpool_limits(1)


@pytest.fixture(autouse=True)
def compiled_in_haste(request):
    """Most tests wait for the compiler, not for what it compiles; those on demand run what users run."""
    optimised = any(request.node.get_closest_marker(name) for name in (*ON_DEMAND, "optimised"))
    jax.config.update("jax_disable_most_optimizations", not optimised)


@pytest.fixture(autouse=True, scope="module")
def compiled_code_is_forgotten():
    """Every compiled program maps memory, and thousands of them more regions than a process may have: then it crashes."""
    yield
    if MAPPED_REGIONS.exists() and len(MAPPED_REGIONS.read_text().splitlines()) > MANY_REGIONS:
        jax.clear_caches()
