"""Laws of covariances laid over one another."""

import json

import equinox as eqx
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import ShapedAttention
from finitewidth.proportional import covariance_sde
from finitewidth.reports import LawComparison, compare

V0 = np.array([[1.0, 0.2], [0.2, 1.0]])


@pytest.fixture(scope="module")
def laws():
    block = ShapedAttention(0.35)
    limit = covariance_sde(block, V0, 0.25, paths=512, steps=25, save=1)
    return limit, simulate(block.at(width=100, depth=25), V0, networks=512, save=1)


def test_limit_and_networks_agree(laws):
    """Shaped Transformer Thm 4.2: no entry of covariance or correlation is far off, and all are there."""
    found = compare(*laws)
    assert isinstance(found, LawComparison)
    assert [row.entry for row in found.rows] == ["V(0,0)", "V(0,1)", "V(1,1)", "rho(0,1)"]
    assert found.worst.p_value > 1e-3
    assert found.rows[0].first == tuple(np.quantile(laws[0].final[:, 0, 0], [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_a_wrong_law_shows(laws):
    """A block with another gamma is refused, and told apart where it passes for the same."""
    other = covariance_sde(ShapedAttention(0.7), V0, 0.25, paths=512, steps=25, save=1)
    with pytest.raises(fw.ArgumentError, match=r"`measured`: got gamma = .*as in `theory`"):
        compare(other, laws[1])
    disguised = eqx.tree_at(lambda law: law.block, other, laws[1].block)
    assert compare(disguised, laws[1]).worst.p_value < 1e-6


def test_it_can_be_read_and_written(laws):
    """As a table, as JSON, as a picture."""
    found = compare(*laws)
    assert "networks, n = 100" in str(found)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["second"]["width"] == 100
    covariance, correlation = both_densities(found)
    assert len(covariance.lines) == len(correlation.lines) == 2


def test_laws_that_do_not_belong_together(laws):
    """Other tokens, another depth, or no law at all."""
    three = covariance_sde(ShapedAttention(0.35), np.eye(3), 0.25, paths=4, steps=2)
    with pytest.raises(fw.ShapeError, match=r"`measured`: got 3 tokens; expected 2, as in `theory`"):
        compare(laws[0], three)
    deeper = covariance_sde(ShapedAttention(0.35), V0, 0.5, paths=4, steps=2)
    with pytest.raises(fw.DomainError, match=r"`measured`: got depth over width.*as in `theory`"):
        compare(laws[0], deeper)
    for law, other, argument in ((laws[0], 3, "measured"), (3, laws[0], "theory")):
        with pytest.raises(fw.ArgumentError, match=argument):
            compare(law, other)


@pytest.mark.parametrize("start", [[[1.0, 0.3], [0.3, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])
def test_rounding_has_no_law(start):
    """A block that does nothing: equal to the last digits, which are not tested; different numbers are."""
    block = ShapedAttention(0.0)
    limit = covariance_sde(block, start, 0.25, paths=512, steps=25, save=1)
    networks = simulate(block.at(width=100, depth=25), start, networks=512, save=1)
    assert all((row.distance, row.p_value) == (0.0, 1.0) for row in compare(limit, networks).rows)
    other = covariance_sde(block, 1.001 * np.array(start), 0.25, paths=512, steps=25, save=1)
    with pytest.raises(fw.ArgumentError, match=r"`measured`: got paths of other inputs.*as in `theory`"):
        compare(other, networks)
    ends = eqx.tree_at(lambda law: law.V, other, np.concatenate([limit.V[:, :1], other.V[:, 1:]], axis=1))
    assert compare(ends, networks).rows[0].distance == 1.0
    covariance = compare(limit, networks).plot()
    assert [line.get_xdata()[0] for line in covariance.lines] == pytest.approx([start[0][1]] * 2)


def test_equal_tokens_stay_equal():
    """The correlation of a token and its copy is one on both sides, and no reason to tell the laws apart."""
    block, start = ShapedAttention(0.35), np.ones((2, 2))
    limit = covariance_sde(block, start, 0.25, paths=512, steps=25, save=1)
    networks = simulate(block.at(width=100, depth=25), start, networks=512, save=1)
    rows = {row.entry: row for row in compare(limit, networks).rows}
    assert rows["rho(0,1)"].p_value == 1.0
    assert 0 < rows["V(0,0)"].distance == rows["V(0,1)"].distance
    covariance, correlation = both_densities(compare(limit, networks))
    assert len(covariance.lines[0].get_xdata()) > 2
    assert list(correlation.lines[0].get_xdata()) == pytest.approx([1.0, 1.0])


def test_a_variance_is_drawn_alone(laws):
    """Of one token, or of an entry on the diagonal; names are those of the table."""
    alone = compare(*(law_of_one(law) for law in laws))
    for found, entry in ((alone, None), (compare(*laws), (0, 0))):
        variance, nothing = both_densities(found, entry=entry)
        assert variance.get_xlabel() == "$V(0,0)$"
        assert len(variance.lines) == 2
        assert not nothing.axison
        assert not nothing.lines
        assert found.plot(variance, entry=entry).get_xlabel() == "$V(0,0)$"
    assert both_densities(compare(*laws))[1].get_xlabel() == r"$\rho(0,1)$"


def both_densities(found, **settings):
    return fw.figures.law_densities(found.first, found.second, **settings)


def law_of_one(law):
    return eqx.tree_at(lambda of: of.V, law, law.V[..., :1, :1])


@pytest.mark.parametrize("entry", [(0, 5), (-1, 0), 1, (0, 1, 2), ("a", "b")])
def test_entries_that_are_not_there(laws, entry):
    """Refused by name."""
    with pytest.raises(fw.ArgumentError, match="entry"):
        compare(*laws).plot(entry=entry)


def test_one_path_has_no_density(laws):
    """A density needs two paths."""
    one = eqx.tree_at(lambda of: of.V, laws[0], laws[0].V[:1])
    with pytest.raises(fw.DomainError, match="at least 2 paths"):
        compare(one, one).plot()
