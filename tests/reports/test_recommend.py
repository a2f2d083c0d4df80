"""Recommendations: every number against its own source, verdicts on both sides of their thresholds, all media."""

import json
import re

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.advice.global_rate import Number
from finitewidth.advice.numbers import numbers_of_skips, of_order, skip_needed
from finitewidth.reports.section import Tone
from finitewidth.reports.sections.advised import of_correlation, verdict


@pytest.fixture(scope="module")
def deep():
    x = 3 * np.random.default_rng(0).normal(size=(40, 6)) + 1
    return fw.recommend(activation="relu", depth=12, width=16, outputs=4, data=x), x


def test_initialisation_and_inputs(deep):
    """PDLT (5.67), (4.8): the critical point, and inputs of unit mean square."""
    advice, x = deep
    numbers = advice.numbers
    assert (numbers["C_W"].value, numbers["C_b"].value, numbers["mean_square"].value) == (2.0, 0.0, 1.0)
    assert np.mean((numbers["input_scale"].value * x) ** 2) == pytest.approx(1.0, rel=1e-12)


def relu_with_skips(L, n, gamma):
    r"""$V/(nK^2)$ at a readout by hand: neurons are Gaussian paths of correlation $\gamma^k$ between layers, and
    $4\langle\sigma^2\sigma^2\rangle - 1$ is the arc-cosine kernel of degree two; layers with skips weigh $1-\gamma^2$, the readout one."""
    weights = np.append(np.full(L - 2, 1 - gamma**2), 1.0)
    depth = np.arange(L - 1)
    angle = np.arccos(np.clip(gamma ** abs(depth[:, None] - depth), -1, 1))
    moments = 3 * np.sin(angle) * np.cos(angle) + (np.pi - angle) * (1 + 2 * np.cos(angle) ** 2)
    return float(weights @ (2 * moments / np.pi - 1) @ weights) / n


def test_shape(deep):
    r"""PDLT (5.120): $\nu(L-1)/n$; the width that mends it, and the skip connections that leave twice what the readout makes."""
    numbers = deep[0].numbers
    assert numbers["fluctuation"].value == pytest.approx(5 * 11 / 16, rel=1e-9)
    assert numbers["widest_needed"].value == 5 * 11 / 0.1
    assert numbers["fluctuation_with_skips"].value == pytest.approx(2 * 5 / 16, rel=1e-9)
    assert relu_with_skips(12, 16, numbers["gamma"].value) == pytest.approx(2 * 5 / 16, rel=1e-4)
    assert "the readout alone makes 0.312 of it" in numbers["fluctuation_with_skips"].reason
    assert "from 3.44 down to twice that of the readout" in numbers["gamma"].reason


@pytest.mark.parametrize(("n", "wanted"), [(300, 0.1), (90, 5 / 45)])
def test_skips_at_the_readout(n, wanted):
    """A tenth where the readout makes less than half of that, twice the readout's otherwise."""
    net = fw.tune(fw.MLP("relu", (2, *[n] * 11, 1)))
    found = {each.name: each for each in numbers_of_skips(net, 1.0, 55 / n, 5 / n)}
    assert found["fluctuation_with_skips"].value == pytest.approx(wanted, rel=1e-12)
    assert relu_with_skips(12, n, found["gamma"].value) == pytest.approx(wanted, rel=1e-4)
    assert ("a tenth" in found["gamma"].reason) is (wanted == 0.1)


def test_where_no_skip_can_help():
    """Two layers have none, three of this width hardly; and networks that are alike need none."""
    net = fw.tune(fw.MLP("relu", (2, 8, 1)))
    assert numbers_of_skips(net, 1.0, 5 / 8, 5 / 8) == []
    (none,) = numbers_of_skips(net, 1.0, 0.0999, 0.0999)
    assert (none.value, none.reason) == (0.0, "none are needed")
    advice = fw.recommend(activation="relu", depth=2, width=8)
    assert "gamma" not in advice.numbers
    assert isinstance(advice.net, fw.MLP)
    assert "kip connections of strength" not in str(advice)


