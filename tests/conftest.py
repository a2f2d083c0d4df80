"""Tests run in float64 and share one compilation cache per process."""

import jax

jax.config.update("jax_enable_x64", True)
