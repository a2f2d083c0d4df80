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
    assert verdicts(powers(factor, layers), np.zeros(layers), np.ones(1))[0] == problems


@pytest.mark.parametrize(("second", "problems"), [(0.59, ()), (0.61, ("signals vanish",))])
def test_powers_of_depth_are_no_problem(second, problems):
    """The second half of the layers against the first, in logarithms; PDLT (5.92): a critical tanh network falls as 1/l."""
    logs = np.array([0.0, -1.0, -1.0 - second])
    assert verdicts(np.exp(2.5 * logs), np.zeros(3), np.ones(1))[0] == problems
    assert verdicts(1 / np.arange(1.0, 41.0), np.zeros(40), np.ones(1))[0] == ()


@pytest.mark.parametrize(("last", "problems"), [(0.9899, ()), (0.9901, ("inputs collapse",))])
def test_correlations_on_both_sides(last, problems):
    assert verdicts(np.ones(3), np.array([0.2, 0.5, last]), np.ones(1))[0] == problems
    assert verdicts(np.ones(3), np.array([0.995, 0.995, last]), np.ones(1))[0] == ()


def jacobians(params, x):
    """From the first layer to the last, one for each input, by the chain rule."""
    signals = list(perceptron(params, x).values())
    found = np.broadcast_to(np.eye(len(params[0])), (len(x), *params[0].shape))
    for W, z in zip(params[1:], signals, strict=False):
        found = W @ ((1 - np.tanh(z) ** 2)[:, :, None] * found)
    return found


@pytest.mark.parametrize(("C_W", "problems"), [(9.0, ("gradients explode",)), (1.6, ()), (0.4, ("signals vanish",))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_differences_grow_as_gradients_do(C_W, problems, dtype):
    """PDLT (5.54), (9.88): the trace of J'J, which is that of JJ', in standard errors of random directions; saturated tanh networks are
    chaotic while their signals stay as they are, whether two inputs lie close together or not."""
    params, x = drawn(C_W, width=60), np.random.default_rng(1).normal(size=(6, 60))
    x = np.concatenate([x, x + 1e-3]).astype(dtype)
    found = fw.diagnose(perceptron, params, x)
    assert found.problems == problems
    assert found.differences is not None
    J = jacobians(params, x)
    # A difference of x reaches the first layer through its weights.
    squares = np.swapaxes(J @ params[0], 1, 2) @ (J @ params[0]), params[0].T @ params[0]
    traces = [np.mean(np.trace(each, axis1=-2, axis2=-1)) for each in squares]
    spread = np.sqrt(2 * np.mean(np.sum(squares[0] ** 2, axis=(1, 2)))) / traces[0]
    expected = traces[0] / traces[1]
    assert abs(found.differences[-1] / expected - 1) < 4 * spread / np.sqrt(4 * len(x) / 2)  # near-copies count as one


def test_the_factor_of_gradients_is_said():
    words = str(fw.diagnose(perceptron, drawn(9.0, width=60), np.random.default_rng(1).normal(size=(6, 60))))
    assert words.startswith("Worth changing: gradients explode.\nSmall differences between inputs grow by a factor of ")
    assert "gradients as much on their way back: take a smaller variance of weights" in words


@pytest.mark.parametrize(
    ("factor", "problems"),
    [
        (10.1, ("gradients explode",)),
        (9.9, ()),
        (1 / 9.9, ()),
        (1 / 10.1, ("gradients vanish",)),
    ],
)
def test_gradients_on_both_sides(factor, problems):
    found, advice = verdicts(np.ones(11), np.zeros(11), powers(factor))
    assert found == problems
    assert len(advice) == len(problems)
    if problems:
        assert (
            f"by a factor of {max(factor, 1 / factor):.3g} in mean square within 11 layers, 1.26 a layer" in advice[0]
        )
        assert ("a smaller variance of weights" if factor > 1 else "a larger variance of weights") in advice[0]
    assert verdicts(np.ones(40), np.zeros(40), 1 / np.arange(1.0, 41.0))[0] == ()  # a power of depth


def test_what_keeps_gradients_up():
    """The cures that are named, on networks: tanh with biases, ordered, at C_W = 1.5 and C_b = 0.3."""

    def model(params, x):
        (layers, skip), signals, z = params, {}, x
        for i, (W, b) in enumerate(layers):
            z = (z if i == 0 else np.tanh(z)) @ W.T + b + (skip * z if i else 0)
            signals[f"layer {i}"] = z
        return signals

    def last(C_W, C_b, skip=0.0):
        random = np.random.default_rng(0)
        layers = [(W, random.normal(size=100) * C_b**0.5) for W in drawn(C_W, depth=15, width=100)]
        found = fw.diagnose(model, (layers, skip), np.random.default_rng(1).normal(size=(6, 100)))
        return found.problems, found.differences[-1]

    problems, ordered = last(1.5, 0.3)
    assert "gradients vanish" in problems
    for cure in ((2.5, 0.3), (1.5, 0.03), (1.5, 0.3, 0.5)):
        assert last(*cure)[1] > 5 * ordered


def test_gradients_that_go_with_signals_are_not_named_twice():
    assert verdicts(powers(11.0), np.zeros(11), powers(11.0))[0] == ("signals explode",)
    assert verdicts(powers(11.0), np.zeros(11), powers(1 / 11.0))[0] == ("signals explode", "gradients vanish")


def test_differences_count_while_they_are_small():
    """Those of a chaotic network grow until they are as large as any: a factor of 1.8 a layer for forty layers is not to be had."""
    found = fw.diagnose(perceptron, drawn(9.0, depth=40, width=60), np.random.default_rng(1).normal(size=(4, 60)))
    assert found.problems == ("gradients explode",)
    layers = int(str(found).split("mean square within ")[1].split(" layers")[0])
    assert 10 < layers < 30  # from 1e-6 to 1e-2, at 1.5 to 2.5 a layer


def test_where_gradients_cannot_be_looked_at():
    """Tokens have no neighbours, and a function that draws numbers has no differences."""
    embedding, random = np.random.default_rng(0).normal(size=(5, 8)), np.random.default_rng(1)

    def of_tokens(params, x):
        return {"first": embedding[x], "second": embedding[x] @ np.eye(8)}

    def noisy(params, x):
        return {"first": random.normal(size=(3, 8)), "second": random.normal(size=(3, 8))}

    def of_known(params, x):
        return {"first": np.stack([embedding[{0.0: 0, 1.0: 1}[float(one)]] for one in x]), "second": embedding[:2]}

    def nan_beside(params, x):
        return {"first": embedding[:2] + x[:, None], "second": embedding[:2] + np.where(x[:, None] % 1 == 0, 0, np.nan)}

    for found in (
        fw.diagnose(of_tokens, None, np.array([1, 2, 3])),
        fw.diagnose(noisy, None, np.ones((3, 2))),
        fw.diagnose(of_known, None, np.array([0.0, 1.0])),
        fw.diagnose(nan_beside, None, np.array([0.0, 1.0])),
    ):
        assert found.differences is None
        assert str(found).startswith(
            "No problem found in sizes and correlations of signals.\nGradients were not looked at"
        )


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
