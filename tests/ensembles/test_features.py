"""Networks with their backward pass and velocities: the chain without matrices against dense ones, and exact identities."""

import time

import numpy as np
import pytest

import finitewidth as fw
from feature_laws import PHI, TARGETS, anticipation, shaped, shifted_tanh, smallest
from finitewidth import ArgumentError, DomainError, ShapeError, UnknownNameError


def drawn(block=None, width=16, depth=6, networks=2000, method="chain", seed=1, targets=TARGETS, V0=PHI, **how):
    net = (shaped() if block is None else block).at(width, depth)
    return fw.simulate(net, V0, networks, seed, method, through="features", targets=targets, save=depth, **how)


@pytest.fixture(scope="module")
def networks():
    return drawn()


def test_chain_and_dense_have_one_law(networks):
    """All fields at three depths, dense networks by automatic differentiation."""
    p, where = smallest(networks, drawn(method="dense", networks=800, seed=2))
    assert p > 1e-4, where


@pytest.mark.measured
def test_chain_and_dense_have_one_law_with_several_outputs():
    targets, block = np.array([[1.0, 0.2], [-0.5, 0.4]]), shifted_tanh()
    chain, dense = (drawn(block, 14, 4, many, method, 3, targets) for method, many in (("chain", 2000), ("dense", 800)))
    assert chain.G.shape[2:] == (4, 4)
    p, where = smallest(chain, dense)
    assert p > 1e-4, where


def test_residual_chain_and_dense_have_one_law():
    """A hidden layer wider than the stream."""
    block = fw.ShapedResNet(0.6, 1.5, -1.5, hidden_ratio=2.0)
    chain, dense = (drawn(block, 16, 4, many, method, 3, None) for method, many in (("chain", 2000), ("dense", 1000)))
    p, where = smallest(chain, dense)
    assert p > 1e-4, where
    np.testing.assert_allclose(chain.Q[:, :, 0, 0], chain.f[:, :1] * np.ones(5), atol=1e-7)


def test_identities_of_every_network(networks):
    """Euler's theorem, the sum rule and the tangent kernel's formula: exact, network by network."""
    f = networks.f
    for a in range(2):
        np.testing.assert_allclose(networks.Q[:, :, a, a], f[:, a, None] * np.ones(7), atol=1e-7)
    np.testing.assert_allclose(networks.S[:, -1], networks.f_dot[:, :, None] * np.ones(2), atol=1e-7)
    np.testing.assert_allclose(networks.f_dot, np.einsum("pab,pb->pa", networks.NTK, TARGETS - f), atol=1e-6)
    np.testing.assert_array_equal(networks.G[:, -1], 1.0)
    assert not networks.S[:, 0].any()
    assert not networks.velocity[:, 0].any()
    assert np.linalg.eigvalsh(networks.K).min() > -1e-9


def test_velocities_follow_the_increments_of_the_backward_pass(networks):
    alike, error = anticipation(networks)
    assert alike > 8 * error


def test_repeated_inputs_are_one_input():
    """Ranks are counted: a copy of an input changes no law."""
    V0 = np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 0.8]])
    law = drawn(depth=4, networks=300, V0=V0, targets=[1.0, 1.0, -0.5])
    np.testing.assert_allclose(law.S[:, :, 0], law.S[:, :, 1], atol=1e-6)
    np.testing.assert_allclose(law.velocity[:, :, 0, 0], law.velocity[:, :, 0, 1], atol=1e-6)
    np.testing.assert_allclose(law.G[:, :, 0, 0], law.G[:, :, 0, 1], atol=1e-9)


def test_a_seed_means_the_same_networks(networks, tmp_path):
    fewer = drawn(networks=1100, checkpoint=tmp_path / "run", chunk_size=1)
    np.testing.assert_array_equal(fewer.velocity, networks.velocity[:1100])
    resumed = drawn(networks=1100, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(resumed.S, fewer.S)


def test_bad_input():
    with pytest.raises(ArgumentError, match="ShapedMLP"):
        drawn(fw.ShapedAttention(0.3))
    with pytest.raises(ArgumentError, match="known for MLPs"):
        drawn(fw.ShapedResNet(0.3))
    with pytest.raises(DomainError, match="gamma"):
        drawn(fw.ShapedResNet(0.0), targets=None)
    with pytest.raises(DomainError, match=r"net.*memory"):
        drawn(width=10**6, depth=10**6, networks=1)
    with pytest.raises(DomainError, match="at least 4"):
        drawn(width=3)
    with pytest.raises(ShapeError, match="targets"):
        drawn(targets=[1.0, 2.0, 3.0])
    with pytest.raises(UnknownNameError, match="chain"):
        drawn(method="chian")
    with pytest.raises(DomainError, match="norm zero"):
        drawn(V0=np.diag([1.0, 0.0]))
    with pytest.raises(ArgumentError, match='through="features"'):
        fw.simulate(shaped().at(8, 2), PHI, 4, targets=TARGETS)
    with pytest.raises(ArgumentError, match="features of a block"):
        fw.simulate(fw.MLP("relu", (2, 8, 1)), np.eye(2), 4, targets=TARGETS)
    with pytest.raises(ArgumentError, match=r"block\.at"):
        fw.simulate(fw.MLP("relu", (2, 8, 1)), np.eye(2), 4, through="features")
    with pytest.raises(ArgumentError, match="'features' or nothing"):
        fw.simulate(shaped().at(8, 2), PHI, 4, through="featurs")
    with pytest.raises(ArgumentError, match="without gradients"):
        drawn(radius=10.0)


@pytest.mark.measured
def test_sixty_entries_of_chain_and_dense():
    """As many networks as take a minute; and what a layer costs as width grows."""
    chain, dense = (
        drawn(width=16, depth=12, networks=many, method=method, seed=seed)
        for method, many, seed in (("chain", 30_000, 4), ("dense", 10_000, 5))
    )
    p, where = smallest(chain, dense)
    assert p > 1e-4, where


@pytest.mark.measured
def test_cost_of_a_layer_grows_with_the_width():
    """In proportion to n: a slope well below the 2 of matrices. The figures are printed: `pytest -s`."""
    costs = {}
    for width in (500, 1000, 2000, 4000):
        for run in range(2):  # the first compiles
            start = time.process_time()
            drawn(width=width, depth=20, networks=32, seed=run)
            costs[width] = (time.process_time() - start) / 32 / 20
        print(f"n = {width}: {costs[width] * 1e6:.0f} microseconds a layer")
    slope = np.polyfit(np.log(list(costs)), np.log(list(costs.values())), 1)[0]
    print(f"exponent {slope:.2f}")
    assert slope < 1.5
