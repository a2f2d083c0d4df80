"""What is drawn is what was computed."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import made_up
from finitewidth import ArgumentError, ShapeError, figures
from finitewidth.critical import criticality, phase_diagram
from finitewidth.reports import compare


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def theory():
    return made_up.theory(widths=(2, 8, 4, 6, 1))


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_flow_by_depth_draws_theory(theory):
    """PDLT (4.104)."""
    kernel, fluctuation = figures.flow_by_depth(theory, sample=1, label="this", color="#123456")
    line = lines(kernel)["this"]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4])
    np.testing.assert_array_equal(line.get_ydata(), theory.G[:, 1, 1])
    assert to_hex(line.get_color()) == "#123456"
    np.testing.assert_array_equal(lines(fluctuation)["this"].get_ydata(), theory.relative_fluctuation[:, 1])
    (band,) = kernel.collections
    spread = np.sqrt(theory.v[:, 1, 1, 1, 1])
    drawn = band.get_paths()[0].vertices
    assert drawn[:, 1].max() == pytest.approx((theory.G[:, 1, 1] + spread).max())
    lowest = (theory.G[:, 1, 1] - spread).min()
    assert lowest < 0  # where no mean square can be
    assert drawn[:, 1].min() == 0


def test_flow_by_depth_draws_the_law_of_deep_networks(theory):
    """PDLT (5.131): slope ν in the sum of inverse widths."""
    _, fluctuation = figures.flow_by_depth(theory, nu=2 / 3)
    (law,) = (line for name, line in lines(fluctuation).items() if "0.667" in name)
    np.testing.assert_allclose(law.get_ydata(), np.cumsum([0, 1 / 8, 1 / 4, 1 / 6]) * 2 / 3)


def test_flow_by_depth_draws_measurements_with_errors(theory):
    measured = made_up.perfect(theory)
    kernel, fluctuation = figures.flow_by_depth(theory, measured)
    (points,) = (container.lines for container in kernel.containers)
    np.testing.assert_array_equal(points[0].get_ydata(), measured.G.mean[:, 0, 0])
    bars = np.array([segment[:, 1] for segment in points[2][0].get_segments()])
    np.testing.assert_allclose((bars[:, 1] - bars[:, 0]) / 2, measured.G.standard_error[:, 0, 0], atol=1e-15)
    (points,) = (container.lines for container in fluctuation.containers)
    scale = np.array([2, 8, 4, 6]) * theory.K[:, 0, 0] ** 2
    np.testing.assert_allclose(points[0].get_ydata(), measured.V.mean[:, 0, 0, 0, 0] / scale, rtol=1e-14)


def test_several_networks_on_one_picture(theory):
    axes = figures.flow_by_depth(theory, label="one")
    again = figures.flow_by_depth(made_up.theory(widths=(2, 8, 4, 6, 1), seed=1), axes=axes, label="two")
    assert again == axes
    assert set(lines(axes[0])) == {"one", "two"}


def test_flow_by_depth_refuses_samples_that_are_not_there(theory):
    with pytest.raises(ArgumentError, match="`sample`"):
        figures.flow_by_depth(theory, sample=-1)
    with pytest.raises(ArgumentError, match="`sample`"):
        figures.flow_by_depth(theory, sample=2)


def test_comparison_draws_values_and_deviations(theory):
    table = compare(theory, made_up.perfect(theory))
    values, deviations = figures.comparison(table)
    drawn = {container.get_label(): container.lines[0] for container in values.containers}
    assert set(drawn) == {"G", "V"}
    for name, line in drawn.items():
        np.testing.assert_array_equal(line.get_xdata(), table.theory[table.quantity == name])
        np.testing.assert_array_equal(line.get_ydata(), table.measured[table.quantity == name])
    x = lines(deviations)["V"].get_xdata()
    assert len(np.unique(x)) == len(x)  # entries of one layer side by side
    np.testing.assert_array_equal(np.round(x), table.layer[table.quantity == "V"])


def test_only_comparisons_of_flows_are_drawn(theory):
    with pytest.raises(ArgumentError, match="`table`: got Flow"):
        figures.comparison(theory)


@pytest.fixture(scope="module")
def tanh():
    return criticality("tanh"), phase_diagram("tanh", C_b=np.linspace(0, 0.5, 6), C_W=np.linspace(0, 3, 13))


def test_phase_diagram_draws_regions_lines_and_points(tanh):
    """PDLT (5.71)-(5.72), figure 5.1: the lines pass through points known independently."""
    verdict, diagram = tanh
    axes = figures.phase_diagram(diagram, verdict=verdict)
    drawn = lines(axes)
    for name, line in ((r"$\chi_\perp = 1$", diagram.perp_line), (r"$\chi_\parallel = 1$", diagram.parallel_line)):
        np.testing.assert_array_equal(drawn[name].get_xdata(), line.C_W)
        np.testing.assert_array_equal(drawn[name].get_ydata(), line.C_b)
    assert drawn[r"$\chi_\parallel = 1$"].get_linestyle() == "--"
    # Where the kernel is one: (2.1533, 0.1510) and (5.5006, -1.1689).
    solid, dashed = drawn[r"$\chi_\perp = 1$"], drawn[r"$\chi_\parallel = 1$"]
    assert np.interp(1, diagram.perp_line.K, solid.get_xdata()) == pytest.approx(2.1533, abs=5e-4)
    assert np.interp(1, diagram.perp_line.K, solid.get_ydata()) == pytest.approx(0.1510, abs=5e-4)
    assert np.interp(1, diagram.parallel_line.K, dashed.get_xdata()) == pytest.approx(5.5006, abs=5e-3)
    assert np.interp(1, diagram.parallel_line.K, dashed.get_ydata()) == pytest.approx(-1.1689, abs=5e-3)
    (x,), (y,) = drawn["critical"].get_data()
    assert (x, y) == (pytest.approx(1), 0)
    mesh = axes.collections[0].get_array().reshape(6, 13)
    at = {(0.5, 0.25): "ordered", (0.1, 3.0): "chaotic"}
    numbers = {
        phase: mesh[np.isclose(diagram.C_b, b)][0][np.isclose(diagram.C_W, w)][0] for (b, w), phase in at.items()
    }
    assert numbers["ordered"] != numbers["chaotic"]
    assert (mesh == numbers["ordered"]).sum() == (diagram.phase == "ordered").sum()


def test_ratio_of_susceptibilities():
    """PDLT (5.73), figures 5.2 and 5.3: values known independently at the right-hand edge, and dots at the crossings."""
    axes = figures.ratio_of_susceptibilities("sigmoid", K_max=3)
    K, ratio = axes.get_lines()[0].get_data()
    assert K[-1] == 3
    assert ratio[-1] == pytest.approx(2.194549, abs=1e-6)
    assert np.interp(1.0, K, ratio) == pytest.approx(1.437140, abs=1e-4)

    axes = figures.ratio_of_susceptibilities("gelu", K_max=20, verdict=criticality("gelu"))
    curve, one, dots = axes.get_lines()
    assert curve.get_ydata()[-1] == pytest.approx(1.018554, abs=1e-6)
    assert set(one.get_ydata()) == {1}
    np.testing.assert_allclose(dots.get_xdata(), [0, (3 + np.sqrt(17)) / 2], rtol=1e-9)


def test_gallery():
    """PDLT (2.9)-(2.18), figure 2.2."""
    panels = figures.activation_gallery()
    assert [panel.get_title() for panel in panels] == [
        *("perceptron", "sigmoid", "tanh", "sin", "linear"),
        *("relu", "softplus", "swish", "gelu"),
    ]
    z, tanh = panels[2].get_lines()[0].get_data()
    np.testing.assert_allclose(tanh, np.tanh(z), rtol=1e-14)
    left, right = (line.get_data() for line in panels[0].get_lines()[:2])
    assert set(left[1]) == {0}  # the step is not drawn as a slope
    assert set(right[1]) == {1}
    with pytest.raises(ShapeError, match="`axes`"):
        figures.activation_gallery(["tanh", "relu"], axes=panels[:1])


def test_every_picture_of_the_documentation_is_there(request):
    docs = request.config.rootpath / "docs"
    shared = {"save", "stopping"}  # what the scripts have in common
    scripts = {path.stem for path in (docs / "figures").glob("*.py")} - shared
    assert {"overview", "pdlt_figure_2_2", "pdlt_figure_5_1", "pdlt_figure_5_2", "pdlt_figure_5_3"} <= scripts
    for name in scripts:
        picture = docs / "images" / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
