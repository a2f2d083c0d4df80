"""The tangent kernel of the output, split by layer and by group of parameters."""

import jax
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.activations import Activation
from finitewidth.expansion import flow
from finitewidth.expansion.tangent_layers import tangent_contributions
from finitewidth.kernels import frozen_ntk
from finitewidth.networks import MLP
from finitewidth.realised.parameters import draw_parameters
from finitewidth.realised.tangent_kernel import ntk_contributions

X = np.random.default_rng(3).normal(size=(2, 3))
SETTINGS = dict(
    C_b=(0.3, 0.1, 0.2, 0.05),
    C_W=(1.3, 1.7, 1.4, 1.2),
    lambda_b=(0.5, 0.7, 0.2, 0.9),
    lambda_W=(1.1, 0.6, 1.4, 0.8),
)
SOFTSIGN = Activation(lambda z: z / (1 + abs(z)), (0.0,), name="softsign by hand")


@pytest.mark.parametrize("activation", ["relu", "gelu", "sin"])
def test_contributions_add_up_to_the_tangent_kernel(activation):
    """PDLT (8.63), (9.28): the formal solution solves the recursion."""
    net = MLP(activation, (3, 30, 40, 30, 1), **SETTINGS)
    found = tangent_contributions(net, X)
    np.testing.assert_allclose(found.total, frozen_ntk(net, X), rtol=1e-9)
    np.testing.assert_allclose(found.K, flow(net, X, through="kernel").K, rtol=1e-9)
    np.testing.assert_allclose(found.bias, np.asarray(net.lambda_b)[:, None, None] * found.chain, rtol=1e-14)


def test_each_contribution_is_that_of_its_rate():
    """PDLT (9.28): with all other rates zero the tangent kernel is one contribution; kinks without closed forms too."""
    net = MLP(SOFTSIGN, (3, 10, 10, 10, 1), **SETTINGS)
    whole = tangent_contributions(net, X)
    for layer in range(4):
        only = np.eye(4)[layer]
        bias = tangent_contributions(net.replace(lambda_b=only * SETTINGS["lambda_b"][layer], lambda_W=0.0), X)
        weight = tangent_contributions(net.replace(lambda_W=only * SETTINGS["lambda_W"][layer], lambda_b=0.0), X)
        np.testing.assert_allclose(bias.total, whole.bias[layer], rtol=1e-13)
        np.testing.assert_allclose(weight.total, whole.weight[layer], rtol=1e-13)


@pytest.mark.measured
def test_against_wide_networks():
    """PDLT (8.16)-(8.18), (9.93): means over real networks, which differ from infinite width by 1/n."""
    errors = []
    for n in (32, 128):
        net = MLP("tanh", (3, n, n, n, 1), **SETTINGS)
        theory = tangent_contributions(net, X)
        keys = jax.random.split(jax.random.key(0), 4000 // n)
        drawn = [ntk_contributions(net, draw_parameters(net, key), X) for key in keys]
        for name, expected in (("biases", theory.bias), ("weights", theory.weight)):
            samples = np.array([getattr(one, name)[..., 0, 0] for one in drawn])
            error = samples.std(axis=0) / np.sqrt(len(drawn)) + 1e-12
            errors.append(np.abs(samples.mean(axis=0) - expected) / (error + 2 * np.abs(expected) / n))
    assert np.max(errors) < 4


@pytest.mark.parametrize(("depth", "theta", "share"), [(16, 8.804, 0.933), (64, 32.50, 0.984), (256, 128.2, 0.996)])
def test_biases_of_late_layers_dominate_with_uniform_rates(depth, theta, share):
    r"""PDLT (9.69): tanh from $K^{(1)} = 1$: the tangent kernel grows with depth, and is all biases."""
    found = tangent_contributions(MLP("tanh", (1, *[1] * (depth - 1), 1)), [[1.0]])
    assert float(found.total[0, 0]) == pytest.approx(theta, rel=5e-4)
    assert float(found.bias.sum() / found.total[0, 0]) == pytest.approx(share, abs=5.1e-4)
    if depth == 64:
        np.testing.assert_allclose(found.bias[[0, 31, 63], 0, 0], [0.0114, 0.490, 1], atol=5.1e-4)


def test_many_samples_at_once():
    """Hundreds of inputs cost one pass; part of them have the same contributions."""
    x = np.random.default_rng(0).normal(size=(200, 3))
    net = MLP("tanh", (3, 30, 40, 30, 1), **SETTINGS)
    many, few = tangent_contributions(net, x), tangent_contributions(net, x[:2])
    np.testing.assert_allclose(many.weight[:, :2, :2], few.weight, rtol=1e-9)
    assert np.linalg.eigvalsh(many.total)[0] > 0


def test_refusals():
    """A jump has no slope; nothing is assumed of missing inputs."""
    with pytest.raises(ArgumentError, match="jumps"):
        tangent_contributions(MLP("perceptron", (3, 4, 1)), X)
    with pytest.raises(ArgumentError, match="`kernel`"):
        tangent_contributions(MLP("tanh", (3, 4, 1), C_b=2.0), kernel=[[1.0]])
    with pytest.raises(ArgumentError, match="x"):
        tangent_contributions(MLP("tanh", (3, 4, 1)))
