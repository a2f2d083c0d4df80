"""The single-input flow: numbers known independently, closed recursions, exact scale-invariant fluctuations, real chains."""

import jax
import numpy as np
import pytest

from finitewidth._errors import ArgumentError, BlowUpError
from finitewidth.activations import ACTIVATIONS, Activation
from finitewidth.critical import criticality, renormalised_C_W, single_input_flow
from finitewidth.critical.one_input.single_input import flow_of_one_input
from finitewidth.exact import scale_invariant_flow
from finitewidth.networks import MLP


def test_layer_ten():
    r"""PDLT (5.108)-(5.110), (5.140): tanh and sin at layer 10 from $K^{(1)} = 1$, bare and renormalised."""
    tanh = single_input_flow("tanh", 1.0, 10, 0.0, 1.0)
    np.testing.assert_allclose([tanh.K[-1], tanh.V[-1], tanh.G1[-1]], [0.05801, 0.01859, -0.10713], atol=5.1e-6)
    tuned = single_input_flow("tanh", 1.0, 10, 0.0, 1.0, c_W1=2 / 3)
    np.testing.assert_allclose(tuned.G1[-1], 0.09499, atol=5.1e-6)
    sine = single_input_flow("sin", 1.0, 10, 0.0, 1.0)
    np.testing.assert_allclose([sine.K[-1], sine.V[-1], sine.G1[-1]], [0.09218, 0.05009, -0.19336], atol=5.1e-6)


def test_sine_recursions_in_closed_form():
    r"""PDLT (5.108)-(5.111), (5.138)-(5.140): $g = \frac{1-e^{-2K}}2$, variance $\frac18(1-e^{-4K})^2$, $j/8K^2 = -C_We^{-2K}$."""
    C_b, C_W, c_b1, c_W1 = 0.07, 1.6, 0.3, -0.8
    K, V, G1 = 2.5, 0.0, 0.0
    flow = single_input_flow("sin", K, 30, C_b, C_W, c_b1, c_W1)
    for layer in range(30):
        np.testing.assert_allclose([flow.K[layer], flow.V[layer], flow.G1[layer]], [K, V, G1], rtol=1e-11, atol=1e-15)
        chi, g = C_W * np.exp(-2 * K), -np.expm1(-2 * K) / 2
        G1 = c_b1 + c_W1 * g + chi * G1 - chi * V
        V = chi**2 * V + C_W**2 * np.expm1(-4 * K) ** 2 / 8
        K = C_b + C_W * g


@pytest.mark.parametrize(
    ("activation", "function", "kinks"),
    [
        ("softsign", lambda z: z / (1 + np.abs(z)), (0.0,)),
        (Activation(jax.nn.relu6, (0.0, 6.0), name="relu6"), lambda z: np.clip(z, 0, 6), (0.0, 6.0)),
        ("perceptron", lambda z: (z > 0) * 1.0, (0.0,)),
    ],
    ids=["softsign", "relu6", "perceptron"],
)
def test_against_another_quadrature(average, activation, function, kinks):
    r"""PDLT (5.108)-(5.111): kinked activations, with $\chi_\parallel$ and $j$ as averages of $\sigma^2$ alone."""
    C_b, C_W = 0.1, 1.7
    K, V, G1 = 5.0, 0.0, 0.0
    flow = single_input_flow(activation, K, 6, C_b, C_W)

    def square(z):
        return function(z) ** 2

    for layer in range(6):
        np.testing.assert_allclose([flow.K[layer], flow.V[layer], flow.G1[layer]], [K, V, G1], rtol=1e-10, atol=1e-13)
        g = average(square, K, kinks)
        chi = C_W / (2 * K**2) * average(lambda z, K=K: square(z) * (z**2 - K), K, kinks)
        j = C_W * average(lambda z, K=K: square(z) * ((z**2 / K) ** 2 - 6 * z**2 / K + 3), K, kinks)
        G1 = chi * G1 + j / 8 * V / K**2
        V = chi**2 * V + C_W**2 * average(lambda z, g=g: (square(z) - g) ** 2, K, kinks)
        K = C_b + C_W * g


