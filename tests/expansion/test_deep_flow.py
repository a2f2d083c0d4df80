"""Sixty layers at criticality, several inputs, against the printed recursions."""

import itertools

import numpy as np
import pytest

from finitewidth import MLP, flow
from printed_flow import Settings, first_layer, next_layer

DEPTH = 60
X = np.array([[1.3, 0.5], [-0.4, 1.2]])  # the largest variance is that of `test_one_narrow_layer`: one compiled program
WIDTHS = (2, *[2000, 1500] * (DEPTH // 2))


@pytest.fixture(scope="module")
def theory():
    return flow(MLP("tanh", WIDTHS, lambda_b=0.3, lambda_W=0.8), X, through="ntk")


@pytest.fixture(scope="module")
def printed():
    overlap = X @ X.T / 2
    layers = [first_layer(overlap, 0.3 + 0.8 * overlap)]
    for before, width in itertools.pairwise(WIDTHS[:-1]):
        settings = Settings(0.0, 1.0, 0.3, 0.8, ratio=width / before)
        layers.append(next_layer(layers[-1], np.tanh, lambda z: 1 - np.tanh(z) ** 2, settings))
    return layers


@pytest.mark.parametrize("name", ["K", "V", "G1", "Theta", "H1", "D", "F", "B", "A"])
def test_every_layer(theory, printed, name):
    """PDLT (4.118), (4.119), (4.115), (8.63), (8.77), (8.79), (8.89), (8.97): no error builds up on the way down."""
    found = getattr(theory, name)
    expected = np.array([getattr(layer, name) for layer in printed], dtype=float)
    scale = np.abs(expected).reshape(DEPTH, -1).max(axis=1)
    scale = np.maximum(scale, 1e-300).reshape(-1, *[1] * (expected.ndim - 1))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-11)


def test_late_layers(theory):
    r"""PDLT (5.92), (5.99): $K\to1/2\ell$ up to $\log\ell/\ell$ whatever it was, and $K_{12}$ falls with it: $p_\perp = p_0 = 1$."""
    np.testing.assert_allclose(2 * DEPTH * np.diagonal(theory.K[-1]), 1, atol=0.05)
    correlation = theory.K[:, 0, 1] / np.sqrt(theory.K[:, 0, 0] * theory.K[:, 1, 1])
    np.testing.assert_allclose(correlation[[29, 59]], correlation[9], rtol=0.05)
