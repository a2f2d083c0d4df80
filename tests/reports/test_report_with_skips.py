"""Reports on residual networks: what they say, on both sides of each threshold, and what they leave out."""

from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.critical import criticality
from finitewidth.networks import ResidualMLP
from finitewidth.reports.section import Code, Tone
from finitewidth.reports.sections.criticality import about_criticality, is_tuned
from finitewidth.reports.sections.in_short import (
    about_residual_in_short,
    of_scattered_signals,
    of_signals,
    verdict_with_skips,
)
from finitewidth.reports.sections.what_to_do_with_skips import about_what_to_do_with_skips, skip_lines

SECTIONS = {"meta", "network", "in_short", "criticality", "layers", "validity", "agreement", "words", "what_to_do"}
X = np.array([[1.0, 0.5], [0.3, -1.0]])


@pytest.fixture(scope="module")
def net():
    return fw.tune(ResidualMLP("tanh", width=16, depth=4, gamma=0.6, outputs=1))


@pytest.fixture(scope="module")
def made(net):
    return fw.report(net, X, networks=400, seed=3)


def test_sections_that_apply(made, net):
    """PDLT (B.11): the numbers are those of `flow`; nothing is said of training."""
    assert set(made.data) == SECTIONS
    theory = fw.flow(net, X)
    np.testing.assert_allclose(np.array(made.data["layers"]["K"])[:, 0], theory.K[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(np.array(made.data["layers"]["V"])[:, 0], theory.V[:, 0, 0, 0, 0], rtol=1e-12)
    assert made.data["network"]["gamma"] == 0.6
    assert made.data["network"]["widths"] == [2, 16, 16, 16, 1]
    assert made.data["criticality"]["tuned"]
    said = made.to_html()
    assert "tanh residual MLP of 4 layers" in said
    assert "gamma = 0.6" in said
    assert "layers with a skip take 1 - gamma² = 0.64 times as much" in said


def test_tuned_is_what_tune_sets(net):
    """PDLT (B.21): at 1 - gamma^2 in layers with a skip, and nowhere else."""
    verdict = criticality("tanh")
    assert is_tuned(net, verdict)
    assert not is_tuned(net.replace(C_W=np.ones(4)), verdict)
    assert not is_tuned(net.replace(C_W=np.full(4, 0.64)), verdict)
    assert not is_tuned(net.replace(gamma=0.5), verdict)
    assert not is_tuned(net.replace(gamma=1.0, C_W=np.array([1.0, 0.0, 0.0, 1.0])), verdict)


@pytest.mark.parametrize(
    ("gamma", "expected"), [(0.6, "take 1 - gamma² = 0.64 times"), (-1.0, "at gamma² >= 1 no network is critical")]
)
def test_what_skips_make_of_the_point(net, gamma, expected):
    """In words."""
    assert expected in about_criticality(net.replace(gamma=gamma), criticality("tanh")).parts[0].text


@pytest.mark.parametrize(
    ("depth", "gamma", "tuned", "tunable", "fluctuation", "expected"),
    [
        (1, 0.5, True, True, 0.0, "One layer"),
        (4, 0.5, True, True, 0.09, "At the critical point"),
        (4, 0.5, True, True, 0.11, "Deep for its width"),
        (4, 0.5, False, True, 0.11, "`fw.tune` sets"),
        (4, 0.999, False, True, 0.09, "`fw.tune` sets"),
        (4, 1.0, False, True, 0.09, "no network with gamma² >= 1"),
        (4, 0.5, False, False, 0.09, "no critical point"),
    ],
)
def test_headlines(depth, gamma, tuned, tunable, fluctuation, expected):
    """By criticality, and by how much networks differ."""
    headline, tone = verdict_with_skips(depth, gamma, tuned, tunable, fluctuation)
    assert expected in headline
    assert (tone is Tone.GOOD) == (depth == 1 or (tuned and fluctuation < 0.1))


def test_signals_of_networks_that_differ(made):
    """Where the first order is no measure, nothing is said of its size."""
    net, kernel = made.theory.net, np.array([1.0, 1.0])
    for fluctuation, expected in ((0.09, "give or take 30 %"), (0.11, "by about a third or more")):
        section = about_residual_in_short(net, True, True, kernel, fluctuation, made.comparison)
        assert expected in section.data["lines"][0]
    said = of_scattered_signals(np.array([2.0, 1.0, 0.1]))
    assert said.startswith("Signals of infinitely wide networks shrink")
    assert "from 2 to 0.1" in said


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ([1.0, 1.9, 1.0], "from 1 to 1, give"),
        ([1.0, 2.1, 1.0], "from 1 to 1, with 2.1 on the way, give"),
        ([1.0, 2.1, 1.1], "from 1 to 1.1, give"),
        ([1.0, 0.51, 1.0], "from 1 to 1, give"),
        ([1.0, 0.49, 1.0], "from 1 to 1, with 0.49 on the way, give"),
        ([1.0, 3.0, 6.0], "from 1 to 6, give"),
    ],
)
def test_signals_that_both_ends_hide(kernel, expected):
    """A readout without a skip hides what grew before it."""
    assert expected in of_signals(np.array(kernel), 0.01, None)


