"""Comparisons of which every deviation is known beforehand, and one with real networks."""

import io
import json
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib import pyplot
from rich.console import Console

import made_up
from finitewidth import ArgumentError, ShapeError, ValidityWarning
from finitewidth.ensembles import simulate
from finitewidth.expansion import flow
from finitewidth.figures import comparison
from finitewidth.networks import MLP
from finitewidth.reports import compare
from finitewidth.reports.comparison.flow_tables import deviation
from finitewidth.reports.comparison.verdict import expected_largest
from finitewidth.results import Flow


def shifted(measured, name, layer, index, amount):
    """The measurement with one entry of a quantity changed, at all places that symmetry makes equal."""
    a, b, *cd = index
    places = {(a, b), (b, a)}
    if cd:
        c, d = cd
        halves = [((a, b), (c, d)), ((c, d), (a, b))]
        places = {(*p, *q) for first, second in halves for p in (first, first[::-1]) for q in (second, second[::-1])}
    mean = getattr(measured, name).mean.copy()
    for place in places:
        mean[(layer - 1, *place)] += amount
    return eqx.tree_at(lambda m: getattr(m, name).mean, measured, mean)


@pytest.fixture
def theory():
    return made_up.theory()


def test_every_independent_entry_once(theory):
    table = compare(theory, made_up.perfect(theory))
    assert len(table) == 3 * (3 + 3 + 6)
    labels = [(row.layer, row.component) for row in table]
    assert len(set(labels)) == len(labels)
    assert {component for layer, component in labels if layer == 2} == (
        {f"{name}({pair})" for name in ("G", "G1") for pair in ("0,0", "0,1", "1,1")}
        | {"V(00)(00)", "V(00)(01)", "V(00)(11)", "V(01)(01)", "V(01)(11)", "V(11)(11)"}
    )


def test_labels_have_commas_when_indices_have_two_digits():
    theory = made_up.theory(widths=(2, 3, 1), samples=11)
    components = compare(theory, made_up.perfect(theory)).component.tolist()
    assert "V(0,10)(2,3)" in components
    assert len(set(components)) == 66 + 66 + 66 * 67 // 2


@pytest.mark.parametrize(
    ("name", "layer", "index", "component"),
    [("G", 3, (0, 1), "G(0,1)"), ("G1", 2, (1, 1), "G1(1,1)"), ("V", 2, (0, 0, 0, 1), "V(00)(01)")],
)
@pytest.mark.parametrize("sigmas", [3.5, -5.25])
def test_one_entry_off_by_so_many_standard_errors(theory, name, layer, index, component, sigmas):
    measured = shifted(made_up.perfect(theory), name, layer, index, sigmas * made_up.ERRORS[name])
    table = compare(theory, measured)
    worst = table.worst
    assert (worst.quantity, worst.layer, worst.component) == (name, layer, component)
    assert worst.deviation == pytest.approx(sigmas, rel=1e-9)
    assert worst.measured - worst.theory == pytest.approx(sigmas * made_up.ERRORS[name], rel=1e-9)
    assert np.count_nonzero(np.abs(table.deviation) > 1e-6) == 1


def test_the_mean_metric_is_compared_with_kernel_plus_correction(theory):
    """PDLT (4.104)."""
    table = compare(theory, made_up.perfect(theory))
    of = (table.quantity == "G") & (table.layer == 3)
    a, b = np.triu_indices(2)
    np.testing.assert_allclose(table.theory[of], theory.K[2][a, b] + theory.G1[2][a, b] / 4, rtol=1e-14)


def test_what_is_known_exactly_is_equal_to_rounding_or_infinitely_wrong(theory):
    measured = made_up.perfect(theory)
    rounded = shifted(measured, "G", 1, (0, 1), 1e-15)
    assert compare(theory, rounded).worst.deviation == 0
    wrong = compare(theory, shifted(measured, "V", 1, (0, 0, 1, 1), -1e-6))
    assert wrong.worst.deviation == -math.inf
    assert wrong.worst.component == "V(00)(11)"
    assert json.loads(json.dumps(wrong.to_dict(), allow_nan=False))["summary"][6]["largest"] == "inf"


def test_rounding_is_no_deviation_however_small_its_standard_error(theory):
    """A metric that does not fluctuate, that of a sign say, has a standard error of rounding size."""
    measured = shifted(made_up.perfect(theory), "G", 2, (0, 0), 3e-16)
    error = np.full_like(measured.G.standard_error, 1e-17)
    measured = eqx.tree_at(lambda m: m.G.standard_error, measured, error)
    assert compare(theory, measured).worst.deviation == 0


