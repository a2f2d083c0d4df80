"""A report says what flow, simulate and criticality say, on every one of its faces."""

import json
import math
import re

import numpy as np
import pytest

from a_page import Page
from finitewidth import ArgumentError, ShapeError
from finitewidth.advice import tune
from finitewidth.critical import criticality
from finitewidth.ensembles import simulate
from finitewidth.expansion import flow
from finitewidth.networks import MLP
from finitewidth.reports import report
from finitewidth.reports.inputs import best_mean_square, generic_inputs, quick
from finitewidth.reports.sections.training import about_training
from finitewidth.reports.sections.validity import regime

NET = MLP("tanh", (4, 24, 16, 1))  # that of the report `made`
SETTINGS = {"networks": 300, "seed": 5}


@pytest.fixture(scope="module")
def untuned():
    return report(NET.replace(C_b=0.05, C_W=1.5), x=np.eye(4)[:2] + 0.5, **SETTINGS)


def test_numbers_are_those_of_the_flow(made):
    """PDLT (4.118), (4.119), (4.115): the report's columns are the flow's own, to the last digit."""
    x, _ = generic_inputs(4, 1.0)
    theory = flow(tune(NET), x)
    layers = json.loads(made.to_json())["layers"]
    assert layers["layer"] == [1, 2, 3]
    for i in range(3):
        for a in range(2):
            assert layers["K"][i][a] == theory.K[i, a, a]
            assert layers["G"][i][a] == theory.G[i, a, a]
            assert layers["G1"][i][a] == theory.G1[i, a, a]
            assert layers["V"][i][a] == theory.V[i, a, a, a, a]
            assert layers["relative_fluctuation"][i][a] == theory.relative_fluctuation[i, a]
            cosine = theory.K[i, 0, a] / math.sqrt(theory.K[i, 0, 0] * theory.K[i, a, a])
            assert layers["correlation"][i][a] == pytest.approx(cosine, rel=1e-14)


@pytest.mark.filterwarnings("ignore:Standard errors")  # few networks
def test_measured_numbers_are_those_of_the_simulation(made):
    x, _ = generic_inputs(4, 1.0)
    measured = simulate(tune(NET), x, networks=300, seed=5)
    layers = json.loads(made.to_json())["layers"]
    for i in range(3):
        assert layers["measured"]["G"]["mean"][i][1] == measured.G.mean[i, 1, 1]
        assert layers["measured"]["V"]["standard_error"][i][0] == measured.V.standard_error[i, 0, 0, 0, 0]
    relative = layers["measured"]["relative_fluctuation"]["mean"][2][0]
    assert relative == pytest.approx(measured.V.mean[2, 0, 0, 0, 0] / (16 * layers["K"][2][0] ** 2), rel=1e-14)


def test_meta_says_what_made_it(made):
    meta = json.loads(made.to_json())["meta"]
    assert (meta["seed"], meta["networks"], meta["method"]) == (5, 300, "chain")
    assert set(meta["versions"]) == {"finitewidth", "jax", "numpy", "python"}
    assert meta["inputs"] == "two generic ones, mean square 1, correlation 0.5"


def test_criticality_of_a_tuned_network(made):
    """PDLT (5.90): tanh is critical at (0, 1) with K* = 0."""
    verdict = made.data["criticality"]
    assert verdict["tunable"]
    assert verdict["tuned"]
    assert verdict["class"] == "K*=0"
    point = verdict["recommended"]
    assert (point["C_b"], point["C_W"], point["K_star"], point["mean_square"]) == (0, pytest.approx(1), 0, 1)
    assert verdict["exponents"]["nu"] == pytest.approx(2 / 3)
    assert "initialised at the recommended point" in str(made).replace("\n", " ").replace("  ", " ")


