"""Deep linear networks: exact results against exact values, other routes and Monte Carlo."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from finitewidth._errors import ArgumentError, BlowUpError, DomainError, ShapeError
from finitewidth.activations import scale_invariant
from finitewidth.exact import (
    c_2m,
    deep_linear,
    fixed_ratio_connected,
    fixed_ratio_moment,
    linear_connected_correlator,
    linear_correlator,
    linear_phase,
    log_kernel_statistics,
    moment_ratio,
    sample_scale_invariant,
    scale_invariant_flow,
)
from finitewidth.networks import MLP
from narrow_networks import BIASED, UNBIASED, X, kernel_chain, sites, within_standard_errors


def preactivations(rng: np.random.Generator, net: MLP, x: np.ndarray, networks: int) -> np.ndarray:
    """Last-layer preactivations (networks, n_L, N) of linear networks with real weights and biases."""
    z = np.broadcast_to(x.T, (networks, *x.T.shape))
    for m, n, b, w in zip(net.widths, net.widths[1:], net.C_b, net.C_W, strict=False):
        weights = rng.normal(size=(networks, n, m)) * math.sqrt(float(w) / m)
        z = weights @ z + rng.normal(size=(networks, n, 1)) * math.sqrt(float(b))
    return z


# --------------------------------------------------------------------------------------------- kernels of many inputs


def closed_second_moments(net: MLP, x: np.ndarray, layer: int) -> np.ndarray:
    """E[Ghat_12 Ghat_34] without biases by the eigenvectors of the step: symmetric part and the rest."""
    G0 = x @ x.T / x.shape[1]
    one, two, three = (np.einsum(f"{p},{q}->abcd", G0, G0) for p, q in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")))
    n = np.array(net.hidden_widths[: layer - 1])
    symmetric, rest = (one + two + three) / 3, (2 * one - two - three) / 3
    scale = np.prod(np.asarray(net.C_W)[:layer]) ** 2
    return scale * (symmetric * np.prod(1 + 2 / n) + rest * np.prod(1 - 1 / n))


def test_second_moments_closed_form():
    """PDLT (3.9)-(3.15), PDLT (3.22)-(3.25) for four inputs: the recursion against its solution, every component."""
    flow = deep_linear(UNBIASED, X)
    for layer in range(1, 5):
        G = np.prod(np.asarray(UNBIASED.C_W)[:layer]) * X @ X.T / 3
        np.testing.assert_allclose(flow.G[layer - 1], G, rtol=1e-14)
        np.testing.assert_allclose(
            flow.second_moments[layer - 1], closed_second_moments(UNBIASED, X, layer), rtol=1e-12, atol=1e-15
        )


def test_biases_against_the_kernel_chain():
    """PDLT (4.76) exactly, with biases: mean and all second moments of three inputs in standard errors."""
    kernels = kernel_chain(np.random.default_rng(1), BIASED, np.asarray(BIASED.first_kernel(X[:3])), 200_000)
    flow = deep_linear(BIASED, X[:3])
    for layer in range(1, 4):
        assert within_standard_errors(kernels[layer], np.asarray(flow.G[layer]))
        products = np.einsum("nab,ncd->nabcd", kernels[layer], kernels[layer])
        assert within_standard_errors(products, np.asarray(flow.second_moments[layer]))
    # the test sees an error of one part in thirty: with the crossed terms dropped it must fail
    assert not within_standard_errors(products, np.einsum("ab,cd->abcd", flow.G[3], flow.G[3]))


def test_leading_order_golden_values():
    """PDLT (4.119) for the linear activation with biases: the exact V at large widths, which depends on ratios only."""
    golden_V = [99.8015625, 33.79921875, 11.517890625, 32.0874609375, 17.883984375, 27.819140625]
    errors = []
    for scale in (10**6, 2 * 10**6):  # the remainder is 1e-7 and falls as 1/n
        widths = (2, 40 * scale, 30 * scale, 50 * scale, 1)
        flow = deep_linear(MLP("linear", widths, C_b=0.1, C_W=1.5), kernel=[[1.0, 0.3], [0.3, 0.5]])
        np.testing.assert_allclose(flow.G[-1][np.triu_indices(2)], [3.85, 1.4875, 2.1625], rtol=1e-14)
        a, b = np.triu_indices(2)
        V = np.asarray(flow.V[-1])[a[:, None], b[:, None], a, b][np.triu_indices(3)]
        np.testing.assert_allclose(V, golden_V, rtol=1e-6)
        errors.append(np.abs(V - golden_V).max())
    assert errors[0] / errors[1] == pytest.approx(2, rel=1e-3)


def test_structure_of_the_vertex():
    """PDLT (4.76): V is a covariance on pairs, a sub-block is a sub-network, duplicated inputs are one input."""
    flow = deep_linear(BIASED, X)
    V = np.asarray(flow.V)
    np.testing.assert_allclose(V, V.transpose(0, 2, 1, 3, 4), atol=1e-14)
    np.testing.assert_allclose(V, V.transpose(0, 3, 4, 1, 2), atol=1e-14)
    assert np.abs(V - V.transpose(0, 3, 2, 1, 4)).max() > 0.1
    assert np.linalg.eigvalsh(V[1:].reshape(3, 16, 16)).min() > -1e-13
    assert np.abs(V[0]).max() == 0
    np.testing.assert_allclose(deep_linear(BIASED, X[[2, 0]]).V, V[np.ix_(range(4), *[[2, 0]] * 4)], rtol=1e-13)
    twice = deep_linear(BIASED, X[[1, 1]]).V
    np.testing.assert_allclose(twice, np.broadcast_to(twice[:, :1, :1, :1, :1], twice.shape), rtol=1e-14)


def test_slope_rescales_the_weights():
    """PDLT (3.14): a slope a is C_W -> a^2 C_W after the first layer."""
    C_W = np.array([1.0, 0.9, 1.2])
    plain = deep_linear(MLP("linear", (3, 4, 5, 2), C_b=0.3, C_W=C_W), X)
    steep = deep_linear(MLP(scale_invariant(2.0, 2.0), (3, 4, 5, 2), C_b=0.3, C_W=C_W / [1, 4, 4]), X)
    np.testing.assert_allclose(plain.G, steep.G, rtol=1e-14)
    np.testing.assert_allclose(plain.V, steep.V, rtol=1e-13, atol=1e-15)


def test_layer_averages_and_inter_neuron_covariance():
    """PDLT (3.28)-(3.33): Var O at n = 40, layer 6; its split; neurons of one layer are correlated."""
    flow = deep_linear(MLP("linear", (1, *(40,) * 6), C_W=1.0), kernel=[[1.0]])
    variance = flow.layer_average_covariance[:, 0, 0, 0, 0]
    assert round(float(variance[-1]), 5) == 0.34010
    np.testing.assert_allclose(variance, 1.05 ** np.arange(1, 7) - 1, rtol=1e-13)
    G4 = flow.second_moments[:, 0, 0, 0, 0]
    np.testing.assert_allclose(variance, 2 / 40 * G4 + G4 - 1, rtol=1e-12)
    inter_neuron = (
        linear_correlator(UNBIASED, sites([0, 0, 1, 1], [0] * 4), X)
        - linear_correlator(UNBIASED, sites([0, 0], [0, 0]), X) ** 2
    )
    np.testing.assert_allclose(deep_linear(UNBIASED, X).v[:, 0, 0, 0, 0], inter_neuron, rtol=1e-13, atol=1e-16)
    wide = 10**7
    leading = deep_linear(MLP("linear", (1, *(wide,) * 6), C_W=1.0), kernel=[[1.0]])
    layers = np.arange(1, 7)
    np.testing.assert_allclose(leading.layer_average_covariance[:, 0, 0, 0, 0] * wide, 2 * layers, rtol=1e-6)
    np.testing.assert_allclose(leading.V[:, 0, 0, 0, 0], 2 * (layers - 1), rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=3, max_size=3),  # one shape, one compilation
    st.floats(0, 2),
    st.floats(0.01, 2),
    st.floats(0.01, 5),
)
def test_three_routes_agree(hidden, C_b, C_W, start):
    """PDLT (3.44)-(3.45): tensor recursion, moment recursion and sum over pairings, on random networks."""
    net = MLP("linear", (1, *hidden, 2), C_b=C_b, C_W=C_W)
    one, other = deep_linear(net, kernel=[[start]]), scale_invariant_flow(net, kernel=[[start]], order=3)
    np.testing.assert_allclose(one.G[:, 0, 0], other.G[:, 0], rtol=1e-13)
    np.testing.assert_allclose(one.V[:, 0, 0, 0, 0], other.V[:, 0], rtol=1e-12)
    six = linear_correlator(net, sites([0] * 6, [0] * 6), kernel=[[start]])
    np.testing.assert_allclose(six, 15 * other.moments[2, :, 0], rtol=1e-12)


# -------------------------------------------------------------------------------------------------------- correlators


def test_neural_indices_of_one_input():
    """PDLT (3.22), PDLT (3.36), PDLT (3.44): numbers of pairings that survive the Kronecker deltas."""
    moments = scale_invariant_flow(UNBIASED, X, order=4).moments[:, :, 2]
    counts = {
        (0,): 0,
        (0, 0): 1,
        (0, 1): 0,
        (0, 0, 0, 0): 3,
        (0, 0, 1, 1): 1,
        (0, 1, 0, 1): 1,
        (0, 0, 0, 1): 0,
        (0,) * 6: 15,
        (0, 0, 0, 0, 1, 1): 3,
        (0, 0, 1, 1, 2, 2): 1,
        (0, 1, 2): 0,
        (0,) * 8: 105,
        (5, 5, 5, 5, 9, 9, 9, 9): 9,
    }
    for neurons, count in counts.items():
        value = linear_correlator(UNBIASED, sites(neurons, [2] * len(neurons)), X)
        np.testing.assert_allclose(value, count * moments[len(neurons) // 2 - 1], rtol=1e-13)


@pytest.mark.parametrize("samples", [(0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1, 1), (0, 1, 1, 1)])
def test_four_point_assembles_from_G_and_V(samples):
    """PDLT (3.29), PDLT (4.77): the pairing route gives the tensors of `deep_linear`, biases included."""
    flow = deep_linear(BIASED, X[:2])
    a, b, c, d = samples
    across = linear_connected_correlator(BIASED, sites([0, 0, 1, 1], samples), X[:2])
    same = linear_connected_correlator(BIASED, sites([3, 3, 3, 3], samples), X[:2])
    v = flow.v
    np.testing.assert_allclose(across, v[:, a, b, c, d], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(same, v[:, a, b, c, d] + v[:, a, c, b, d] + v[:, a, d, b, c], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("neurons", [(0, 0, 0, 0, 0, 0), (0, 0, 1, 1, 2, 2), (0, 1, 0, 1, 2, 2), (0, 0, 0, 0, 4, 4)])
def test_six_point_connected_from_full(neurons):
    """PDLT (1.61), PDLT (3.57): cumulants of preactivations, points by points, against joint cumulants of kernels."""
    samples = (0, 1, 2, 1, 3, 0)

    def full(points):
        return np.asarray(linear_correlator(BIASED, [(neurons[p], samples[p]) for p in points], X))

    expected = full(range(6))
    for pair in itertools.combinations(range(6), 2):
        expected = expected - full(pair) * full([p for p in range(6) if p not in pair])
    for p, q, r, s in itertools.permutations(range(1, 6), 4):
        if p < q and r < s and p < r:
            (last,) = set(range(1, 6)) - {p, q, r, s}
            expected = expected + 2 * full((0, last)) * full((p, q)) * full((r, s))
    connected = linear_connected_correlator(BIASED, sites(neurons, samples), X)
    np.testing.assert_allclose(connected, expected, rtol=1e-10, atol=1e-13)


def test_connected_six_point_of_one_input():
    """PDLT (3.57) before its limit: 15 (G_6 - 3 G_2 G_4 + 2 G_2^3); its expansion at large width."""
    G2, G4, G6 = scale_invariant_flow(UNBIASED, X[:1], order=3).moments[:, :, 0]
    connected = linear_connected_correlator(UNBIASED, sites([0] * 6, [0] * 6), X[:1])
    np.testing.assert_allclose(connected, 15 * (G6 - 3 * G2 * G4 + 2 * G2**3), rtol=1e-12, atol=1e-14)
    n, layer = 10**4, 5
    net = MLP("linear", (1, *(n,) * (layer - 1), 1), C_W=1.0)
    u = float(linear_connected_correlator(net, sites([0, 0, 1, 1, 2, 2], [0] * 6), kernel=[[1.0]])[-1])
    assert u * n**2 == pytest.approx(8 * (layer - 1) + 12 * (layer - 1) * (layer - 2), rel=1e-2)


@pytest.mark.measured
def test_correlators_of_real_networks():
    """PDLT (3.22)-(3.25), PDLT (3.36)-(3.44) with samples, neurons and biases, by explicit weights."""
    net = MLP("linear", (3, 6, 4, 3), C_b=[0.3, 0.2, 0.1], C_W=[1.0, 0.9, 1.1])
    z = preactivations(np.random.default_rng(3), net, X, 600_000)
    cases = [
        ((0, 0), (0, 1)),
        ((0, 0, 1, 1), (0, 1, 2, 3)),
        ((0, 0, 0, 0), (0, 1, 2, 3)),
        ((0, 1, 0, 1), (0, 0, 2, 1)),
        ((0, 0, 1, 1, 2, 2), (0, 1, 2, 3, 0, 2)),
        ((0, 0, 0, 0, 1, 1), (0, 3, 0, 3, 1, 1)),
        ((0,) * 6, (0, 0, 3, 3, 1, 1)),
        ((0, 0, 0, 1), (0, 1, 2, 3)),
    ]
    for neurons, samples in cases:
        draws = np.prod([z[:, i, a] for i, a in zip(neurons, samples, strict=True)], axis=0)
        assert within_standard_errors(draws, np.asarray(linear_correlator(net, sites(neurons, samples), X)[-1]))


# ----------------------------------------------------------------------------------------- phases, transforms, errors


def test_phases():
    """PDLT (3.14)-(3.16): C_W below, at and above one, and the slope's share in it."""
    assert linear_phase(1.0) == ("critical", 1.0, math.inf)
    assert linear_phase(0.5) == ("vanishing", 0.0, pytest.approx(1 / math.log(2)))
    assert linear_phase(math.e) == ("exploding", math.inf, pytest.approx(1.0))
    assert linear_phase(0.0) == ("vanishing", 0.0, 0.0)
    for slope in (0.1, 0.3, -3.0, 7.7):
        assert linear_phase(1 / slope**2, slope).name == "critical"
    deep = deep_linear(MLP("linear", (1, *(10,) * 50), C_W=0.5), kernel=[[1.0]]).G[:, 0, 0]
    np.testing.assert_allclose(deep[-1], math.exp(-49 / linear_phase(0.5).depth_scale), rtol=1e-12)


