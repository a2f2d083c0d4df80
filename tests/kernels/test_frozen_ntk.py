"""The infinite-width tangent kernel of many inputs."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.kernels import frozen_ntk, pair_walk
from finitewidth.networks import MLP
from references import polar_rule


def softplus_like(z):
    """A callable nobody has seen."""
    return jnp.log1p(jnp.exp(z - 1))


SETTINGS = dict(C_b=0.1, C_W=(1.1, 1.4, 0.9, 1.2), lambda_b=0.3, lambda_W=(1, 2, 0.5, 1))
WIDTHS = (3, 8, 8, 8, 1)


@pytest.mark.parametrize(
    ("activation", "value", "slope"),
    [
        ("softsign", lambda z: z / (1 + np.abs(z)), lambda z: (1 + np.abs(z)) ** -2.0),
        (softplus_like, lambda z: np.logaddexp(0, z - 1), lambda z: 1 / (1 + np.exp(1 - z))),
    ],
    ids=["softsign", "softplus_like"],
)
def test_recursion_on_a_polar_grid(activation, value, slope):
    """PDLT (8.63), (9.5): two inputs, both averages of every layer on one dense grid in NumPy."""
    net, x = MLP(activation, WIDTHS, **SETTINGS), np.random.default_rng(0).normal(size=(2, 3))
    K, theta = 0.1 + 1.1 * x @ x.T / 3, 0.3 + x @ x.T / 3
    for C_W, lambda_W in zip(SETTINGS["C_W"][1:], SETTINGS["lambda_W"][1:], strict=True):
        averages = np.empty((2, 2, 2))
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            z_a, z_b, weights = polar_rule(1.0 if a == b else K[a, b] / math.sqrt(K[a, a] * K[b, b]))
            z_a, z_b = math.sqrt(K[a, a]) * z_a, math.sqrt(K[b, b]) * z_b
            averages[:, a, b] = [weights @ (f(z_a) * f(z_b)) for f in (value, slope)]
        theta = 0.3 + lambda_W * averages[0] + C_W * averages[1] * theta
        K = 0.1 + C_W * averages[0]
    np.testing.assert_allclose(frozen_ntk(net, x), theta, rtol=1e-10)


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["relu", "softsign", softplus_like])
def test_agrees_with_the_flow(activation):
    """PDLT (8.63), (9.5): the same numbers as the flow of a few inputs, whose averages go another way."""
    net = MLP(activation, WIDTHS, **SETTINGS)
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


@pytest.mark.parametrize("activation", ["relu", "erf", "gelu", "tanh", "hardtanh"])
def test_squares_of_pairs_make_the_whole(activation, monkeypatch):
    """Eleven inputs in squares of four by four, of which the last overlap: symmetric, and what one square makes of them."""
    net = fw.ResidualMLP(activation, width=8, depth=4, gamma=0.7, C_b=0.1, norm="rms")
    x = np.random.default_rng(3).normal(size=(11, 5))
    x[7] = x[2]  # a copy, in another square
    in_one = fw.kernel(net, x), frozen_ntk(net, x)
    monkeypatch.setattr(pair_walk, "_CLOSED_SIDE", 4)
    monkeypatch.setattr(pair_walk, "_SUMMED_SIDE", 4)
    for expected, found in zip(in_one, (fw.kernel(net, x), frozen_ntk(net, x)), strict=True):
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_erf_in_closed_form():
    """PDLT (8.63) with the arcsine kernel: erf of many inputs, ten layers; symmetric to the last bit."""
    x = np.random.default_rng(1).normal(size=(200, 5))
    net = MLP("erf", [5] + [16] * 10, C_b=0.1, C_W=2.0, lambda_b=0.3)
    K, theta = 0.1 + 2 * x @ x.T / 5, 0.3 + x @ x.T / 5
    for _ in range(9):
        sizes = np.sqrt(1 + 2 * np.diagonal(K))
        rho = 2 * K / np.outer(sizes, sizes)
        slopes = 4 / math.pi / np.outer(sizes, sizes) / np.sqrt(1 - rho**2)
        values = 2 / math.pi * np.arcsin(rho)
        K, theta = 0.1 + 2 * values, 0.3 + values + 2 * slopes * theta
    np.testing.assert_allclose(fw.kernel(net, x), K, rtol=1e-13)
    np.testing.assert_allclose(frozen_ntk(net, x), theta, rtol=1e-12)