def test_criticality_of_an_untuned_network(untuned):
    verdict = untuned.data["criticality"]
    assert verdict["tunable"]
    assert not verdict["tuned"]
    assert "not critical: C_b = 0, C_W = 1 would be" in " ".join(str(untuned).split())
    assert untuned.data["meta"]["inputs"] == "given"
    first = untuned.data["layers"]["K"][0][0]
    assert first == pytest.approx(0.05 + 1.5 * (1.5**2 + 3 * 0.25) / 4)


def test_validity_is_that_of_the_largest_fluctuation(made):
    validity = made.data["validity"]
    assert validity["depth_over_width"] == pytest.approx(1 / 24 + 1 / 16)
    largest = max(max(row) for row in made.data["layers"]["relative_fluctuation"])
    assert validity["relative_fluctuation"] == largest
    assert validity["relative_spread"] == pytest.approx(math.sqrt(largest))
    assert validity["label"] == regime(largest).label


def test_agreement_is_that_of_the_comparison(made):
    found = made.data["agreement"]
    assert found["entries"] == len(made.comparison)
    assert found["worst"]["deviation"] == made.comparison.worst.deviation
    assert len(found["summary"]) == 9


def test_training_is_that_of_the_tangent_kernel(made):
    """PDLT (9.23), (9.28), (9.96): tangent kernel, its fluctuation, shares of layers and rates, for unequal widths."""
    x, _ = generic_inputs(4, 1.0)
    net = tune(NET)
    theory = flow(net, x[:1], through="ntk")
    part = json.loads(made.to_json())["training"]
    np.testing.assert_allclose(part["Theta"], theory.Theta[:, 0, 0], rtol=1e-12)
    relative = (theory.A + 2 * theory.B)[:, 0, 0, 0, 0] / theory.previous_widths / theory.Theta[:, 0, 0] ** 2
    np.testing.assert_allclose(part["relative_fluctuation"], relative, rtol=1e-12, atol=1e-15)
    assert sum(part["share"]["bias"]) + sum(part["share"]["weight"]) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(part["rates"]["weight"], np.asarray(net.lambda_W) / [4, 24, 16], rtol=1e-12)
    assert "All layers learn alike" in part["verdict"]
    assert "rate of" in str(made)
    assert "<h2>Training</h2>" in made.to_html()


def test_uniform_networks_take_the_short_way():
    """PDLT (9.6)-(9.21): one input's recursion and the tensors of the flow say the same."""
    net = MLP("tanh", (4, 16, 16, 1), C_b=0.1, C_W=1.4, lambda_b=0.5)
    x = np.ones((1, 4))
    theory = flow(net, x, through="ntk")
    part = about_training(net, x).data
    np.testing.assert_allclose(part["Theta"], theory.Theta[:, 0, 0], rtol=1e-10)
    np.testing.assert_allclose(
        part["relative_fluctuation"], theory.relative_tangent_fluctuation[:, 0], rtol=1e-9, atol=1e-15
    )


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ([0.0, 1.0, 1.0], "Layer 1 does not learn, at rates of zero. The others learn alike"),
        ([0.0, 0.0, 1.0], "Layers 1 to 2 do not learn, at rates of zero. The tangent kernel"),
        (0.0, "All rates are zero: nothing learns."),
    ],
)
def test_layers_that_do_not_learn(rates, says):
    """PDLT (9.23): a tangent kernel that is zero does not fluctuate, and every form of the report can be had."""
    made = report(MLP("tanh", (4, 16, 16, 1), lambda_b=rates, lambda_W=rates), networks=10)
    part = json.loads(made.to_json())["training"]
    assert part["verdict"].count(says) == 1
    assert part["Theta"][0] == part["relative_fluctuation"][0] == 0
    assert sum(part["share"]["bias"]) + sum(part["share"]["weight"]) == pytest.approx(1.0 if np.any(rates) else 0.0)
    assert "Training" in str(made)
    assert "nan" not in made.to_html()


