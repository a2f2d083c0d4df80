"""The limit against real networks at the settings of the Shaped Transformer's figures: Kolmogorov-Smirnov tests."""

import numpy as np
import pytest

from finitewidth.ensembles.shaped import simulate_block
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped,
    shaped_relu,
)
from finitewidth.proportional import covariance_sde
from finitewidth.report.compare_laws import compare_laws

PATHS = 2000
CASES = {
    # Block, tokens, width, depth.
    "MLP of shaped ReLU": (ShapedMLP(shaped_relu(1.0, -1.0)), 2, 300, 90),
    "MLP of shaped tanh": (ShapedMLP(shaped("tanh", a=1.0)), 2, 300, 90),
    "ResNet": (ShapedResNet(0.5), 2, 300, 100),
    "ResNet, wide hidden layer": (ShapedResNet(0.7, 1.0, -1.0, hidden_ratio=4), 2, 200, 60),
    "attention": (ShapedAttention(8**-0.5), 2, 200, 150),
    "causal attention": (ShapedAttention(8**-0.5, mask="causal"), 4, 200, 100),
    "attention, 8 heads": (ShapedAttention(8**-0.5, heads=8, tau0=0.7), 4, 200, 100),
    "Transformer": (ShapedTransformer(ShapedAttention(8**-0.5), ShapedResNet(8**-0.5)), 3, 200, 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_covariances_and_correlations(case):
    """Shaped Transformer Thm 3.2, Thm 4.2, Cor. 4.3, lecture 17: every entry of V and of the correlation at the last depth.

    About 60 tests in all: the smallest p of that many is below 5e-4 in three runs of a hundred.
    """
    block, tokens, width, depth = CASES[case]
    V0 = 0.8 * np.eye(tokens) + 0.2
    limit = covariance_sde(block, V0, depth / width, paths=PATHS, seed=1, save=1)
    networks = simulate_block(block, V0, width, depth, networks=PATHS, seed=2, save=1)
    assert limit.counts["left the cone"] == 0
    found = compare_laws(limit, networks)
    assert found.worst.p_value > 5e-4, found.worst


@pytest.mark.slow
def test_the_tests_would_notice():
    """Without the noise of the logits (an infinite number of heads) attention has another law."""
    V0 = 0.8 * np.eye(4) + 0.2
    limit = covariance_sde(ShapedAttention(0.9, tau0=0.4, heads=10**6), V0, 0.2, paths=PATHS, seed=1, save=1)
    networks = simulate_block(ShapedAttention(0.9, tau0=0.4), V0, 200, 40, networks=PATHS, seed=2, save=1)
    assert compare_laws(limit, networks).worst.p_value < 1e-4
