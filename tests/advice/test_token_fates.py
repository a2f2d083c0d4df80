"""What becomes of tokens, and the advice that follows, on both sides of every threshold."""

from importlib import import_module

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice.token_fates import GAMMAS, TEMPERATURES, Fates, recommend_shaping, token_fates
from made_up_laws import from_to, tokens, with_fates

MODULE = import_module("finitewidth.advice.token_fates")
EPSILON = 1e-9
START = np.array([[1.0, 0.3, 0.2], [0.3, 2.0, 0.1], [0.2, 0.1, 6.0]])  # of mean square 3


def fates(final, **settings):
    return token_fates(from_to(START, [final], **settings))


def test_an_explosion_is_a_mean_square_that_has_more_than_doubled():
    assert fates(START * (2 + EPSILON)) == Fates(explosion=1, vanishing=0, collapse=0)
    assert fates(START * (2 - EPSILON)) == Fates(explosion=0, vanishing=0, collapse=0)


def test_vanishing_is_a_mean_square_that_has_more_than_halved():
    assert fates(START * (0.5 - EPSILON)) == Fates(explosion=0, vanishing=1, collapse=0)
    assert fates(START * (0.5 + EPSILON)) == Fates(explosion=0, vanishing=0, collapse=0)


@pytest.mark.parametrize(
    ("squares", "fate"),
    [
        ((5.9, 5.9, 5.9), (0, 0, 0)),  # the first token sixfold, the third as it was
        ((0.1, 0.1, 17.7), (0, 0, 0)),  # the largest threefold, the first all but gone
        ((0.1, 0.1, 17.9), (1, 0, 0)),  # the same, with the mean past the double
        ((4.4, 0.03, 0.03), (0, 1, 0)),  # the first fourfold, the mean below the half
        ((4.4, 0.1, 0.1), (0, 0, 0)),
    ],
)
def test_the_norm_is_the_mean_square_of_all_tokens(squares, fate):
    """Neither one token's, nor the largest, nor that of the matrix, whose squares favour large tokens."""
    assert fates(np.diag(squares)) == Fates(*fate)


def with_correlations(first, second, third):
    """Three tokens of different sizes."""
    rho = np.array([[1, first, second], [first, 1, third], [second, third, 1]])
    sizes = np.array([1.0, 1.5, 2.0])
    return rho * np.outer(sizes, sizes)


def test_a_collapse_is_the_loss_of_seven_eighths_of_all_differences():
    """In the mean of all pairs, whatever the sizes of the tokens."""
    start = with_correlations(0.3, 0.2, 0.1)  # of mean 0.2: collapsed beyond a mean of 0.9
    for end, share in (
        (with_correlations(0.95, 0.9, 0.85 + EPSILON), 1),
        (with_correlations(0.95, 0.9, 0.85 - EPSILON), 0),
    ):
        assert token_fates(from_to(start, [end])).collapse == share
    assert token_fates(from_to(tokens(0.2), [tokens(-0.95)])).collapse == 0


def test_tokens_that_start_alike_have_not_collapsed():
    """Only what is lost on the way counts: tokens at a correlation of 0.95 that stay there, or part, are as they were."""
    for end, share in ((0.95, 0), (0.9, 0), (0.9935, 0), (0.994, 1)):
        assert token_fates(from_to(tokens(0.95), [tokens(end)])).collapse == share
    assert token_fates(from_to(tokens(1.0), [tokens(1.0)])).collapse == 0


def test_one_token_cannot_collapse():
    assert token_fates(from_to(np.eye(1), [np.eye(1)])) == Fates(0, 0, 0)


def test_a_path_that_was_stopped_has_exploded():
    assert fates(START, status="stopped") == Fates(explosion=1, vanishing=0, collapse=0)
    assert fates(START, status="running") == Fates(explosion=0, vanishing=0, collapse=0)


def test_shares_are_of_all_paths():
    assert token_fates(with_fates(explosion=5, vanishing=20, collapse=40)) == Fates(0.05, 0.2, 0.4)
    assert Fates(0.05, 0.2, 0.4).worst == Fates(0.4, 0.05, 0.2).worst == Fates(0.2, 0.4, 0.05).worst == 0.4


@pytest.fixture
def scanned(monkeypatch):
    """Replaces the limit by a made-up law for each gamma and temperature; records what was asked for."""
    asked = []

    def limit_of(fates_of):
        def sde(block, V0, depth_to_width, paths, seed, **_):
            asked.append((float(block.gamma), float(block.tau0), np.asarray(V0).tolist(), depth_to_width, seed))
            return with_fates(**fates_of(float(block.gamma), float(block.tau0)))

        monkeypatch.setattr(MODULE, "covariance_sde", sde)
        return asked

    return limit_of


