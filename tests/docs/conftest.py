"""Examples of pages run as users run them: without the 64 bits that other tests ask JAX for."""

import jax
import pytest


@pytest.fixture(autouse=True)
def jax_as_readers_have_it(request):
    is_example = request.module.__name__.rpartition(".")[2] == "test_pages"
    jax.config.update("jax_enable_x64", not is_example)
    yield
    jax.config.update("jax_enable_x64", True)