def test_differentiable_and_mappable():
    """PDLT (3.14), PDLT (3.24): jit, vmap, and gradients in C_W, C_b (at zero) and the kernel."""

    def last(C_b, C_W, kernel):
        net = with_hyperparameters(C_b, C_W)
        six = linear_correlator(net, sites([0, 0, 1, 1, 0, 0], [0, 1, 0, 1, 0, 0]), kernel=kernel)[-1]
        one = scale_invariant_flow(net, kernel=kernel, order=3).moments[2, -1, 1]
        return deep_linear(net, kernel=kernel).V[-1, 0, 1, 0, 1] + six + one

    base = MLP("linear", (2, 4, 3, 2))

    def with_hyperparameters(C_b, C_W):
        return eqx.tree_at(lambda net: (net.C_b, net.C_W), base, (C_b, C_W))

    point = jnp.zeros(3), jnp.array([1.0, 0.9, 1.1]), jnp.array([[1.0, 0.3], [0.3, 0.5]])
    gradients = jax.jit(jax.grad(last, argnums=(0, 1, 2)))(*point)
    rng = np.random.default_rng(8)
    steps = [jnp.asarray(rng.uniform(0.5, 1, size=p.shape)) for p in point]
    steps[2] = steps[2] + steps[2].T
    h = 1e-4
    compiled = jax.jit(last)
    values = [float(compiled(*(p + k * h * s for p, s in zip(point, steps, strict=True)))) for k in range(5)]
    forward = np.dot([-25, 48, -36, 16, -3], values) / (12 * h)  # one-sided, fourth order: C_b stays >= 0
    directional = sum(float((g * s).sum()) for g, s in zip(gradients, steps, strict=True))
    assert directional == pytest.approx(forward, rel=1e-9)
    assert float(last(*point)) == pytest.approx(values[0], rel=1e-14)
    scales = jnp.array([1.0, 2.0])
    mapped = jax.vmap(lambda s: deep_linear(base, kernel=s * point[2]).V)(scales)
    np.testing.assert_allclose(mapped[1], 4 * mapped[0], rtol=1e-14)


