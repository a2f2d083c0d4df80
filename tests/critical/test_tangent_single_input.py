"""The tangent kernel of one input through the layers: regression values, the multi-input flow, closed averages."""

import numpy as np
import pytest

from finitewidth._errors import ArgumentError, BlowUpError
from finitewidth.critical.one_input.tangent_single_input import effective_exponents, tangent_single_input_flow
from finitewidth.critical.phases.tangent_fixed_points import tangent_fixed_points
from finitewidth.expansion import flow
from finitewidth.networks import MLP

NAMES = ("K", "Theta", "V", "D", "F", "B", "A")

UNIFORM = {
    2: (0.3942944904, 2.3231002953, 0.0975237381, -0.1185973674, 0.1501019060, 1.3660368293, 0.1686381331),
    3: (0.2364504105, 2.7152072716, 0.0678074939, -0.1637669471, 0.2093491441, 3.2479173966, 0.4588255619),
    5: (0.1279047353, 3.5827203511, 0.0393984430, -0.2413890522, 0.3060487008, 10.2506328420, 1.8451706937),
    12: (0.0474311493, 6.8704959915, 0.0152923120, -0.5167480159, 0.6388554380, 99.2167305240, 24.7899868337),
}
FALLING = {
    3: (1.7302683236, -0.1201407740, 0.1690184845, 2.2128973234, 0.2718462272),
    12: (1.5394915962, -0.1084459105, 0.1795293046, 8.4786933135, 1.3194527318),
}


def at_layer(found, layer, names=NAMES):
    return [getattr(found, name)[layer - 1] for name in names]


def test_regression_values():
    r"""PDLT (9.6)-(9.21): tanh at criticality, $K^{(1)} = 1$, uniform rates and $\lambda_b = 1/\ell$."""
    found = tangent_single_input_flow("tanh", 1.0, 12, 0.0, 1.0)
    for layer, values in UNIFORM.items():
        np.testing.assert_allclose(at_layer(found, layer), values, atol=5.1e-11)
    found = tangent_single_input_flow("tanh", 1.0, 12, 0.0, 1.0, lambda_b=1 / np.arange(1, 13))
    for layer, values in FALLING.items():
        np.testing.assert_allclose(at_layer(found, layer, ("Theta", "D", "F", "B", "A")), values, atol=5.1e-11)


@pytest.mark.parametrize("name", ["relu", "sin", "gelu"])
def test_agrees_with_the_flow_of_many_inputs(name):
    """PDLT (9.13)-(9.16) are PDLT (8.77)-(8.97) with all samples equal."""
    rates = dict(lambda_b=[0.5, 0.7, 0.2, 0.9], lambda_W=[1.1, 0.6, 1.4, 0.8])
    net = MLP(name, (3, 16, 16, 16, 1), C_b=0.1, C_W=1.4, **rates)
    x = np.array([[0.8, -1.1, 1.3]])
    many = flow(net, x, through="ntk")
    one = tangent_single_input_flow(name, float(many.K[0, 0, 0]), 4, 0.1, 1.4, **rates)
    for quantity in NAMES:
        np.testing.assert_allclose(
            getattr(one, quantity), getattr(many, quantity).reshape(4), rtol=1e-7, atol=1e-10, err_msg=quantity
        )