def test_activations_that_jump_have_no_training_section():
    """A step has no tangent kernel; the rest of the report stands."""
    made = report(MLP("perceptron", (4, 16, 1), C_b=0.1), networks=10)
    assert made.data["training"] is None
    assert "Training" not in str(made)
    assert "<h2>Training" not in made.to_html()


def test_text_fits_a_terminal(made):
    lines = str(made).splitlines()
    assert max(map(len, lines)) <= 88
    text = "\n".join(lines)
    for section in ("Criticality", "Kernel and fluctuation by depth", "Depth over width", "Theory against networks"):
        assert section in text
    assert f"{made.data['layers']['G'][2][0]:.5g}" in text
    assert "24, 16, 1" in text


def test_the_page_is_whole_and_needs_nothing_else(made):
    source = made.to_html()
    page = Page()
    page.feed(source)
    page.close()
    assert page.open == []
    assert page.tags.count("svg") == 4
    assert {"script", "link", "iframe", "img"}.isdisjoint(page.tags)
    assert all(reference.startswith("#") for reference in page.loaded)
    assert not re.search(r"https?:|url\((?!#)|@import", source)
    assert "prefers-color-scheme: dark" in source
    assert "#010203" not in source  # every text of a picture has the page's colour


def test_the_page_holds_the_numbers(made):
    page = Page()
    page.feed(made.to_html())
    text = " ".join(page.text)
    for value in made.data["layers"]["V"]:
        assert f"{value[0]:.6g}" in text
    assert made.data["validity"]["label"] in text
    assert f"{made.data['validity']['relative_fluctuation']:.4g}" in text
    assert "recommended" in text


def test_pictures_of_one_page_do_not_share_names(made):
    source = made.to_html()
    pictures = re.findall(r"<svg.*?</svg>", source, re.DOTALL)
    drawn = []
    for picture in pictures:
        page = Page()
        page.feed(picture)
        drawn.append(
            {name for name in page.ids if name.startswith(("p", "m")) and name[1:].isalnum() and len(name) == 11}
        )
        assert drawn[-1]
    assert len(set.union(*drawn)) == sum(map(len, drawn))


def test_pictures_are_labelled(made):
    """For those who hear a page: what is drawn, by what."""
    labels = re.findall(r'<svg role="img" aria-label="([^"]*)"', made.to_html())
    assert labels[:2] == ["Kernel by layer ell", "Fluctuation between networks by layer ell"]
    assert len(labels) == 4


def test_bad_arguments():
    with pytest.raises(ArgumentError, match="`net`: got str"):
        report("tanh")
    with pytest.raises(ShapeError, match="`x`: got 3 features"):
        report(NET, x=np.ones((2, 3)))
    with pytest.raises(ArgumentError, match="`networks`"):
        report(NET, networks=1)


@pytest.mark.parametrize(("features", "correlation"), [(64, 0.5), (4, 0.5), (3, 1 / 3), (2, 0.0), (1, -1.0)])
def test_generic_inputs(features, correlation):
    x, described = generic_inputs(features, 2.0)
    assert x.shape == (2, features)
    np.testing.assert_allclose((x**2).mean(axis=1), 2.0)
    assert x[0] @ x[1] / (x[0] @ x[0]) == pytest.approx(correlation)
    assert "mean square 2" in described


def test_a_half_stable_kernel_starts_at_its_fixed_point():
    """PDLT (5.71)-(5.72): with this mean square the first kernel is K* itself, GELU's (3+√17)/2."""
    point = criticality("gelu").point
    net = tune(MLP("gelu", (8, 4, 1)))
    x, _ = generic_inputs(8, best_mean_square(point))
    assert net.first_kernel(x)[0, 0] == pytest.approx((3 + math.sqrt(17)) / 2, rel=1e-9)


def test_the_quick_simulation_shrinks_with_the_network():
    assert quick(MLP("tanh", (2, 10_000, 10_000, 1))) == 500
    assert quick(MLP("tanh", (2, 10, 1))) == 20_000
    assert quick(MLP("tanh", (2, 10**7, 1))) == 100
