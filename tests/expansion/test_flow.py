"""Exact facts about the flow: limits, symmetries, identities, and the printed recursions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion import flow
from finitewidth.networks import MLP
from references import vectorised

NAMES = ["tanh", "gelu", "relu", "sin"]


def inputs(samples, features=3, seed=0):
    """The first is the largest: some of them then need the same quadrature as all of them, and one compilation serves."""
    x = np.random.default_rng(seed).normal(size=(samples, features))
    return x * (np.linspace(1.65, 1.0, samples) / np.linalg.norm(x, axis=1))[:, None]


def on_pairs(vertex):
    """Tensors with four sample indices as matrices between unordered pairs."""
    a, b = np.triu_indices(vertex.shape[-1])
    return vertex[:, a, b][:, :, a, b]


@pytest.mark.parametrize("name", NAMES)
def test_first_and_second_layer_are_exact(name):
    """PDLT (4.8), (4.37): no fluctuation at layer 1, no shift of the mean at layer 2."""
    theory = flow(MLP(name, (3, 10, 20, 30, 1), C_b=0.1, C_W=1.2), inputs(2))
    assert not theory.V[0].any()
    assert not theory.G1[:2].any()
    np.testing.assert_allclose(theory.K[0], 0.1 + 0.4 * inputs(2) @ inputs(2).T, rtol=1e-14)


@pytest.mark.parametrize("name", ["gelu", "relu"])
def test_vertex_is_a_covariance(name):
    """PDLT (4.76): symmetric and positive semi-definite between unordered pairs, at every layer."""
    theory = flow(MLP(name, (3, 20, 30, 40, 1), C_W=1.3, C_b=0.05), inputs(3, seed=1))
    vertex = on_pairs(theory.v)
    np.testing.assert_allclose(vertex, vertex.swapaxes(1, 2), rtol=0, atol=1e-13)
    for matrix in vertex:
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-10 * np.trace(matrix)
    V = theory.V[-1]
    np.testing.assert_array_equal(V, V.transpose(1, 0, 2, 3))
    np.testing.assert_allclose(V, V.transpose(2, 3, 0, 1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_duplicated_inputs_share_one_vertex(name):
    """All components of V between copies of one input equal those of that input alone."""
    x = inputs(1)
    net = MLP(name, (3, 16, 16, 16, 1), C_b=0.1, C_W=1.1)
    one, two = flow(net, x), flow(net, np.concatenate([x, x]))
    np.testing.assert_allclose(two.V, np.broadcast_to(one.V, two.V.shape), rtol=1e-8)
    np.testing.assert_allclose(two.G1, np.broadcast_to(one.G1, two.G1.shape), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(two.K, np.broadcast_to(one.K, two.K.shape), rtol=1e-12)


@pytest.mark.parametrize("name", ["gelu", "relu"])
def test_marginalisation(name):
    """PDLT (4.92)-(4.93): the flow of some of the inputs is the sub-block of the flow of all."""
    x = inputs(3, seed=2)
    net = MLP(name, (3, 16, 24, 16, 1), C_b=0.05, C_W=1.4)
    whole, part = flow(net, x), flow(net, x[[2, 0]])
    chosen = np.ix_([2, 0], [2, 0])
    np.testing.assert_allclose(part.K, whole.K[(slice(None), *chosen)], rtol=1e-10)
    np.testing.assert_allclose(part.V, whole.V[(slice(None), *np.ix_(*[[2, 0]] * 4))], rtol=1e-7)
    np.testing.assert_allclose(part.G1, whole.G1[(slice(None), *chosen)], rtol=1e-7, atol=1e-10)


def test_relu_has_no_shift_for_one_input():
    """Scale invariance: G1 of a single input vanishes, and V is (5 / n) K^2 per layer, PDLT (5.120)."""
    n, depth = 50, 4
    theory = flow(MLP("relu", (3, *[n] * (depth - 1), 1), C_W=2.0), inputs(1))
    K = theory.K[:, 0, 0]
    np.testing.assert_allclose(theory.G1, 0, atol=1e-14)
    np.testing.assert_allclose(theory.V[1:, 0, 0, 0, 0], 5 * np.arange(1, depth) * K[1:] ** 2, rtol=1e-12)


def test_each_layer_adds_its_own_inverse_width():
    """The vertex is linear in the inverse widths of the hidden layers."""
    x = inputs(2)
    alone = []
    for layer in range(1, 4):
        widths = [10**9] * 5
        widths[0], widths[layer] = 3, 10
        alone.append(flow(MLP("tanh", widths, C_W=1.2), x).v[-1])
    together = flow(MLP("tanh", (3, 10, 10, 10, 10), C_W=1.2), x).v[-1]
    np.testing.assert_allclose(sum(alone), together, rtol=1e-7)


def printed_recursions(name, K, V, G1, C_W, ratio, nodes=161):
    r"""PDLT (4.119) and PDLT (4.115) as printed, inverse kernels and all, for two inputs on a dense grid.

    `ratio` is n_l / n_{l-1}; returns V and G1 of the next layer.
    """
    u = np.linspace(-9, 9, nodes)
    w = np.exp(-(u**2) / 2) * (u[1] - u[0]) / np.sqrt(2 * np.pi)
    root = np.linalg.cholesky(K)
    z = np.einsum("ab,bij->aij", root, np.stack(np.meshgrid(u, u, indexing="ij")))
    weights = w[:, None] * w
    s = vectorised(name)(z)
    inverse = np.linalg.inv(K)
    raised_V = np.einsum("abcd,ae,bf,cg,dh->efgh", V, inverse, inverse, inverse, inverse)
    raised_G1 = inverse @ G1 @ inverse
    pair = np.einsum("aij,bij->abij", s, s)
    shifted = np.einsum("aij,bij->abij", z, z) - K[:, :, None, None]
    mean = np.einsum("abij,ij->ab", pair, weights)
    once = np.einsum("abij,cdij,ij->abcd", pair, shifted, weights)
    twice = np.einsum("abij,cdij,efij,ij->abcdef", pair, shifted, shifted, weights)
    bent = -2 * once - np.einsum("ab,cd->abcd", mean, K)
    four = np.einsum("abij,cdij,ij->abcd", pair, pair, weights)
    new_V = C_W**2 * (four - np.einsum("ab,cd->abcd", mean, mean))
    new_V += C_W**2 / 4 * ratio * np.einsum("efgh,abef,cdgh->abcd", raised_V, once, once)
    new_G1 = 0.5 * np.einsum("cd,abcd->ab", raised_G1, once)
    new_G1 += np.einsum("cdef,abcdef->ab", raised_V, twice) / 8
    new_G1 += np.einsum("cedf,ef,abcd->ab", raised_V, K, bent) / 4
    return new_V, ratio * C_W * new_G1


@pytest.mark.parametrize("name", ["tanh", "gelu"])
def test_printed_recursions(name):
    """PDLT (4.115), (4.119): the book's form with raised indices gives the same V and G1."""
    net = MLP(name, (3, 40, 25, 60, 1), C_b=0.1, C_W=1.5)
    theory = flow(net, kernel=[[1.2, 0.3], [0.3, 0.5]])
    for layer in (1, 2):
        ratio = net.widths[layer + 1] / net.widths[layer]
        V, G1 = printed_recursions(name, theory.K[layer], theory.V[layer], theory.G1[layer], 1.5, ratio)
        np.testing.assert_allclose(theory.V[layer + 1], V, rtol=1e-7)
        np.testing.assert_allclose(theory.G1[layer + 1], G1, rtol=1e-7)