def test_one_layer_is_gaussian():
    """PDLT (3.22), PDLT (3.34): without hidden layers nothing fluctuates."""
    net = MLP("linear", (3, 2), C_b=0.1, C_W=0.7)
    G = np.asarray(net.first_kernel(X))
    flow = deep_linear(net, X)
    np.testing.assert_array_equal(flow.G[0], G)
    assert not np.asarray(flow.V).any()
    np.testing.assert_allclose(scale_invariant_flow(net, X, order=3).moments[2, 0], np.diagonal(G) ** 3, rtol=1e-15)
    six = linear_correlator(net, sites([0] * 6, [1] * 6), X)
    assert six.shape == (1,)
    assert float(six[0]) == pytest.approx(15 * G[1, 1] ** 3, rel=1e-14)
    assert abs(float(linear_connected_correlator(net, sites([0] * 4, [0, 1, 2, 3]), X)[0])) < 1e-16
    assert sample_scale_invariant(net, X[:1], networks=2).shape == (2, 1)


def test_program_does_not_grow_with_depth():
    """PDLT (3.14): depth is a scan."""

    def size(depth):
        net = MLP("linear", (2, *(4,) * depth))
        kernel = jnp.eye(2)
        routes = (
            lambda k: deep_linear(net, kernel=k),
            lambda k: scale_invariant_flow(net, kernel=k),
            lambda k: linear_correlator(net, sites([0] * 4, [0, 1, 0, 1]), kernel=k),
        )
        return [len(jax.make_jaxpr(route)(kernel).eqns) for route in routes]

    assert size(3) == size(30)


