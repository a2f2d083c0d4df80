"""Diagnoses of models written out by hand: measured signals, theory beside them, verdicts on both sides."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice.diagnose import verdicts


def perceptron(params, x):
    """Pre-activations by name, in NumPy."""
    signals, z = {}, x
    for i, W in enumerate(params):
        z = (z if i == 0 else np.tanh(z)) @ W.T
        signals[f"layer_{i + 1}"] = z
    return signals


def drawn(C_W, depth=12, width=400, seed=0):
    random = np.random.default_rng(seed)
    return [random.normal(size=(width, width)) * (C_W / width) ** 0.5 for _ in range(depth)]


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).normal(size=(6, 400))


@pytest.mark.parametrize(("C_W", "problems"), [(0.4, ("signals vanish",)), (1.0, ()), (1.6, ())])
def test_tanh_networks(x, C_W, problems):
    """PDLT (4.118): ordered networks vanish; critical ones fall as a power, and chaotic ones saturate."""
    net = fw.MLP("tanh", (400, *[400] * 11, 400), C_W=C_W)
    found = fw.diagnose(perceptron, drawn(C_W), x, nearest=net)
    assert found.problems == problems
    np.testing.assert_allclose(found.mean_square, found.expected_mean_square, rtol=0.2)
    np.testing.assert_allclose(found.correlation, found.expected_correlation, atol=0.1)
    expected = np.mean((x @ drawn(C_W)[0].T) ** 2)
    assert found.mean_square[0] == pytest.approx(expected, rel=1e-12)
    assert found.layers[:2] == ("layer_1", "layer_2")
    assert ("No problem found" in str(found)) is (not problems)
    assert "times that of infinitely wide networks" in str(found)


def test_any_model_with_names(x):
    """Linear networks of too large weights, as a list of pairs, images and all."""

    def model(params, x):
        z, signals = x, []
        for i, W in enumerate(params):
            z = z @ W.T
            signals.append((f"block {i}", z.reshape(len(z), 20, 20)))
        return signals

    found = fw.diagnose(model, drawn(2.0), x)
    assert found.problems == ("signals explode",)
    assert "divide the variance of weights by about 2" in str(found)
    assert found.expected_mean_square is None


def powers(factor, layers=11):
    return factor ** np.linspace(0, 1, layers)


@pytest.mark.parametrize(
    ("factor", "layers", "problems"),
    [
        (10.1, 11, ("signals explode",)),
        (9.9, 11, ()),
        (1 / 10.1, 11, ("signals vanish",)),
        (1 / 9.9, 11, ()),
        (11.0, 101, ("signals explode",)),
    ],
)
def test_sizes_on_both_sides(factor, layers, problems):
    assert verdicts(powers(factor, layers), np.zeros(layers))[0] == problems


@pytest.mark.parametrize(("second", "problems"), [(0.59, ()), (0.61, ("signals vanish",))])
def test_powers_of_depth_are_no_problem(second, problems):
    """The second half of the layers against the first, in logarithms; PDLT (5.92): a critical tanh network falls as 1/l."""
    logs = np.array([0.0, -1.0, -1.0 - second])
    assert verdicts(np.exp(2.5 * logs), np.zeros(3))[0] == problems
    assert verdicts(1 / np.arange(1.0, 41.0), np.zeros(40))[0] == ()


@pytest.mark.parametrize(("last", "problems"), [(0.9899, ()), (0.9901, ("inputs collapse",))])
def test_correlations_on_both_sides(last, problems):
    assert verdicts(np.ones(3), np.array([0.2, 0.5, last]))[0] == problems
    assert verdicts(np.ones(3), np.array([0.995, 0.995, last]))[0] == ()


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        (np.ones((2, 3)), "dictionary"),
        ({"a": np.ones((2, 3))}, "at least two"),
        ({"a": np.ones((2, 3)), "b": np.ones(3)}, "layer b"),
        ({"a": np.ones((2, 3)), "b": np.full((2, 3), np.nan)}, "look at the layers before"),
        ({"a": np.ones((2, 3)), "b": np.zeros((2, 3))}, "have not died"),
    ],
)
def test_refusals(signals, message):
    with pytest.raises(fw.ArgumentError, match=message):
        fw.diagnose(lambda params, x: signals, None, None)
    with pytest.raises(fw.ArgumentError, match="nearest"):
        fw.diagnose(
            perceptron, drawn(1.0, depth=3, width=4), np.ones((2, 4)) + np.eye(2, 4), nearest=fw.MLP("tanh", (4, 4, 4))
        )
