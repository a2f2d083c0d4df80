"""Every sentence of a report on both sides of its threshold, from results made up by hand."""

import numpy as np
import pytest

import finitewidth as fw
import made_up
from finitewidth import MLP, compare
from finitewidth.advice.gradients import _problems as gradient_problems
from finitewidth.critical import Criticality, CriticalPoint, Stability, UniversalityClass
from finitewidth.reports.sections.agreement import sentence as about_deviations
from finitewidth.reports.sections.criticality import advice
from finitewidth.reports.sections.network import sentence as about_network
from finitewidth.reports.sections.origin import about_origin
from finitewidth.reports.sections.training import _verdict as training_verdict
from finitewidth.reports.sections.validity import regime, sentence as about_spread

EPSILON = 1e-9
HEALTHY = "Gradients change with depth by powers at most."


def verdict(weights=(0.5, 0.5), *, biases=None, moving=None, healthy=True, fluctuation=0.01):
    """The training verdict on layers with these shares in the tangent kernel."""
    weights = np.asarray(weights, dtype=float)
    shares = {"bias": np.zeros_like(weights) if biases is None else np.asarray(biases), "weight": weights}
    moving = np.ones(len(weights), dtype=bool) if moving is None else np.asarray(moving)
    return training_verdict(HEALTHY, healthy, shares, moving, fluctuation)


def test_layers_learn_alike_below_a_factor_of_ten_and_unevenly_from_there():
    """PDLT (9.28): the largest share over the smallest."""
    alike, uneven = (verdict((ratio, 1.0, 3.0)) for ratio in (10 - EPSILON, 10))
    assert "All layers learn alike: their shares differ by a factor of 10 at most." in alike
    assert "unevenly" not in alike
    assert "Layers learn unevenly, by a factor of 10: `tune` sets rates that mend it." in uneven
    assert "alike" not in uneven


def test_a_layer_learns_with_biases_and_weights_together():
    assert "learn alike" in verdict((1.0, 19.0), biases=(19.0, 1.0))
    assert "unevenly, by a factor of 20" in verdict((1.0, 20.0), biases=(0.0, 0.0))


def test_a_layer_without_any_share_is_uneven():
    assert "learn unevenly" in verdict((0.0, 1.0))


KERNEL = "the first steps of training are, to within that, those of kernel regression with the mean kernel."
NO_KERNEL = (
    "single networks start from tangent kernels of their own, not from the mean one. How much the network's features"
)


@pytest.mark.parametrize(
    ("fluctuation", "says"),
    [
        (0.0, f"by 0 % of its mean: {KERNEL}"),
        (0.1 - EPSILON, f"by 31.6 % of its mean: {KERNEL}"),
        (0.1, f"by 31.6 % of its mean: {NO_KERNEL}"),
        (0.81, f"by 90 % of its mean: {NO_KERNEL}"),
        (4.0, f"by 2 times its mean: {NO_KERNEL}"),
    ],
)
def test_what_the_tangent_kernel_tells_of_training(fluctuation, says):
    """PDLT (9.23): the relative variance decides from a tenth on; its root is what is shown. Of features it says nothing."""
    said = verdict(fluctuation=fluctuation)
    assert f"The tangent kernel of one output varies between networks {says}" in said
    assert "features are learned" not in said


def test_single_networks_do_not_learn_alike_where_they_differ():
    """From a relative variance of a tenth on, what holds of means is said of means."""
    assert "All layers learn alike" in verdict(fluctuation=0.1 - EPSILON)
    said = verdict(fluctuation=0.1)
    assert "learn alike" not in said
    assert (
        "In infinitely wide networks the layers' shares are equal; in a single one of this width they scatter" in said
    )
    assert "shares differ by a factor of 1.01 at most" in verdict((1.0, 1.0051))
    assert "All layers learn alike: their shares are equal." in verdict((1.0, 1.0049))


def test_sick_gradients_leave_nothing_to_say_about_shares():
    said = verdict((0.0, 1.0), healthy=False)
    assert said.startswith(HEALTHY)
    assert "learn alike" not in said
    assert "unevenly" not in said
    assert "The tangent kernel of one output" in said


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ((0.0, 0.0, 0.1, 0.9), "The last of 4 layers alone makes up 90 % of what the first step of training changes."),
        ((0.0, 0.0, 0.11, 0.89), "The last 2 of 4 layers make up 90 %"),
        ((0.6, 0.4, 0.0, 0.0), "The first 2 of 4 layers make up 90 %"),
        ((0.25, 0.25, 0.25, 0.25), None),
        ((0.0, 0.2, 0.4, 0.4), None),
        ((0.0, 0.0, 0.0, 0.0), None),
    ],
)
def test_which_layers_do_the_learning_where_gradients_are_sick(shares, says):
    """PDLT (9.28): the fewest layers from either end that have nine tenths of the tangent kernel, if they are half of them at most."""
    said = verdict(shares, healthy=False)
    assert (says or "The tangent kernel") in said
    assert ("90 %" in said) is (says is not None)


