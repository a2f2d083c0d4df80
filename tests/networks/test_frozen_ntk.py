"""The infinite-width tangent kernel of many inputs."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.networks import MLP, frozen_ntk


def softplus_like(z):
    """A callable nobody has seen."""
    return jnp.log1p(jnp.exp(z - 1))


@pytest.mark.parametrize("activation", ["relu", "softsign", softplus_like])
def test_agrees_with_the_flow(activation):
    """PDLT (8.63), (9.5): the same numbers as the flow of a few inputs, whose averages go another way."""
    net = MLP(activation, (3, 8, 8, 8, 1), C_b=0.1, C_W=(1.1, 1.4, 0.9, 1.2), lambda_b=0.3, lambda_W=(1, 2, 0.5, 1))
    x = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(frozen_ntk(net, x), fw.flow(net, x, through="ntk").Theta[-1], rtol=1e-10)


def test_relu_in_closed_form():
    """PDLT (8.63) with the arc-cosine kernels: ReLU of many inputs, twenty layers."""
    x = np.random.default_rng(1).normal(size=(300, 5))
    net = MLP("relu", [5] + [16] * 20, C_W=2.0, lambda_b=0.0)
    K = 2 * x @ x.T / 5
    theta = x @ x.T / 5
    for _ in range(19):
        norms = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
        cosine = np.clip(K / norms, -1, 1)
        angle = np.arctan2(np.sqrt((1 - cosine) * (1 + cosine)), cosine)
        np.fill_diagonal(angle, 0)
        values = norms * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)
        theta = values + (np.pi - angle) / np.pi * theta
        K = 2 * values
    np.testing.assert_allclose(frozen_ntk(net, x), theta, rtol=1e-10)


def test_a_jump_is_refused():
    """A step has no slope."""
    with pytest.raises(fw.DomainError, match="continuous activation"):
        frozen_ntk(MLP("perceptron", (2, 4, 1)), [[1.0, 2.0]])
