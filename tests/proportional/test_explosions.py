"""Exploding paths against exact laws: who explodes, when, how often, and what becomes of the tokens that do not."""

import math

import numpy as np
import pytest
from scipy import stats

import finitewidth as fw
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional import covariance_sde, scalar_smooth, step_advice
from finitewidth.proportional.covariance_sde import default_steps
from finitewidth.proportional.dependence import dependence
from finitewidth.results import PathStatus
from finitewidth.runs.walker import scale_onto_sphere

OPPOSITE = np.array([[1.0, -1.0], [-1.0, 1.0]])
CAUSAL = ShapedAttention(0.6, 0.25, mask="causal")
SEEDS = [0, 1, 2]
KAPPA = 0.36 * 1.64  # of CAUSAL


def opposite_chain(gamma, tau0, time, paths, seed):
    r"""Opposite tokens, V = v [[1, -1], [-1, 1]]: $dv = \frac{\gamma^2}{\tau_0^2}v^3dt + \sqrt{2\gamma^2(2-\gamma^2)}\,v\,dB +
    \frac{2\gamma^2}{\tau_0}v^2dB'$, by Euler steps of log v so short that none changes it by more than a tenth or so."""
    random, square = np.random.default_rng(seed), gamma**2
    kappa, mean, noise = square * (2 - square), (square - 2 * square**2) / tau0**2, 2 * square / tau0
    ends, y, t, number = np.full(paths, np.inf), np.zeros(paths), np.zeros(paths), np.arange(paths)
    while len(y):
        v = np.exp(y)
        step = np.minimum(np.minimum(2e-3, time - t), 0.01 / (noise * v) ** 2)
        arrived = step >= time - t
        normals = random.standard_normal((2, len(y)))
        y = (
            y
            + (mean * v**2 - kappa) * step
            + np.sqrt(step) * (math.sqrt(2 * kappa) * normals[0] + noise * v * normals[1])
        )
        t, gone = t + step, y > math.log(1e10)
        ends[number[arrived & ~gone]] = np.exp(y[arrived & ~gone])
        on = ~(arrived | gone)
        y, t, number = y[on], t[on], number[on]
    return ends


def assert_same_fraction(found, expected, paths, exact_error=0.0):
    assert abs(found - expected) < 0.002 + 3 * math.hypot(math.sqrt(expected * (1 - expected) / paths), exact_error)


@pytest.fixture(scope="module")
def causal():
    return covariance_sde(CAUSAL, 0.8 * np.eye(3) + 0.2, 0.4, paths=128, save=4, seed=3, radius=1e6)


def test_a_causal_token_keeps_its_law_when_others_explode(causal):
    """Token 0 sees itself alone: log V00 is normal with mean -kappa T and variance 2 kappa T whatever becomes of the rest."""
    assert causal.stopped_fraction > 0.1
    z = (np.log(causal.final[:, 0, 0]) + 0.4 * KAPPA) / math.sqrt(0.8 * KAPPA)
    assert stats.kstest(z, "norm").pvalue > 1e-3
    assert np.isinf(causal.token_stopping_times[:, 0]).all()
    assert not causal.exploded[:, 0].any()


def test_what_exploded_is_said_and_frozen(causal):
    """A token stops with the first of those it sees, and does not move after."""
    stops = causal.token_stopping_times
    assert (stops[:, 1:] <= stops[:, :-1]).all()  # of a causal mask
    np.testing.assert_array_equal(causal.stopping_times, stops.min(axis=1))
    np.testing.assert_array_equal(causal.status == PathStatus.STOPPED, np.isfinite(stops).any(axis=1))
    assert (np.isfinite(stops) >= causal.exploded).all()
    norms = np.diagonal(causal.V, axis1=2, axis2=3)
    assert (norms[:, -1][causal.exploded] > 1e6 / 3 * (1 - 1e-9)).all()
    for path, token in np.argwhere(np.isfinite(stops)):
        after = causal.times >= stops[path, token]
        np.testing.assert_allclose(norms[path, after, token], norms[path, -1, token], rtol=1e-9)
    assert np.isfinite(causal.V).all()
    assert (np.linalg.eigvalsh(causal.V)[..., 0] > -1e-12 * np.trace(causal.V, axis1=2, axis2=3)).all()


def test_only_tokens_that_left_are_put_on_the_sphere():
    """The norm is the radius, the covariance positive, and entries between the others are what they were."""
    X = np.random.default_rng(0).normal(size=(4, 4)) * np.array([[1.0], [2e4], [0.1], [3e4]])
    V, left = X @ X.T, np.array([False, True, False, True])
    scale = np.asarray(scale_onto_sphere(V, left, 1e8))
    np.testing.assert_array_equal(scale[~left], 1.0)
    np.testing.assert_allclose(np.linalg.norm(V * scale[:, None] * scale), 1e8, rtol=1e-12)
    assert scale[1] == scale[3] > 0