def test_layers_may_differ():
    """Hyperparameters per layer: the step to layer l uses C^(l)."""
    C_b, C_W = [0.1, 0.2, 0.3], [1.0, 1.5, 0.7]
    theory = flow(MLP("erf", (3, 8, 8, 1), C_b=C_b, C_W=C_W), inputs(2), through="kernel")
    for layer in (1, 2):
        K = theory.K[layer - 1]
        root = np.sqrt((1 + 2 * np.diagonal(K))[:, None] * (1 + 2 * np.diagonal(K)))
        expected = C_b[layer] + C_W[layer] * 2 / np.pi * np.arcsin(2 * K / root)
        np.testing.assert_allclose(theory.K[layer], expected, rtol=1e-12)


@pytest.mark.measured  # `test_hard_cases` differentiates a flow in the fast tier
@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_differentiable_in_inputs_and_hyperparameters(name):
    """Gradients of K, V and G1 against finite differences."""
    x = jnp.asarray(inputs(2, seed=3))
    weights = np.random.default_rng(4).normal(size=3)

    def summary(x, C_W):
        theory = flow(MLP(name, (3, 20, 20, 20, 1), C_b=0.1, C_W=C_W), x)
        return weights @ jnp.stack([jnp.sum(theory.K[-1]), theory.V[-1, 0, 1, 0, 1], theory.G1[-1, 0, 1]])

    gradient = jax.grad(summary, argnums=(0, 1))(x, jnp.asarray(1.4))
    direction = jnp.asarray(inputs(2, seed=5))
    step = 1e-4
    along_x = (summary(x + step * direction, 1.4) - summary(x - step * direction, 1.4)) / (2 * step)
    along_C_W = (summary(x, 1.4 + step) - summary(x, 1.4 - step)) / (2 * step)
    np.testing.assert_allclose(jnp.sum(gradient[0] * direction), along_x, rtol=1e-6)
    np.testing.assert_allclose(gradient[1], along_C_W, rtol=1e-6)


