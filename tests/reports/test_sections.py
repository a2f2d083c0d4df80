"""What sections say of numbers made up for them."""

import math
from dataclasses import replace

import pytest

import made_up
from finitewidth.advice.token_fates import Fates
from finitewidth.critical import criticality
from finitewidth.networks import MLP
from finitewidth.reports.comparison.flows import compare_flows
from finitewidth.reports.section import Section, Tone
from finitewidth.reports.sections.agreement import about_agreement
from finitewidth.reports.sections.criticality import about_criticality, advice
from finitewidth.reports.sections.fates import share_columns, verdict
from finitewidth.reports.sections.layers import about_layers
from finitewidth.reports.sections.network import sentence
from finitewidth.reports.sections.training import about_training
from finitewidth.reports.sections.validity import about_validity, regime


@pytest.fixture(scope="module")
def comparison():
    theory = made_up.theory()
    return compare_flows(theory, made_up.perfect(theory))


@pytest.mark.parametrize(
    ("fluctuation", "label"),
    [
        (0.0, "nearly infinite width"),
        (0.02, "effectively deep"),
        (0.1, "strained"),
        (0.7, "strongly coupled"),
        (50.0, "strongly coupled"),
        (math.inf, "strongly coupled"),
    ],
)
def test_regimes(fluctuation, label):
    """PDLT (0.14): what is left out is smaller by the relative fluctuation."""
    assert regime(fluctuation).label == label


def test_a_spread_beyond_the_mean_is_not_given_in_per_cent(comparison):
    net = MLP("tanh", (2, 8, 4, 1))
    assert "is 50 % of its mean" in about_validity(net, 0.25).parts[0].text
    assert "2.5 times its mean" in about_validity(net, 6.25).parts[0].text
    assert "up to about 25 % of V" in about_agreement(comparison, 0.25).parts[1].text
    assert "more than the whole of V" in about_agreement(comparison, 6.25).parts[1].text


def test_one_layer_has_no_depth_over_width():
    """Kernel and gradients of one linear layer are the same in every network."""
    (said,) = about_validity(MLP("tanh", (2, 1)), 0.0).parts
    assert said.text == "The kernel of one layer is the same in every network: nothing depends on depth or width."


def test_errors_that_mean_nothing_are_not_shown():
    """A million networks, and too few for V in the third layer."""
    theory = made_up.theory()
    measured = made_up.perfect(theory, networks=1_000_000)
    details = about_layers(theory, measured, None, compare_flows(theory, measured)).parts[1]
    columns = details.parts[0].columns
    G, V = (next(column for column in columns[start:] if column.head == "measured") for start in (2, 4))
    assert "(?)" not in "".join(G.cells)
    assert [cell.endswith("(?)") for cell in V.cells] == [False, False, True]


def test_an_infinite_spread_is_said():
    section = about_validity(MLP("tanh", (2, 8, 4, 1)), math.inf)
    assert "inf times its mean" in section.parts[0].text
    assert section.data["relative_spread"] == "inf"


def test_advice_when_nothing_can_be_tuned():
    found = replace(criticality("tanh"), critical_points=(), reason="too flat")
    text = advice("tanh", found, tuned=False)
    assert "too flat" in text
    assert "cannot be tuned" in text
    assert about_criticality(MLP("tanh", (2, 8, 1)), found).parts[1].text == "no critical point"


def test_the_point_to_choose_is_marked():
    """PDLT (5.71): GELU has two critical points, of which the half-stable one attracts."""
    table = about_criticality(MLP("gelu", (2, 8, 1)), criticality("gelu")).parts[1]
    assert table.tones == (Tone.SOFT, Tone.CHOSEN)
    assert table.columns[-1].cells == ("", "← recommended")


def test_no_training_section_for_activations_that_jump():
    assert about_training(MLP("perceptron", (2, 8, 1), C_b=0.1), [[1.0, 0.0]]) == Section("training", "Training", None)


def test_networks_in_a_line():
    assert sentence(MLP("relu", (3, 64, 64, 1), C_W=2.0)) == (
        "relu MLP of 3 layers, widths 3, 64 × 2, 1; C_b = 0, C_W = 2; 4,481 parameters"
    )
    assert "1 layer, widths 3, 1; C_b = 0" in sentence(MLP("relu", (3, 1)))
    assert "C_W = 1 to 2" in sentence(MLP("relu", (3, 4, 1), C_W=[1.0, 2.0]))


@pytest.mark.parametrize(
    ("networks", "says", "tone"),
    [
        (Fates(0.0, 0.05, 0.0), "the initialisation is safe at this depth", Tone.GOOD),
        (Fates(0.0, 0.06, 0.0), "at risk of vanishing", Tone.RISKY),
        (Fates(0.1, 0.5, 0.2), "Vanishing is likely", Tone.BAD),
    ],
)
def test_fates_in_words_and_colours(networks, says, tone):
    assert says in verdict(Fates(0.0, 0.0, 0.0), networks)
    assert share_columns((networks,))[1].cells[0].tone is tone