@pytest.mark.measured
@pytest.mark.parametrize("seed", SEEDS)
def test_four_causal_tokens(seed):
    """T = 1: most paths lose a token, and V00 has the median e^-kappa = .554."""
    law = covariance_sde(CAUSAL, 0.8 * np.eye(4) + 0.2, 1.0, paths=4096, save=1, seed=seed)
    assert law.stopped_fraction > 0.5
    z = (np.log(law.final[:, 0, 0]) + KAPPA) / math.sqrt(2 * KAPPA)
    assert stats.kstest(z, "norm").pvalue > 1e-3


def test_tokens_that_depend_on_each_other():
    """The transitive closure of the mask; blocks that do not mix keep tokens apart."""
    mask = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], dtype=bool)
    expected = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 0, 1]], dtype=bool)
    block = ShapedTransformer(ShapedAttention(0.5, mask=mask), ShapedResNet(0.5))
    np.testing.assert_array_equal(dependence(block, 4), expected)
    assert dependence(ShapedAttention(0.5), 3).all()
    for alone in (ShapedMLP(), ShapedMLP(shaped_smooth("gelu")), ShapedAttention(0.5, exponent=0.7)):
        np.testing.assert_array_equal(dependence(alone, 3), np.eye(3, dtype=bool))


@pytest.mark.measured
def test_smooth_inputs_explode_one_by_one():
    """Two inputs through gelu: each blows up as often as if it were alone, and the larger one does not stop the smaller."""
    gelu = shaped_smooth("gelu")
    law = covariance_sde(ShapedMLP(gelu), [[2.0, 0.3], [0.3, 0.5]], 0.3, paths=2000, save=1, seed=1)
    for token, start in enumerate((2.0, 0.5)):
        exact = scalar_smooth(gelu).sample(start, 0.3, paths=20_000, steps=1000, seed=token)
        expected = np.isinf(exact.X[:, -1]).mean()
        assert_same_fraction(law.exploded[:, token].mean(), expected, 2000, math.sqrt(expected / 20_000))
    both = np.isinf(law.token_stopping_times[:, 1])
    exact = scalar_smooth(gelu).sample(0.5, 0.3, paths=20_000, steps=500, seed=3).X[:, -1]
    assert stats.ks_2samp(law.final[both, 1, 1], exact[np.isfinite(exact)]).pvalue > 1e-3


@pytest.mark.parametrize("seed", [0, *[pytest.param(seed, marks=pytest.mark.measured) for seed in SEEDS[1:]]])
def test_gelu_blows_up_as_its_explicit_solution(seed):
    """From a norm of 2 at T = 0.3."""
    law = covariance_sde(ShapedMLP(shaped_smooth("gelu")), [[2.0]], 0.3, paths=4096, save=1, seed=seed)
    exact = scalar_smooth(shaped_smooth("gelu")).sample(2.0, 0.3, paths=20_000, steps=1000, seed=seed).X[:, -1]
    assert_same_fraction(law.stopped_fraction, np.isinf(exact).mean(), 4096, 0.45 / 141)
    running = law.status == PathStatus.RUNNING
    assert stats.ks_2samp(law.final[running, 0, 0], exact[np.isfinite(exact)]).pvalue > 1e-3


@pytest.mark.measured
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("gamma", "tau0", "time"), [(0.9, 0.5, 0.5), (0.6, 0.3, 0.3), (0.5, 0.05, 0.3), (0.3, 0.4, 0.5)]
)
def test_opposite_tokens_against_their_scalar_equation(gamma, tau0, time, seed):
    """As many explode, none for gamma^2 >= 1/2, and the others have the same law."""
    law = covariance_sde(ShapedAttention(gamma, tau0), OPPOSITE, time, paths=4096, save=1, seed=seed)
    exact = opposite_chain(gamma, tau0, time, 20_000, seed)
    running, finite = law.status == PathStatus.RUNNING, np.isfinite(exact)
    if gamma**2 >= 0.5:
        assert law.stopped_fraction < 5e-4
    else:
        assert_same_fraction(law.stopped_fraction, 1 - finite.mean(), 4096, 0.5 / math.sqrt(20_000))
    assert stats.ks_2samp(law.final[running, 0, 0], exact[finite]).pvalue > 1e-3


