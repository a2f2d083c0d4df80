"""Exploding and vanishing gradients: the factors, and the verdict."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import ArgumentError
from finitewidth.advice import diagnose_gradients, tune
from finitewidth.critical import susceptibilities
from finitewidth.expansion import flow
from finitewidth.networks import MLP
from finitewidth.realised.parameters import draw_parameters, preactivations

X = np.array([[1.0, -0.6, 0.8]])


def network(activation, depth=60, **settings):
    return MLP(activation, (3, *[100] * (depth - 1), 1), **settings)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_critical_networks_are_healthy(activation):
    r"""PDLT (9.93), (9.68): with $\chi_\parallel = \chi_\perp = 1$ only powers of depth remain, and the factor is said."""
    found = diagnose_gradients(tune(network(activation)), X)
    assert found.critical
    assert found.healthy
    assert found.factor == found.chain_rule[0]
    change = {"relu": "stays the same", "tanh": f"changes by a factor of {found.factor:.3g}"}[activation]
    factor = f"from the last layer to the first their mean square {change}."
    assert f"critical, so gradients change by powers of depth only: {factor}" in found.verdict


@pytest.mark.parametrize(
    ("activation", "C_b", "C_W", "words"),
    [
        ("relu", 0.0, 3.0, ["signals explode", "gradients explode"]),
        ("relu", 0.0, 1.2, ["signals vanish", "gradients vanish"]),
        ("relu", 0.0, 1.9, ["signals vanish", "gradients vanish"]),  # by a factor of 21
        ("tanh", 0.3, 1.5, ["gradients vanish"]),
        ("tanh", 0.05, 1.5, ["gradients vanish"]),  # by a factor of 90
        ("tanh", 0.0, 2.5, ["gradients explode"]),
    ],
)
def test_verdicts(activation, C_b, C_W, words):
    """PDLT (9.87)-(9.93): each departure from criticality has its consequence, with its factor."""
    found = diagnose_gradients(network(activation, C_b=C_b, C_W=C_W), X)
    assert not found.critical
    assert len(found.problems) == len(words)
    for word, problem in zip(words, found.problems, strict=True):
        assert word in problem
    factor = max(found.factor, 1 / found.factor)
    assert f"by a factor of {factor:.3g} in mean square" in found.problems[-1]


@pytest.mark.parametrize(
    ("activation", "C_W", "explode"),
    [("tanh", 1.5, False), ("sin", 2.0, False), ("gelu", 6.0, True), ("relu", 3.0, True)],
)
def test_small_signals_that_grow_need_not_explode(activation, C_W, explode):
    """Functions that level off lead them up to a fixed point, however fast they grow on their way."""
    found = diagnose_gradients(network(activation, 7, C_W=C_W), 1e-3 * np.asarray(X))
    assert found.chi_parallel[-1] > 1.4
    assert found.error > 4e-6
    assert any("signals explode" in problem for problem in found.problems) is explode


@pytest.mark.parametrize(("depth", "healthy"), [(13, True), (16, False)])
def test_exponentials_count_from_a_factor_of_two(depth, healthy):
    r"""ReLU at $C_W = 1.9$: $0.95^{L-1}$ falls below one half at the fourteenth step."""
    found = diagnose_gradients(network("relu", depth, C_W=1.9), X)
    assert found.factor == pytest.approx(0.95 ** (depth - 1))
    assert (found.factor > 0.5) is healthy
    assert found.healthy is healthy
    assert not found.critical
    if healthy:
        assert "not critical, chi_perp = 0.95 a layer, but shallow enough" in found.verdict


def test_a_network_may_miss_its_point_by_as_much_as_its_depth_forgives():
    """Printed hyperparameters have few digits."""
    assert diagnose_gradients(network("relu", C_W=2.001), X).critical  # changes gradients by 3 % over 60 layers
    assert not diagnose_gradients(network("relu", C_W=2.01), X).critical
    swish = fw.criticality("swish").point
    rounded = network("swish", C_b=round(swish.C_b, 5), C_W=round(swish.C_W, 5))
    inputs = np.full((1, 3), np.sqrt((swish.K_star - swish.C_b) / swish.C_W))
    assert diagnose_gradients(rounded, inputs).critical


@pytest.mark.parametrize(
    ("mean_square", "critical", "ill"),
    [(1.7088, True, None), (0.01, False, "gradients vanish"), (1.0, False, "gradients vanish"), (5.0, False, None)],
)
def test_gelu_is_critical_at_one_size_of_its_signals_only(mean_square, critical, ill):
    """PDLT (5.100)-(5.102): at a half-stable point susceptibilities are one at K* alone; elsewhere depth acts exponentially for
    thousands of layers, by 102 in 32 layers from inputs a hundredth as large, and inputs are to be scaled."""
    net = tune(network("gelu", 32))
    found = diagnose_gradients(net, np.full((1, 3), np.sqrt(mean_square)))
    assert found.critical is critical
    assert [ill in problem for problem in found.problems] == ([True] if ill else [])
    assert ("scale inputs to a mean square of 1.7088" in found.verdict) is not critical
    chi = [
        susceptibilities("gelu", K, 1.9830583)
        for K in flow(net, np.full((1, 3), np.sqrt(mean_square)), through="kernel").K[:-1, 0, 0]
    ]
    assert found.factor == pytest.approx(np.prod([at.chi_perp for at in chi]), rel=1e-6)


def test_a_point_that_repels_is_not_critical():
    """GELU at C_W = 4: the kernel grows faster than any exponential from K* = 0."""
    found = diagnose_gradients(network("gelu", 12, C_W=4.0), 0.1 * np.ones((1, 3)))
    assert not found.critical
    assert found.remedy == ""
    assert "signals explode" in found.verdict


@pytest.mark.parametrize(("width", "says"), [(9, True), (10, True), (11, False)])
def test_infinite_width_is_named_where_networks_scatter(width, says):
    """From a depth over width of a tenth."""
    found = diagnose_gradients(MLP("relu", (3, width, 1), C_W=2.0), X)
    assert ("This is said of infinitely wide networks; at depth over width" in found.verdict) is says


def test_factors():
    """PDLT (9.28), (9.87)-(9.92): susceptibilities, products, signals and errors from the flow."""
    net = MLP("tanh", (3, 8, 8, 8, 2), C_b=0.1, C_W=(1.0, 1.3, 1.6, 0.9), lambda_b=0.7, lambda_W=1.2)
    found, K = diagnose_gradients(net, X, [[1.0, 3.0]]), flow(net, X, through="kernel").K[:, 0, 0]
    chi = [susceptibilities("tanh", K[i], net.C_W[i + 1]) for i in range(3)]
    np.testing.assert_allclose(found.chi_parallel, [at.chi_parallel for at in chi], rtol=1e-10)
    np.testing.assert_allclose(found.chi_perp, [at.chi_perp for at in chi], rtol=1e-10)
    np.testing.assert_allclose(found.chain_rule, [*np.cumprod(found.chi_perp[::-1])[::-1], 1], rtol=1e-10)
    np.testing.assert_allclose(found.trivial, (K - 0.1) / np.asarray(net.C_W), rtol=1e-9)
    assert found.error == pytest.approx(K[-1] + 5)
    np.testing.assert_allclose(found.weight, 1.2 * found.trivial * found.chain_rule, rtol=1e-12)
    np.testing.assert_allclose(found.bias, 0.7 * found.chain_rule, rtol=1e-12)
    assert str(found).splitlines()[-1] == found.verdict
    assert len(str(found).splitlines()) == 7


def test_chain_rule_factor_of_real_networks():
    r"""PDLT (9.93): $\sum_j(dz^{(L)}/dz^{(\ell)}_j)^2$, read off gradients in the biases, in standard errors with a 1/n band."""
    net = MLP("tanh", (3, 96, 96, 96, 1), C_b=0.1, C_W=1.3)
    found = diagnose_gradients(net, X)

    @jax.jit
    def squares(params):
        gradient = jax.grad(lambda theta: preactivations(net, theta, jnp.asarray(X))[-1][0, 0])(params)
        return jnp.stack([jnp.sum(bias**2) for bias in gradient.biases])

    drawn = np.array([squares(draw_parameters(net, seed)) for seed in range(60)])
    error = drawn.std(axis=0) / np.sqrt(len(drawn)) + 2 * found.chain_rule / 96
    assert (np.abs(drawn.mean(axis=0) - found.chain_rule) < 3 * error).all()


def test_one_layer_has_no_depth_to_suffer_from():
    """PDLT (8.23): a single layer has only its trivial factor."""
    found = diagnose_gradients(MLP("tanh", (3, 2)), X)
    assert found.healthy
    assert found.verdict.startswith("One layer")
    assert len(found.chi_perp) == 0


def test_refusals():
    """A jump has no slope."""
    with pytest.raises(ArgumentError, match="jumps"):
        diagnose_gradients(MLP("perceptron", (3, 4, 1)), X)