@pytest.mark.parametrize(("count", "value"), [(0, 0.0), (1, math.sqrt(2 / math.pi)), (2, 2 / math.sqrt(math.pi))])
def test_expected_largest_deviation(count, value):
    assert expected_largest(count) == pytest.approx(value, abs=1e-5)


def test_expected_largest_of_many():
    draws = np.abs(np.random.default_rng(0).normal(size=(20_000, 50))).max(axis=1)
    assert abs(draws.mean() - expected_largest(50)) < 4 * draws.std() / math.sqrt(len(draws))


def test_summary(theory):
    measured = shifted(made_up.perfect(theory), "V", 2, (0, 1, 1, 1), 6 * made_up.ERRORS["V"])
    lines = {(line.quantity, line.layer): line for line in compare(theory, measured).summary()}
    assert len(lines) == 9
    line = lines["V", 2]
    assert (line.entries, line.largest, line.rms) == (6, pytest.approx(6), pytest.approx(math.sqrt(36 / 6)))
    assert line.expected_largest == pytest.approx(expected_largest(6))
    assert lines["V", 1].expected_largest == 0  # exactly known
    assert lines["G", 3].largest == pytest.approx(0, abs=1e-9)


def test_text_and_rich_table(theory):
    measured = shifted(made_up.perfect(theory), "G1", 3, (0, 0), -4.5 * made_up.ERRORS["G1"])
    table = compare(theory, measured)
    text = str(table)
    assert "10000000 networks" in text
    assert "G1(0,0)" in text
    assert "-4.50" in text
    assert max(map(len, text.splitlines())) <= 88
    sink = io.StringIO()
    Console(file=sink, width=88, color_system=None).print(table)
    assert [line.rstrip() for line in sink.getvalue().rstrip().splitlines()] == text.splitlines()


def test_dictionary_is_json(theory):
    table = compare(theory, made_up.perfect(theory))
    data = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert data["rows"][5] == table[5]._asdict()
    assert (data["networks"], data["seed"], data["method"]) == (10_000_000, 7, "chain")


def test_plot_shows_the_deviations(theory):
    measured = shifted(made_up.perfect(theory), "V", 3, (0, 0, 0, 0), 5 * made_up.ERRORS["V"])
    table = compare(theory, measured)
    values, deviations = comparison(table)
    drawn = {line.get_label(): line.get_ydata() for line in deviations.get_lines()}
    for name in ("G", "G1", "V"):
        np.testing.assert_array_equal(drawn[name], table.deviation[table.quantity == name])
    assert values.figure is deviations.figure
    alone = table.plot(values)
    assert alone is values
    np.testing.assert_array_equal(alone.get_lines()[-2].get_ydata(), drawn["V"])
    pyplot.close(values.figure)


def test_theory_and_measurement_must_belong_together(theory):
    measured = made_up.perfect(theory)
    with pytest.raises(ArgumentError, match="widths"):
        compare(made_up.theory(widths=(2, 8, 5, 1)), measured)
    with pytest.raises(ShapeError, match="2 inputs; expected 3"):
        compare(made_up.theory(samples=3), measured)
    with pytest.raises(ArgumentError, match=r"`theory`.*stops at the kernel"):
        compare(Flow(theory.net, theory.K), measured)
    with pytest.raises(ArgumentError, match=r"`theory`: got a measured flow"):
        compare(measured, theory)
    with pytest.raises(ArgumentError, match=r"`measured`: got theory"):
        compare(theory, theory)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"activation": "relu"}, "activation"),
        ({"C_W": 1.5}, "C_W"),
        ({"C_b": [0, 0, 1]}, "C_b"),
        ({"lambda_W": 2.0}, "lambda_W"),
    ],
)
def test_theory_of_one_network_is_not_laid_over_another(theory, change, field):
    """The theory of tanh says nothing of ReLU networks, nor that of one C_W of another."""
    measured = eqx.tree_at(lambda flow: flow.net, made_up.perfect(theory), theory.net.replace(**change))
    with pytest.raises(ArgumentError, match=rf"`measured`: got {field} = "):
        compare(theory, measured)


