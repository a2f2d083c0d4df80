"""Exploding and vanishing gradients: the factors, and the verdict."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    r"""PDLT (9.93), (9.68): with $\chi_\parallel = \chi_\perp = 1$ only powers of depth remain."""
    found = diagnose_gradients(tune(network(activation)), X)
    assert found.healthy
    assert "powers" in found.verdict
    assert found.chain_rule[0] > 1e-3


@pytest.mark.parametrize(
    ("activation", "C_b", "C_W", "words"),
    [
        ("relu", 0.0, 3.0, ["error factor explode", "tangent kernel and gradients of shallow layers explode"]),
        ("relu", 0.0, 1.2, ["signals vanish", "gradients of shallow layers vanish"]),
        ("tanh", 0.3, 1.5, ["gradients of shallow layers vanish"]),
        ("tanh", 0.0, 2.5, ["gradients of shallow layers explode"]),
    ],
)
def test_verdicts(activation, C_b, C_W, words):
    """PDLT (9.87)-(9.93): each departure from criticality has its consequence."""
    found = diagnose_gradients(network(activation, C_b=C_b, C_W=C_W), X)
    assert len(found.problems) == len(words)
    for word, problem in zip(words, found.problems, strict=True):
        assert word in problem
    assert not diagnose_gradients(network(activation, depth=3, C_b=C_b, C_W=C_W), X).problems


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
    assert len(found.chi_perp) == 0


def test_refusals():
    """A jump has no slope."""
    with pytest.raises(ArgumentError, match="jumps"):
        diagnose_gradients(MLP("perceptron", (3, 4, 1)), X)
