"""Pictures of generalisation: what stands in them is what was computed."""

import matplotlib as mpl
import numpy as np

import finitewidth as fw
from finitewidth.learning import GeneralisationError, Line

mpl.use("Agg")


def test_generalisation_by_depth():
    errors = [GeneralisationError(np.asarray(1.0 * k), np.asarray(0.5 * k)) for k in (1, 2, 3)]
    axes = fw.figures.generalisation_by_depth([2, 4, 8], errors)
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    np.testing.assert_allclose(lines["total"], [1.5, 3.0, 4.5])
    np.testing.assert_allclose(lines["bias"], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(lines["variance"], [0.5, 1.0, 1.5])


def test_along_a_line():
    s = np.array([0.0, 0.5, 1.0])
    line = Line(s, np.stack([s, 1 - s], axis=1), np.array([[1.0], [2.0], [4.0]]), np.array([0.0, 0.5, 0.0]), s[:, None])
    axes = line.plot()
    mean, straight = axes.get_lines()
    np.testing.assert_allclose(mean.get_ydata(), [1.0, 2.0, 4.0])
    np.testing.assert_allclose(straight.get_ydata(), s)
    band = axes.collections[0].get_paths()[0].vertices
    assert {1.5, 2.5} <= set(band[:, 1])
