"""The report on a Transformer from made-up laws: its numbers, its verdict, its advice."""

import numpy as np
import pytest

from finitewidth import ShapedAttention, ShapedResNet, ShapedTransformer, compare
from finitewidth.advice.token_fates import GAMMAS, TEMPERATURES, Fates, ShapingAdvice
from finitewidth.reports.sections.agreement_of_laws import sentence as about_distances
from finitewidth.reports.sections.fates import verdict
from finitewidth.reports.sections.shaping import sentence as about_choice
from finitewidth.reports.sections.transformer import about_transformer
from made_up_laws import law, reported, tokens, with_fates

NET = ShapedTransformer(ShapedAttention(0.25, 1.5, heads=3), ShapedResNet(0.25, hidden_ratio=4.0)).at(12, 3)
V0 = tokens(0.4)
EPSILON = 1e-9


@pytest.fixture
def data_of(monkeypatch):
    """The data of a report on made-up laws, and what was asked for to make it."""

    def report(*laws, **settings):
        made, asked = reported(monkeypatch, NET, V0, *laws, **settings)
        return made.data, asked

    return report


def random_covariances(paths=7, times=3, m=3):
    X = np.random.default_rng(1).normal(size=(paths, times, m, 2 * m)) * np.arange(1, m + 1)[:, None]
    return X @ X.swapaxes(-1, -2) / (2 * m)


