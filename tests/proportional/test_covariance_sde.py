"""Paths of the covariance SDE: the numbers of lecture 17 and the Shaped Transformer, positivity, and stopped paths."""

import math
import sys
from importlib import import_module

import jax
import numpy as np
import pytest
from scipy import stats

import finitewidth as fw
from finitewidth._compile import _LONG
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional import ScalarSmooth, correlation_sde, covariance_sde, scalar_smooth
from finitewidth.proportional.covariance_sde import default_steps
from finitewidth.results import PathStatus

PAIR = np.array([[1.0, 0.2], [0.2, 1.0]])
LINEAR, RELU = ShapedMLP(shaped_relu(0, 0)), ShapedMLP(shaped_relu(1, -1))
TRANSFORMER = ShapedTransformer(ShapedAttention(0.5, 0.8, mask="causal"), ShapedResNet(0.5))


def error(samples):
    return samples.std(axis=0) / math.sqrt(len(samples))


def random_covariance(m, rank, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, rank))
    return X @ X.T / rank


DUPLICATED = random_covariance(3, 3)[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
FEW = {"paths": 5, "steps": 20, "save": 5}  # one shape: compiled code is shared


@pytest.mark.measured
@pytest.mark.parametrize(("block", "mean", "square"), [(LINEAR, None, 0.478), (RELU, 0.501, 0.467)])
def test_correlations_of_mlps(block, mean, square):
    """T = 1, rho_0 = 0.2, coarse steps of 0.1: E rho and E rho^2; log det of the linear network, N(-3.041, 4)."""
    law = covariance_sde(block, PAIR, 1.0, paths=60_000, steps=10, save=1, seed=4)
    rho = law.correlation()[:, -1, 0, 1]
    assert abs((rho**2).mean() - square) < 0.0015 + 3 * error(rho**2)
    if mean is not None:
        assert abs(rho.mean() - mean) < 0.0015 + 3 * error(rho)
    else:
        log_det = np.linalg.slogdet(law.final)[1]
        assert stats.kstest((log_det - math.log(0.96) + 3) / 2, "norm").pvalue > 1e-3
    norms = np.log(law.final[:, 0, 0])
    assert abs(norms.mean() + 1) < 0.003 + 3 * error(norms)
    assert law.counts == {"running": 60_000, "stopped": 0, "left the cone": 0}


@pytest.mark.measured
def test_correlation_by_two_routes():
    """The covariance SDE of a ResNet against the SDE of its correlation alone (Kolmogorov-Smirnov)."""
    block = ShapedResNet(0.75)
    law = covariance_sde(block, PAIR, 1 / 3, paths=4000, steps=20, save=4, seed=1)
    alone = correlation_sde(block, 0.2, 1 / 3, paths=4000, steps=40, seed=2).rho[:, -1]
    assert stats.ks_2samp(law.correlation()[:, -1, 0, 1], alone).pvalue > 1e-3
    np.testing.assert_allclose(law.times, np.linspace(0, 1 / 3, 5))
    assert law.V.shape == (4000, 5, 2, 2)


@pytest.mark.measured
def test_attention_of_figures_1_and_7():
    """Shaped Transformer figures 1 and 7: gamma = 1/sqrt(8), T = 3/4, two tokens: mean, spread and quantiles of rho."""
    law = covariance_sde(ShapedAttention(8**-0.5), PAIR, 0.75, paths=20_000, steps=50, save=1, seed=0)
    rho = law.correlation()[:, -1, 0, 1]
    assert 0.18 - 0.008 < rho.mean() < 0.19 + 0.008
    assert abs(rho.std() - 0.37) < 0.005 + 3 * rho.std() / math.sqrt(2 * 20_000)
    low, median, high = np.quantile(rho, [0.05, 0.5, 0.95])
    assert abs(low + 0.46) < 0.005 + 0.015
    assert 0.21 - 0.012 < median < 0.23 + 0.012
    assert abs(high - 0.73) < 0.005 + 0.01
    assert 0.15 - 0.01 < np.median(law.final[:, 0, 1]) < 0.17 + 0.01


@pytest.mark.measured
def test_norms_of_many_tokens():
    """The norm of one of sixteen tokens of a linear network has log-mean -T with steps of 0.05, and E[V] stays."""
    law = covariance_sde(LINEAR, np.eye(16), 0.5, paths=1500, steps=10, save=1, seed=2)
    norms = np.diagonal(law.final, axis1=1, axis2=2)
    mean = np.log(norms).mean(axis=1)
    assert abs(mean.mean() + 0.5) < 3 * error(mean)
    assert abs(norms.mean() - 1) < 3 * error(norms.mean(axis=1))


def test_one_smooth_input_against_its_exact_solution():
    """tanh, one input: the matrix integrator against the explicit path formula (Kolmogorov-Smirnov)."""
    law = covariance_sde(ShapedMLP(shaped_smooth("tanh")), [[1.5]], 1.0, paths=4000, steps=100, save=1, seed=1)
    exact = ScalarSmooth(-2.0).sample(1.5, 1.0, paths=4000, steps=200, seed=2).X[:, -1]
    assert stats.ks_2samp(law.final[:, 0, 0], exact).pvalue > 1e-3


def test_explosions_are_counted():
    """b = 7/4, x_0 = 1.5: the fraction of stopped paths is the blow-up probability; nothing is NaN."""
    block = ShapedMLP(shaped_smooth("expm1"))
    law = covariance_sde(block, [[1.5]], 2.0, paths=4000, steps=200, save=10, seed=3, radius=1e3)
    probability = ScalarSmooth(1.75).blow_up_probability(1.5)
    assert abs(law.stopped_fraction - probability) < 0.02 + 3 * math.sqrt(probability / 4000)
    assert np.isfinite(law.V).all()
    stopped = law.status == PathStatus.STOPPED
    np.testing.assert_allclose(law.final[stopped, 0, 0], 1e3, rtol=1e-12)  # frozen on the sphere it crossed
    assert (law.stopping_times[stopped] <= 2.0).all()
    assert np.isinf(law.stopping_times[~stopped]).all()
    assert law.counts["stopped"] == stopped.sum() > 0


def test_attention_can_explode():
    """Huge tokens: the cubic drift leaves any radius at once, and every path says so."""
    law = covariance_sde(ShapedAttention(0.3), 100 * DUPLICATED, 0.5, radius=1e4, **FEW)
    assert np.isfinite(law.V).all()
    assert law.counts["stopped"] >= 3
    assert (np.linalg.norm(law.V, axis=(2, 3)) <= 1e4 * (1 + 1e-12)).all()


@pytest.mark.measured
def test_explosions_of_attention_against_the_exact_law():
    """Opposite tokens: 1/V, up to a factor, is a time-changed Brownian motion, and V explodes by T = 1/2 with probability
    .1684 +- .0007; no path is turned into zero."""
    block = ShapedAttention(0.5, 0.5)
    law = covariance_sde(block, [[1, -1], [-1, 1]], 0.5, paths=20_000, steps=50, save=10, seed=11, radius=1e6)
    assert abs(law.stopped_fraction - 0.1684) < 0.0007 + 3 * math.sqrt(0.168 * 0.832 / 20_000)
    running = law.status == PathStatus.RUNNING
    assert law.final[running, 0, 0].min() > 1e-6
    np.testing.assert_allclose(np.linalg.norm(law.final[~running], axis=(1, 2)), 1e6, rtol=1e-12)


@pytest.mark.measured
def test_exploding_tokens_do_not_become_alike():
    """Causal attention, three tokens: no path that runs on has tokens that coincide."""
    block = ShapedAttention(0.5, 0.3, mask="causal")
    law = covariance_sde(block, 0.8 * np.eye(3) + 0.2, 0.5, paths=1000, steps=50, save=10, seed=5)
    running = law.status == PathStatus.RUNNING
    assert 0.05 < law.stopped_fraction < 0.11
    assert law.correlation()[running, -1].min(axis=(1, 2)).max() < 1 - 1e-6


def test_large_norms_may_shrink_at_once():
    """Saturation is no explosion: tanh from a norm of 1000 in coarse steps runs on."""
    law = covariance_sde(ShapedMLP(shaped_smooth("tanh")), [[1000.0]], 1.0, paths=50, steps=10, save=1)
    assert law.counts["running"] == 50


@pytest.mark.measured
@pytest.mark.parametrize("rank", [3, 64])
@pytest.mark.parametrize(
    "block",
    [RELU, ShapedAttention(0.5), TRANSFORMER, ShapedMLP(shaped_smooth("softplus"))],
    ids=["relu", "attention", "causal", "softplus"],
)
def test_no_path_leaves_the_cone(block, rank):
    """64 tokens of any rank, steps of 0.05: eigenvalues are never below -1e-13 of the trace, the rounding of V itself."""
    law = covariance_sde(block, random_covariance(64, rank), 0.5, paths=4, steps=10, save=10, radius=1e8)
    assert np.isfinite(law.V).all()
    lowest, trace = np.linalg.eigvalsh(law.V)[..., 0], np.trace(law.V, axis1=2, axis2=3)
    assert (lowest >= -1e-13 * trace).all()
    assert law.counts["left the cone"] == 0


def test_rank_of_linear_networks_is_kept():
    """Congruences keep the rank; the activation's kernel raises it."""
    V0 = random_covariance(4, 2)
    kept = np.linalg.eigvalsh(covariance_sde(LINEAR, V0, 0.2, **FEW).final)
    assert (kept[:, 2] > 1e-3).all()
    np.testing.assert_allclose(kept[:, :2], 0.0, atol=1e-14)
    raised = np.linalg.eigvalsh(covariance_sde(RELU, V0, 0.2, **FEW).final)
    assert (raised[:, 0] > 1e-6).all()


@pytest.mark.parametrize("block", [RELU, ShapedAttention(0.5)], ids=["relu", "attention"])
def test_duplicated_inputs_stay_duplicated(block):
    """Two identical tokens have identical rows at every depth."""
    V = covariance_sde(block, DUPLICATED, 0.3, **FEW).V
    np.testing.assert_allclose(V[..., 0, :], V[..., 1, :], rtol=1e-12, atol=1e-12)


@pytest.mark.measured
def test_euler_leaves_the_cone():
    """Plain Euler steps of 0.2, 0.1 and 0.05 lose 68, 45 and 9 per cent of the paths of a linear network, and say so."""
    for steps, expected in ((5, 0.68), (10, 0.45), (20, 0.09)):
        law = covariance_sde(LINEAR, PAIR, 1.0, paths=5000, steps=steps, save=1, method="euler")
        assert abs(law.counts["left the cone"] / 5000 - expected) < 0.005 + 3 * math.sqrt(
            expected * (1 - expected) / 5000
        )
        assert np.isfinite(law.V).all()
        assert (np.linalg.eigvalsh(law.final)[:, 0] > -1e-12).all()


@pytest.mark.measured
def test_kernel_wishart():
    """chi^2 = 1, T = 1, steps of 0.05: E rho = .502 and E rho^2 = .483 with the bias of its first order."""
    law = covariance_sde(RELU, PAIR, 1.0, paths=20_000, steps=20, save=1, method="kernel-wishart")
    rho = law.correlation()[:, -1, 0, 1]
    assert abs(rho.mean() - 0.502) < 0.0005 + 3 * error(rho)
    assert abs((rho**2).mean() - 0.483) < 0.0005 + 3 * error(rho**2)


def test_paths_do_not_depend_on_their_number(monkeypatch):
    """Path i of a seed is the same whatever the number of paths and the size of lanes; another seed differs."""
    V0 = random_covariance(4, 2)
    together = covariance_sde(LINEAR, V0, 0.2, **FEW)
    other = covariance_sde(LINEAR, V0, 0.2, seed=1, **FEW)
    assert np.abs(other.final - together.final).min() > 0
    module = sys.modules["finitewidth.proportional.covariance_sde"]  # the function of the same name hides it
    monkeypatch.setattr(module, "_MEMORY", 8 * 16 * (5 + 16) * 3)
    np.testing.assert_allclose(covariance_sde(LINEAR, V0, 0.2, **FEW).V, together.V, rtol=1e-12, atol=1e-15)


def test_defaults():
    """Steps of at most 0.01, rounded up to a multiple of the fifty depths that are saved."""
    law = covariance_sde(LINEAR, PAIR, 0.6, paths=3)
    assert (law.steps, len(law.times)) == (100, 51)
    assert default_steps(ShapedMLP(shaped_relu(20, -20)), PAIR, 1.0) >= 400  # chi^2 dt <= 1


def test_default_steps_see_stiff_drifts():
    """Where norms are one a smooth activation has no drift, but a stiff one about it; ordinary blocks keep steps of 0.01."""
    assert default_steps(ShapedMLP(shaped_smooth("tanh", a=0.1)), np.eye(1), 0.2) > 400
    assert default_steps(ShapedMLP(shaped_smooth("gelu", a=0.2)), np.eye(1), 0.2) > 100
    for block in (RELU, ShapedMLP(shaped_smooth("tanh")), ShapedAttention(0.5), TRANSFORMER):
        assert default_steps(block, PAIR, 1.0) == 100


@pytest.mark.measured
def test_default_steps_follow_stiff_drifts():
    """tanh with a = 0.1 reaches its stationary law, gelu with a = 0.2 blows up as often as it should."""
    tanh, gelu = shaped_smooth("tanh", a=0.1), shaped_smooth("gelu", a=0.2)
    law = covariance_sde(ShapedMLP(tanh), [[1.0]], 0.1, paths=4000, save=1)
    expected = scalar_smooth(tanh).stationary()  # 20 relaxation times
    np.testing.assert_allclose(law.final.mean(), expected.mean(), atol=4 * expected.std() / math.sqrt(4000))
    np.testing.assert_allclose(law.final.var(), expected.var(), rtol=0.1)
    blown = covariance_sde(ShapedMLP(gelu), [[1.0]], 0.2, paths=4000, save=1, seed=2).stopped_fraction
    probability = scalar_smooth(gelu).blow_up_probability(1.0)
    assert abs(blown - probability) < 0.005 + 3 * math.sqrt(probability * (1 - probability) / 4000)


@pytest.mark.parametrize(
    "block", [ShapedResNet(0.0), ShapedMLP(shaped_relu(1, -1, exponent=0.25))], ids=["still", "ode"]
)
def test_kernel_wishart_without_noise(block):
    """Without noise the step is the kernel map alone: the drift's ODE, on every path."""
    laws = [
        covariance_sde(block, PAIR, 0.1, paths=2, steps=50, save=1, method=m) for m in ("kernel-wishart", "exponential")
    ]
    assert laws[0].counts["running"] == 2
    np.testing.assert_allclose(laws[0].final, laws[1].final, atol=1e-4)


def test_rounding_of_single_precision():
    """A singular covariance in float32 has eigenvalues of -1e-7; it is accepted, a float64 matrix with them is not."""
    X = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    V0 = X @ X.T / 8
    assert np.linalg.eigvalsh(V0)[0] < -1e-7
    assert covariance_sde(LINEAR, V0, 0.02, paths=2, steps=2).counts["running"] == 2
    with pytest.raises(fw.ArgumentError, match="`V0`"):
        covariance_sde(LINEAR, [[1.0, 0.0], [0.0, -1e-6]], 0.02)


def test_numbers_of_a_law():
    """A radius that is text, quantiles and seeds out of range are named."""
    with pytest.raises(fw.ArgumentError, match="`radius`: got '1e6'; expected one real number"):
        covariance_sde(LINEAR, random_covariance(4, 2), 0.2, radius="1e6", **FEW)
    law = covariance_sde(LINEAR, random_covariance(4, 2), 0.2, radius=1e6, **FEW)
    assert law.quantile([0.0, 1.0]).shape == (2, 6, 4, 4)
    for call, argument in ((lambda: law.quantile(1.5), "q"), (lambda: law.output_samples(seed=2**63), "seed")):
        with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
            call()


def test_no_branch_no_motion():
    """gamma = 0: the covariance stays where it is."""
    frozen = covariance_sde(ShapedResNet(0.0), PAIR, 1.0, paths=4000, steps=20, save=4)
    np.testing.assert_allclose(frozen.final, np.broadcast_to(PAIR, (4000, 2, 2)), rtol=1e-12)


@pytest.mark.measured
def test_drift_alone():
    """With p = 1/4 there is no noise, and every path is the ODE of lecture 17: rho = 0.66790 at T = 2."""
    law = covariance_sde(ShapedMLP(shaped_relu(1, -1, exponent=0.25)), PAIR, 2.0, paths=2, steps=200, save=1)
    np.testing.assert_allclose(law.final[:, 0, 1], 0.66790, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"block": "mlp"}, "block"),
        ({"V0": [[1.0, 2.0], [2.0, 1.0]]}, "V0"),
        ({"V0": [[1.0, math.nan], [0.0, 1.0]]}, "V0"),
        ({"depth_to_width": 0.0}, "depth_to_width"),
        ({"depth_to_width": -1.0}, "depth_to_width"),
        ({"paths": 0}, "paths"),
        ({"steps": 0}, "steps"),
        ({"save": 0}, "save"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"method": "milstein"}, "method"),
        ({"radius": 0.5}, "radius"),
        ({"block": ShapedMLP(shaped_relu(3, -3)), "steps": 1}, "steps"),
        ({"block": ShapedAttention(0.5, mask=np.ones((3, 3), dtype=bool))}, "mask"),
    ],
)
def test_bad_input(changes, argument):
    """The argument is named in the error."""
    arguments = {"block": LINEAR, "V0": PAIR, "depth_to_width": 1.0, "paths": 2} | changes
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        covariance_sde(**arguments)


