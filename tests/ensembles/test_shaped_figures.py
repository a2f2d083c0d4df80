"""Finite networks at the settings of the Shaped Transformer's figures."""

import numpy as np
import pytest

from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import (
    AblatedAttention,
    FiniteStack,
    LayerNormTransformer,
    ShapedAttention,
    ShapedResNet,
    ShapedTransformer,
)

pytestmark = pytest.mark.measured


def tokens(m):
    return 0.8 * np.eye(m) + 0.2


def test_distribution_of_correlations():
    """Figures 1 and 7: attention alone, two tokens, depth 150, width 200."""
    law = simulate(ShapedAttention(8**-0.5).at(200, 150), tokens(2), networks=4096, save=1)
    rho = law.correlation()[:, -1, 0, 1]
    # Error bars of 4096 networks: 0.006 on the mean, about 0.01 on quantiles.
    assert abs(rho.mean() - 0.185) < 0.02
    assert abs(rho.std() - 0.37) < 0.012
    np.testing.assert_allclose(np.quantile(rho, [0.05, 0.5, 0.95]), [-0.46, 0.22, 0.73], atol=0.03)
    assert abs(np.median(law.final[:, 0, 1]) - 0.16) < 0.02


@pytest.mark.parametrize(("gamma", "deviation", "percentile"), [(0.25, 0.191, 0.499), (1.0, 0.575, 0.947)])
def test_residual_weights(gamma, deviation, percentile):
    """Figure 3: spread and 95th percentile of correlations after 100 residual layers of width 300."""
    law = simulate(ShapedResNet(gamma).at(300, 100), tokens(2), networks=2048, save=1)
    rho = law.correlation()[:, -1, 0, 1]
    assert abs(rho.std() / deviation - 1) < 4 / np.sqrt(2 * 2048)
    assert abs(np.quantile(np.abs(rho), 0.95) - percentile) < 0.03


@pytest.mark.parametrize(
    ("identity", "centred", "shaped", "low", "high", "correlation"),
    [
        (True, True, True, 0.2, 0.35, None),
        (True, True, False, 1e7, 1e9, None),
        (True, False, True, 1e59, 3e59, 1.0),
        (True, False, False, 1e59, 3e59, 1.0),
        (False, True, True, 1.39e-46, 1.41e-46, 0.2),
        (False, True, False, 1.3e-46, 1.7e-46, 0.2),
        (False, False, True, 0.2, 0.4, 1.0),
        (False, False, False, 0.2, 0.4, 1.0),
    ],
)
def test_ablations(identity, centred, shaped, low, high, correlation):
    r"""Figure 4: explosion by $(1 + 3\gamma^2)^{150}$, decay by $\lambda^{300}$, rank collapse, or a stable covariance."""
    block = AblatedAttention(ShapedAttention(2**-0.5), identity, centred, shaped)
    law = simulate(block.at(300, 150), tokens(4), networks=256, save=1)
    assert law.counts["running"] == 256
    assert low < np.median(np.abs(law.final[:, 0, 1])) < high
    if correlation is not None:
        assert abs(np.median(law.correlation()[:, -1, 0, 1]) - correlation) < 0.005


ATTENTION, FEED_FORWARD = ShapedAttention(8**-0.5, key_width=50), ShapedResNet(8**-0.5)
PLAIN_SOFTMAX = AblatedAttention(ATTENTION, identity=False, centred=False, shaped_temperature=False)


@pytest.mark.parametrize(
    ("block", "expected", "error"),
    [
        (ShapedTransformer(ATTENTION, FEED_FORWARD), [0.199, 0.196, 0.188, 0.171], 0.04),
        (FiniteStack(PLAIN_SOFTMAX, FEED_FORWARD), [0.61, 0.997, 1.0, 1.0], 0.01),
        (LayerNormTransformer("pre", key_width=50), [0.82, 0.925, 0.947, 0.958], 0.012),
        (LayerNormTransformer("post", key_width=50), [0.9985, 1.0, 1.0, 1.0], 0.0005),
    ],
    ids=["shaped", "plain softmax", "Pre-LN", "Post-LN"],
)
def test_correlations_by_depth(block, expected, error):
    """Figure 1 left: mean correlation of four tokens at depths 10, 50, 100 and 150, width 200."""
    law = simulate(block.at(200, 150), tokens(4), networks=256, save=15)
    means = law.correlation()[:, [1, 5, 10, 15]][..., *np.triu_indices(4, 1)].mean(axis=(0, 2))
    np.testing.assert_allclose(means, expected, atol=error)


@pytest.mark.parametrize(("gamma", "median"), [(0.1, 1.0), (0.2, 0.84), (0.3, 0.38), (0.5, 0.15), (0.9, 0.065)])
def test_stopping_times(gamma, median):
    """Figure 5: depth over width at which large tokens have an eigenvalue outside [1e-4, 1e4], at most one."""
    law = simulate(ShapedAttention(gamma, key_width=50).at(200, 200), 100 * tokens(4), networks=256, save=200)
    eigenvalues = np.linalg.eigvalsh(law.V)
    outside = (eigenvalues[..., -1] > 1e4) | (eigenvalues[..., 0] < 1e-4)
    times = np.where(outside.any(axis=1), law.times[outside.argmax(axis=1)], 1.0)
    assert abs(np.median(times) - median) < max(0.02, 0.12 * median)