def test_float64_whatever_the_setting():
    """PDLT (3.45): the top-level calls compute in float64 and leave the global setting alone."""
    with jax.enable_x64(False):
        flow = deep_linear(BIASED, X.astype(np.float32))
        assert flow.v.dtype == flow.V.dtype == flow.second_moments.dtype == np.float64
        assert flow.layer_average_covariance.dtype == scale_invariant_flow(BIASED, X).V.dtype == np.float64
        assert scale_invariant_flow(BIASED, X).moments.dtype == np.float64
        assert c_2m(2, 3).dtype == np.float64
        assert jnp.ones(()).dtype == np.float32


RELU, TANH = MLP("relu", (3, 4, 2)), MLP("tanh", (3, 4, 2))


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: deep_linear(RELU, X), DomainError, "net"),
        (lambda: deep_linear(TANH, X), DomainError, "net"),
        (lambda: linear_correlator(RELU, [(0, 0), (0, 0)], X), DomainError, "net"),
        (lambda: scale_invariant_flow(TANH, X), DomainError, "net"),
        (lambda: sample_scale_invariant(TANH, X[:1], networks=3), DomainError, "net"),
        (lambda: log_kernel_statistics(RELU), DomainError, "net"),
        (lambda: log_kernel_statistics(BIASED), DomainError, "net"),
        (lambda: deep_linear(BIASED), ArgumentError, "x"),
        (lambda: deep_linear(BIASED, X, kernel=np.eye(2)), ArgumentError, "x"),
        (lambda: deep_linear(BIASED, X[:, :2]), ShapeError, "x"),
        (lambda: deep_linear(BIASED, X * np.nan), DomainError, "x"),
        (lambda: deep_linear(BIASED, kernel=[[1.0, 2.0], [2.0, 1.0]]), DomainError, "kernel"),
        (lambda: linear_correlator(BIASED, [], X), ShapeError, "sites"),
        (lambda: linear_correlator(BIASED, np.zeros((2, 3), dtype=int), X), ShapeError, "sites"),
        (lambda: linear_correlator(BIASED, [(0, 0)] * 10, X), ShapeError, "sites"),
        (lambda: linear_correlator(BIASED, [(0, 0), (0, 4)], X), DomainError, "sites[1][1]"),
        (lambda: linear_correlator(BIASED, [(0, 0), (0, -1)], X), DomainError, "sites[1][1]"),
        (lambda: linear_connected_correlator(BIASED, [(0, 0), (-1, 0)], X), DomainError, "sites[1][0]"),
        (lambda: scale_invariant_flow(BIASED, X, order=0), DomainError, "order"),
        (lambda: scale_invariant_flow(BIASED, X, order=21), DomainError, "order"),
        (lambda: sample_scale_invariant(BIASED, X, networks=3), ShapeError, "x"),
        (lambda: sample_scale_invariant(BIASED, X[:1], networks=0), DomainError, "networks"),
        (lambda: c_2m(0, 3), DomainError, "m"),
        (lambda: c_2m(2, 0), DomainError, "n"),
        (lambda: moment_ratio(2, [3, -1]), DomainError, "hidden_widths"),
        (lambda: moment_ratio(2, [1.5]), DomainError, "hidden_widths"),
        (lambda: fixed_ratio_moment(2, -0.1), DomainError, "r"),
        (lambda: fixed_ratio_connected(3, 0.1, nu=math.inf), DomainError, "nu"),
        (lambda: linear_phase(-1.0), DomainError, "C_W"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    """PDLT (3.14): outside its domain every function says which argument is wrong."""
    with pytest.raises(error) as caught:
        call()
    assert caught.value.argument == argument


def test_overflow_is_an_error():
    """PDLT (3.16): the exploding phase leaves the floats, and says so."""
    net = MLP("linear", (1, *(4,) * 600), C_W=4.0)
    for call in (deep_linear, scale_invariant_flow):
        with pytest.raises(BlowUpError):
            call(net, kernel=[[1.0]])
