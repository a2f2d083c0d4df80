"""Tests run in float64 with all annotations checked; `references` and other helpers beside this file can be imported.

Two tiers: what decides correctness runs always; with `--measured` also what is slow, compiled as users run it.
"""

import contextlib
import gc
import os
from pathlib import Path

import jax
import jaxtyping
import pytest
import threadpoolctl

HERE = Path(__file__).parent
MAPPED_REGIONS = Path("/proc/self/maps")
MANY_REGIONS = 20_000  # Linux allows a process 65,530

jax.config.update("jax_enable_x64", True)
# Compiled code for the next run, and for other workers; another place may be given where it survives a clean checkout.
CACHE = os.environ.get("FINITEWIDTH_TEST_CACHE", str(HERE.parent / ".pytest_cache" / "jax"))
jax.config.update("jax_compilation_cache_dir", CACHE)
os.environ["JAX_COMPILATION_CACHE_DIR"] = CACHE  # for processes that tests start
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

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
    parser.addoption("--measured", action="store_true", help="run the measured tier, and only it")


def pytest_collection_finish(session):
    """Traces of programs are many small objects that live long: to look for rubbish among them as usual takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    if not session.config.getoption("--measured"):
        threadpoolctl.threadpool_limits(
            1
        )  # each worker has one core: threads of linear algebra would wait for each other


def pytest_configure(config):
    """For what modules share, too, which is made before their first test."""
    if not config.getoption("--measured"):
        jax.config.update("jax_disable_most_optimizations", True)


def pytest_collection_modifyitems(config, items):
    measured = config.getoption("--measured")
    chosen = [item for item in items if (item.get_closest_marker("measured") is not None) == measured]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


@pytest.fixture(autouse=True)
def compiled_in_haste(request):
    """Most tests wait for the compiler, not for what it compiles; measured ones run what users run."""
    optimised = any(request.node.get_closest_marker(name) for name in ("measured", "optimised"))
    jax.config.update("jax_disable_most_optimizations", not optimised)


@pytest.fixture(autouse=True, scope="module")
def compiled_code_is_forgotten():
    """Every compiled program maps memory, and thousands of them more regions than a process may have: then it crashes."""
    yield
    if MAPPED_REGIONS.exists() and len(MAPPED_REGIONS.read_text().splitlines()) > MANY_REGIONS:
        jax.clear_caches()
