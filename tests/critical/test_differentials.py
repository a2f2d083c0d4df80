"""Differentials of one input: values from elsewhere, large-depth laws with their exponents, closed forms, and the flow of many inputs."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError, UnknownNameError

DEPTH = 10_000
LAYER = np.arange(1.0, DEPTH + 1)


@pytest.fixture(scope="module")
def tanh():
    return fw.critical.differential_single_input_flow("tanh", 1.0, DEPTH, 0.0, 1.0, lambda_b=1 / LAYER, lambda_W=1.0)


def assert_falls_as_log_over_layer(gap, name):
    """What is missing is (A log l + B)/l: times l, it is linear in log l between layers 1000, 3162 and 10000, and it is small."""
    one, two, three = (gap[layer - 1] * layer for layer in (1000, 3162, 10_000))
    assert abs(three - 2 * two + one) < 0.12 * (abs(three) + abs(one)), name
    assert abs(gap[-1]) < 0.02, name


GOLDEN = {  # K, Theta, F, B, P, Q
    2: (0.39429449, 1.82310030, 0.15010191, 1.36603683, -0.38274194, -0.23264003),
    3: (0.23645041, 1.73026832, 0.16901848, 2.21289732, -0.69045436, -0.31284439),
    10: (0.05801185, 1.55397299, 0.17908584, 7.09889734, -2.11041319, -0.84851793),
    100: (0.00512072, 1.48773104, 0.18392643, 71.81619768, -18.35400963, -8.83784757),
}


def test_eight_decimals(tanh):
    """PDLT (11.55)-(11.60) at criticality, from a program of its own with another quadrature."""
    for layer, values in GOLDEN.items():
        found = [getattr(tanh, name)[layer - 1] for name in ("K", "Theta", "F", "B", "P", "Q")]
        np.testing.assert_allclose(found, values, rtol=1e-8, atol=6e-9)


def test_odd_activations_at_large_depth(tanh):
    """PDLT (11.98), (11.101), (∞.30)-(∞.33): what is missing falls as log(l)/l, and is small."""
    late = fw.critical.differential_asymptotics("tanh", LAYER)
    for name in "PQRSTU":
        assert_falls_as_log_over_layer(getattr(tanh, name) / getattr(late, name) - 1, name)
    np.testing.assert_allclose([late.slopes.P, late.slopes.Q], [-1 / 12, -1 / 24], rtol=1e-12)
    assert late.exponents == fw.critical.DifferentialExponents(-1.0, -1.0, -2.0, -2.0, -2.0, 0.0)


@pytest.mark.parametrize(
    ("rates", "P", "Q", "R", "S", "T"),
    [
        ((1.0, 1.0), -1 / 12, -1 / 24, -(3 + 4 / 2) / (48 * 1.5), 1 / 36, 1 / 72),
        ((1.0, 0.0), -1 / 12, -1 / 16, -1 / 16, 0.0, 1 / 32),
        ((0.0, 1.0), -1 / 12, 0.0, -1 / 12, 1 / 12, 0.0),
    ],
)
def test_slopes_against_depth_over_width(rates, P, Q, R, S, T):
    """PDLT (11.100), (11.102), (∞.34)-(∞.36) for tanh, by hand: w = 1/2 for each unit of lambda_W."""
    slopes = fw.critical.differential_asymptotics("tanh", [100.0], lambda_b=rates[0], lambda_W=rates[1]).slopes
    np.testing.assert_allclose(slopes[:5], (P, Q, R, S, T), atol=1e-12)
    assert slopes.U == 0


def test_an_activation_that_is_not_odd():
    r"""$\tanh z + 1 - 1/\cosh z$ has $p_\perp = 4/5$: PDLT (11.100), (11.102), and the flow tends to all six laws."""

    def sigma(z):
        return jnp.tanh(z) + 1 - 1 / jnp.cosh(z)

    late = fw.critical.differential_asymptotics(sigma, LAYER)
    np.testing.assert_allclose([late.slopes.P, late.slopes.Q], [-0.095238, -0.020156], atol=6e-7)
    p = 0.8
    flow = fw.critical.differential_single_input_flow(
        sigma, 1.0, DEPTH, 0.0, 1.0, lambda_b=LAYER**-p, lambda_W=LAYER ** (1 - p)
    )
    for name in "PQRSTU":
        assert_falls_as_log_over_layer(getattr(flow, name) / getattr(late, name) - 1, name)


def test_scaling_laws(tanh):
    """PDLT (11.65), (∞.22): couplings grow as l/n, but for U, which falls as 1/l, PDLT (∞.37)."""
    laws = fw.critical.scaling_laws(tanh)
    for name in "PQRST":
        assert abs(getattr(laws, name)[-1] + 1) < 0.01, name
    assert abs(laws.U[-1] - 1) < 0.01
    assert laws.layer[-1] == DEPTH
    linear = fw.critical.differential_single_input_flow("linear", 1.0, 60, 0.0, 1.0)
    found = fw.critical.scaling_laws(linear)
    assert (found.P, found.R, found.U) == (None, None, None)
    np.testing.assert_allclose([found.Q[-1], found.S[-1], found.T[-1]], -1, atol=1e-3)
    off = fw.critical.differential_single_input_flow("tanh", 1.0, 60, 0.0, 0.8)
    assert abs(fw.critical.scaling_laws(off).P[-1] + 1) > 0.05
    with pytest.raises(DomainError, match="at least four"):
        fw.critical.scaling_laws(fw.critical.differential_single_input_flow("linear", 1.0, 3, 0.0, 1.0))


def test_linear_and_scale_invariant_networks_in_closed_form():
    """PDLT (11.74), (11.79), (∞.45)-(∞.48): the recursion is the formula, at every layer."""
    layer = np.arange(1.0, 61)
    linear = fw.critical.differential_single_input_flow("linear", 0.8, 60, 0.0, 1.0, lambda_b=0.7, lambda_W=1.3)
    expected = fw.critical.differential_asymptotics("linear", layer, K1=0.8, lambda_b=0.7, lambda_W=1.3)
    for name in "PQRSTU":
        np.testing.assert_allclose(getattr(linear, name), getattr(expected, name), rtol=1e-11, atol=1e-11)
    relu = fw.critical.differential_single_input_flow("relu", 0.8, 60, 0.0, 2.0, 0.7, 1.3, through="dntk")
    expected = fw.critical.differential_asymptotics("relu", layer, K1=0.8, lambda_b=0.7, lambda_W=1.3)
    np.testing.assert_allclose(relu.Q, expected.Q, rtol=1e-11)
    np.testing.assert_allclose(relu.P, 0, atol=1e-11)
    np.testing.assert_allclose(relu.ratios.Q[-1] / 60, expected.slopes.Q * (1 - 60.0**-2), rtol=1e-11)  # PDLT (11.81)
    assert (relu.R, expected.S, expected.exponents.p_Q, expected.exponents.p_P) == (None, None, -3.0, None)


def test_the_flow_of_many_inputs_with_one():
    """PDLT (∞.14)-(∞.17) against PDLT (∞.177), (∞.179)-(∞.181)."""
    net = fw.MLP("sin", (1, 7, 7, 7, 7), C_b=0.1, C_W=1.2, lambda_b=0.4, lambda_W=0.9)
    theory = fw.flow(net, kernel=[[0.9]], through="ddntk")
    single = fw.critical.differential_single_input_flow("sin", 0.9, 4, 0.1, 1.2, lambda_b=0.4, lambda_W=0.9)
    for name in "PQRSTU":
        np.testing.assert_allclose(getattr(single, name), getattr(theory, name)[:, 0, 0, 0, 0], rtol=1e-9, atol=1e-12)


def test_refusals():
    """Half-stable activations have no such laws; kinks have no second differential; names are known."""
    with pytest.raises(DomainError, match="differential_single_input_flow"):
        fw.critical.differential_asymptotics("gelu", [10.0])
    with pytest.raises(DomainError, match="whose slope jumps"):
        fw.critical.differential_single_input_flow("relu", 1.0, 4, 0.0, 2.0)
    with pytest.raises(UnknownNameError, match="through"):
        fw.critical.differential_single_input_flow("tanh", 1.0, 4, 0.0, 1.0, through="ntk")
    with pytest.raises(DomainError, match="both zero"):
        fw.critical.differential_asymptotics("tanh", [10.0], lambda_b=0.0, lambda_W=0.0)
