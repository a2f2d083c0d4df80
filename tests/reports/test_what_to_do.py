"""What a report tells to do, on both sides of every choice."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.critical import criticality
from finitewidth.reports.inputs import best_mean_square
from finitewidth.reports.section import Tone, Words
from finitewidth.reports.sections.at_this_depth import AtThisDepth, at_this_depth
from finitewidth.reports.sections.in_short import of_gradients, of_signals, verdict as headline
from finitewidth.reports.sections.typical import sentence as about_typical, wide_enough
from finitewidth.reports.sections.what_to_do import (
    about_what_to_do,
    alternative,
    deepest_allowed,
    initialisation,
    of_inputs,
    of_shape,
    optimiser,
    when_tuned,
)
from finitewidth.results.typical import TypicalNetworks

NET = fw.MLP("tanh", (3, *[50] * 9, 1))  # nine hidden layers
FINE, WIDE = np.linspace(0.0, 0.09, 10), np.linspace(0.0, 0.18, 10)


def run(code, **names):
    """The lines of a report in a PyTorch that only remembers."""
    made = []
    init = SimpleNamespace(normal_=lambda of, std: made.append((of, std)), zeros_=lambda of: made.append((of, 0.0)))
    torch = SimpleNamespace(nn=SimpleNamespace(init=init), optim=SimpleNamespace(SGD=lambda groups: groups))
    layers = [SimpleNamespace(in_features=n, weight="W", bias="b") for n in NET.widths[:-1]]
    space = {"torch": torch, "linear_layers": layers, **names}
    exec(code, space)
    return made, space.get("optimizer")


@pytest.mark.parametrize("name", ["relu", "swish"])
def test_initialisation_is_code_that_makes_a_critical_network(name):
    """Standard deviations sqrt(C_W/fan-in) and sqrt(C_b) of every layer, in PyTorch's words."""
    point = criticality(name).point
    made, _ = run(initialisation(point))
    expected = [pair for n in NET.widths[:-1] for pair in (("W", np.sqrt(point.C_W / n)), ("b", np.sqrt(point.C_b)))]
    assert [of for of, _ in made] == [of for of, _ in expected]
    np.testing.assert_allclose([std for _, std in made], [std for _, std in expected], rtol=1e-5)


@pytest.mark.parametrize(("activation", "own"), [("tanh", "tanh"), ("sigmoid", None), (np.tanh, jnp.tanh)])
def test_optimiser_groups_are_code_that_runs(activation, own):
    """By name, by a centred alternative, or by the caller's own function: the rates of the tuned network."""
    net = NET.replace(activation=jnp.tanh if callable(activation) else activation)
    other = alternative(net, criticality(net.activation))
    code = optimiser(net, other)
    assert max(map(len, code.splitlines())) <= 76  # a terminal of eighty columns shows all of it
    x = np.ones((1, 3))
    _, groups = run(code, x=x, activation=own)
    tuned = fw.tune(NET if own else NET.replace(activation=lambda z: jax.nn.sigmoid(z) - 0.5))
    slow = tuned.replace(lambda_b=tuned.lambda_b / NET.widths[:-1])
    expected = np.repeat(tuned.lambda_W / NET.widths[:-1] / fw.frozen_ntk(slow, x)[0, 0], 2)
    expected[1::2] *= tuned.lambda_b / tuned.lambda_W  # biases learn as the weights beside them, by the layer's shares
    np.testing.assert_allclose([group["lr"] for group in groups], expected, rtol=1e-6)


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
    section = about_what_to_do(net, criticality("sigmoid"), WIDE)
    assert section.data["widest_needed"] == 60  # 2/3 of nine layers over 50, not what sigmoid does
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
    assert deepest_allowed(NET, WIDE) == 6  # the sixth layer has a tenth, the seventh more
    assert deepest_allowed(NET, FINE) == 11
    assert wide_enough(NET, 0.18) == 90
    assert of_shape(NET, FINE, tuned=True).endswith("At widths like these that holds up to about 11 layers.")
    assert of_shape(NET, FINE, tuned=True).startswith("Depth and width are fine")
    assert of_shape(NET, FINE, tuned=False).startswith("Initialised so, depth and width are fine")
    said = of_shape(NET, WIDE, tuned=True)
    assert said.startswith("The network is deep for its width.")
    assert "take hidden layers of about 90 neurons, or at these widths about 6 layers;" in said
    assert of_shape(NET, WIDE, tuned=False).startswith("Initialised so, the network is deep for its width.")
    for first, many in ((1, "one hidden layer"), (2, "two hidden layers")):
        steep = np.append(np.zeros(first), np.full(10 - first, 0.2))
        assert f"for at these widths even {many} would be too many" in of_shape(NET, steep, tuned=True)
    edge = np.append(np.zeros(9), 0.1)
    assert of_shape(NET, edge, tuned=True).startswith("Depth and width are fine")
    assert of_shape(NET, edge * (1 + 1e-6), tuned=True).startswith("The network is deep")


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu"])
def test_advice_is_about_the_network_as_advised(name):
    """What an untuned network is told of its shape is what the tuned one would show: nu sum 1/n, PDLT (5.129)."""
    net = fw.tune(NET.replace(activation=name))
    x = np.full((1, 3), np.sqrt(best_mean_square(criticality(name).point)))
    found = fw.flow(net, x).relative_fluctuation[:, 0]
    np.testing.assert_allclose(when_tuned(net, criticality(name)), found, rtol=0.15 if name == "tanh" else 1e-6)


