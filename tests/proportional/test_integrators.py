"""One step of each integrator: what it conserves, and what it gets exactly right."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg

import finitewidth as fw
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional.exponential_step import ExponentialStep
from finitewidth.proportional.integrators import METHODS, as_scheme
from finitewidth.proportional.linear import finite_log_determinant
from finitewidth.proportional.matrix_exponential import matrix_exponential

LINEAR = ShapedMLP(shaped_relu(0, 0))


@pytest.mark.parametrize("m", [3, 12])
@pytest.mark.parametrize("size", [1e-3, 0.3, 5.0, 40.0])
def test_matrix_exponential(m, size):
    """Against scipy, for matrices that are not symmetric, alone and in a batch of different norms."""
    X = np.random.default_rng(m).normal(size=(2, m, m))
    X[0] *= size / np.linalg.norm(X[0], 2)
    found = np.asarray(jax.jit(jax.vmap(matrix_exponential))(X))
    for matrix, exponential in zip(X, found, strict=True):
        expected = linalg.expm(matrix)
        np.testing.assert_allclose(exponential, expected, atol=2e-13 * max(1, size) * np.linalg.norm(expected))


@pytest.mark.parametrize("step", [0.2, 0.01])
def test_determinant_of_linear_networks_is_exact(step):
    r"""log det moves by sqrt(dt) tr N - m(m+1)/2 dt on every path: the law of lecture 17's linear network."""
    m = 4
    V0 = np.diag([1.0, 2.0, 0.5, 3.0]) + 0.2
    scheme = METHODS["exponential"]
    start = scheme.start(jnp.linalg.cholesky(jnp.asarray(V0)))
    drawn = scheme.draw(LINEAR, jax.random.key(3), start, jnp.asarray(step))
    end = scheme.advance(LINEAR, start, jnp.zeros(()), drawn, jnp.asarray(step))
    change = np.linalg.slogdet(end.V)[1] - np.linalg.slogdet(V0)[1]
    expected = np.sqrt(2 * step) * np.trace(drawn[0]) - m * (m + 1) / 2 * step
    np.testing.assert_allclose(change, expected, atol=1e-12)


@pytest.mark.measured
def test_one_wishart_step_is_a_layer_of_a_linear_network():
    """Kernel-Wishart with dt = 1/n is a linear layer of width n: the mean log det is a sum of digammas."""
    n, m, paths = 6, 3, 20_000
    scheme, step = METHODS["kernel-wishart"], jnp.asarray(1 / n)
    start = scheme.start(jnp.eye(m))

    @jax.jit
    @jax.vmap
    def end(key):
        return scheme.advance(LINEAR, start, jnp.zeros(()), scheme.draw(LINEAR, key, start, step), step).V

    V = np.asarray(end(jax.random.split(jax.random.key(0), paths)))
    mean, variance = finite_log_determinant(m, n, 1)
    log_det = np.linalg.slogdet(V)[1]
    assert abs(log_det.mean() - mean) < 4 * np.sqrt(variance / paths)
    assert (np.abs(V.mean(axis=0) - np.eye(m)) < 4 * V.std(axis=0) / np.sqrt(paths)).all()
    np.testing.assert_allclose(np.diagonal(V, axis1=1, axis2=2).var(axis=0), 2 / n, rtol=0.06)


def test_kernel_wishart_is_of_order_one():
    """Its mean log det at T = 1, m = 2 with steps .2, .1, .05: -3.574, -3.280, -3.154 about -3.041."""
    values = np.log(0.96) + np.array([finite_log_determinant(2, n, n).mean for n in (5, 10, 20)])
    np.testing.assert_allclose(values, [-3.574, -3.280, -3.154], atol=6e-4)
    errors = values - (np.log(0.96) - 3)
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, atol=0.3)


@pytest.mark.parametrize(
    "block",
    [
        ShapedMLP(shaped_relu(1, -1)),
        ShapedMLP(shaped_smooth("softplus", a=0.5)),
        ShapedTransformer(ShapedAttention(0.7, 0.6, mask="causal"), ShapedResNet(0.5)),
        ShapedAttention(0.7, 0.6, heads=2),
    ],
    ids=["relu", "softplus", "causal", "heads"],
)
def test_first_two_moments_of_a_step(block):
    """(E[V'] - V)/dt is the drift and E[(V' - V)(V' - V)]/dt the diffusion, to O(dt), without Monte Carlo.

    Noise of +-sqrt(K) in one of K normals at a time has the mean and covariance of K standard normals.
    """
    m, step = 3, 1e-6
    V0 = np.array([[1.2, 0.4, -0.2], [0.4, 0.8, 0.1], [-0.2, 0.1, 1.0]])
    scheme, count = METHODS["exponential"], (1 + block.mixings) * m * m

    def end(z):
        start = scheme.start(jnp.linalg.cholesky(jnp.asarray(V0)))
        state = scheme.advance(block, start, jnp.zeros(()), z.reshape(-1, m, m), jnp.asarray(step))
        return scheme.observed(block, state, jnp.asarray(step))

    directions = math.sqrt(count) * np.concatenate([np.eye(count), -np.eye(count)])
    change = np.asarray(jax.jit(jax.vmap(end))(directions)) - V0
    diffusion = np.asarray(block.diffusion(jnp.asarray(V0)))
    accuracy = 30 * count * step * np.abs(diffusion).max()
    np.testing.assert_allclose(change.mean(axis=0) / step, block.drift(jnp.asarray(V0)), atol=accuracy)
    second = np.einsum("kab,kcd->abcd", change, change) / (2 * count * step)
    np.testing.assert_allclose(second, diffusion, atol=accuracy)


@pytest.mark.parametrize(
    ("block", "method", "step", "argument"),
    [
        (ShapedMLP(shaped_relu(2, -2)), "exponential", 0.3, "steps"),
        (ShapedMLP(shaped_relu(2, -2)), "kernel-wishart", 0.3, "steps"),
        (LINEAR, "kernel-wishart", 0.6, "steps"),
        (ShapedAttention(0.5), "kernel-wishart", 0.01, "method"),
        (ShapedMLP(shaped_smooth("tanh")), "kernel-wishart", 0.01, "method"),
    ],
)
def test_steps_too_large_for_positivity(block, method, step, argument):
    """chi^2 dt <= 1 for the kernel map, 1/(kappa dt) > m - 1 for the Wishart law."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        as_scheme(method).check(block, 3, step)


def test_unknown_method():
    """The nearest name is suggested."""
    with pytest.raises(fw.UnknownNameError, match="exponential"):
        as_scheme("exponental")


def test_schemes_can_be_compared():
    """Compiled code is found again: a scheme is a value without state."""
    assert METHODS["exponential"] is as_scheme("exponential")
    assert isinstance(as_scheme("exponential"), ExponentialStep)