def test_sine_in_closed_form():
    r"""PDLT (9.8)-(9.16) by hand for the sine at large and small kernels, where averages are exponentials."""
    C_b, C_W, lambda_b, lambda_W = 0.1, 1.6, 0.7, 1.2
    found = tangent_single_input_flow("sin", 2.5, 20, C_b, C_W, lambda_b, lambda_W)
    K, V, D, F, B, A = 2.5, 0.0, 0.0, 0.0, 0.0, 0.0
    theta = lambda_b + lambda_W * (K - C_b) / C_W
    for layer in range(1, 21):
        np.testing.assert_allclose(at_layer(found, layer), [K, theta, V, D, F, B, A], rtol=1e-9, atol=1e-13)
        e2, e8, k = np.exp(-2 * K), np.exp(-8 * K), lambda_W / C_W
        g, s, parallel, h = (1 - e2) / 2, (1 + e2) / 2, C_W * e2, -C_W * e2 / 2
        values, mixed, slopes = (3 - 4 * e2 + e8) / 8, (1 - e8) / 8, (3 + 4 * e2 + e8) / 8
        perp, cross = C_W * s, C_W**2 * (mixed - g * s) + 2 * h * parallel * V
        last = theta**2 * (C_W**2 * slopes - perp**2 + 4 * h**2 * V) + 4 * h * perp * theta * D
        A = perp**2 * A + 2 * k * (theta * cross + perp * parallel * D) + last
        F = parallel**2 * F + C_W**2 * mixed * theta
        B = perp**2 * B + C_W**2 * slopes * theta**2
        V, D = parallel**2 * V + C_W**2 * (values - g**2), perp * parallel * D + theta * cross
        A, D = A + k**2 * V, D + k * V
        K, theta = C_b + C_W * g, lambda_b + lambda_W * g + perp * theta


def test_off_critical_fixed_point():
    r"""Values for tanh at $(0.3, 1.5)$ with rates $(0.7, 1.2)$, and the end of a long flow, PDLT (9.6)-(9.21)."""
    (end,) = tangent_fixed_points("tanh", 0.3, 1.5, 0.7, 1.2)
    expected = (0.84617502, 4.40389947, 0.22577796, -1.22959810, 0.85243484, 35.63252284, 14.00312816)
    values = [end.K_star, *(getattr(end, name) for name in NAMES[1:])]
    np.testing.assert_allclose(values, expected, atol=5.1e-9)
    np.testing.assert_allclose([end.chi_parallel, end.chi_perp], [0.317850, 0.741833], atol=5.1e-7)
    deep = tangent_single_input_flow("tanh", 1.0, 200, 0.3, 1.5, 0.7, 1.2)
    np.testing.assert_allclose(at_layer(deep, 200), values, rtol=1e-12)


def test_no_fixed_point_where_the_tangent_kernel_grows():
    r"""PDLT (9.28): with $\chi_\perp \ge 1$ contributions add up without end; zero kernels have nothing to settle."""
    assert tangent_fixed_points("tanh", 0.0, 3.0) == ()
    assert tangent_fixed_points("tanh", 0.0, 0.5) == ()
    assert tangent_fixed_points("relu", 0.0, 2.0) == ()
    (end,) = tangent_fixed_points("relu", 0.3, 1.0)
    assert (end.K_star, end.Theta) == pytest.approx((0.6, (1 + 0.3) / 0.5))


def test_couplings_of_a_tangent_kernel_that_is_zero():
    """PDLT (9.23)-(9.24): what does not learn does not fluctuate; only the metric does."""
    found = tangent_single_input_flow("tanh", 1.0, 3, 0.0, 1.0, 0.0, 0.0).ratios
    assert all((part == 0).all() for part in (found.A, found.B, found.D, found.F))
    assert found.V[-1] > 0


def test_effective_exponents_of_powers():
    """PDLT (9.22): a pure power has its exponent at every layer."""
    layers = np.arange(5, 30)
    np.testing.assert_allclose(effective_exponents(-3.0 * layers**1.5, first_layer=5), -1.5, rtol=1e-12)
    with pytest.raises(ArgumentError, match="zero"):
        effective_exponents([0.0, 1.0])


def test_refusals():
    """Every bad argument is named."""
    for bad, match in (
        (dict(K1=0.0), "K1"),
        (dict(K1=0.1, C_b=0.5), "K1"),
        (dict(C_W=0.0), "C_W"),
        (dict(lambda_b=[1.0, 2.0]), "lambda_b"),
        (dict(lambda_W=-1.0), "lambda_W"),
        (dict(activation="perceptron"), "activation"),
        (dict(depth=0), "depth"),
    ):
        with pytest.raises(ArgumentError, match=match):
            tangent_single_input_flow(**(dict(activation="tanh", K1=1.0, depth=3, C_b=0.0, C_W=1.0) | bad))
    with pytest.raises(BlowUpError, match="layer"):
        tangent_single_input_flow("relu", 1.0, 400, 0.0, 50.0)
