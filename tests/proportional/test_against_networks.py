"""The limit against real networks at the settings of the Shaped Transformer's figures: Kolmogorov-Smirnov tests."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional import covariance_sde

PATHS = 2000
CASES = {
    # Block, tokens, width, depth.
    "MLP of shaped ReLU": (ShapedMLP(shaped_relu(1.0, -1.0)), 2, 300, 90),
    "MLP of shaped tanh": (ShapedMLP(shaped_smooth("tanh", a=1.0)), 2, 300, 90),
    "ResNet": (ShapedResNet(0.5), 2, 300, 100),
    "ResNet, wide hidden layer": (ShapedResNet(0.7, 1.0, -1.0, hidden_ratio=4), 2, 200, 60),
    "attention": (ShapedAttention(8**-0.5), 2, 200, 150),
    "causal attention": (ShapedAttention(8**-0.5, mask="causal"), 4, 200, 100),
    "attention, 8 heads": (ShapedAttention(8**-0.5, heads=8, tau0=0.7), 4, 200, 100),
    "Transformer": (ShapedTransformer(ShapedAttention(8**-0.5), ShapedResNet(8**-0.5)), 3, 200, 100),
}


def least_p_value(one, other):
    """The smallest p of Kolmogorov-Smirnov tests of every entry of V and of the correlation at the last depth."""
    a, b = np.triu_indices(one.V.shape[-1])
    apart = a != b
    entries = [(one.final[:, a, b], other.final[:, a, b])]
    entries.append(tuple(law.correlation()[:, -1, a[apart], b[apart]] for law in (one, other)))
    return min(ks_2samp(x, y).pvalue for first, second in entries for x, y in zip(first.T, second.T, strict=True))


@pytest.mark.measured
@pytest.mark.parametrize("case", CASES)
def test_covariances_and_correlations(case):
    """Shaped Transformer Thm 3.2, Thm 4.2, Cor. 4.3, lecture 17: every entry of V and of the correlation at the last depth.

    About 60 tests in all: the smallest p of that many is below 5e-4 in three runs of a hundred.
    """
    block, tokens, width, depth = CASES[case]
    V0 = 0.8 * np.eye(tokens) + 0.2
    limit = covariance_sde(block, V0, depth / width, paths=PATHS, seed=1, save=1)
    networks = simulate(block.at(width, depth), V0, networks=PATHS, seed=2, save=1)
    assert limit.counts["left the cone"] == 0
    assert least_p_value(limit, networks) > 5e-4


@pytest.mark.measured
def test_the_tests_would_notice():
    """Without the noise of the logits (an infinite number of heads) attention has another law."""
    V0 = 0.8 * np.eye(4) + 0.2
    limit = covariance_sde(ShapedAttention(0.9, tau0=0.4, heads=10**6), V0, 0.2, paths=PATHS, seed=1, save=1)
    networks = simulate(ShapedAttention(0.9, tau0=0.4).at(200, 40), V0, networks=PATHS, seed=2, save=1)
    assert least_p_value(limit, networks) < 1e-4