@pytest.mark.parametrize(
    ("moving", "says"),
    [
        ((True, True, True, True, True), "All layers learn alike"),
        ((False, True, True, True, True), "Layer 1 does not learn, at rates of zero. The others learn alike"),
        ((True, False, False, True, True), "Layers 2 to 3 do not learn, at rates of zero. The others learn alike"),
        ((False, False, True, True, False), "Layers 1 to 2, 5 do not learn, at rates of zero. The others learn alike"),
        ((False, True, False, False, False), "Layers 1, 3 to 5 do not learn, at rates of zero. The tangent kernel"),
    ],
)
def test_layers_at_rates_of_zero(moving, says):
    """They are named, and do not count among those that learn alike; one layer alone has nobody to be like."""
    shares = np.where(moving, 0.2, 0.0)
    said = verdict(shares, moving=moving)
    assert f"{HEALTHY} {says}" in said


def test_others_may_learn_unevenly():
    said = verdict((0.0, 1.0, 20.0), moving=(False, True, True))
    assert "The others learn unevenly, by a factor of 20" in said


def test_nothing_learns_at_rates_of_zero():
    assert verdict(moving=(False, False)) == f"{HEALTHY} All rates are zero: nothing learns."
    assert "nothing learns" not in verdict(moving=(False, True))


DEPTH = 10
HALF = 0.5 ** (1 / (DEPTH - 1))  # a susceptibility which changes something by a factor of two over all layers


@pytest.mark.parametrize(
    ("parallel", "perp", "says"),
    [
        (
            1 / HALF + EPSILON,
            1.0,
            "> 1: signals explode with depth, here by a factor of 2 in mean square",
        ),
        (1 / HALF - EPSILON, 1.0, None),
        (HALF - EPSILON, 1.0, "< 1: signals vanish with depth, here by a factor of 2 in mean square"),
        (HALF + EPSILON, 1.0, None),
        (
            1.0,
            1 / HALF + EPSILON,
            "gradients explode exponentially with depth, here by a factor of 2 in mean square from the last layer to the first.",
        ),
        (1.0, 1 / HALF - EPSILON, None),
        (
            1.0,
            HALF - EPSILON,
            "gradients vanish exponentially with depth, here by a factor of 2 in mean square from the last layer to the first.",
        ),
        (1.0, HALF + EPSILON, None),
    ],
)
def test_gradients_go_wrong_by_a_factor_that_is_said(parallel, perp, says):
    """PDLT (9.87)-(9.93): a change by more than two over the depth, of the susceptibility that each sentence names."""
    kernels, chain = parallel ** np.arange(DEPTH), perp ** np.arange(DEPTH)[::-1]
    found = gradient_problems(np.full(DEPTH - 1, parallel), np.full(DEPTH - 1, perp), chain, kernels, True)
    assert len(found) == (says is not None)
    if says is not None:
        assert says in found[0]
        assert found[0].startswith("chi_parallel = " if perp == 1 else "chi_perp = ")


@pytest.mark.parametrize(("last", "dies"), [(0.0, True), (0.5, True), (0.66, True), (0.67, False), (0.9, False)])
def test_a_kernel_on_its_way_to_a_fixed_point_does_not_die(last, dies):
    """At chi_parallel = 1/2 steps halve: from K, after a last step of K (1/r - 1), as much lies ahead; half of K is left at r = 2/3.
    Tanh at C_W = 1.5 falls from 1.5 to its fixed point, and was said to vanish in a network of two layers."""
    kernels = np.array([10.0, 1.0, last])
    found = gradient_problems(np.full(2, 0.5), np.ones(2), np.ones(3), kernels, True)
    assert any("signals vanish" in each for each in found) is dies


def test_two_layers_of_tanh_do_not_vanish():
    net = fw.MLP("tanh", (4, 8, 1), C_W=1.5)
    assert "vanish" not in fw.diagnose_gradients(net, np.ones((1, 4))).verdict


def test_a_kernel_at_a_fixed_point_neither_explodes_nor_dies():
    """However far it was from it at first."""
    for start in (0.1, 10.0):
        kernels = np.append(np.geomspace(start, 1.0, DEPTH - 1), 1.0)
        for parallel in (0.5, 1.5):
            assert not gradient_problems(
                np.full(DEPTH - 1, parallel), np.ones(DEPTH - 1), np.ones(DEPTH), kernels, True
            )


