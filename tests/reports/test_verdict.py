"""Agree, disagree, cannot tell: on both sides of what noise alone would do."""

import re

import numpy as np
import pytest
from scipy import stats

import finitewidth as fw
from finitewidth.reports.comparison.verdict import (
    Verdict,
    as_if_normal,
    expected_largest,
    largest_by_chance,
    noticed_distance,
    reach,
    sentence_on,
    sentence_on_laws,
    verdict_on,
    verdict_on_laws,
)
from finitewidth.reports.sections.in_short import of_agreement


@pytest.mark.parametrize("count", [1, 30, 1000])
def test_noise_alone_disagrees_in_one_run_of_a_thousand(count):
    edge = largest_by_chance(count)
    assert (2 * stats.norm.cdf(edge) - 1) ** count == pytest.approx(0.999, abs=1e-9)
    assert verdict_on(edge - 1e-9, count) is Verdict.AGREE
    assert verdict_on(edge + 1e-9, count) is Verdict.DISAGREE


def test_skewed_noise_is_counted_as_normal_noise():
    """The mean of a hundred squares, of which 100/9 networks stand behind the error: four standard errors are not rare, they are seen
    twenty times as often as in normal numbers. Counted as if normal, what is exceeded once in two hundred runs is."""
    squares = np.random.default_rng(7).normal(size=(20_000, 100)) ** 2
    off = np.abs(squares.mean(axis=1) - 1) / (squares.std(axis=1, ddof=1) / 10)
    behind, edge = np.full(2, 100 / 9), float(stats.norm.isf(0.005 / 2))
    far = float(reach(edge, behind, 100)[0])
    assert np.mean(off > 4) > 20 * 2 * stats.norm.sf(4)
    assert np.mean(off > edge) > 2 * 0.005
    assert 0.002 < np.mean(off > far) < 0.007
    assert as_if_normal(np.array([-far, far]), behind, 100) == pytest.approx([edge, edge])


def test_normal_noise_is_left_as_it_is():
    deviations = np.array([0.0, -2.5, 7.0, np.inf])
    assert as_if_normal(deviations, np.full(4, 50.0), 50).tolist() == [0, 2.5, 7, np.inf]
    assert as_if_normal(deviations[-1:], np.array([10.0]), 50).tolist() == [np.inf]
    assert "is 4.20 standard errors and as rare as 3.10 of normal noise" in sentence_on(3.1, 30, seen=4.2)


def test_nothing_to_go_by():
    assert verdict_on(0.0, 0) is Verdict.CANNOT_TELL
    assert verdict_on(np.inf, 0) is Verdict.DISAGREE  # an entry that does not fluctuate, and is another one
    assert "none of the entries can tell" in sentence_on(0.0, 0)


def test_agreement_is_claimed_of_what_can_tell_alone():
    """Of all if all can, in part if most can, of nothing else; one that is far off disagrees, whatever the others are."""
    assert verdict_on(2.0, 30, silent=0) is Verdict.AGREE
    assert verdict_on(2.0, 30, silent=1) is Verdict.IN_PART
    assert verdict_on(2.0, 30, silent=30) is Verdict.IN_PART
    assert verdict_on(2.0, 30, silent=31) is Verdict.CANNOT_TELL
    assert verdict_on(6.0, 30, silent=1000) is Verdict.DISAGREE
    assert sentence_on(2.0, 30, silent=30, where="V in layers 3-5").startswith(
        "Theory and networks agree where they can tell; they cannot for V in layers 3-5. Elsewhere the largest of 30 deviations is 2.00"
    )
    assert sentence_on(2.0, 30, silent=31, where="V in layers 3-5").startswith(
        "Whether theory and networks agree, most entries cannot tell (V in layers 3-5). Those that can, agree: the largest of 30 deviations"
    )


@pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")
def test_deep_linear_networks_do_not_agree_in_what_they_cannot_tell():
    r"""Linear, depth 40, width 20: by theory $V/(nK^2)$ is $2 \cdot 39/20 = 3.9$ in the last layer, and it is $(1 + 2/20)^{39} - 1 = 40$,
    PDLT (3.47); samples of a thousand show neither. No verdict is claimed of it, and headline and sentence name it."""
    net, x = fw.MLP("linear", (2, *[20] * 39, 1), C_W=1.0), np.array([[1.0, 0.5]])
    theory = fw.flow(net, x)
    for seed in range(3):
        found = fw.compare(theory, fw.simulate(net, x, networks=1000, seed=seed))
        deep = (found.quantity == "V") & (found.layer >= 4)
        assert not found.trustworthy[deep].any()
        assert found.verdict in (Verdict.CANNOT_TELL, Verdict.IN_PART)
        assert re.search(r"V in layers \d-40", found.silent)
        assert found.silent in found.sentence