def test_norm_and_correlation_by_depth(data_of):
    """Quantiles over networks of the tokens' mean square and of the mean correlation of pairs."""
    V = random_covariances()
    found = data_of(law(V), law(random_covariances(paths=5)))[0]["by_depth"]
    levels = [0.05, 0.5, 0.95]
    squares = (V[..., 0, 0] + V[..., 1, 1] + V[..., 2, 2]) / 3
    pairs = [V[..., a, b] / np.sqrt(V[..., a, a] * V[..., b, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found["levels"] == levels
    assert found["depth_to_width"] == [0, 0.125, 0.25]
    np.testing.assert_allclose(found["norm"], np.quantile(squares, levels, axis=0), rtol=1e-14)
    np.testing.assert_allclose(found["correlation"], np.quantile(sum(pairs) / 3, levels, axis=0), rtol=1e-12)


def test_fates_of_the_limit_and_of_networks(data_of):
    found = data_of(with_fates(50, 20, 10), with_fates(5, 1, 2, of=10))[0]["fates"]
    assert found == {
        "limit": {"explosion": 0.5, "vanishing": 0.2, "collapse": 0.1},
        "networks": {"explosion": 0.5, "vanishing": 0.1, "collapse": 0.2},
    }


def test_advice_is_about_this_transformer(data_of):
    """Gamma and temperature are varied together; attention and feedforward have one gamma."""

    def tried(gamma, tau0):
        return with_fates(explosion=5 if gamma <= 0.3 else 6, collapse=5 if tau0 >= 1 else 6)

    data, asked = data_of(with_fates(), with_fates(), tried)
    found, together = data["advice"], [(gamma, tau0) for gamma in GAMMAS for tau0 in TEMPERATURES]
    assert (found["gammas"], found["temperatures"]) == (list(GAMMAS), list(TEMPERATURES))
    assert found["recommended"] == [0.2, 1.0]
    fates = [fate for row in found["fates"] for fate in row]
    for (gamma, tau0), fate in zip(together, fates, strict=True):
        assert (fate["explosion"], fate["collapse"]) == (0.05 if gamma <= 0.3 else 0.06, 0.05 if tau0 >= 1 else 0.06)
    for (block, *_), (gamma, tau0) in zip(asked["advice"], together, strict=True):
        attention, feedforward = block.parts
        assert (attention.gamma, feedforward.gamma, attention.tau0) == (gamma, gamma, tau0)
        assert (attention.heads, attention.mask, feedforward.hidden_ratio) == (3, None, 4)


def test_every_part_uses_what_was_asked_for(data_of):
    """Seed, counts, depth, width and inputs, everywhere."""
    data, asked = data_of(with_fates(), with_fates(), networks=17, paths=19, seed=23)
    ((block, V0, depth_to_width, paths, seed),) = asked["limit"]
    assert (depth_to_width, paths, seed) == (0.25, 19, 23)
    ((drawn, start, width, depth, networks, also_seed),) = asked["networks"]
    assert (width, depth, networks, also_seed) == (12, 3, 17, 23)
    assert {(depth_to_width, seed) for _, _, depth_to_width, seed in asked["advice"]} == {(0.25, 23)}
    for V in (V0, start, *(V for _, V, _, _ in asked["advice"])):
        np.testing.assert_allclose(V, [[1, 0.4], [0.4, 1]], rtol=1e-15)
    for each in (block, drawn):
        attention, feedforward = each.parts
        assert (attention.gamma, attention.tau0, attention.heads, attention.mask) == (0.25, 1.5, 3, None)
        assert feedforward.gamma == 0.25
    assert (data["meta"]["seed"], data["meta"]["paths"], data["meta"]["networks"]) == (23, 19, 17)


FATES = ("explosion", "vanishing", "collapse")


def said_of(fate, share, side="networks"):
    """The verdict where one fate has a share, in the limit or in networks; others are rarer."""
    rare = dict.fromkeys(FATES, 0.01)
    shares = {"limit": Fates(**rare), "networks": Fates(**rare)} | {side: Fates(**rare | {fate: share})}
    return verdict(**shares)


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("side", ["limit", "networks"])
def test_the_verdict_on_both_sides_of_its_thresholds(fate, side):
    """Safe up to one network in twenty, at risk up to one in four; what is to be feared is named, whoever shows it."""
    safe = "Tokens keep their norms and differences: the initialisation is safe at this depth."
    assert said_of(fate, 0.05, side) == safe
    assert said_of(fate, 0.05 + EPSILON, side) == said_of(fate, 0.25, side)
    assert said_of(fate, 0.25, side).startswith(f"Some networks are at risk of {fate}:")
    assert said_of(fate, 0.25 + EPSILON, side).startswith(f"{fate.capitalize()} is likely at this depth")


def advice(largest, gammas=(0.1, 0.2, 0.5), temperatures=(0.5, 1.0)):
    """Safe up to the gamma that `largest` gives for each temperature."""
    fates = tuple(tuple(Fates(0.0 if gamma <= bound else 0.06, 0.0, 0.0) for bound in largest) for gamma in gammas)
    return ShapingAdvice(gammas, temperatures, fates)


def test_shaping_in_words():
    said = about_choice(advice((0.1, 0.5)), NET)
    assert said.startswith("For 3 blocks of width 12 start at gamma = 0.2, tau0 = 1 (here: gamma = 0.25, tau0 = 1.5):")
    assert "safe up to gamma = 0.1 at tau0 = 0.5, 0.5 at tau0 = 1: that is a bound, not advice" in said
    assert "up to gamma = none at tau0 = 0.5, 0.1 at tau0 = 1:" in about_choice(advice((0.0, 0.1)), NET)
    assert about_choice(advice((0.0, 0.0)), NET) == (
        "No gamma and tau0 of these keep the tokens of 3 blocks of width 12 safe: make the network wider, or shallower."
    )


def test_every_part_speaks_for_itself():
    """Weights that differ are told part by part, wherever one is told, and nobody is sent to a smaller gamma than some parts have."""
    net = ShapedTransformer(ShapedAttention(0.1), ShapedResNet(0.9, 0.0, -0.5, hidden_ratio=4.0)).at(12, 3)
    said = "gamma = 0.1 in attention and 0.9 in feedforward, tau0 = 1"
    head = about_transformer(net, V0)
    assert f"1 head, {said}; 2 tokens" in head.parts[0].text
    assert head.data["parts"] == {
        "attention": {"gamma": 0.1, "tau0": 1.0},
        "feedforward": {"gamma": 0.9, "hidden_ratio": 4.0, "c_plus": 0.0, "c_minus": -0.5},
    }
    assert f"start at gamma = 0.2, tau0 = 1 (here: {said}): the largest" in about_choice(advice((0.1, 0.5)), net)
    for share in (0.1, 0.5):
        assert said_of("vanishing", share).endswith("the end of this report says what is safe.")


def test_the_transformer_in_one_line():
    (said,) = about_transformer(NET, V0).parts
    assert said.text == (
        "Shaped Transformer, unmasked: 3 blocks of width 12, 3 heads, gamma = 0.25, tau0 = 1.5; "
        "2 tokens of mean correlation 0.4; depth over width 0.25"
    )
    causal = ShapedTransformer(ShapedAttention(0.25, mask="causal")).at(12, 3)
    assert about_transformer(causal, V0).parts[0].text.startswith("Shaped Transformer, causal:")
    own = ShapedTransformer(ShapedAttention(0.25, mask=np.eye(2, dtype=bool))).at(12, 3)
    assert about_transformer(own, V0).parts[0].text.startswith("Shaped Transformer, with a mask of its own:")


def test_agreement_in_words():
    found = compare(with_fates(50), with_fates(0, of=64))
    said = about_distances(found)
    assert said.startswith("The two laws disagree: one of 4 entries is apart by a Kolmogorov-Smirnov distance of 0.500")
    assert f"The farthest entry is {found.worst.entry}" in said
    assert f"distance 0.500 between the limit and 64 networks (p = {found.worst.p_value:.2g};" in said
    assert "one entry in 4 is below 0.25 by chance)" in said
