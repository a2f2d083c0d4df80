"""A stopped path against the same path that was let go: when it stops, where, and that nothing else changes."""

import numpy as np
import pytest

from finitewidth import ShapedMLP, covariance_sde
from finitewidth.networks.shaped import shaped_relu

V0 = np.array([[1.0, 0.2], [0.2, 1.0]])
STEPS, TIME = 40, 2.0
RUN = {"paths": 64, "steps": STEPS, "save": STEPS, "seed": 6}  # every step is seen
FAR = 1e6


@pytest.fixture(scope="module")
def free():
    law = covariance_sde(ShapedMLP(shaped_relu(0, 0)), V0, TIME, radius=FAR, **RUN)
    assert law.counts["running"] == 64
    return law


@pytest.mark.parametrize("radius", [1.6, 3.0])
def test_stops_where_the_norm_reaches_the_radius(free, radius):
    """Shaped Transformer Def. 4.1: at the first step whose Frobenius norm is not below the radius, and on that sphere."""
    law = covariance_sde(ShapedMLP(shaped_relu(0, 0)), V0, TIME, radius=radius, **RUN)
    norms = np.linalg.norm(free.V, axis=(2, 3))
    outside = norms >= radius
    stops, first = outside.any(axis=1), outside.argmax(axis=1)
    assert 5 < stops.sum() < 60
    assert law.counts == {"running": 64 - stops.sum(), "stopped": stops.sum(), "left the cone": 0}
    np.testing.assert_allclose(law.stopping_times, np.where(stops, first * TIME / STEPS, np.inf), rtol=1e-12)
    for path, (stopped, at) in enumerate(zip(stops, first, strict=True)):
        end = at if stopped else STEPS + 1
        np.testing.assert_allclose(law.V[path, :end], free.V[path, :end], rtol=1e-12)
        if stopped:
            on_sphere = free.V[path, at] * radius / norms[path, at]
            np.testing.assert_allclose(law.V[path, at:], np.broadcast_to(on_sphere, law.V[path, at:].shape), rtol=1e-9)
