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
    """Shaped Transformer Def. 4.1: at the first step whose Frobenius norm is not below the radius. A token with its share of
    the radius is stopped there, on the sphere; the other goes on as if nothing had happened."""
    law = covariance_sde(ShapedMLP(shaped_relu(0, 0)), V0, TIME, radius=radius, **RUN)
    norms = np.linalg.norm(free.V, axis=(2, 3))
    outside = norms >= radius
    stops, first = outside.any(axis=1), outside.argmax(axis=1)
    assert 5 < stops.sum() < 60
    assert law.counts == {"running": 64 - stops.sum(), "stopped": stops.sum(), "left the cone": 0}
    np.testing.assert_allclose(law.stopping_times, np.where(stops, first * TIME / STEPS, np.inf), rtol=1e-12)
    alone = 0
    for path, (stopped, at) in enumerate(zip(stops, first, strict=True)):
        end = at if stopped else STEPS + 1
        np.testing.assert_allclose(law.V[path, :end], free.V[path, :end], rtol=1e-12)
        if not stopped:
            continue
        np.testing.assert_allclose(np.linalg.norm(law.V[path, at]), radius, rtol=1e-12)
        left = np.diag(free.V[path, at]) >= radius / 2
        for token in range(2):
            moved, let_go = law.V[path, at:, token, token], free.V[path, at:, token, token]
            if left[token]:
                np.testing.assert_allclose(moved, moved[0], rtol=1e-12)
            elif let_go.max() < radius / 2:
                alone += 1
                np.testing.assert_allclose(moved, let_go, rtol=1e-12)
    assert alone > 3