def advise(seed=0):
    return recommend_shaping(fw.ShapedAttention(0.123, 3.0), tokens(0.2), 0.5, seed)


@pytest.mark.parametrize("fate", ["explosion", "vanishing", "collapse"])
def test_safe_means_one_in_twenty(scanned, fate):
    """In each way, and no more."""
    scanned(lambda gamma, tau0: {fate: 5 if (gamma, tau0) in ((0.05, 1.0), (0.1, 1.0), (0.3, 1.0)) else 6})
    advice = advise()
    safe = {(gamma, tau0) for gamma in GAMMAS for tau0 in TEMPERATURES if advice.is_safe(gamma, tau0)}
    assert safe == {(0.05, 1.0), (0.1, 1.0), (0.3, 1.0)}
    assert advice.largest_safe_gamma(1.0) == 0.1  # an island beyond does not count
    assert advice.largest_safe_gamma(0.5) is None
    assert advice.recommended == (0.1, 1.0)


@pytest.mark.parametrize(
    ("is_safe", "recommended"),
    [
        (lambda gamma, tau0: True, (0.2, 1.0)),  # the largest safe gamma, 0.9, is not where to start
        (lambda gamma, tau0: gamma * 0.5 < 0.06 * tau0, (0.1, 1.0)),
        (lambda gamma, tau0: tau0 >= 2, (0.2, 2.0)),
        (lambda gamma, tau0: tau0 <= 0.5 or tau0 >= 2, (0.2, 2.0)),  # of two as near to one, the safer
        (lambda gamma, tau0: gamma > 0.2, None),
        (lambda gamma, tau0: False, None),
    ],
)
def test_where_to_start(scanned, is_safe, recommended):
    """Gamma and temperature together, in the range from which models are trained."""
    scanned(lambda gamma, tau0: {"explosion": 0 if is_safe(gamma, tau0) else 6})
    assert advise().recommended == recommended


def test_fates_stand_beside_their_values(scanned):
    """In order, each from its own block, with the covariance, the depth and the seed asked for."""
    asked = scanned(lambda gamma, tau0: {"explosion": round(20 * gamma), "collapse": round(10 * tau0)})
    advice = advise(seed=7)
    assert (advice.gammas, advice.temperatures) == (GAMMAS, TEMPERATURES)
    for gamma, row in zip(GAMMAS, advice.fates, strict=True):
        assert row == tuple(Fates(round(20 * gamma) / 100, 0, round(10 * tau0) / 100) for tau0 in TEMPERATURES)
    assert asked == [(gamma, tau0, tokens(0.2).tolist(), 0.5, 7) for gamma in GAMMAS for tau0 in TEMPERATURES]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("gammas", [1j]),
        ("gammas", [None]),
        ("temperatures", [None]),
        ("gammas", []),
        ("gammas", 0.1),
        ("gammas", [0.0]),
    ],
)
def test_values_to_try_are_positive_numbers(name, values):
    """Complex ones and None were tried as if they were numbers, None as what the block has."""
    with pytest.raises(fw.ArgumentError, match=name):
        recommend_shaping(fw.ShapedAttention(0.2), tokens(0.2), 0.1, **{name: values})


def test_blocks_are_recommended_what_they_have():
    """An MLP has neither gamma nor tau0, a residual network no tau0; a stack has what one of its parts has."""
    with pytest.raises(fw.DomainError, match=r"`block`.*without weighted branches"):
        recommend_shaping(fw.ShapedMLP(), tokens(0.2), 0.1)
    with pytest.raises(fw.ArgumentError, match=r"`temperatures`.*without attention"):
        recommend_shaping(fw.ShapedResNet(0.2), tokens(0.2), 0.1, temperatures=(1.0,))


def test_a_residual_network_is_told_its_gamma(monkeypatch):
    monkeypatch.setattr(
        MODULE, "covariance_sde", lambda block, *_, **__: with_fates(explosion=6 if block.parts[0].gamma > 0.15 else 0)
    )
    advice = recommend_shaping(fw.ShapedResNet(0.5), tokens(0.2), 0.1)
    assert (advice.temperatures, advice.recommended, advice.largest_safe_gamma(None)) == ((None,), (0.1, None), 0.1)
    assert list(advice.table().columns)[:2] == ["gamma", "explosion"]
    stack = recommend_shaping(fw.ShapedTransformer(fw.ShapedAttention(0.5), fw.ShapedMLP()), tokens(0.2), 0.1)
    assert stack.temperatures == TEMPERATURES