@pytest.mark.measured
def test_skips_of_real_networks():
    """ReLU, 20 x 30 and 12 x 300: the relative variance of the output's kernel, a mean square over its conditional law."""
    random = np.random.default_rng(0)
    for L, n, count in ((20, 30, 20_000), (12, 300, 4000)):
        net = fw.tune(fw.MLP("relu", (2, *[n] * (L - 1), 1)))
        found = {each.name: each.value for each in numbers_of_skips(net, 1.0, 5 * (L - 1) / n, 5 / n)}
        gamma, said = found["gamma"], found["fluctuation_with_skips"]
        z = random.normal(size=(count, n))
        for _ in range(L - 2):
            K = 2 * (1 - gamma**2) * np.mean(np.maximum(z, 0) ** 2, axis=1)
            z = gamma * z + K[:, None] ** 0.5 * random.normal(size=(count, n))
        K = 2 * np.mean(np.maximum(z, 0) ** 2, axis=1)
        parts = (K.reshape(20, -1).var(axis=1) / K.mean() ** 2).tolist()
        error = np.std(parts) / 20**0.5
        assert abs(np.mean(parts) - said) < 4 * error + said**2 / 2  # first order in 1/n


def test_tangent_kernels(deep):
    """PDLT (9.23): the relative variance of one output's tangent kernel, from networks so wide that first order is all."""
    n = 10**7
    wide = fw.tune(fw.MLP("relu", (6, *[n] * 11, 1)))
    found = fw.exact.exact_tangent_flow(wide, np.ones((1, 6))).moments
    exact = (found.a + 2 * found.b)[-1, 0] / found.theta[-1, 0] ** 2 * n / 16
    assert deep[0].numbers["tangent_fluctuation"].value == pytest.approx(exact, rel=1e-4)


def test_networks_as_advised(deep):
    """PDLT (B.20): skip connections in the advised one, none in the plain one; biases as slow as weights."""
    advice = deep[0]
    assert isinstance(advice.net, fw.ResidualMLP)
    assert float(advice.net.gamma) == pytest.approx(advice.numbers["gamma"].value)
    np.testing.assert_allclose(advice.net.C_W[1:-1], 2 * (1 - float(advice.net.gamma) ** 2), rtol=1e-12)
    assert isinstance(advice.plain, fw.MLP)
    for net in (advice.net, advice.plain):
        rates = fw.learning_rates(net, "sgd", 0.3)
        np.testing.assert_allclose(rates.bias, rates.weight, rtol=1e-12)


def test_adam(deep):
    """PDLT (8.13): rates of groups are those of `learning_rates` at the advised global one."""
    advice, x = deep
    numbers = advice.numbers
    rates = fw.learning_rates(advice.net, "adam", numbers["adam_rate"].value, numbers["input_scale"].value * x)
    assert numbers["adam_first"].value == pytest.approx(rates.weight[0], rel=1e-9)
    assert numbers["adam_hidden"].value == pytest.approx(np.median(rates.weight[1:-1]), rel=1e-9)
    assert numbers["adam_last"].value == pytest.approx(rates.weight[-1], rel=1e-9)
    assert "s = 0" in numbers["adam_hidden"].reason
    assert "torch.optim.Adam" in str(advice)


def test_rates(deep):
    """The same numbers as `global_rate` of the network and the inputs as advised, which has tests of its own."""
    advice, x = deep
    inputs = advice.numbers["input_scale"].value * x
    for name, loss in (("sgd", "mse"), ("adam", "mse"), ("sgd", "cross_entropy"), ("adam", "cross_entropy")):
        found = fw.advice.global_rate(advice.net, inputs, name, loss)
        assert advice.numbers[found.name].value == pytest.approx(found.value, rel=1e-12)


def test_typical_networks(deep):
    """Where averages describe few networks: medians, and the variance that keeps the median's size."""
    found = deep[0].data["typical"]
    assert found["C_W"] > 2
    net = fw.MLP("relu", (6, *[16] * 11, 1), C_W=[2.0] + [found["C_W"]] * 11)
    typical = fw.exact.typical_scale_invariant(net, np.ones((1, 6)))
    assert typical.kernel[1, -1] == pytest.approx(typical.kernel[1, 0], rel=1e-9)


def test_all_media(deep):
    """Text says every reason; JSON holds every number; the page has the pictures."""
    advice = deep[0]
    text = " ".join(str(advice).split())
    told = json.loads(advice.to_json())
    assert set(told["numbers"]) == set(advice.numbers)
    for name, number in advice.numbers.items():
        assert told["numbers"][name] == {
            key: getattr(number, key) for key in ("value", "meaning", "reason", "equation", "trust")
        }
        assert f"{name}: {number.meaning}. Because: {number.reason}. Trust: {number.trust}." in text
        assert number.equation.split(",")[0] in text
    assert advice.sections[-1].title == "What to do"
    assert str(advice).splitlines()[0].strip("╭─╮ ") == "finitewidth recommendation: relu MLP"
    assert "For cross-entropy take `cross_entropy_rate`" in text
    page = advice.to_html()
    assert "<title>finitewidth recommendation: relu MLP</title>" in page
    assert '<td class="left words">variance of weights, times fan-in</td>' in page
    assert page.count("<svg") == 4
    assert "gamma * z" in page
    assert re.search(r"Too deep for its width: .* Skip connections of strength 0\.9\d+ bring them closer", text)


