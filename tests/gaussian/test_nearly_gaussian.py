"""The O(1/n) law of a few neurons against exact mixtures, exact quadrature and sampled networks."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError, ShapeError, ValidityWarning
from finitewidth.gaussian.nearly_gaussian import (
    covariance_between_neurons,
    density,
    density_correction,
    expectation,
    marginalise_samples,
)
from finitewidth.gaussian.wick import gaussian_log_density
from metric_laws import hermite_grid, random_metric_law


def gaussian_density(z, G):
    return jnp.exp(gaussian_log_density(z, G).sum(axis=-1))


def tanh_flow(width, layers=3, K=1.6, C_b=0.1, C_W=1.5):
    """K, v and g1 of one input by the single-input recursions, averages by a trapezoid rule."""
    u = np.linspace(-10, 10, 801)
    weights = np.exp(-(u**2) / 2) / np.exp(-(u**2) / 2).sum()
    v = g1 = 0.0
    for _ in range(layers):
        z = np.sqrt(K) * u
        square = np.tanh(z) ** 2
        mean = weights @ square
        slope = C_W / (2 * K**2) * (weights @ (square * (z**2 - K)))
        curvature = C_W / (4 * K**4) * (weights @ (square * (z**4 - 6 * K * z**2 + 3 * K**2)))
        K, v, g1 = (
            C_b + C_W * mean,
            C_W**2 / width * (weights @ square**2 - mean**2) + slope**2 * v,
            slope * g1 + 0.5 * curvature * v,
        )
    return np.full((1, 1), K), np.full((1,) * 4, v), np.full((1, 1), g1)


def tanh_chain(width, networks, layers=3, G=1.6, C_b=0.1, C_W=1.5):
    """The metric of a layer, sampled exactly: given it, neurons are independent Gaussians."""
    rng = np.random.default_rng(width)
    G = np.full(networks, G)
    for _ in range(layers):
        z = np.sqrt(G)[:, None] * rng.standard_normal((networks, width))
        G = C_b + C_W * np.mean(np.tanh(z) ** 2, axis=1)
    return G


@pytest.mark.parametrize("neurons", [1, 3])
def test_density_of_a_mixture_of_metrics(neurons):
    """PDLT (4.58)-(4.60): two samples, metric K + e^2 g1 +- e B_k with equal weights; the remainder falls as e^4."""
    K, modes, v, g1 = random_metric_law(0, samples=2)
    z = np.random.default_rng(1).normal(size=(5, neurons, 2))

    def remainder(e):
        atoms = [K + e**2 * g1 + sign * e * np.sqrt(len(modes)) * B for B in modes for sign in (1, -1)]
        exact = np.mean([gaussian_density(z, G) for G in atoms], axis=0)
        return np.asarray(exact - density(z, K, e**2 * v, e**2 * g1))

    np.testing.assert_allclose(remainder(0.04) / remainder(0.02), 16.0, rtol=0.05)


def test_density_correction_is_the_second_order_taylor_term():
    """PDLT (4.58)-(4.60): D N[g1] + D^2 N[v]/2 by autodiff, three samples and two neurons."""
    K, _, v, g1 = random_metric_law(2, samples=3)
    z = np.random.default_rng(3).normal(size=(2, 3))

    @jax.jit
    def taylor(K):
        gradient, hessian = jax.grad(gaussian_density, 1)(z, K), jax.hessian(gaussian_density, 1)(z, K)
        return (jnp.sum(gradient * g1) + 0.5 * jnp.sum(hessian * v)) / gaussian_density(z, K)

    np.testing.assert_allclose(density_correction(z, K, v, g1), taylor(jnp.asarray(K)), rtol=1e-10)


def test_density_has_the_right_moments():
    """PDLT (4.73), PDLT (4.77): norm 1, two-point K + g1, four-point v with neural indices; exact quadrature."""
    K, _, v, g1 = random_metric_law(4, samples=2)
    points, weights = hermite_grid(np.kron(np.eye(2), K), 6)
    z = points.reshape(-1, 2, 2)
    weights = weights * (1 + np.asarray(density_correction(z, K, v, g1)))
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        np.einsum("p,pia,pjb->ijab", weights, z, z), np.einsum("ij,ab->ijab", np.eye(2), K + g1), atol=1e-12
    )
    # To first order: the disconnected part is that of K + g1 without the square of g1.
    pair = np.einsum("ab,cd->abcd", K, K) + np.einsum("ab,cd->abcd", g1, K) + np.einsum("ab,cd->abcd", K, g1) + v
    exact = sum(
        np.einsum(f"{i},{s}->ijklabcd", np.einsum("ab,cd->abcd", np.eye(2), np.eye(2)), pair)
        for i, s in (("ijkl", "abcd"), ("ikjl", "acbd"), ("iljk", "adbc"))
    )
    np.testing.assert_allclose(np.einsum("p,pia,pjb,pkc,pld->ijklabcd", weights, z, z, z, z), exact, atol=1e-12)


def test_integrating_out_a_neuron():
    """PDLT (4.92)-(4.93): the density of two neurons integrates to that of one, with the same K, v, g1."""
    K, _, v, g1 = random_metric_law(5, samples=2)
    kept = np.array([0.4, -0.9])
    other, weights = hermite_grid(K, 4)
    pairs = np.stack([np.broadcast_to(kept, other.shape), other], axis=1)
    averaged = weights @ np.asarray(density_correction(pairs, K, v, g1))
    np.testing.assert_allclose(averaged, density_correction(kept[None], K, v, g1), rtol=1e-12)


def test_integrating_out_a_sample():
    """PDLT (4.92)-(4.93): what remains has the sub-blocks of K, v, g1; conditional Gaussian quadrature."""
    K, _, v, g1 = random_metric_law(6, samples=3)
    keep, drop = [2, 0], 1
    z = np.random.default_rng(7).normal(size=(2, 2))
    conditional = K[drop, keep] @ np.linalg.inv(K[np.ix_(keep, keep)])
    noise, weights = hermite_grid(np.eye(2) * (K[drop, drop] - conditional @ K[keep, drop]), 4)
    full = np.empty((len(noise), 2, 3))
    full[:, :, keep], full[:, :, drop] = z, z @ conditional + noise
    averaged = weights @ np.asarray(density_correction(full, K, v, g1))
    np.testing.assert_allclose(averaged, density_correction(z, *marginalise_samples(K, v, g1, keep)), rtol=1e-11)


def test_density_of_a_tanh_network():
    """PDLT (4.58)-(4.60): the values of one and two neurons at width 32, layer 4, found independently of this code."""
    law = tanh_flow(32)
    at = [density([[z]], *law) for z in (0.0, 3.0)] + [density([[0.0], [0.0]], *law)]
    np.testing.assert_allclose(at, [0.53276, 2.737e-4, 0.28520], rtol=2e-5, atol=1e-8)


@pytest.mark.measured
def test_density_of_sampled_tanh_networks():
    """PDLT (4.58)-(4.60): what the sampled metrics leave unexplained falls as 1/n^2, 16 times from width 16 to 64."""
    points = np.array([0.0, 0.5, 1.0, 2.0, 3.0])

    def deviation(width, networks):
        G = tanh_chain(width, networks)
        densities = np.exp(-(points[:, None] ** 2) / (2 * G)) / np.sqrt(2 * np.pi * G)
        error = densities.std(axis=1) / np.sqrt(networks)
        return densities.mean(axis=1) - density(points[:, None, None], *tanh_flow(width)), error

    narrow, narrow_error = deviation(16, 400_000)
    wide, wide_error = deviation(64, 100_000)
    assert (np.abs(wide - narrow / 16) < 4 * np.hypot(wide_error, narrow_error / 16)).all()
    assert np.abs(narrow / narrow_error).max() > 4  # the remainder is seen, so its fall is a test


def test_clipping_of_the_far_tail_is_reported():
    """PDLT (4.58)-(4.60): a negative expansion gives density 0 and a warning, and says nothing otherwise."""
    law = np.eye(1), np.full((1,) * 4, 0.01), np.full((1, 1), -0.2)
    z = np.array([[[0.0]], [[4.5]]])
    assert density_correction(z, *law)[1] < -1
    with pytest.warns(ValidityWarning, match="negative at 1 of 2 points"):
        values = density(z, *law)
    assert values[1] == 0
    assert values[0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density(z[:1], *law)
    assert jax.jit(density)(z, *law)[1] == 0


def test_expectation_of_an_observable_of_two_samples():
    """PDLT (4.46), PDLT (4.61): derivatives of the Gaussian average against the average over the O(1/n) density."""
    K, _, v, g1 = random_metric_law(8, samples=2)

    @jax.jit
    def average(G):
        nodes, weights = hermite_grid(np.eye(2), 24)
        z = nodes @ jnp.linalg.cholesky(G).T
        return weights @ (jnp.sin(z[:, 0]) * jnp.sin(z[:, 1] + 0.3))

    z, weights = hermite_grid(K, 24)
    direct = weights @ (np.sin(z[:, 0]) * np.sin(z[:, 1] + 0.3) * (1 + density_correction(z[:, None], K, v, g1)))
    np.testing.assert_allclose(expectation(average, K, v, g1), direct, rtol=1e-11)


def test_covariance_of_two_neurons_as_printed():
    """PDLT (4.63)-(4.64): v^{..}/4 <(zz - K) F> <(zz - K) G> with raised indices, and the two-neuron density."""
    K, _, v, _ = random_metric_law(9, samples=2)
    z, weights = hermite_grid(K, 20)
    F, G = np.sin(z[:, 0]) * z[:, 1], np.cos(z[:, 1])
    inverse = np.linalg.inv(K)
    quadratic = np.einsum("pa,pb->pab", z, z) - K
    raised = np.einsum("efgh,ea,fb,gc,hd->abcd", v, *[inverse] * 4)
    printed = 0.25 * np.einsum("abcd,p,pab,q,qcd->", raised, weights * F, quadratic, weights * G, quadratic)

    def average(function):
        nodes, w = hermite_grid(np.eye(2), 20)
        return lambda K: w @ function(nodes @ jnp.linalg.cholesky(K).T)

    computed = covariance_between_neurons(
        average(lambda z: jnp.sin(z[:, 0]) * z[:, 1]), average(lambda z: jnp.cos(z[:, 1])), K, v
    )
    np.testing.assert_allclose(computed, printed, rtol=1e-11)


def test_covariance_of_two_neurons_of_a_tanh_network():
    """PDLT (4.64): F = exp(-z^2), G = cos z at width 32, layer 4; the value found independently of this code."""
    K, v, _ = tanh_flow(32)
    computed = covariance_between_neurons(lambda G: (1 + 2 * G[0, 0]) ** -0.5, lambda G: jnp.exp(-G[0, 0] / 2), K, v)
    np.testing.assert_allclose(computed, 7.854e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda K, v, g: density(np.zeros((1, 2)), np.ones((2, 2)), v, g), DomainError, "K"),
        (lambda K, v, g: density(np.zeros((1, 3)), K, v, g), ShapeError, "z"),
        (lambda K, v, g: density(np.zeros(2), K, v, g), ShapeError, "z"),
        (lambda K, v, g: density(np.zeros((1, 2)), K, v[0], g), ShapeError, "v"),
        (lambda K, v, g: density(np.zeros((1, 2)), K, v + np.arange(16).reshape((2,) * 4), g), DomainError, "v"),
        (lambda K, v, g: density(np.zeros((1, 2)), K, v, np.zeros(2)), ShapeError, "g1"),
        (lambda K, v, g: density(np.zeros((1, 2)), K, v, [[0.0, 1.0], [0.0, 0.0]]), DomainError, "g1"),
        (lambda K, v, g: density(np.full((1, 2), np.nan), K, v, g), DomainError, "z"),
        (lambda K, v, g: marginalise_samples(K, v, g, []), DomainError, "keep"),
        (lambda K, v, g: marginalise_samples(K, v, g, [0, 0]), DomainError, "keep"),
        (lambda K, v, g: marginalise_samples(K, v, g, [2]), DomainError, "keep"),
        (lambda K, v, g: expectation(jnp.trace, K, v, g[:1]), ShapeError, "g1"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    K, _, v, g1 = random_metric_law(0, samples=2)
    with pytest.raises(error) as caught:
        call(K, v, g1)
    assert caught.value.argument == argument