def words_of(section):
    return " ".join(getattr(part, "text", "") for part in section.parts)


def test_lines_to_copy_make_the_tuned_network(net):
    """PDLT (B.21), in a PyTorch that writes down standard deviations: variances and rates are those of `tune`."""
    section = about_what_to_do_with_skips(net.replace(C_W=np.full(4, 1.7)), criticality("tanh"), 0.05)
    draw, scale, groups = (part.text for part in section.parts if isinstance(part, Code))
    assert max(len(line) for code in (draw, scale, groups) for line in code.splitlines()) <= 76
    init = SimpleNamespace(normal_=lambda of, std: of.fill(std), zeros_=lambda of: of.fill(0.0))
    torch = SimpleNamespace(
        nn=SimpleNamespace(init=init), no_grad=nullcontext, optim=SimpleNamespace(SGD=lambda groups: groups)
    )
    layers = [SimpleNamespace(in_features=n, weight=np.ones((m, n)), bias=np.ones(m)) for n, m in pairwise(net.widths)]
    x = np.random.default_rng(0).normal(size=(2, 16))
    space = {"torch": torch, "linear_layers": layers, "x": x}
    exec("\n".join((draw, scale, groups)), space)
    variances = [layer.weight[0, 0] ** 2 * layer.in_features for layer in layers]
    np.testing.assert_allclose(variances, net.C_W, rtol=1e-5)
    assert all(layer.bias[0] == 0 for layer in layers)
    slow = net.replace(lambda_b=net.lambda_b / net.widths[:-1])
    eta = 2 / np.linalg.eigvalsh(fw.frozen_ntk(slow, x))[-1]  # a mean over two samples, tanh: 1/lambda
    rates = fw.learning_rates(slow, "sgd", rate=eta).parameter_groups(layers)
    np.testing.assert_allclose([each["lr"] for each in space["optimizer"]], [each["lr"] for each in rates], rtol=1e-6)


def test_a_last_layer_with_a_skip_is_scaled_too():
    """Without a readout, all layers but the first have one."""
    assert "linear_layers[1:-1]" in skip_lines(0.6, readout=True)
    assert "linear_layers[1:]" in skip_lines(0.6, readout=False)


@pytest.mark.parametrize(
    ("gamma", "fluctuation", "tuned", "expected"),
    [
        (0.6, 0.099, True, "Depth and width are fine"),
        (0.6, 0.101, True, "hidden layers of about 17 neurons"),
        (0.6, 0.25, True, "hidden layers of about 40 neurons"),
        (0.6, 0.25, False, "ask for a report on `net`, the network of these lines"),
        (1.0, 0.25, False, "Take skips with gamma² below one"),
    ],
)
def test_what_to_do_about_depth_and_width(net, gamma, fluctuation, tuned, expected):
    """The relative variance falls as 1/n: 16 x .25/.1 = 40."""
    net = net.replace(gamma=gamma) if tuned else net.replace(gamma=gamma, C_W=np.full(4, 1.7))
    section = about_what_to_do_with_skips(net, criticality("tanh"), fluctuation)
    said = words_of(section)
    assert expected in said
    assert (section.data.get("widest_needed") is None) == (
        not tuned
    )  # the width needed is that of the network as advised
    assert ("Keep the initialisation" in said) == tuned