def quantiles(low, middle, high):
    return np.array([[low, middle, high]]).T * np.ones((1, 10))


def test_typical_networks_in_words():
    measured = TypicalNetworks(quantiles(1e-3, 1e-2, 1.0), quantiles(2e-3, 2e-2, 2.0), networks=77)
    said = about_typical(NET, measured, measured, 2.0, 0.18)
    assert said.startswith("Networks differ, so that averages describe few of them. In 77 of them")
    assert (
        "is 0.01 (by theory 0.01) in the median network and between 0.001 and 1 in 90 %; infinitely wide ones have 2."
        in said
    )
    assert "are 0.02 in the median network and between 0.002 and 2 in 90 %." in said
    assert "about 90 neurons" in said
    assert "neurons" not in about_typical(NET, measured, None, 2.0, 0.09)
    assert "by theory" not in about_typical(NET, measured, None, 2.0, 0.18)


@pytest.mark.parametrize(("infinite", "few"), [(0.0199, False), (0.0201, True), (0.00501, False), (0.00499, True)])
def test_averages_describe_few_from_twice_the_median(infinite, few):
    measured = TypicalNetworks(quantiles(4e-3, 1e-2, 0.03), quantiles(1.0, 1.0, 1.0), networks=77)
    assert ("describe few" in about_typical(NET, measured, None, infinite, 0.18)) is few


@pytest.mark.parametrize(("high", "few"), [(0.0399, False), (0.0401, True)])
def test_averages_describe_few_of_networks_spread_over_more_than_a_factor_of_ten(high, few):
    measured = TypicalNetworks(quantiles(4e-3, 1e-2, high), quantiles(1.0, 1.0, 1.0), networks=77)
    assert ("describe few" in about_typical(NET, measured, None, 0.01, 0.18)) is few


def test_the_headline():
    """Depth first, then width, then nothing to complain of."""
    assert headline(1, (), None)[0].startswith("One layer")
    assert headline(5, None, None)[0].startswith("The activation jumps")
    ills = (
        "chi_parallel = 0.9 < 1: signals vanish with depth",
        "chi_perp = 0.9 a layer: gradients vanish exponentially",
    )
    assert (
        headline(5, ills, None)[0] == "Worth changing before training: signals vanish and gradients vanish with depth."
    )
    spread = TypicalNetworks(quantiles(1e-3, 1e-2, 1.0), quantiles(0.5, 1.0, 2.0))
    said, tone = headline(5, (), spread)
    assert (
        "90 % spread over a factor of 1000 in the mean square of their signals and 4 in that of their gradients" in said
    )
    assert tone is Tone.RISKY
    assert headline(5, (), None) == ("Well initialised for its depth and width.", Tone.GOOD)