@pytest.mark.parametrize(
    ("edge", "below", "above"),
    [
        (0.01, "nearly infinite width", "effectively deep"),
        (0.1, "effectively deep", "strained"),
        (0.5, "strained", "strongly coupled"),
    ],
)
def test_regimes_change_at_their_edges(edge, below, above):
    """PDLT (0.14)-(0.19): an edge belongs to the larger fluctuations."""
    assert regime(edge - EPSILON).label == below
    assert regime(edge).label == above


@pytest.mark.parametrize(
    ("fluctuation", "meaning"),
    [
        (0.001, "the infinite-width theory is a good description of signals; gradients may still differ"),
        (0.05, "the first correction in 1/n describes how"),
        (0.3, "check against a simulation"),
        (2.0, "the first order is no measure of it any more"),
    ],
)
def test_regimes_mean_what_their_names_say(fluctuation, meaning):
    assert meaning in regime(fluctuation).meaning


def verdict_on(K_star=3.5, *, attracts=True):
    """What `criticality` says of an activation with one critical point, or with one that repels."""
    stability = Stability.FROM_ABOVE if attracts else Stability.UNSTABLE
    point = CriticalPoint(C_b=0.17, C_W=1.98, K_star=K_star, stability=stability, a1_tilde=1.0)
    return Criticality("gelu", UniversalityClass.HALF_STABLE, (point,), "because", (0.0, 10.0))


def test_advice_on_a_network_that_is_tuned_or_not():
    tuned = advice("gelu", verdict_on(), True)
    assert tuned.startswith(
        "gelu is in the class “half-stable”: because. This network is initialised at the recommended"
    )
    assert "not critical" not in tuned
    untuned = advice("gelu", verdict_on(), False)
    assert "This network is not critical: C_b = 0.17, C_W = 1.98 would be." in untuned
    assert "is initialised at" not in untuned
    for said in (tuned, untuned):  # (K* - C_b)/C_W
        assert said.endswith("Normalise inputs to mean square 1.6818, so that the kernel starts at K*.")


@pytest.mark.parametrize("K_star", [None, 0.0])
def test_inputs_need_no_norm_where_no_kernel_is_special(K_star):
    said = advice("gelu", verdict_on(K_star), True)
    assert "Normalise" not in said
    assert said.endswith("recommended point.")


def test_advice_where_there_is_no_critical_point():
    said = advice("gelu", verdict_on(attracts=False), False)
    assert said.endswith("It cannot be tuned to criticality: signals or their differences grow or die with depth.")
    assert "not critical" not in said


@pytest.mark.parametrize(
    ("spread", "says"), [(0.3, "30 % of"), (1 - EPSILON, " % of"), (1.0, "1 times"), (2.5, "2.5 times")]
)
def test_spread_beyond_the_mean(spread, says):
    said = about_spread(spread, "as it should be")
    assert said.startswith("To first order in 1/n the kernel's standard deviation between networks is ")
    assert said.endswith(f"{says} its mean: as it should be.")


@pytest.mark.parametrize(
    ("fluctuation", "says"),
    [(0.09, "up to about 9 % of V"), (1 - EPSILON, "up to about 100 % of V"), (1.0, "more than the whole")],
)
def test_what_theory_leaves_out(fluctuation, says):
    theory = made_up.theory()
    said = about_deviations(compare(theory, made_up.perfect(theory, networks=9_999_999)), fluctuation)
    assert said.startswith("9999999 networks. Theory and networks agree: ")
    assert f"Theory leaves out the next order in 1/n, here {says}" in said
    assert ("whole" in said) == (fluctuation >= 1)


def test_one_layer_does_not_fluctuate():
    theory = made_up.theory(widths=(2, 1))
    assert about_deviations(compare(theory, made_up.perfect(theory)), 0.0).startswith("Nothing fluctuates")
    deeper = made_up.theory(widths=(2, 3, 1))
    assert "Nothing fluctuates" not in about_deviations(compare(deeper, made_up.perfect(deeper)), 0.0)


def test_the_network_in_one_line():
    said = about_network(MLP("gelu", (4, 8, 8, 1), C_b=0.1, C_W=(1.5, 1.5, 2.5)))
    assert said == "gelu MLP of 3 layers, widths 4, 8 × 2, 1; C_b = 0.1, C_W = 1.5 to 2.5; 121 parameters"
    assert "of 1 layer, widths 4, 1;" in about_network(MLP("gelu", (4, 1)))


def test_settings_in_one_line():
    (said,) = about_origin(made_up.perfect(made_up.theory()), "given").parts
    assert said.text.startswith("Inputs: given. Method chain, seed 7. finitewidth ")
