"""Networks without matrices have the law of networks with them, at widths so small that any slip would show."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import (
    AblatedAttention,
    FiniteStack,
    LayerNormTransformer,
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)

V0 = np.asarray([[1.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 1.2]])
RING = np.asarray([[True, True, False], [False, True, True], [True, False, True]])
HOT = 0.1  # a temperature at which logits of eight columns are far from small
RANK_TWO = np.asarray([[1.0, 0.5, 1.5], [0.5, 1.0, 1.5], [1.5, 1.5, 3.0]])


def two_heads(**options):
    return ShapedAttention(0.7, HOT, heads=2, **options)


FAST = {
    "MLP": (ShapedMLP(shaped_relu(0.5, -1.0)), 8),
    "attention": (ShapedAttention(0.7, HOT), 8),
    "causal attention": (ShapedAttention(0.7, HOT, mask="causal"), 8),
    "attention around a ring": (ShapedAttention(0.7, HOT, mask=RING), 8),
    "attention of plain softmax": (
        AblatedAttention(ShapedAttention(0.7, HOT), identity=False, centred=False, shaped_temperature=False),
        8,
    ),
    "Transformer": (ShapedTransformer(two_heads(), ShapedResNet(0.6, 1.0, -1.0, hidden_ratio=2)), 8),
}
SLOW = {
    "tanh MLP": (ShapedMLP(shaped_smooth("tanh")), 8),
    "ResNet": (ShapedResNet(0.6, 1.0, -1.0, hidden_ratio=2), 24),
    "linear ResNet": (ShapedResNet(0.6, 0.0, 0.0, hidden_ratio=0.5), 4),
    "eight heads of one key": (ShapedAttention(0.7, HOT, heads=8, key_width=1), 16),
    "output projection": (two_heads(output_projection=True), 8),
    "heads that do not divide each other": (FiniteStack(two_heads(), ShapedMLP(), ShapedAttention(0.5, heads=3)), 6),
    "Pre-LN": (LayerNormTransformer("pre"), 8),
    "Post-LN": (LayerNormTransformer("post", heads=2), 8),
    "Pre-LN in a stack": (FiniteStack(LayerNormTransformer("pre", heads=2), ShapedResNet(0.6)), 8),
}


def statistics(law):
    """Correlations, covariances and, where it has a law, the determinant of the last layer."""
    V, rho = law.final, law.correlation()[:, -1]
    yield from (V[:, 0, 1], V[:, 0, 2], V[:, 1, 2], rho[:, 0, 1], rho[:, 1, 2])
    if np.ptp(V[:, 0, 0]) > 1e-9:  # Post-LN fixes the norms
        yield from (V[:, 0, 0], V[:, 2, 2])
    if law.width > 2:
        yield np.linalg.slogdet(V)[1]


def least_p_value(one, other):
    """Of Kolmogorov-Smirnov tests of all statistics."""
    return min(ks_2samp(a, b).pvalue for a, b in zip(statistics(one), statistics(other), strict=True))


def chain_against_dense(block, start, width):
    chain = simulate(block.at(width, 3), start, networks=8192, seed=3)
    dense = simulate(block.at(width, 3), start, networks=8192, seed=4, method="dense")
    assert chain.counts == dense.counts == {"running": 8192, "stopped": 0, "left the cone": 0}
    return least_p_value(chain, dense)


@pytest.mark.parametrize("name", FAST)
def test_chain_and_dense_have_one_law(name):
    """Kolmogorov-Smirnov tests of the reduced sampler against dense networks (Shaped Transformer Eq. 1, 4, 9, 11)."""
    block, width = FAST[name]
    assert chain_against_dense(block, V0, width) > 2e-3


@pytest.mark.measured
@pytest.mark.parametrize("name", SLOW)
def test_chain_and_dense_have_one_law_for_every_architecture(name):
    """The same with smooth activations, hidden widths, many heads of few keys, projections and layer normalisation."""
    block, width = SLOW[name]
    assert chain_against_dense(block, V0, width) > 2e-3


@pytest.mark.measured
def test_networks_narrower_than_their_inputs():
    """Three tokens in two dimensions: the law exists where the covariance has rank two."""
    assert chain_against_dense(ShapedAttention(0.7, HOT), RANK_TWO, 2) > 2e-3


@pytest.mark.parametrize("other", [ShapedAttention(0.7, 1.5 * HOT), ShapedAttention(0.65, HOT)], ids=["tau", "gamma"])
def test_the_comparison_can_fail(other):
    """Another temperature or weight is told apart."""
    one = simulate(ShapedAttention(0.7, HOT).at(8, 3), V0, networks=8192, seed=3)
    assert least_p_value(one, simulate(other.at(8, 3), V0, networks=8192, seed=4)) < 1e-4