def test_steps_are_paid_where_they_are_needed():
    """Low temperatures and large norms cost more steps only while they last; the default does not see them."""
    assert default_steps(ShapedAttention(0.5, 0.001), OPPOSITE, 0.5) == 50
    assert default_steps(ShapedAttention(0.5), 100 * OPPOSITE, 0.5) == 50
    relaxing = covariance_sde(ShapedMLP(shaped_smooth("tanh")), [[1e4]], 1.0, paths=64, save=1, seed=0)
    assert relaxing.steps_taken.min() > 100
    assert relaxing.steps_taken.max() < 2000
    tame = covariance_sde(ShapedMLP(shaped_smooth("tanh")), [[1.0]], 1.0, paths=64, save=1, seed=0)
    assert tame.steps_taken.min() == tame.steps == 100
    exact = scalar_smooth(shaped_smooth("tanh")).sample(1e4, 1.0, paths=4000, steps=4000, seed=1).X[:, -1]
    assert stats.ks_2samp(relaxing.final[:, 0, 0], exact).pvalue > 1e-3


def test_cost_is_capped_with_a_word():
    """Steps beyond counting are refused by default; paths that would take too many are given up, and never called stopped."""
    stiff = ShapedMLP(shaped_smooth("tanh", a=1e-3))
    with pytest.raises(fw.DomainError, match=r"`steps`.*depth_to_width"):
        covariance_sde(stiff, [[1.0]], 1.0)
    gelu = ShapedMLP(shaped_smooth("gelu"))
    with pytest.raises(fw.BlowUpError, match=r"`most_steps`.*`radius`"):
        covariance_sde(gelu, [[2.0]], 0.3, paths=4096, save=1, most_steps=50)
    with pytest.warns(fw.ValidityWarning, match="most_steps"):
        law = covariance_sde(gelu, [[0.7]], 0.3, paths=4096, save=1, most_steps=100)
    given_up = law.status == PathStatus.UNRESOLVED
    assert law.counts["unresolved"] == given_up.sum() > 0
    assert not law.exploded[given_up].any()
    assert np.isfinite(law.V).all()
    with pytest.raises(fw.ArgumentError, match="`most_steps`"):
        covariance_sde(gelu, [[2.0]], 0.3, most_steps=3)


@pytest.mark.measured
@pytest.mark.parametrize(("gamma", "tau0", "time"), [(0.9, 0.5, 0.5), (0.6, 0.3, 0.3)])
def test_advice_tells_bias(gamma, tau0, time):
    """Few steps or many: advice that finds them enough has means within its tolerance of the exact ones."""
    exact = opposite_chain(gamma, tau0, time, 60_000, 5)
    mean, blown = np.mean(1 - 1 / (1 + exact)), np.isinf(exact).mean()
    for steps in (2, 6, None):
        advice = step_advice(ShapedAttention(gamma, tau0), OPPOSITE, time, steps=steps, paths=8192, tolerance=0.01)
        bias = abs(advice.mean[0] - mean) - 3 * math.hypot(advice.standard_error[0], 0.3 / math.sqrt(60_000))
        stops = abs(advice.stopped_fraction - blown) - 3 * math.sqrt(0.25 * (1 / 8192 + 1 / 60_000))
        assert not advice.enough or max(bias, stops) < 0.01
    assert advice.enough


def test_advice_counts_stopped_paths():
    """Blow-ups are compared, and few steps of a path that is given up are never enough."""
    gelu = ShapedMLP(shaped_smooth("gelu"))
    advice = step_advice(gelu, [[2.0]], 0.3, paths=4096)
    exact = scalar_smooth(shaped_smooth("gelu")).sample(2.0, 0.3, paths=20_000, steps=1000, seed=0).X[:, -1]
    assert advice.enough
    assert_same_fraction(advice.stopped_fraction, np.isinf(exact).mean(), 4096, 0.45 / 141)
    with pytest.raises(fw.BlowUpError, match=r"step_advice.*most_steps"):
        step_advice(gelu, [[2.0]], 0.3, paths=4096, most_steps=60)


def test_determinants_at_any_condition():
    """Linear networks: log det has its exact law from the factor, where det V itself is rounding, and often negative."""
    m, time = 3, 12.0
    law = covariance_sde(ShapedMLP(shaped_relu(0, 0)), np.eye(m), time, paths=512, steps=600, save=1, seed=2)
    np.testing.assert_allclose(law.factor @ law.factor.swapaxes(2, 3), law.V, rtol=1e-12, atol=1e-300)
    values = np.linalg.eigvalsh(law.final)
    assert (values[:, 0] <= 1e-16 * values[:, -1]).any()
    z = (law.log_determinant()[:, -1] + m * (m + 1) / 2 * time) / math.sqrt(2 * m * time)
    assert stats.kstest(z, "norm").pvalue > 1e-3
