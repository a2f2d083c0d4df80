"""The report on a shaped Transformer."""

import json

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice.token_fates import Fates, recommend_shaping, token_fates
from finitewidth.networks.shaped import ShapedAttention, ShapedMLP, ShapedResNet, ShapedTransformer, equal_tokens
from finitewidth.proportional.covariance_sde import default_steps
from finitewidth.reports import transformer_report
from finitewidth.reports.sections.transformer import about_transformer
from finitewidth.reports.transformer_report import _steps
from finitewidth.results import CovarianceLaw, PathStatus

V0 = equal_tokens(3, 0.2)


def transformer(gamma=0.3, heads=2):
    return ShapedTransformer(ShapedAttention(gamma, heads=heads, mask="causal"), ShapedResNet(gamma, hidden_ratio=4.0))


NET = transformer().at(width=64, depth=16)


@pytest.mark.measured
def test_everything_is_there(made_transformer):
    """Tokens by depth, fates, advice, agreement, in types that JSON knows and in words."""
    data = json.loads(made_transformer.to_json())
    assert data["config"]["depth_to_width"] == 0.25
    assert np.asarray(data["by_depth"]["norm"]).shape == (3, len(data["by_depth"]["depth_to_width"]))
    assert [level[0] for level in data["by_depth"]["norm"]] == pytest.approx(
        [1.0] * 3
    )  # a mean over tokens, which start at one
    assert data["by_depth"]["correlation"][1][0] == pytest.approx(0.2)
    assert np.shape(data["advice"]["fates"]) == (len(data["advice"]["gammas"]), len(data["advice"]["temperatures"]))
    assert data["agreement"]["worst"]["p_value"] > 1e-4
    text = str(made_transformer)
    assert "16 blocks of width 64" in text
    gamma, tau0 = data["advice"]["recommended"]
    assert f"start at gamma = {gamma:g}, tau0 = {tau0:g} (here: gamma = 0.3, tau0 = 1)" in " ".join(text.split())
    assert "→" in text


def test_the_page_is_whole(made_up_transformer):
    """Two drawings, three tables, nothing to fetch."""
    page = made_up_transformer.to_html()
    assert (page.count("<svg"), page.count("<table")) == (4, 3)
    assert "http" not in page.split("<body>")[1]


@pytest.mark.measured
def test_risk_grows_with_gamma(made_transformer):
    """Tokens diffuse at a speed of gamma squared."""
    wrong = np.array(
        [[fate["explosion"] + fate["vanishing"] for fate in row] for row in made_transformer.data["advice"]["fates"]]
    )
    assert (wrong[0] == 0).all()
    assert (wrong[-1] > 0.3).all()


def law(final, status=PathStatus.RUNNING):
    V = np.stack([np.broadcast_to(np.eye(2), final.shape), final], axis=1)
    count = len(final)
    times, ends = np.array([0.0, 1.0]), np.full(count, np.inf)
    return CovarianceLaw(ShapedMLP(), times, V, ends, np.full(count, int(status)), 1.0, 0, "made up")


def test_fates_are_told_apart():
    """Growth, shrinking and coincidence of two tokens, and paths that were stopped."""
    grown, shrunk, alike = 3 * np.eye(2), np.eye(2) / 3, equal_tokens(2, 0.99)
    assert token_fates(law(np.stack([grown, shrunk, alike, np.eye(2)]))) == Fates(0.25, 0.25, 0.25)
    assert token_fates(law(np.eye(2)[None], PathStatus.STOPPED)).explosion == 1.0


@pytest.mark.parametrize(
    ("net", "start", "argument"),
    [
        (NET, -V0, "V0"),
        (transformer(), V0, "net"),
        (ShapedMLP().at(64, 16), V0, "attention"),
        ("x", V0, "net"),
    ],
)
def test_what_is_no_transformer_is_refused(net, start, argument):
    """Each with the name of the argument, or what is wrong with it."""
    with pytest.raises(fw.ArgumentError, match=argument):
        transformer_report(net, start, paths=8, networks=2)


def test_own_tokens(made_up_transformer):
    """The report is about the covariance that it was given."""
    start = np.array([[1.0, 0.5], [0.5, 2.0]])
    own = about_transformer(NET, start).data
    assert (own["tokens"], own["correlation"]) == (2, pytest.approx(0.5 / np.sqrt(2)))
    assert made_up_transformer.data["config"]["correlation"] == pytest.approx(0.2)


@pytest.mark.measured
def test_advice_at_any_depth():
    """Steps follow depth: at ten widths, 64 of them would be too long to keep covariances positive."""
    block = ShapedResNet(0.5, 0.0, -10.0)
    advice = recommend_shaping(block, equal_tokens(2, 0.2), 10.0, gammas=(0.05, 0.9))
    assert advice.fates[0][0].collapse == 0.0
    assert advice.fates[-1][0].vanishing > 0.9


def test_steps_of_the_limit():
    """Those of the default where they are few, and never many more than layers."""
    assert _steps(NET, V0) == max(16, default_steps(NET.block, V0, 0.25))
    assert _steps(transformer(gamma=0.2, heads=1).at(width=8, depth=4000), equal_tokens(2, 0.2)) == 4000
