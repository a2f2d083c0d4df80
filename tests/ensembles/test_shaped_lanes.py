"""Networks of shaped blocks over several lanes: network number i is the same whatever lane it falls into."""

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth import ShapedMLP, simulate
from finitewidth.networks.shaped import shaped_relu
from finitewidth.runs.walker import Paths

V0 = np.array([[1.0, 0.3], [0.3, 0.8]])
LANE = "finitewidth.ensembles.shaped.simulation.walk"  # (process, key, first, saved_steps, radius, lane)


def run(networks):
    return simulate(ShapedMLP(shaped_relu(0.5, -1.0)).at(16, 3), V0, networks=networks, seed=4, save=1).V


@pytest.fixture(scope="module")
def many():
    return run(2500)


def test_several_lanes_were_needed(monkeypatch):
    """Or the other tests of this file would test nothing."""
    lanes = []

    def look(process, key, first, saved_steps, radius, lane):
        lanes.append((first, lane))
        return Paths(jnp.zeros((lane, 2, 2, 2)), jnp.zeros(lane, dtype=int), jnp.zeros(lane, dtype=int))

    monkeypatch.setattr(LANE, look)
    assert len(run(2500)) == 2500
    assert len(lanes) >= 4  # one of them asks for the shapes only
    assert [first for first, _ in lanes[1:]] == list(range(0, 2500, lanes[1][1]))


@pytest.mark.parametrize("networks", [1500, 300])
def test_fewer_networks_are_the_first_of_many(many, networks):
    """Two lanes of the same size and part of a smaller one: the same networks, up to the rounding of other compiled code."""
    fewer = run(networks)
    assert fewer.shape == (networks, 2, 2, 2)
    np.testing.assert_allclose(fewer, many[:networks], rtol=1e-12)


def test_no_network_is_drawn_twice(many):
    """Every lane draws others."""
    assert len(np.unique(many[:, -1, 0, 0])) == 2500