@pytest.mark.parametrize(
    ("signals", "gradients", "worse"),
    [
        ((0.6, 0.02), (1 / 8, 1 / 26), False),
        ((0.6, 0.02), (1 / 51, 1 / 26), False),
        ((0.6, 0.02), (1 / 53, 1 / 26), True),
        ((1.9, 1.0), (1.9, 1.0), False),
        ((1.0, 1.0), (2.1, 1.0), True),
        ((0.49, 1.0), (1.0, 1.0), True),
        ((0.0, 1.0), (1.0, 1.0), True),
    ],
)
def test_the_headline_goes_by_size_at_this_depth(signals, gradients, worse):
    """A problem is worth changing where tuning mends it: by more than a factor of two, in signals or in gradients."""
    found = AtThisDepth(signals, gradients)
    ills = ("chi_perp = 0.9 a layer: gradients vanish exponentially",)
    said, tone = headline(20, ills, None, None, found)
    assert said.startswith("Worth changing before training" if worse else "Not critical, and at this depth no worse")
    assert tone is (Tone.BAD if worse else Tone.RISKY)
    if not worse:
        assert f"a factor of {gradients[0]:.3g}, at the critical point by {gradients[1]:.3g}." in said
        spread = TypicalNetworks(quantiles(1e-3, 1e-2, 1.0), quantiles(0.5, 1.0, 2.0))
        assert headline(20, ills, spread, None, found)[0].endswith("drawn alike, differ widely.")


def test_sizes_at_this_depth():
    r"""Of tanh by hand: $K' = C_b + C_W\langle\tanh^2\rangle$ and $\chi_\perp = C_W\langle\tanh'^2\rangle$, on a fine grid."""
    z = np.linspace(-12, 12, 4001)

    def factors(C_b, C_W, x):
        K = [C_b + C_W * x**2]
        chain = 1.0
        for _ in range(19):
            weight = np.exp(-(z**2) / 2 / K[-1]) / np.sqrt(2 * np.pi * K[-1]) * (z[1] - z[0])
            chain *= C_W * np.sum(weight / np.cosh(z) ** 4)
            K.append(C_b + C_W * np.sum(weight * np.tanh(z) ** 2))
        return K[-1] / K[0], chain

    net = fw.MLP("tanh", (1, *[128] * 19, 1), C_b=0.05, C_W=1.5)
    found = at_this_depth(net, criticality("tanh"), np.array([[1.0]]))
    pairs = zip(factors(0.05, 1.5, 1.0), factors(0.0, 1.0, 1.0), strict=True)
    np.testing.assert_allclose([found.signals, found.gradients], list(pairs), rtol=1e-6)
    assert found.no_worse
    assert at_this_depth(net.replace(activation="sigmoid"), criticality("sigmoid"), np.array([[1.0]])) is None
    section = about_what_to_do(NET.replace(C_W=1.5), criticality("tanh"), FINE, no_worse=True)
    assert section.parts[1].text.startswith("Keep the initialisation, or for more layers")


@pytest.mark.parametrize(("C_b", "worse"), [(0.5, False), (3.0, True)])
def test_reports_judge_at_their_depth(C_b, worse):
    """Three layers: gradients fall to 0.18 or to 0.05 of their size, to 0.3 in the tuned network."""
    made = fw.report(fw.MLP("tanh", (4, 24, 16, 1), C_b=C_b, C_W=1.0), networks=200)
    assert made.data["training"]["problems"]
    starts = "Worth changing before training" if worse else "Not critical, and at this depth no worse for it"
    assert made.data["in_short"]["headline"].startswith(starts)
    told = made.sections[-1].parts[1]
    assert isinstance(told, Words)
    assert told.text.startswith("Initialise" if worse else "Keep the initialisation, or for more layers")