@pytest.mark.parametrize(
    ("verdict", "silent", "says"),
    [
        (Verdict.AGREE, "", "agree."),
        (
            Verdict.IN_PART,
            "V in layer 3",
            "agree where so many can tell. They cannot for V in layer 3: a few rare networks decide these averages.",
        ),
        (Verdict.DISAGREE, "", "differ by more than noise: go by the measured numbers."),
        (
            Verdict.DISAGREE,
            "V in layer 3",
            "differ by more than noise: go by the measured numbers, except for V in layer 3, which a few rare networks decide.",
        ),
        (
            Verdict.CANNOT_TELL,
            "V in layer 3",
            "cannot be compared for V in layer 3: too few of them decide these averages.",
        ),
    ],
)
def test_the_headline_names_what_cannot_tell(verdict, silent, says):
    assert of_agreement(verdict, 50, silent) == f"Theory and the 50 networks drawn {says}"


def test_in_words():
    assert sentence_on(2.0, 30) == (
        "Theory and networks agree: the largest of 30 deviations is 2.00 standard errors, where noise alone would give about "
        f"{expected_largest(30):.2f} if they were independent."
    )
    said = sentence_on(6.0, 30)
    assert said.startswith(
        "Theory and networks disagree: the largest of 30 deviations is 6.00 standard errors, where noise alone"
    )
    assert f"stays below {largest_by_chance(30):.2f} in 999 runs of 1000" in said
    assert "Wider networks must come closer" in said


def test_laws_disagree_by_chance_in_one_run_of_a_thousand():
    """The smallest of m p-values is below 1 - 0.999^(1/m) once in a thousand runs; so few paths that only half the networks would
    have to differ cannot tell."""
    edge = 1 - 0.999 ** (1 / 20)
    assert verdict_on_laws(edge * 1.001, 20, 1000, 1000) is Verdict.AGREE
    assert verdict_on_laws(edge * 0.999, 20, 1000, 1000) is Verdict.DISAGREE
    assert verdict_on_laws(0.5, 20, 1000, 10) is Verdict.CANNOT_TELL
    assert verdict_on_laws(1e-9, 20, 1000, 10) is Verdict.DISAGREE
    assert verdict_on_laws(1.0, 1, 1000, 1000) is Verdict.AGREE


def test_the_distance_that_would_show():
    """Against the exact law of the two-sample distance."""
    distance = noticed_distance(1, 300, 300)
    assert stats.kstwo.sf(distance, 150) == pytest.approx(1e-3, rel=0.2)
    assert noticed_distance(50, 300, 300) > distance


def test_laws_in_words():
    assert "agree in all 20 entries, as far as so many paths can tell" in sentence_on_laws(0.1, 0.1, 20, 1000, 1000)
    assert "so few paths cannot tell" in sentence_on_laws(0.1, 0.1, 20, 1000, 10)
    said = sentence_on_laws(1e-9, 0.4, 20, 1000, 1000)
    assert said.startswith(
        "The two laws disagree: one of 20 entries is apart by a Kolmogorov-Smirnov distance of 0.400, p = 1e-09"
    )


@pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")
def test_layers_in_which_networks_differ_too_much_cannot_tell():
    """ReLU, width 8: V/(nK^2) = 5 (l - 1)/8. Samples miss what is rare, however exact theory is: 400 networks are enough for means up to
    1.25 in layer 3, as 10 (1 + (v + 3)^2 v) = 236 and, in layer 4, 456; for variances never."""
    net = fw.MLP("relu", (2, *[8] * 5, 1), C_W=2.0)
    x = np.array([[1.0, 0.5]])
    found = fw.compare(fw.flow(net, x), fw.simulate(net, x, networks=400))
    assert found.trustworthy[found.layer == 1].all()
    assert not found.trustworthy[found.layer >= 4].any()
    assert not found.trustworthy[(found.layer >= 2) & (found.quantity == "V")].any()
    assert found.verdict is not Verdict.DISAGREE
    assert found.to_dict()["verdict"] == found.verdict
    assert found.sentence in " ".join(str(found).split())
