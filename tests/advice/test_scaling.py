"""Scaling rules: the table, and exponents measured on networks written out in NumPy."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice import learning_rates, scaling_rule, transformer_scaling


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0])
def test_the_table(s):
    """PDLT (9.94), Yaida's family and Tensor Programs V: powers of width, and of depth in a plain network."""
    first, hidden, readout = scaling_rule(s).groups
    assert (first.variance_n, hidden.variance_n, readout.variance_n) == (0, -1, -(1 + s))
    assert (first.sgd_n, hidden.sgd_n, readout.sgd_n) == (s, -(1 - s), -1)
    assert (first.adam_n, hidden.adam_n, readout.adam_n) == (-(1 - s) / 2, -(3 - s) / 2, -1)
    assert (
        {each.sgd_L for each in (first, hidden, readout)} == {each.adam_L for each in (first, hidden, readout)} == {-1}
    )


@pytest.mark.parametrize(("alpha", "sgd", "adam"), [(0.5, 0.0, -0.5), (1.0, 1.0, 0.0)])
def test_depth_of_residual_networks(alpha, sgd, adam):
    """Depth-muP and CompleteP: what is in the branches only."""
    first, hidden, branch, readout = scaling_rule(1.0, alpha).groups
    assert (hidden.sgd_L, hidden.adam_L) == (branch.sgd_L, branch.adam_L) == (sgd, adam)
    assert first.sgd_L == first.adam_L == readout.sgd_L == readout.adam_L == 0


def test_adam_of_the_library_is_the_rule_of_the_ntk():
    """`learning_rates(..., "adam")` at two widths against s = 0."""
    rule = scaling_rule(0.0)
    small, large = (learning_rates(fw.tune(fw.MLP("relu", (4, n, n, n, 3))), "adam") for n in (50, 200))
    measured = {
        "input weights, biases, norm gains": large.weight[0] / small.weight[0],
        "hidden weights": large.weight[1] / small.weight[1],
        "readout weights": large.weight[-1] / small.weight[-1],
    }
    for group, ratio in measured.items():
        assert ratio == pytest.approx(rule.factor(group, "adam", width=4), rel=1e-9)
    assert "(s = 0)" in str(small)


def test_what_is_printed():
    """Every rule says s, its source and how far to trust it."""
    for s, alpha, words in (
        (0.0, None, ("NTK, plain MLP: s = 0", "PDLT (9.95)")),
        (1.0, None, ("muP, plain MLP: s = 1", "arXiv:2305.07810")),
        (1.0, 1.0, ("muP, CompleteP branches: s = 1, alpha = 1", "arXiv:2505.01618")),
        (0.5, 0.75, ("between NTK and muP, residual branches", "between depth-muP and CompleteP")),
    ):
        text = str(scaling_rule(s, alpha))
        assert all(word in text for word in (*words, "first steps"))
    assert "n^-1.5 L^-1" in str(scaling_rule(0.0))
    assert "x 0.125" in str(transformer_scaling(4, 2))
    assert "d_head, not its root" in str(transformer_scaling(4, 2))


def test_transformers():
    """CompleteP's table at four times the width and nine times the depth, and depth-muP's."""
    found, half = transformer_scaling(4, 9), transformer_scaling(4, 9, alpha=0.5)
    assert (found.hidden_rate, found.hidden_decay, found.hidden_variance) == (0.25, 4, 0.25)
    assert (found.branch, found.epsilon) == pytest.approx((1 / 9, 1 / 36))
    assert (half.branch, half.hidden_rate, half.bias_and_gain_rate) == pytest.approx((1 / 3, 1 / 12, 1 / 3))
    assert (found.embedding_rate, found.logits, found.bias_and_gain_rate) == (1, 0.25, 1)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: scaling_rule(1.5), "s"),
        (lambda: scaling_rule(0.0, 0.3), "alpha"),
        (lambda: scaling_rule().factor("weights", "adam"), "group"),
        (lambda: scaling_rule().factor("hidden weights", "adamw"), "optimizer"),
        (lambda: scaling_rule().factor("hidden weights", "adam", width=0), "width, depth"),
        (lambda: transformer_scaling(-1, 2), "width, depth"),
    ],
)
def test_refusals(call, argument):
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()


def changes(random, n, L, s, alpha, power):
    """The change of the output by one step of unit rate on each group, to first order, sum of |gradient|^power: input weights,
    hidden weights, readout; a plain network of three hidden layers, or a residual one of L branches."""
    x = random.normal(size=8)
    z = random.normal(size=(n, 8)) @ x / np.sqrt(8)
    multiplier = 1.0 if alpha is None else L**-alpha
    weights, signals = [], [z]
    for _ in range(L):
        W = random.normal(size=(n, n)) * np.sqrt(2 / n)
        new = multiplier * (W @ np.maximum(z, 0))
        z = new if alpha is None else z + new
        weights.append(W)
        signals.append(z)
    v = random.normal(size=n) * n ** (-(1 + s) / 2)
    of_readout = np.sum(np.abs(np.maximum(z, 0)) ** power)
    delta, of_hidden = v * (z > 0), 0.0
    for W, before in zip(reversed(weights), reversed(signals[:-1]), strict=True):
        of_hidden += np.sum(np.abs(multiplier * delta) ** power) * np.sum(np.maximum(before, 0) ** power)
        back = multiplier * (W.T @ delta) * (before > 0)
        delta = back if alpha is None else delta + back
    return np.array([np.sum(np.abs(delta) ** power) * np.sum(np.abs(x) ** power), of_hidden, of_readout])


def fitted(sizes, rows):
    return np.polyfit(np.log(sizes), np.log(rows), 1)[0]


@pytest.mark.measured
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("s", [0.0, 0.5, 1.0])
def test_exponents_of_width(s, optimizer):
    """PDLT section 9.4 in the parameterisation s: with these rates no group's change of the output depends on the width."""
    random, sizes, power = np.random.default_rng(0), (64, 128, 256, 512), {"sgd": 2, "adam": 1}[optimizer]
    rows = np.array([np.mean([changes(random, n, 2, s, None, power) for _ in range(24)], axis=0) for n in sizes])
    rule = scaling_rule(s)
    expected = [-getattr(group, f"{optimizer}_n") for group in rule.groups]
    np.testing.assert_allclose([fitted(sizes, rows[:, i]) for i in range(3)], expected, atol=0.1)


@pytest.mark.measured
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_exponents_of_depth(alpha, optimizer):
    """Depth-muP and CompleteP: with these rates no group's change of the output depends on the depth."""
    random, sizes, power = np.random.default_rng(1), (8, 16, 32, 64, 128), {"sgd": 2, "adam": 1}[optimizer]
    rows = np.array([np.mean([changes(random, 128, L, 1.0, alpha, power) for _ in range(16)], axis=0) for L in sizes])
    first, hidden, _, readout = scaling_rule(1.0, alpha).groups
    expected = [-getattr(group, f"{optimizer}_L") for group in (first, hidden, readout)]
    np.testing.assert_allclose([fitted(sizes, rows[:, i]) for i in range(3)], expected, atol=0.1)