def test_the_headline_of_dead_networks():
    """ReLU of width 4 dies in one layer of sixteen: no factor describes zero."""
    alive = quantiles(0.5, 1.0, 2.0)
    for dead, says in ((quantiles(0.0, 1.0, 2.0), "more than one in twenty is dead"), (quantiles(0, 0, 1), "most")):
        for typical in (TypicalNetworks(dead, alive), TypicalNetworks(alive, dead)):
            said, tone = headline(5, (), typical)
            assert says in said
            assert "exactly zero" in said
            assert tone is Tone.BAD
    assert "dead" not in headline(5, (), TypicalNetworks(quantiles(1e-300, 1.0, 2.0), alive))[0]


@pytest.mark.parametrize(
    ("signals", "gradients", "says"),
    [
        (0.011, 0.011, None),
        (99.0, 99.0, None),
        (0.0099, 1.0, "the mean square of signals is 100 times smaller than in those"),
        (1.0, 101.0, "the mean square of gradients is 100 times larger than in those"),
        (1e-3, 2e-16, "signals is 1000 times smaller and that of gradients is 10^15 times smaller than in those"),
    ],
)
def test_median_networks_far_from_infinitely_wide_ones_are_the_headline(signals, gradients, says):
    """Two decades in mean square, one in size."""
    typical = TypicalNetworks(
        quantiles(2 * signals, 2 * signals, 3 * signals), quantiles(gradients, gradients, gradients)
    )
    said, tone = headline(5, (), typical, (2.0, 1.0))
    assert (says or "90 % spread over a factor of") in said
    assert tone is (Tone.RISKY if says is None else Tone.BAD)


def test_large_factors_are_powers_of_ten():
    typical = TypicalNetworks(quantiles(1e-10, 1.0, 1.2e5), quantiles(1.0, 1.0, 999e3))
    said = headline(5, (), typical)[0]
    assert "a factor of 10^15 in the mean square of their signals and 10^6 in that of their gradients" in said


def test_signals_and_gradients_in_short():
    assert of_signals(np.array([2.0, 1.0]), 0.01, None) == (
        "Signals keep their size from the first layer to the last: their mean square goes from 2 to 1, give or take 10 % from network "
        "to network."
    )
    assert of_signals(np.array([2.0, 0.99]), 0.0, None).startswith("Signals shrink")
    assert of_signals(np.array([1.0, 2.01]), 0.0, None).startswith("Signals grow")
    typical = TypicalNetworks(quantiles(1e-3, 1e-2, 1.0), quantiles(0.5, 1.0, 2.0))
    assert "from 2 to 0.01 in the median network, to between 0.001 and 1 in 90 %" in of_signals(
        np.array([2.0, 2.0]), 1.0, typical
    )
    assert of_gradients(0.5, True, None).endswith(
        "keep their size on their way back to the first layer: their mean square changes by a factor of 0.5."
    )
    assert of_gradients(0.49, True, None).endswith("a power of depth, which the learning rates below make up for.")
    assert of_gradients(0.49, False, None).endswith(
        "shrink on their way back to the first layer: their mean square changes by a factor of 0.49."
    )
    assert of_gradients(1.0049, True, None).endswith("their mean square stays the same.")
    assert of_gradients(1.0051, True, None).endswith("their mean square changes by a factor of 1.01.")
    assert "their mean square stays the same in the median network, between 0.5 and 2" in of_gradients(
        0.1, True, typical
    )


@pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")
def test_a_report_knows_its_regime():
    """Typical networks are shown where kernels differ by more than a third, and there only."""
    narrow, wide = (fw.MLP("relu", (2, *[n] * 3, 1), C_W=2.0) for n in (8, 400))
    report = fw.report(narrow, networks=50)
    assert report.data["typical"]["theory"] is None  # too narrow for a smooth law
    assert np.shape(report.data["typical"]["measured"]["kernel"]) == (3, 4)
    assert "90 % spread over a factor of" in report.data["in_short"]["headline"]
    quiet = fw.report(wide, networks=50)
    assert "typical" not in quiet.data
    for each in (report, quiet):
        assert each.sections[-1].title == "What to do"
        assert each.sections[0].title == "In short"
        assert "torch.nn.init" in str(each)
        assert "<pre><code>for layer in linear_layers:" in each.to_html()