def chain(function, K1, depth, C_b, C_W, width, networks, seed):
    """The metric of each layer of many networks: given the metric, neurons are independent Gaussians."""
    random = np.random.default_rng(seed)
    metric = np.full(networks, K1)
    layers = [metric]
    for _ in range(depth - 1):
        z = np.sqrt(metric)[:, None] * random.standard_normal((networks, width))
        metric = C_b + C_W * np.mean(function(z) ** 2, axis=1)
        layers.append(metric)
    return np.array(layers)


def vertex_and_error(metric, width):
    """n Var(G) and its standard error."""
    centred = (metric - metric.mean()) ** 2
    return width * centred.mean(), width * centred.std() / np.sqrt(len(metric))


@pytest.mark.measured
@pytest.mark.parametrize("renormalised", [False, True])
def test_tanh_networks(renormalised):
    r"""PDLT (5.109)-(5.110), (5.138)-(5.142): $V$ at layer 3 and $G^{\{1\}}$ at layer 10 of networks of width 64."""
    width, networks = 64, 60_000
    C_W = renormalised_C_W("tanh", width) if renormalised else 1.0
    np.testing.assert_allclose(C_W, 1 + 2 / (3 * width) * renormalised, rtol=1e-13)
    flow = single_input_flow("tanh", 1.0, 10, 0.0, 1.0, c_W1=2 / 3 * renormalised)
    metric = chain(np.tanh, 1.0, 10, 0.0, C_W, width, networks, seed=3 + renormalised)
    if not renormalised:  # the correction of C_W changes V at order 1/n
        measured, error = vertex_and_error(metric[2], width)
        assert abs(measured - float(flow.V[2])) < 4 * error
    correction = width * (metric[9] - float(flow.K[9]))
    error = correction.std() / np.sqrt(networks)
    assert abs(correction.mean() - float(flow.G1[9])) < 4 * error
    assert abs(float(flow.G1[9])) > 10 * error  # the test would see it missing


@pytest.mark.measured
@pytest.mark.parametrize(("name", "expected"), [("gelu", 62.21), ("swish", 1009.6)])
def test_half_stable_networks(verdict, name, expected):
    r"""PDLT (5.109): $V^{(2)}$ of GELU and SWISH started at their half-stable kernel."""
    point = verdict(name).point
    V = float(single_input_flow(name, point.K_star, 2, point.C_b, point.C_W).V[1])
    np.testing.assert_allclose(V, expected, rtol=1e-4)
    function = {"gelu": lambda z: np.asarray(ACTIVATIONS["gelu"](z)), "swish": lambda z: z / (1 + np.exp(-z))}[name]
    metric = chain(function, point.K_star, 2, point.C_b, point.C_W, 128, 20_000, seed=11)
    measured, error = vertex_and_error(metric[1], 128)
    assert abs(measured - V) < 4 * error


def test_scale_invariant():
    r"""PDLT (5.116), (5.120): $V = \nu(\ell-1)K^2$ and $G^{\{1\}} = 0$."""
    flow = single_input_flow("relu", 2.0, 10, 0.0, 2.0)
    np.testing.assert_allclose(flow.K, 2.0, rtol=1e-15)
    np.testing.assert_allclose(flow.V, 5 * np.arange(10) * 4, rtol=1e-14)
    assert not np.any(flow.G1)


@pytest.mark.parametrize(("C_b", "layer", "expected"), [(0.0, 5, 22.468), (0.0, 10, 61.95), (0.5, 10, 569.8)])
def test_first_order_of_the_exact_scale_invariant_flow(C_b, layer, expected):
    """PDLT (5.109), (5.120), critical and semi-critical: the exact variance has known values at width 64, and this
    flow as its limit of infinite width."""

    def exact(width):
        net = MLP("relu", (1, *[width] * (layer - 1), 1), C_b=C_b, C_W=2.0)
        return float(scale_invariant_flow(net, kernel=[[1.0]]).V[-1, 0])

    np.testing.assert_allclose(exact(64), expected, rtol=1e-4)
    np.testing.assert_allclose(exact(10**9), single_input_flow("relu", 1.0, layer, C_b, 2.0).V[-1], rtol=1e-6)