def test_two_lambdas_of_one_formula_are_one_activation(theory):
    twins = [theory.net.replace(activation=lambda z: jnp.tanh(2 * z)) for _ in range(2)]
    one, other = (eqx.tree_at(lambda flow: flow.net, theory, net) for net in twins)
    assert compare(one, made_up.perfect(other)).worst.deviation == 0


def test_other_inputs_are_refused(theory):
    measured = made_up.perfect(theory)
    other = eqx.tree_at(lambda flow: flow.K, measured, measured.K * np.array([1.001, 1, 1])[:, None, None])
    with pytest.raises(ArgumentError, match="other inputs"):
        compare(theory, other)


def untrusted(measured, name, layer, effective=3.0):
    """The measurement with as few as `effective` networks behind a quantity's errors in one layer."""
    found = getattr(measured, name)
    count = np.full(found.mean.shape, 100.0)
    count[layer - 1] = effective
    return eqx.tree_at(
        lambda flow: getattr(flow.metric, name).effective_networks, measured, count, is_leaf=lambda leaf: leaf is None
    )


def test_errors_that_cannot_be_trusted_say_nothing_against_theory(theory):
    """A deviation of 50 standard errors that a few networks decide is none; what can tell is judged as ever."""
    measured = shifted(made_up.perfect(theory), "V", 3, (0, 0, 0, 0), -50 * made_up.ERRORS["V"])
    measured = shifted(measured, "G", 2, (0, 1), 3 * made_up.ERRORS["G"])
    assert compare(theory, measured).worst.component == "V(00)(00)"
    table = compare(theory, untrusted(measured, "V", 3))
    assert (table.worst.component, table.worst.layer, table.worst.trustworthy) == ("G(0,1)", 2, True)
    assert table.worst.deviation == pytest.approx(3)
    assert table.deviation.min() == pytest.approx(-50)  # still to be read, entry by entry
    lines = {(line.quantity, line.layer): line for line in table.summary()}
    assert lines["V", 3][2:] == (6, 0.0, 0.0, 0.0, 6)
    assert lines["V", 2].cannot_tell == 0
    text = str(table)
    assert "6 of 36 entries cannot tell" in " ".join(text.split())
    assert "method='population'" in text
    assert "?" in text
    assert "-50" not in text
    assert max(map(len, text.splitlines())) <= 88
    assert [row["trustworthy"] for row in table.to_dict()["rows"]].count(False) == 6


def test_entries_that_cannot_tell_are_marked_where_nothing_else_is_left(theory):
    """A table of farthest entries shows them last, without a number."""
    measured = made_up.perfect(theory)
    for name in made_up.ERRORS:
        measured = untrusted(measured, name, 2)
    rows = compare(theory, measured).farthest(36)
    assert [row.trustworthy for row in rows] == [True] * 24 + [False] * 12
    assert deviation(rows[-1].deviation, rows[-1].trustworthy).text == "cannot tell"


def test_no_word_of_trust_where_all_can_be_trusted(theory):
    measured = made_up.perfect(theory)
    for table in (compare(theory, measured), compare(theory, untrusted(measured, "V", 3, effective=10.0))):
        assert table.trustworthy.all()
        assert "cannot tell" not in str(table)


def test_heavy_tails_are_no_disagreement():
    """Six ReLU layers of width 8, where theory of V leaves out much and a thousand networks cannot tell how much."""
    net, x = MLP("relu", (3, 8, 8, 8, 8, 8, 1), C_W=2.0), np.array([[1.0, 0.4, -0.3]])
    with pytest.warns(ValidityWarning, match="cannot be trusted"):
        measured = simulate(net, x, networks=1000, seed=2)
    with pytest.warns(ValidityWarning, match="expansion in 1/n"):
        theory = flow(net, x)
    table = compare(theory, measured)
    last = (table.quantity == "V") & (table.layer == 6)
    assert not table.trustworthy[last].any()
    assert "cannot tell" in str(table)


@pytest.mark.measured
def test_real_networks_deviate_by_standard_errors():
    """PDLT (4.118), (4.119), (4.115) against networks wide enough for higher orders to hide in the noise."""
    net = MLP("tanh", (3, 400, 300, 1), C_b=0.1, C_W=1.2)
    x = np.random.default_rng(1).normal(size=(2, 3))
    table = compare(flow(net, x), simulate(net, x, networks=4000, seed=3))
    assert abs(table.worst.deviation) < 4
    noisy = table.deviation[table.standard_error > 0]
    assert 0.3 < np.sqrt(np.mean(noisy**2)) < 2
