"""Arguments, saved depths, seeds, stops and shapes of simulated blocks."""

import numpy as np
import pytest

from finitewidth._errors import ArgumentError, DomainError, ShapeError, UnknownNameError
from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import (
    AblatedAttention,
    BlockNetwork,
    FiniteStack,
    LayerNormTransformer,
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.results import CovarianceLaw, PathStatus

V0 = np.asarray([[1.0, 0.3], [0.3, 0.8]])
LINEAR = ShapedMLP(shaped_relu(0.0, 0.0))


def test_fields():
    """The fields of the limit's law, at depth times l/n from the inputs to the last layer."""
    law = simulate(LINEAR.at(16, 120), V0, networks=100, seed=5)
    assert isinstance(law, CovarianceLaw)
    assert law.V.shape == (100, 51, 2, 2)
    assert law.V.dtype == np.float64
    assert (law.width, law.depth, law.seed, law.method, law.steps) == (16, 120, 5, "chain", None)
    np.testing.assert_array_equal(law.V[:, 0], np.broadcast_to(V0, (100, 2, 2)))
    np.testing.assert_array_equal(law.V, law.V.swapaxes(-1, -2))
    assert (law.times[0], law.times[-1], law.depth_to_width) == (0.0, 7.5, 7.5)
    assert np.all(np.isinf(law.stopping_times))
    assert not law.status.any()


def test_depth_time_of_weak_shaping():
    r"""With $p = 1/4$ depth time is $\ell n^{-1/2}$ (lecture 17)."""
    net = ShapedMLP(shaped_relu(0.0, -1.0, exponent=0.25)).at(16, 6)
    assert (net.time_of_a_layer, net.depth_time, net.depth_over_width) == (1 / 4, 6 / 4, 6 / 16)


def test_saved_depths_and_seeds():
    """Which layers are kept, how many networks are drawn and in which chunks changes nothing; another seed does."""
    every = simulate(LINEAR.at(16, 120), V0, networks=100, save=120)
    some = simulate(LINEAR.at(16, 120), V0, networks=100)
    saved = np.round(np.linspace(0, 120, 51)).astype(int)
    np.testing.assert_array_equal(every.V[:, saved], some.V)
    np.testing.assert_allclose(every.times[saved], some.times)
    more = simulate(LINEAR.at(16, 120), V0, networks=128)
    np.testing.assert_array_equal(more.V[:100], some.V)
    other = simulate(LINEAR.at(16, 120), V0, networks=100, seed=1)
    assert not np.any(other.V[:, 1:] == some.V[:, 1:])


def test_stopped_at_a_radius():
    """Networks that reach it are frozen on the sphere, with status and time; the others run on as without it."""
    free = simulate(LINEAR.at(16, 120), V0, networks=100, save=120)
    law = simulate(LINEAR.at(16, 120), V0, networks=100, save=120, radius=3.0)
    norms = np.linalg.norm(free.V, axis=(2, 3))
    reached = norms >= 3.0
    np.testing.assert_array_equal(law.status == PathStatus.STOPPED, reached.any(axis=1))
    assert 0 < law.counts["stopped"] < 100
    assert law.stopped_fraction == law.counts["stopped"] / 100
    first = np.where(reached.any(axis=1), reached.argmax(axis=1) / 16, np.inf)
    np.testing.assert_allclose(law.stopping_times, first)
    stopped = law.status == PathStatus.STOPPED
    np.testing.assert_allclose(np.linalg.norm(law.final[stopped], axis=(1, 2)), 3.0)
    np.testing.assert_array_equal(law.V[~stopped], free.V[~stopped])


def test_explosion_is_reported():
    r"""$e^x - 1$ blows up in finite depth (lecture 17): counted, frozen with finite numbers, never NaN."""
    block = ShapedMLP(shaped_smooth(lambda x: np.e**x - 1, a=0.5))
    law = simulate(block.at(4, 50), 4 * V0, networks=256)
    assert 0 < law.counts["stopped"] < 256
    assert np.isfinite(law.V).all()
    assert np.isfinite(law.correlation()).all()
    stopped = law.status == PathStatus.STOPPED
    assert np.all(law.stopping_times[stopped] <= 50 / 4)


def test_vanishing_is_reported():
    """Without identity, centred attention alone shrinks covariances faster than any power: frozen before zero."""
    block = AblatedAttention(ShapedAttention(1.0), identity=False)
    law = simulate(block.at(16, 40), V0, networks=64)
    assert law.counts["stopped"] == 64
    assert np.all(law.final[:, [0, 1], [0, 1]] > 0)
    assert np.isfinite(law.correlation()).all()


def test_singular_and_zero_inputs():
    """Repeated tokens stay equal, tokens without signal stay silent."""
    start = np.asarray([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    V = simulate(ShapedResNet(0.6).at(8, 20), start, networks=64).V
    assert np.isfinite(V).all()
    np.testing.assert_allclose(V[..., 0, 0], V[..., 1, 1], rtol=1e-10)
    np.testing.assert_allclose(V[..., 0, 1], V[..., 1, 1], rtol=1e-10)
    assert not V[..., 2].any()


@pytest.mark.parametrize(
    ("change", "error", "argument"),
    [
        ({"block": "attention"}, ArgumentError, "block"),
        ({"x": [[1.0, 2.0], [2.0, 1.0]]}, DomainError, "x"),
        ({"x": [[1.0, 0.5]]}, ShapeError, "x"),
        ({"x": [[1.0, np.nan], [np.nan, 1.0]]}, DomainError, "x"),
        ({"x": np.eye(5), "width": 4}, DomainError, "x"),
        ({"block": ShapedMLP(), "x": np.eye(5), "width": 4, "method": "dense"}, DomainError, "x"),
        ({"width": 7}, DomainError, "width"),
        ({"width": 0}, DomainError, "width"),
        ({"depth": 0}, DomainError, "depth"),
        ({"depth": 2.5}, DomainError, "depth"),
        ({"networks": 0}, DomainError, "networks"),
        ({"networks": 2**32}, DomainError, "networks"),
        ({"seed": -1}, DomainError, "seed"),
        ({"method": "lazy"}, UnknownNameError, "method"),
        ({"save": 0}, DomainError, "save"),
        ({"chunk_size": 0}, DomainError, "chunk_size"),
        ({"through": "ntk"}, ArgumentError, "through"),
        ({"radius": 1.0}, DomainError, "radius"),
        ({"radius": np.inf}, DomainError, "radius"),
        ({"block": ShapedAttention(0.5, mask=np.eye(3, dtype=bool))}, ShapeError, "mask"),
    ],
)
def test_bad_input(change, error, argument):
    """Each is named."""
    how = {"block": ShapedAttention(0.5, heads=2), "width": 8, "depth": 3, "x": V0, "networks": 2} | change
    with pytest.raises(error) as caught:
        simulate(BlockNetwork(how.pop("block"), how.pop("width"), how.pop("depth")), **how)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: AblatedAttention(ShapedMLP()), "attention"),
        (lambda: FiniteStack(), "blocks"),
        (lambda: FiniteStack("attention"), "blocks"),
        (lambda: LayerNormTransformer("before"), "position"),
        (lambda: LayerNormTransformer(gamma=-1.0), "gamma"),
        (lambda: LayerNormTransformer(hidden_ratio=0.0), "hidden_ratio"),
        (lambda: LayerNormTransformer(heads=0), "heads"),
    ],
)
def test_bad_descriptions(make, argument):
    """Each is named."""
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.argument == argument


@pytest.mark.parametrize("block", [ShapedMLP(shaped_relu(-4.0, -4.0)), ShapedResNet(0.5, -4.0, -4.0)])
def test_flat_activations(block):
    """Slopes $1 - 4n^{-1/2}$ vanish at width 16: said in terms of what the caller chose."""
    with pytest.raises(DomainError, match=r"`c_plus, c_minus`: got -4, -4.*at width 16"):
        simulate(block.at(16, 2), np.eye(2), networks=2)
