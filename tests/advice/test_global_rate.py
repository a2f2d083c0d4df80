"""The global rate: its formulas on real tangent kernels, and its sentences against the record of networks trained."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice.global_rate import _RECORD

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
X = np.random.default_rng(0).normal(size=(9, 3))


def tuned(activation, widths=(3, 8, 8, 4)):
    return fw.advice.with_slow_biases(fw.tune(fw.MLP(activation, widths)))


@pytest.mark.parametrize(
    ("activation", "optimizer", "loss", "times"),
    [
        ("tanh", "sgd", "mse", 1.0),
        ("tanh", "sgd", "cross_entropy", 4.0),
        ("tanh", "adam", "mse", 0.6),
        ("relu", "sgd", "mse", 3.0),
        ("relu", "sgd", "cross_entropy", 12.0),
        ("relu", "adam", "cross_entropy", 0.6),
        ("relu", "adam", "mse", 1.2),
    ],
)
def test_by_the_largest_eigenvalue(activation, optimizer, loss, times):
    """PDLT section 10.2: a mean over the batch, so that eigenvalues are those of Theta/N; how often duplicated does not matter."""
    net = tuned(activation)
    largest = np.linalg.eigvalsh(fw.frozen_ntk(net, X))[-1] / len(X)
    found = fw.advice.global_rate(net, X, optimizer, loss)
    assert found.value == pytest.approx(times / largest, rel=1e-9)
    assert fw.advice.global_rate(net, np.tile(X, (3, 1)), optimizer, loss).value == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize(("activation", "loss", "times"), [("tanh", "mse", 0.5), ("tanh", "cross_entropy", 1)])
def test_the_edge_it_names(activation, loss, times):
    """Of a linear model, whose tangent kernel stays, near outputs of zero and near two classes that are tied: gradient descent returns
    to them below the edge, and not above."""
    net = tuned(activation, (3, 2))
    rate = fw.advice.global_rate(net, X, "sgd", loss)
    assert rate.reason.startswith(f"{times:g} times {2 if loss == 'mse' else 4}/lambda_max")
    error = (
        (lambda z: z) if loss == "mse" else (lambda z: np.tanh((z - z[:, ::-1]) / 2) / 2)
    )  # of labels that are half and half

    def after(eta):
        W, b = 1e-3 * np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]), np.zeros(2)
        for _ in range(400):
            e = error(X @ W.T + b)
            W, b = W - eta / 3 * e.T @ X / len(X), b - eta / 3 * e.mean(axis=0)
        return np.linalg.norm(W)

    edge = rate.value / times
    assert after(0.97 * edge) < 1e-6
    assert after(1.03 * edge) > 1e-2


def test_edges_that_are_passed_say_so():
    for activation, passed in (("tanh", False), ("relu", True)):
        for loss in ("mse", "cross_entropy"):
            said = fw.advice.global_rate(tuned(activation), X, "sgd", loss).reason
            assert ("beyond it the tangent kernels of such activations at first shrink" in said) is passed


def test_activations_without_a_critical_point_are_as_those_that_saturate():
    net = fw.MLP("sigmoid", (3, 8, 4), C_W=2.0)
    largest = np.linalg.eigvalsh(fw.frozen_ntk(net, X))[-1] / len(X)
    assert fw.advice.global_rate(net, X).value == pytest.approx(1 / largest, rel=1e-9)
    assert fw.advice.global_rate(tuned("gelu"), X).reason.startswith("1.5 times 2/lambda_max")


def test_one_layer_has_a_kernel_that_stays():
    """A linear model by any name: no rate beyond the edge."""
    assert (
        fw.advice.global_rate(tuned("relu", (3, 4)), X).value == fw.advice.global_rate(tuned("tanh", (3, 4)), X).value
    )


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"optimizer": "adamw"}, "optimizer"),
        ({"loss": "l1"}, "loss"),
        ({"loss": ["mse"]}, "loss"),
        ({"x": X[:, :2]}, "x"),
        ({"net": fw.MLP("tanh", (3, 8, 1)), "loss": "cross_entropy"}, "loss"),
        ({"net": fw.MLP("tanh", (3, 8, 1), lambda_b=0.0, lambda_W=0.0)}, "net"),
    ],
)
def test_refusals(settings, argument):
    with pytest.raises(ValueError, match=f"`{argument}`"):
        fw.advice.global_rate(**({"net": fw.MLP("tanh", (3, 8, 1)), "x": X} | settings))


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    sys.modules.pop("rates", None)
    import rates

    return rates


def test_what_is_said_of_networks_trained(benchmark):
    """Counts in the sentence are those of the record, which is of the recipe as it is; nine of ten are within a factor of four."""
    lines = json.loads(benchmark.RECORD.read_text())
    assert len(lines) == len(benchmark.cases())
    for optimizer in ("sgd", "adam"):
        mine = [line for line in lines if line["optimizer"] == optimizer]
        assert _RECORD[optimizer] == (len(mine), benchmark.within(mine, 4), benchmark.within(mine, 3))
        assert benchmark.within(mine, 4) >= 0.9 * len(mine)
        said = fw.advice.global_rate(tuned("tanh"), X, optimizer).trust
        assert re.findall(r"(\d+) networks trained .* for (\d+), within a factor of three for (\d+)", said) == [
            tuple(map(str, _RECORD[optimizer]))
        ]
    assert {line["width"] for line in lines} == {64, 128, 256}
    assert (min(line["depth"] for line in lines), max(line["depth"] for line in lines)) == (4, 32)
    assert (min(line["batch"] for line in lines), max(line["batch"] for line in lines)) == (8, 256)


@pytest.mark.measured
@pytest.mark.parametrize("line", [0, 1, -2, -1])
def test_the_record_can_be_made_again(benchmark, line):
    """The advised rates, and training at them, ten times less and ten times more: in between it trains best."""
    recorded = json.loads(benchmark.RECORD.read_text())[line]
    found = benchmark.measured(benchmark.cases()[line], np.array([0.1, 1.0, 10.0]))
    assert found["advised"] == pytest.approx(recorded["advised"], rel=1e-6)
    assert benchmark.best(found) == 1.0