def test_renormalised_initialisation(verdict):
    r"""PDLT (5.138)-(5.142): $C_W = \sigma_1^{-2}(1+\frac2{3n})$, nothing for scale-invariant, an error for the rest."""
    np.testing.assert_allclose(renormalised_C_W("erf", 100), np.pi / 4 * (1 + 2 / 300), rtol=1e-13)
    assert renormalised_C_W("relu", 100) == 2.0
    for name in ("gelu", "sigmoid"):
        with pytest.raises(ArgumentError, match="activation"):
            renormalised_C_W(name, 100)
    with pytest.raises(ArgumentError, match="width"):
        renormalised_C_W("tanh", 0)


def test_renormalisation_of_a_kinked_activation():
    r"""PDLT (5.140)-(5.142) for softsign, $K' = K - cK^{3/2}$: $c_W^{\{1\}} = \frac12C_W$ removes the leading $G^{\{1\}}$."""
    tuning = (renormalised_C_W("softsign", 1000) - 1) * 1000
    np.testing.assert_allclose(tuning, 0.5, rtol=1e-9)
    depth = 20_000
    bare = single_input_flow("softsign", 1.0, depth, 0.0, 1.0)
    tuned = single_input_flow("softsign", 1.0, depth, 0.0, 1.0, c_W1=tuning)
    scale = depth * float(bare.K[-1])
    np.testing.assert_allclose(float(bare.G1[-1]) / scale, -1 / 4, rtol=2e-3)
    assert abs(float(tuned.G1[-1]) / scale) < 2e-3


def test_differentiable_in_everything():
    """PDLT (5.108)-(5.110): gradients of the scan against central differences."""

    def last(K1, C_b, C_W):
        flow = flow_of_one_input(ACTIVATIONS["gelu"], K1, 6, C_b, C_W)
        return flow.V[-1] + flow.G1[-1]

    at = np.array([0.8, 0.1, 1.5])
    gradient = jax.grad(last, argnums=(0, 1, 2))(*at)
    for i, slope in enumerate(gradient):
        step = 1e-5 * np.eye(3)[i]
        np.testing.assert_allclose(slope, (last(*(at + step)) - last(*(at - step))) / 2e-5, rtol=1e-6)


def test_many_starts_at_once():
    """PDLT (5.108): an array of first-layer kernels flows as each of them would."""
    together = single_input_flow("tanh", [0.2, 3.0], 5, 0.1, 1.2)
    alone = single_input_flow("tanh", 3.0, 5, 0.1, 1.2)
    np.testing.assert_allclose(together.V[:, 1], alone.V, rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("tanh", 0.0, 5, 0.0, 1.0), "K1"),
        (("tanh", 1.0, 0, 0.0, 1.0), "depth"),
        (("tanh", 1.0, 5, -1.0, 1.0), "C_b"),
        (("tanh", 1.0, 5, 0.0, np.inf), "C_W"),
        (("tanh", 1.0, 5, 0.0, 0.0), "C_b, C_W"),
        ((lambda z: jax.numpy.sin(z), 1e5, 5, 0.0, 1.0), "K1, C_b, C_W"),
    ],
)
def test_bad_arguments(arguments, named):
    """Each names the argument."""
    with pytest.raises(ArgumentError) as caught:
        single_input_flow(*arguments)
    assert caught.value.argument == named


def test_explosion_is_reported():
    """PDLT (5.74): the kernel of a monomial explodes doubly exponentially; no NaN comes back."""
    with pytest.raises(BlowUpError, match="layer"):
        single_input_flow("z^2", 2.0, 30, 0.0, 1.0)


def test_tuned_point_keeps_the_kernel(verdict):
    r"""PDLT (5.71)-(5.72): started at $K^\star$, GELU stays there for a thousand layers."""
    point = criticality("gelu").point
    flow = single_input_flow("gelu", point.K_star, 1000, point.C_b, point.C_W)
    np.testing.assert_allclose(flow.K, point.K_star, rtol=1e-11)
    np.testing.assert_allclose(flow.chi_perp, 1, rtol=1e-11)
