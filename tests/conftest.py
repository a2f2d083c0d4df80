"""Tests run in float64; `references` and other helpers beside this file can be imported."""

import sys
from pathlib import Path

import jax

HERE = Path(__file__).parent

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", str(HERE.parent / ".pytest_cache" / "jax"))  # for the next run
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
sys.path.insert(0, str(HERE))