def test_wide_networks_need_nothing():
    """PDLT (5.120): as deep as the other, and wide."""
    advice = fw.recommend(activation="relu", depth=12, width=1000)
    assert advice.numbers["gamma"].value == 0
    assert isinstance(advice.net, fw.MLP)
    assert "cross_entropy_rate" not in advice.numbers
    assert "cross_entropy_rate" not in str(advice)
    assert "typical" not in advice.data
    assert "gamma * z" not in str(advice)


def test_an_activation_that_cannot_be_tuned_is_replaced():
    advice = fw.recommend(activation="sigmoid", depth=1, width=8)
    assert advice.net.activation.name == "sigmoid(z) - 0.5"
    assert "Take sigmoid(z) - 0.5 instead of sigmoid, which has no critical initialisation" in str(advice).replace(
        "\n  ", " "
    )


def test_one_layer():
    """There is no depth, and nothing is said of it."""
    advice = fw.recommend(activation="relu", depth=1, width=8)
    assert "fluctuation" not in advice.numbers
    assert "One layer" in advice.data["verdict"]["headline"]


def numbers(fluctuation, left=0.1):
    values = {"fluctuation": fluctuation, "widest_needed": 321.0, "gamma": 0.9, "fluctuation_with_skips": left}
    return {name: Number(name, value, "", "", "", "") for name, value in values.items()}


@pytest.mark.parametrize(
    ("fluctuation", "words", "tone"),
    [
        (0.0999, "networks drawn alike are alike", Tone.GOOD),
        (0.1001, "Deep for its width", Tone.RISKY),
        (0.4999, "hidden layers of about 321 neurons, or skip connections of strength 0.9.", Tone.RISKY),
        (0.5001, "Too deep for its width", Tone.BAD),
    ],
)
def test_verdicts(fluctuation, words, tone):
    text, said = verdict(5, numbers(fluctuation))
    assert words in text
    assert said is tone
    assert ("This is about how much networks drawn alike differ, not about" in text) is (tone is not Tone.GOOD)
    without = {name: number for name, number in numbers(fluctuation).items() if "skips" not in name}
    assert "skip" not in verdict(5, without)[0]


def test_skips_that_leave_more_than_a_tenth_make_nothing_alike():
    said = verdict(5, numbers(0.3, left=0.1001))[0]
    assert (
        "take hidden layers of about 321 neurons. Skip connections of strength 0.9 bring them closer, to a relative"
        in said
    )
    assert "variance of 0.1." in said


def test_sentences_on_both_sides():
    assert "Wide networks can still tell inputs apart" in of_correlation(0.9899)
    assert "Inputs merge" in of_correlation(0.9901)
    assert "% of it" in of_order(0.0999)
    assert "sizeable part" in of_order(0.1001)
    assert "no measure" in of_order(0.5001)


def test_skips_of_very_deep_networks():
    """By those of 128 layers; and none that leaves less than the readout."""
    for L in (200, 1000):
        found = skip_needed(fw.tune(fw.MLP("relu", (1, *[300] * (L - 1), 1))), 1.0, 0.1)
        assert relu_with_skips(L, 300, found) == pytest.approx(0.1, rel=0.01)
    shallow = fw.tune(fw.MLP("relu", (1, *[300] * 127, 1)))
    assert skip_needed(shallow, 1.0, 4.9 / 300) is None  # less than the readout's


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"depth": 0}, "depth"),
        ({"width": 0}, "width"),
        ({"outputs": 1.5}, "outputs"),
        ({"data": [[0.0, 0.0]]}, "data"),
        ({"data": [1.0, 2.0]}, "data"),
        ({"activation": "gleu"}, "activation"),
    ],
)
def test_refusals(settings, argument):
    with pytest.raises(ValueError, match=f"`{argument}`"):
        fw.recommend(**({"activation": "relu", "depth": 2, "width": 8} | settings))
