"""The six-point vertex and the second corrections against exact linear networks and measured ones."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion import flow
from finitewidth.networks import MLP
from references import vectorised


def test_linear_expansion():
    """PDLT (3.25), (3.43): v1 + v2 and u of a deep linear network, exact to rounding."""
    n, depth = 50, 6
    theory = flow(MLP("linear", (1, *[n] * (depth - 1), 1)), [[1.0]], next_order=True)
    layers = np.arange(depth)
    second = 2 * layers / n + 2 * layers * (layers - 1) / n**2
    v2 = theory.V1[:, 0, 0, 0, 0] / theory.previous_widths**2
    np.testing.assert_allclose(theory.v[:, 0, 0, 0, 0] + v2, second, rtol=1e-10, atol=1e-14)
    third = (8 * layers + 12 * layers * (layers - 1)) / n**2
    found = theory.six_point[:, 0, 0, 0] / theory.previous_widths**2
    np.testing.assert_allclose(found, third, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(theory.G2, 0, atol=1e-9)


@pytest.mark.measured
def test_second_layer_is_the_third_cumulant_of_one_neuron():
    """PDLT (4.59): GELU with one input, against one-dimensional quadrature."""
    K, C_W, n = 1.3, 1.9, 24
    u = np.linspace(-12, 12, 4001)
    w = np.exp(-(u**2) / 2) * (u[1] - u[0]) / np.sqrt(2 * np.pi)
    s = vectorised("gelu")(np.sqrt(K) * u) ** 2
    expected = C_W**3 * w @ (s - w @ s) ** 3
    theory = flow(MLP("gelu", (1, n, n, 1), C_W=C_W), kernel=[[K]], next_order=True)
    np.testing.assert_allclose(theory.six_point[1, 0, 0, 0], expected, rtol=1e-8)


@pytest.mark.measured
@pytest.mark.parametrize(("name", "C_W", "C_b", "inputs"), [("tanh", 1.5, 0.1, 2), ("gelu", 1.98, 0.17, 1)])
def test_measured_vertex_needs_the_second_correction(name, C_W, C_b, inputs):
    """Networks of small width deviate from V alone and agree with V + V1/n: PDLT (4.105)."""
    net = MLP(name, (2, 24, 20, 28, 1), C_b=C_b, C_W=C_W)
    x = np.array([[1.0, 0.4], [0.2, 1.1]])[:inputs]
    theory = flow(net, x, next_order=True)
    measured = fw.simulate(net, x, networks=400_000, seed=7)
    n = theory.previous_widths[:, None, None, None, None]
    leading, corrected = theory.V, theory.V + theory.V1 / n
    for layer in (2, 3):
        error = measured.V.standard_error[layer]
        alone = np.abs(measured.V.mean - leading)[layer] / error
        both = np.abs(measured.V.mean - corrected)[layer] / error
        assert alone.max() > 6  # the run is precise enough to see the correction
        assert both.max() < max(4.0, 0.35 * alone.max())
    mean = theory.G + theory.G2 / theory.previous_widths[:, None, None] ** 2
    assert (np.abs(measured.G.mean - mean)[1:] <= 4.5 * measured.G.standard_error[1:]).all()


def test_refuses_kinks_and_many_samples():
    """Clear errors where the next order is not available."""
    with pytest.raises(fw.DomainError, match="smooth"):
        flow(MLP("relu", (2, 8, 1)), [[1.0, 2.0], [0.5, -1.0]], next_order=True)
    with pytest.raises(fw.DomainError, match="at most"):
        flow(MLP("tanh", (2, 8, 1)), np.random.default_rng(0).normal(size=(5, 2)), next_order=True)


def test_six_point_vertex_of_one_input_at_unequal_widths():
    r"""PDLT (ε.20)-(ε.22) for any activation: $U' = C_W^3\{k_3 + 3rV\dot m\dot v + r^2(\dot m^3U + 3\dot m^2\ddot mV^2)\}$ with dots for
    d/dK, $m = \langle\sigma^2\rangle$, $v$ and $k_3$ the second and third cumulant of $\sigma^2$; averages of sin in closed form."""

    def power(K, p):  # <sin^2>, <sin^4>, <sin^6>
        waves = {2: (1 / 2, -1 / 2), 4: (3 / 8, -1 / 2, 1 / 8), 6: (10 / 32, -15 / 32, 6 / 32, -1 / 32)}[p]
        return sum(c * np.exp(-2 * k**2 * K) for k, c in enumerate(waves))

    def slope(K, p):
        return (power(K + 1e-5, p) - power(K - 1e-5, p)) / 2e-5

    C_b, C_W, widths = 0.1, 1.3, (1, 9, 6, 12, 2)
    K, V, U, expected = 0.8, 0.0, 0.0, [0.0]
    for layer in range(1, 4):
        r = widths[layer] / widths[layer - 1]  # of no consequence in the first layer, where nothing fluctuates
        m, second, third = (power(K, p) for p in (2, 4, 6))
        bend = (power(K + 1e-3, 2) - 2 * m + power(K - 1e-3, 2)) / 1e-6
        dm, dv = slope(K, 2), slope(K, 4) - 2 * m * slope(K, 2)
        U = C_W**3 * (
            third - 3 * second * m + 2 * m**3 + 3 * r * V * dm * dv + r**2 * (dm**3 * U + 3 * dm**2 * bend * V**2)
        )
        V, K = C_W**2 * (second - m**2 + r * dm**2 * V), C_b + C_W * m
        expected.append(U)
    net = fw.MLP("sin", widths, C_b=C_b, C_W=C_W)
    found = fw.flow(net, kernel=[[0.8]], next_order=True).six_point[:, 0, 0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_six_point_vertex_of_relu():
    r"""PDLT (ε.20), (ε.21) at criticality, exactly: $U = [75(\ell-1)(\ell-2) + 44(\ell-1)]K^3$; and $V + V^{\{1\}}/n$ is the variance
    $K^2[(1 + 5/n)^{\ell-1} - 1]$ of a product of independent factors to second order, PDLT (3.43) for ReLU."""
    n, layers = 90, np.arange(6)
    theory = flow(MLP("relu", (1, *[n] * 5, 1), C_W=2.0), kernel=[[0.7]], next_order=True)
    np.testing.assert_allclose(
        theory.six_point[:, 0, 0, 0], (75 * layers * (layers - 1) + 44 * layers) * 0.7**3, rtol=1e-13
    )
    np.testing.assert_allclose(theory.V[:, 0, 0, 0, 0], 5 * layers * 0.7**2, rtol=1e-13)
    np.testing.assert_allclose(theory.V1[1:, 0, 0, 0, 0], (25 * layers * (layers - 1) / 2 * 0.7**2)[1:], rtol=1e-13)
    assert not theory.G1.any()
    assert not theory.G2.any()