def test_runs_that_save_little_share_a_program(monkeypatch):
    """Whether one depth is kept or sixteen: programs differ by the shapes of their arguments, and paths do not differ at all."""
    module, programs = import_module("finitewidth.proportional.covariance_sde"), []
    drain = module.drain

    def spied(*args):
        programs.append(([np.shape(leaf) for leaf in jax.tree.leaves(args[:5])], args[5:]))
        return drain(*args)

    monkeypatch.setattr(module, "drain", spied)
    last, all_of_them = (covariance_sde(TRANSFORMER, PAIR, 0.04, paths=8, steps=16, save=save) for save in (1, 16))
    assert all(program == programs[0] for program in programs)
    assert (last.V.shape, all_of_them.V.shape) == ((8, 2, 2, 2), (8, 17, 2, 2))
    np.testing.assert_allclose(last.final, all_of_them.final, rtol=1e-9)
    assert last.factor is not None
    assert last.factor.shape == last.V.shape


def test_only_short_runs_are_not_optimised(monkeypatch):
    """By the steps of all paths, whatever lane they fall into; and advice takes many runs, so that none of them is short."""
    module, found = import_module("finitewidth.proportional.covariance_sde"), []
    drain = module.drain

    def spied(*args):
        found.append(_LONG.get())
        return drain(*args)

    monkeypatch.setattr(module, "drain", spied)
    monkeypatch.setattr(module, "_SHORT_RUN", 8 * 16 * 4**3)
    for paths, long in ((8, False), (9, True)):
        found.clear()
        covariance_sde(LINEAR, PAIR, 0.04, paths=paths, steps=16)
        assert found
        assert set(found) == {long}
    found.clear()
    monkeypatch.setattr(module, "_SHORT_RUN", 2**40)
    fw.advice.recommend_shaping(fw.ShapedResNet(0.1, 0.0, 0.0), PAIR, 0.01, gammas=(0.1,))
    assert set(found) == {True}
