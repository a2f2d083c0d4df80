"""Top-level calls give float64 results to users who never heard of `jax_enable_x64`, and leave their setting alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.critical import (
    angle_flow,
    asymptotics,
    criticality,
    first_layer_components,
    fixed_points,
    perturbed_pair_flow,
    phase_diagram,
    renormalised_C_W,
    semi_critical_asymptotics,
    single_input_flow,
    susceptibilities,
)

CALLS = {
    "angle_flow": lambda: angle_flow("relu", 1e-9, 3).psi,
    "asymptotics": lambda: asymptotics("tanh", [100.0]).V,
    "criticality": lambda: criticality("tanh").exponents.nu,
    "first_layer_components": lambda: first_layer_components([1.0, 2.0], [0.1, 0.0], 0.1, 1.0).kernel(),
    "fixed_points": lambda: fixed_points("tanh", 0.05, 1.5)[0].K_star,
    "eigenvalues": lambda: perturbed_pair_flow("tanh", 1.0, 0.1, 0.1, 3, 0.0, 1.0).eigenvalues[1],
    "phase_diagram": lambda: phase_diagram("tanh", [0.1], [1.0, 1.5]).K_star,
    "renormalised_C_W": lambda: renormalised_C_W("tanh", 10),
    "semi_critical_asymptotics": lambda: semi_critical_asymptotics("relu", [3.0], 0.1).V,
    "single_input_flow": lambda: single_input_flow("tanh", 1.0, 4, 0.1, 1.2).G1,
    "ratio": lambda: susceptibilities("tanh", 0.5).ratio,
}


@pytest.mark.parametrize("call", CALLS)
def test_same_in_either_mode(call):
    """The same numbers, to the last digit or nearly, with 64-bit types off around the call."""
    with jax.enable_x64(False):
        narrow = np.asarray(CALLS[call]())
        assert jnp.ones(1).dtype == jnp.float32
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow, np.asarray(CALLS[call]()), rtol=1e-13)