def test_kernel_alone_agrees_and_scales():
    """`through="kernel"` gives the same K, by Hermite modes instead of a grid."""
    net = MLP("tanh", (3, 8, 8, 8, 1), C_W=1.3, C_b=0.1)
    x = inputs(2)
    np.testing.assert_allclose(flow(net, x, through="kernel").K, flow(net, x).K, rtol=1e-11)


def test_monitor_warns_when_depth_over_width_is_too_large():
    """PDLT (0.19): V / (n K^2) beyond one is said to be beyond validity."""
    with pytest.warns(fw.ValidityWarning, match="not to be trusted"):
        flow(MLP("relu", (3, 2, 2, 2, 1), C_W=2.0), inputs(1))


def test_correlators_with_neural_indices():
    """PDLT (4.77), (4.116), (4.117): Kronecker deltas in neurons, pairings in samples."""
    theory = flow(MLP("tanh", (3, 20, 20, 20, 1), C_W=1.2), inputs(2))
    v, G = theory.v[2], theory.G[2]
    assert fw.expansion.connected_correlator(theory, 3, [(0, 0), (0, 1), (1, 0), (1, 1)]) == pytest.approx(
        v[0, 1, 0, 1]
    )
    same = fw.expansion.connected_correlator(theory, 3, [(0, 0), (0, 0), (0, 1), (0, 1)])
    assert same == pytest.approx(v[0, 0, 1, 1] + 2 * v[0, 1, 0, 1])
    assert fw.expansion.correlator(theory, 3, [(0, 0), (1, 0)]) == 0
    assert fw.expansion.correlator(theory, 3, [(2, 0), (2, 1)]) == pytest.approx(G[0, 1])
    four = fw.expansion.correlator(theory, 3, [(0, 0), (0, 0), (1, 1), (1, 1)])
    assert four == pytest.approx(G[0, 0] * G[1, 1] + v[0, 0, 1, 1])


def test_observables_reduce_to_correlators():
    """PDLT (4.46), (4.64): polynomials of a few neurons give back the correlators."""
    theory = flow(MLP("gelu", (3, 20, 20, 20, 1), C_W=1.4, C_b=0.1), inputs(2))
    v, K, g1 = theory.v[2], theory.K[2], theory.g1[2]
    product = fw.expansion.expectation_to_first_order(theory, 3, lambda z: z[0, 0] * z[1, 0], samples=(0, 1))
    np.testing.assert_allclose(product, K[0, 1] + g1[0, 1], rtol=1e-9)
    quartic = fw.expansion.expectation_to_first_order(theory, 3, lambda z: z[0, 0] ** 2 * z[0, 1] ** 2, neurons=2)
    np.testing.assert_allclose(quartic, K[0, 0] ** 2 + 2 * K[0, 0] * g1[0, 0] + v[0, 0, 0, 0], rtol=1e-9)
    covariance = fw.expansion.covariance_between_neurons(
        theory, 3, lambda z: z[0, 0] ** 2, lambda z: z[1, 0] ** 2, samples=(0, 1)
    )
    np.testing.assert_allclose(covariance, v[0, 0, 1, 1], rtol=1e-9)


def test_deep_linear_networks_agree():
    """PDLT (3.28): the leading vertex of a linear network is (sum of 1/n) (K13 K24 + K14 K23), G1 = 0."""
    theory = flow(MLP("linear", (3, 5, 7, 9, 1)), inputs(3))
    K = theory.K[-1]
    wick = np.einsum("ac,bd->abcd", K, K) + np.einsum("ad,bc->abcd", K, K)
    np.testing.assert_allclose(theory.v[-1], (1 / 5 + 1 / 7 + 1 / 9) * wick, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theory.G1, 0, atol=1e-12)
