"""Tests run in float64; `references` and other helpers beside this file can be imported."""

import sys
from pathlib import Path

import jax
import pytest

HERE = Path(__file__).parent
MAPPED_REGIONS = Path("/proc/self/maps")
MANY_REGIONS = 20_000  # Linux allows a process 65,530

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", str(HERE.parent / ".pytest_cache" / "jax"))  # for the next run
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
sys.path.insert(0, str(HERE))


@pytest.fixture(autouse=True)
def compiled_in_haste(request):
    """Most tests wait for the compiler, not for what it compiles; Monte Carlo is the other way round."""
    jax.config.update("jax_disable_most_optimizations", request.node.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True, scope="module")
def compiled_code_is_forgotten():
    """Every compiled program maps memory, and thousands of them more regions than a process may have: then it crashes."""
    yield
    if MAPPED_REGIONS.exists() and len(MAPPED_REGIONS.read_text().splitlines()) > MANY_REGIONS:
        jax.clear_caches()
