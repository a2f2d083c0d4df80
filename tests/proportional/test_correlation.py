"""The correlation of two inputs, by its own equation."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional import correlation_coefficients, correlation_sde

pytestmark = pytest.mark.optimised

PATHS, STEPS = 100_000, 40


def final(block, time):
    return correlation_sde(block, 0.2, time, paths=PATHS, steps=STEPS, seed=1).rho[:, -1]


def error(samples):
    return samples.std() / math.sqrt(len(samples))


@pytest.mark.parametrize("block", [ShapedMLP(shaped_relu(1, -1)), ShapedResNet(0.5, hidden_ratio=2)])
def test_coefficients_follow_from_the_covariance(block):
    """Ito's formula for rho = V12/sqrt(V11 V22), from the drift and diffusion of the covariance."""
    V = jnp.asarray([[1.3, 0.4], [0.4, 0.6]])

    def rho(V):
        return (V[0, 1] + V[1, 0]) / 2 / jnp.sqrt(V[0, 0] * V[1, 1])

    gradient, hessian = jax.grad(rho)(V), jax.hessian(rho)(V)
    S = block.diffusion(V)
    coefficients = correlation_coefficients(block)
    drift = jnp.sum(gradient * block.drift(V)) + jnp.einsum("abcd,abcd", hessian, S) / 2
    np.testing.assert_allclose(coefficients.drift(rho(V)), drift, rtol=1e-12)
    variance = jnp.einsum("ab,abcd,cd", gradient, S, gradient)
    np.testing.assert_allclose(coefficients.diffusion(rho(V)) ** 2, variance, rtol=1e-12)


def test_shaped_relu_mlp():
    """chi^2 = 1, rho_0 = 0.2, T = 1: E rho = 0.501 and E rho^2 = 0.467, each +- 0.001."""
    rho = final(ShapedMLP(shaped_relu(1, -1)), 1.0)
    assert abs(rho.mean() - 0.501) < 0.001 + 3 * error(rho)
    assert abs((rho**2).mean() - 0.467) < 0.001 + 3 * error(rho**2)


def test_linear_network():
    """E rho^2 = 0.478 at T = 1."""
    rho = final(ShapedMLP(shaped_relu(0, 0)), 1.0)
    assert abs((rho**2).mean() - 0.478) < 0.001 + 3 * error(rho**2)


@pytest.mark.parametrize(
    ("gamma", "deviation", "quantile"),
    [(0.1, 0.078, 0.326), (0.25, 0.191, 0.499), (0.5, 0.355, 0.732), (0.75, 0.482, 0.877), (1.0, 0.575, 0.947)],
)
def test_resnets_of_figure_3(gamma, deviation, quantile):
    """Shaped Transformer figure 3 (T = 1/3): standard deviation of rho and 95th percentile of |rho|."""
    rho = final(ShapedResNet(gamma), 1 / 3)
    assert 0.197 - 3 * error(rho) < rho.mean() < 0.209 + 3 * error(rho)
    np.testing.assert_allclose(rho.std(), deviation, atol=0.0005 + 3 * rho.std() / math.sqrt(2 * PATHS))
    density = np.mean(np.abs(np.abs(rho) - quantile) < 0.01) / 0.02
    np.testing.assert_allclose(
        np.quantile(np.abs(rho), 0.95), quantile, atol=0.0005 + 3 * math.sqrt(0.0475 / PATHS) / density
    )


def test_paths_stay_inside():
    """Neither end is reached, from a start close to one of them and with coarse steps."""
    for start in (-0.999, 0.999):
        rho = correlation_sde(ShapedMLP(shaped_relu(2, -2)), start, 4.0, paths=2000, steps=20).rho
        assert np.isfinite(rho).all()
        assert (np.abs(rho) <= 1).all()
        assert (rho[:, -1] > -1).all()


@pytest.mark.parametrize("chi", [50.0, 1000.0])
def test_strong_shaping_in_long_steps(chi):
    r"""In $c = 1/\sin(\theta/2)$ the drift is $\chi^2\tfrac4{3\pi}$ near coincidence and noise multiplies $c$ by $e^{\sqrt\kappa B}$:
    $c_T \simeq \chi^2\tfrac4{3\pi}\int_0^Te^{B_T-B_s+(T-s)/2}ds$ and $1 - \rho = 2/c^2$, at any $\chi^2\Delta$."""
    rho = correlation_sde(ShapedMLP(shaped_relu(chi, -chi)), 0.2, 1.0, paths=20_000, steps=100, seed=3).rho[:, -1]
    random = np.random.default_rng(0)
    increments = np.sqrt(1 / 1000) * random.standard_normal((4000, 1000)) + 0.5 / 1000
    back = np.cumsum(increments, axis=1)
    c = chi**2 * 4 / (3 * math.pi) * np.exp(back).mean(axis=1)
    found, expected = np.log(1 - rho), np.log(2 / c**2)
    spread = expected.std() * math.sqrt(1 / 4000 + 1 / 20_000)
    assert abs(np.median(found) - np.median(expected)) < 0.02 + 4 * spread
    np.testing.assert_allclose(found.std(), expected.std(), rtol=0.05)


@pytest.mark.measured
def test_steps_do_not_matter():
    """Weak order two: five steps of 0.2 give the means of forty."""
    block = ShapedMLP(shaped_relu(1, -1))
    coarse = correlation_sde(block, 0.2, 1.0, paths=PATHS, steps=5, seed=2).rho[:, -1]
    fine = final(block, 1.0)
    assert abs(coarse.mean() - fine.mean()) < 0.003 + 3 * error(fine) * math.sqrt(2)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: correlation_sde(ShapedAttention(0.5), 0.2, 1.0), "block"),
        (lambda: correlation_sde(ShapedTransformer(ShapedResNet(0.5), ShapedMLP(shaped_smooth())), 0.2, 1.0), "block"),
        (lambda: correlation_sde("mlp", 0.2, 1.0), "block"),
        (lambda: correlation_sde(ShapedMLP(), 0.2, 1.0, seed=2**63), "seed"),
        (lambda: correlation_sde(ShapedMLP(), 1.0, 1.0), "rho0"),
        (lambda: correlation_sde(ShapedMLP(), 0.0, 0.0), "depth_to_width"),
    ],
)
def test_bad_input(call, argument):
    """The argument is named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()
