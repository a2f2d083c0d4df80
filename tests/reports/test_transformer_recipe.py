"""The printed lines of a Transformer, run as they stand, make the network that is described."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

import finitewidth as fw
from finitewidth.reports.sections.transformer_recipe import recipe

RELU = 0.5, -1.5


def numpy_as_torch(seed):
    """What the lines ask of PyTorch, in NumPy."""
    random = np.random.default_rng(seed)
    return SimpleNamespace(
        randn=lambda *shape: random.normal(size=shape),
        softmax=lambda z, axis: softmax(z, axis),
        relu=lambda z: np.maximum(z, 0.0),
        cat=lambda arrays, axis: np.concatenate(arrays, axis),
        ones=lambda *shape: np.ones(shape),
        **{name: getattr(np, name) for name in ("eye", "tril", "triu", "where", "inf")},
    )


def taken_literally(code, x, seed, **names):
    """What the lines make of tokens, with weights of this seed."""
    names |= {"torch": numpy_as_torch(seed)}
    exec(code.replace("import torch\n", ""), names)
    return names["forward"](x)


def tokens(width, correlation=0.5, m=3):
    """Rows of mean square one and of this correlation, exactly."""
    V0 = fw.shaped.equal_tokens(m, correlation)
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(width, m)))
    return np.linalg.cholesky(V0) @ basis.T * width**0.5, V0


def drawn(net, draws, activation=None):
    """Tokens, and what networks made as the lines say make of them."""
    x, _ = tokens(net.width)
    code = recipe(net)
    assert max(map(len, code.splitlines())) <= 76
    return x, np.array([taken_literally(code, x, seed, activation=activation) for seed in range(draws)])


def measured(net, *, draws=150, activation=None):
    """Covariances of tokens after the last block."""
    _, outs = drawn(net, draws, activation)
    return outs @ outs.swapaxes(1, 2) / net.width


def standard_errors(V, expected):
    return np.abs(V.mean(axis=0) - expected) / (V.std(axis=0) / len(V) ** 0.5)


def test_feedforward_layers_keep_the_mean_square():
    """Gamma = 1, strong slopes: the mean square is one on average, c (s_+^2 + s_-^2)/2, and mean products of two tokens are those of the
    kernel of arccosines; without slopes or factor they are far off."""
    net = fw.ShapedResNet(1.0, 3.0, -4.0, hidden_ratio=4.0).at(width=24, depth=1)
    right, left = 1 + 3 / 24**0.5, 1 - 4 / 24**0.5
    rho = 0.5
    arc = (np.sqrt(1 - rho**2) + rho * (np.pi - np.arccos(rho))) / np.pi  # 2 E[relu relu'] of unit variance
    other = rho + (right - left) ** 2 / (right**2 + left**2) * (arc - rho)
    V = measured(net, draws=500)
    assert standard_errors(V, np.where(np.eye(3) > 0, 1.0, other)).max() < 4
    assert standard_errors(V, np.where(np.eye(3) > 0, 1.0, rho)).max() > 6


def test_each_part_has_its_own_weight():
    """Branches end in weights of mean zero: of a token its own shortcuts are left, sqrt(1 - 0.9^2) sqrt(1 - 0.6^2)."""
    x, outs = drawn(fw.ShapedTransformer(CAUSAL, FEEDFORWARD).at(12, 1), 300)
    overlap = np.mean(outs * x, axis=2)
    assert standard_errors(overlap, np.sqrt(0.19 * 0.64)).max() < 4
    assert standard_errors(overlap, 0.19).max() > 6


CAUSAL = fw.ShapedAttention(0.9, tau0=0.4, heads=2, mask="causal", key_width=3, output_projection=True)
FEEDFORWARD = fw.ShapedResNet(0.6, *RELU, hidden_ratio=3.0)
SMOOTH = fw.ShapedResNet(0.8, activation=fw.shaped.shaped_smooth("tanh", a=0.5))


@pytest.mark.parametrize(
    "block",
    [
        fw.ShapedTransformer(CAUSAL, FEEDFORWARD),
        fw.ShapedTransformer(fw.ShapedAttention(0.9, tau0=0.4, mask="window:2"), SMOOTH, fw.ShapedMLP()),
    ],
    ids=["causal", "three parts"],
)
def test_lines_make_the_network_that_simulations_draw(block):
    """Covariances of tokens, against networks with all their weights, in standard errors of both."""
    net = block.at(width=12, depth=2)
    V = measured(net, activation=np.tanh)
    other = fw.simulate(net, tokens(12)[1], networks=600, seed=3, method="dense").final
    error = np.sqrt(V.var(axis=0) / len(V) + other.var(axis=0) / len(other))
    assert (np.abs(V.mean(axis=0) - other.mean(axis=0)) / error).max() < 4
    assert np.median(error / V.mean(axis=0).max()) < 0.1


def test_a_mask_of_ones_own_is_asked_for():
    """And every part is named."""
    own = fw.ShapedAttention(0.2, mask=np.eye(2, dtype=bool))
    code = recipe(fw.ShapedTransformer(own, own).at(4, 1))
    assert "seen = mask  # yours" in code
    assert "for attention_1, attention_2 in blocks:" in code
