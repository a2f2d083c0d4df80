"""What a report tells to do, on both sides of every choice."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.critical import criticality
from finitewidth.reports.sections.typical import sentence as about_typical, wide_enough
from finitewidth.reports.sections.what_to_do import (
    about_what_to_do,
    alternative,
    deepest_allowed,
    initialisation,
    of_inputs,
    of_shape,
    optimiser,
)
from finitewidth.results.typical import TypicalNetworks

NET = fw.MLP("tanh", (3, *[50] * 9, 1))  # nine hidden layers
FINE, WIDE = np.linspace(0.0, 0.09, 10), np.linspace(0.0, 0.18, 10)


def test_initialisation_is_code_that_makes_a_critical_network():
    """The numbers of the critical point, in PyTorch's words; biases only where they are needed."""
    relu, swish = (criticality(name).point for name in ("relu", "swish"))
    assert "normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)" in initialisation(relu)
    assert "zeros_(layer.bias)" in initialisation(relu)
    assert f"std=({swish.C_W:.8g} / layer.in_features) ** 0.5" in initialisation(swish)
    assert f"normal_(layer.bias, std={np.sqrt(swish.C_b):.6g})" in initialisation(swish)
    compile(initialisation(swish), "code", "exec")
    compile(optimiser(None), "code", "exec")


def test_inputs_are_scaled_to_the_fixed_point():
    swish = criticality("swish").point
    assert f"mean square of {(swish.K_star - swish.C_b) / swish.C_W:.5g} per component" in of_inputs(swish)
    assert "about one per component" in of_inputs(criticality("tanh").point)


def test_an_activation_that_cannot_be_tuned_is_replaced():
    """Sigmoid without its value at zero; tanh where that does not help, or has no meaning."""
    net = NET.replace(activation="sigmoid")
    other = alternative(net, criticality("sigmoid"))
    assert other.name == "sigmoid(z) - 0.5"
    assert (other.point.C_b, other.point.C_W) == (0.0, pytest.approx(16.0))
    section = about_what_to_do(net, criticality("sigmoid"), FINE)
    assert section.parts[0].text.startswith("Take another activation: sigmoid cannot be tuned")
    assert section.data["activation"] == "sigmoid(z) - 0.5"
    assert alternative(NET.replace(activation="z^2"), criticality("z^2")).name == "tanh"
    assert alternative(NET, criticality("tanh")) is None
    kept = about_what_to_do(NET, criticality("tanh"), FINE)
    assert kept.parts[0].text.startswith("Keep tanh")
    assert kept.parts[1].text.startswith("Keep the initialisation")
    assert about_what_to_do(NET.replace(C_W=1.5), criticality("tanh"), FINE).parts[1].text.startswith("Initialise,")


def test_depths_and_widths_that_change_the_verdict():
    """A relative variance of a tenth decides; it falls as 1/n and, at criticality, grows as the depth."""
    assert deepest_allowed(NET, WIDE, tuned=True) == 5  # the sixth layer has a tenth
    assert deepest_allowed(NET, FINE, tuned=True) == 11
    assert deepest_allowed(NET, FINE, tuned=False) is None
    assert wide_enough(NET, 0.18) == 90
    assert of_shape(NET, FINE, tuned=True).endswith("At widths like these that holds up to about 11 layers.")
    assert of_shape(NET, FINE, tuned=False).endswith("agree within a third.")
    said = of_shape(NET, WIDE, tuned=True)
    assert "take hidden layers of about 90 neurons, or at these widths about 5 layers, for kernels" in said
    assert "about 1 layer," in of_shape(NET, np.append(0.0, np.full(9, 0.2)), tuned=True)
    edge = np.append(np.zeros(9), 0.1)
    assert of_shape(NET, edge, tuned=True).startswith("Depth over width is large")
    assert of_shape(NET, edge - 1e-9 * (edge > 0), tuned=True).startswith("Depth and width are fine")


def test_typical_networks_in_words():
    quantiles = np.array([[1e-3, 1e-2, 1.0]]).T * np.ones((1, 10))
    said = about_typical(NET, TypicalNetworks(quantiles, 2 * quantiles), 2.0, 0.18)
    assert (
        "kernel is 0.01 in the median network and between 0.001 and 1 in 90 % of them, where theory's mean is 2."
        in said
    )
    assert "are 0.02 in the median network and between 0.002 and 2 in 90 %." in said
    assert "about 90 neurons" in said


@pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")
def test_a_report_knows_its_regime():
    """Typical networks are shown where kernels differ by more than a third, and there only."""
    narrow, wide = (fw.MLP("relu", (2, *[n] * 3, 1), C_W=2.0) for n in (8, 400))
    report = fw.report(narrow, networks=50)
    assert report.data["typical"]["theory"] is not None
    assert np.shape(report.data["typical"]["measured"]["kernel"]) == (3, 4)
    assert "means describe few of them" in " ".join(str(report).split())
    quiet = fw.report(wide, networks=50)
    assert "typical" not in quiet.data
    for each in (report, quiet):
        assert each.sections[-1].title == "What to do"
        assert "torch.nn.init" in str(each)
        assert "<pre><code>for layer in linear_layers:" in each.to_html()
