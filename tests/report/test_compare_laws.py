"""Laws of covariances laid over one another."""

import json

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.ensembles.shaped import simulate_block
from finitewidth.networks.shaped import ShapedAttention, ShapedMLP
from finitewidth.proportional import covariance_sde
from finitewidth.report import LawComparison, compare

V0 = np.array([[1.0, 0.2], [0.2, 1.0]])


@pytest.fixture(scope="module")
def laws():
    block = ShapedAttention(0.35)
    limit = covariance_sde(block, V0, 0.25, paths=512, steps=25, save=1)
    return limit, simulate_block(block, V0, width=100, depth=25, networks=512, save=1)


def test_limit_and_networks_agree(laws):
    """Shaped Transformer Thm 4.2: no entry of covariance or correlation is far off, and all are there."""
    found = compare(*laws)
    assert isinstance(found, LawComparison)
    assert [row.entry for row in found.rows] == ["V(0,0)", "V(0,1)", "V(1,1)", "rho(0,1)"]
    assert found.worst.p_value > 1e-3
    assert found.rows[0].first == tuple(np.quantile(laws[0].final[:, 0, 0], [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_a_wrong_law_shows(laws):
    """A block with another gamma is told apart."""
    other = covariance_sde(ShapedAttention(0.7), V0, 0.25, paths=512, steps=25, save=1)
    assert compare(other, laws[1]).worst.p_value < 1e-6


def test_it_can_be_read_and_written(laws):
    """As a table, as JSON, as a picture."""
    found = compare(*laws)
    assert "networks, n = 100" in str(found)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["second"]["width"] == 100
    covariance, correlation = found.plot()
    assert len(covariance.lines) == len(correlation.lines) == 2


def test_laws_that_do_not_belong_together(laws):
    """Other tokens, another depth, or no law at all."""
    three = covariance_sde(ShapedMLP(), np.eye(3), 0.25, paths=4, steps=2)
    with pytest.raises(fw.ShapeError, match="3 tokens"):
        compare(laws[0], three)
    deeper = covariance_sde(ShapedMLP(), V0, 0.5, paths=4, steps=2)
    with pytest.raises(fw.DomainError, match="depth over width"):
        compare(laws[0], deeper)
    with pytest.raises(fw.ArgumentError, match="theory"):
        compare(laws[0], None)
