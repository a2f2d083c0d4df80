"""How many networks are drawn side by side: few enough that large ones fit into memory, many enough that small ones are fast."""

import sys

import numpy as np
import pytest

from finitewidth import MLP, ShapedAttention, ShapedResNet, ntk_samples, simulate

MLP_LANE = "finitewidth.ensembles.simulation.add_lane"  # (tally, sampler, key, start, networks, lane)
BLOCK_LANE = "finitewidth.ensembles.shaped.simulation.walk"  # (process, key, first, saved_steps, radius, lane)
CACHE = 4 * 2**20  # bytes
SAMPLES = 3
X = np.random.default_rng(0).normal(size=(SAMPLES, 5))
V0 = X @ X.T / 5


class AboutToDrawError(Exception):
    """Networks are described and their number in flight is known; drawing them would take long."""


def about_to_draw(monkeypatch, place, *arguments, **settings):
    """What would be drawn, and how many at a time."""
    seen = []

    def stop(*given):
        seen.append((given[1], given[5]) if place == MLP_LANE else (given[0], given[5]))
        raise AboutToDrawError

    monkeypatch.setattr(place, stop)
    with pytest.raises(AboutToDrawError):
        simulate(*arguments, **settings)
    return seen[0]


def check(numbers, lane, least):
    """`least` numbers must be in memory for each network, whatever the method."""
    assert numbers >= least
    assert lane & (lane - 1) == 0  # lanes of a power of two share compiled code
    assert lane == 1 or 8 * lane * numbers <= CACHE
    assert lane == 4096 or 16 * lane * numbers > CACHE / 2  # no more than a factor of four is given away
    if 8 * least > CACHE:
        assert lane == 1


LEAST = {  # numbers that a network of two hidden layers of n neurons cannot do without
    ("vertex", "chain"): lambda n: SAMPLES * 16,
    ("vertex", "lazy"): lambda n: SAMPLES * n,
    ("vertex", "dense"): lambda n: n**2,
    ("ntk", "lazy"): lambda n: SAMPLES**2 * n,
    ("ntk", "dense"): lambda n: (SAMPLES * n) ** 2,
}


@pytest.mark.parametrize("width", [8, 300, 4000])
@pytest.mark.parametrize(("through", "method"), LEAST)
def test_networks(monkeypatch, through, method, width):
    """Half a million networks of any width."""
    net = MLP("linear", (5, width, width, 1))
    settings = {"networks": 500_000, "method": method, "through": through}
    sampler, lane = about_to_draw(monkeypatch, MLP_LANE, net, X, **settings)
    check(sampler.numbers_per_network(), lane, LEAST[through, method](width))


@pytest.mark.parametrize("width", [16, 512, 4096])
@pytest.mark.parametrize("method", ["chain", "dense"])
@pytest.mark.parametrize(
    "block", [ShapedAttention(0.5, heads=2), ShapedResNet(0.5, hidden_ratio=4)], ids=["attention", "ResNet"]
)
def test_blocks(monkeypatch, block, method, width):
    """The same for networks of shaped blocks: a dense ResNet holds its hidden layer's matrices, a chain no matrix at all."""
    network, lane = about_to_draw(monkeypatch, BLOCK_LANE, block.at(width, 10), V0, networks=500_000, method=method)
    least = SAMPLES**2 if method == "chain" else width**2 * (4 if isinstance(block, ShapedResNet) else 1)
    check(network.numbers(), lane, least)


@pytest.mark.parametrize("method", ["lazy", "dense"])
def test_tangent_kernels_side_by_side(monkeypatch, method):
    """A thousand tiny networks take a few lanes, wide ones fit the cache; and a network has the same digits in any company."""
    module, lanes = sys.modules["finitewidth.ensembles.one_by_one"], []  # which has the name of its function

    def recorded(advance, state, *, total, lane, **how):
        lanes.append(lane)
        return run(advance, state, total=total, lane=lane, **how)

    run = module.run
    monkeypatch.setattr(module, "run", recorded)
    tiny = MLP("tanh", (5, 4, 3, 2))
    many, few = ntk_samples(tiny, X, 1000, 3, method), ntk_samples(tiny, X, 3, 3, method)
    np.testing.assert_array_equal(few, many[:3])
    assert many.any(axis=(1, 2, 3, 4)).all()
    ntk_samples(MLP("linear", (5, 1500, 1500, 1)), X, 1, 0, method)
    assert lanes == [256, 256, {"lazy": 4, "dense": 1}[method]]


def test_no_more_than_are_asked_for(monkeypatch):
    """Five networks are drawn in a lane of eight, however many would fit."""
    assert about_to_draw(monkeypatch, MLP_LANE, MLP("linear", (5, 8, 1)), X, networks=5)[1] == 8
    assert about_to_draw(monkeypatch, BLOCK_LANE, ShapedResNet(0.5).at(16, 3), V0, networks=5)[1] == 8
