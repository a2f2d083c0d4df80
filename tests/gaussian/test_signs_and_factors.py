"""Averages of two and four signs with bare factors: against integrals over an angle, samples, differences and one another."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth import gaussian
from finitewidth.gaussian.four_signs import four_sign_moments
from finitewidth.gaussian.orthants import absolute_value_product
from finitewidth.gaussian.sign_moments import two_slope_average
from finitewidth.gaussian.two_signs import sign_pairs_of, two_sign_moments

FACTORS = (((), ()), ((0, 1), (2, 3), (3, 3)), ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 2), (2, 2, 3, 3)))
RADIAL = {0: 1.0, 1: math.sqrt(math.pi / 2), 2: 2.0, 4: 8.0}  # <r^d> in the plane


def covariance(n=4, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n + 2))
    return jnp.asarray(root @ root.T)


def in_a_plane(vectors, function, degree):
    """The average of a function of the variables, homogeneous of this degree, by the angle between all its kinks."""
    directions = np.arctan2(vectors[:, 1], vectors[:, 0])
    edges = np.sort((np.concatenate([directions, directions + math.pi]) + math.pi / 2) % (2 * math.pi))
    edges = np.append(edges, edges[0] + 2 * math.pi)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    phi = (edges[:-1, None] + half * (nodes + 1)).ravel()
    z = vectors @ np.stack([np.cos(phi), np.sin(phi)])
    return RADIAL[degree] * np.sum((half * weights).ravel() * function(z)) / (2 * math.pi)


@pytest.mark.parametrize("factors", FACTORS)
def test_two_signs_in_a_plane(factors):
    """Singular covariances: PDLT (5.159) with any bare factors beside the signs."""
    vectors = np.random.default_rng(3).normal(size=(4, 2))
    (found,) = two_sign_moments((factors,), jnp.asarray(vectors @ vectors.T))
    for values, a, b in zip(found, *sign_pairs_of(4), strict=True):
        for value, each in zip(values, factors, strict=True):
            indices = list(each)
            exact = in_a_plane(
                vectors, lambda z, a=a, b=b, i=indices: np.sign(z[a] * z[b]) * z[i].prod(axis=0), len(indices)
            )
            assert value == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("factors", FACTORS)
def test_two_signs_by_samples(factors):
    """Regular covariances, within 4.5 standard errors of a quarter of a million draws."""
    K = covariance()
    z = np.linalg.cholesky(K) @ np.random.default_rng(1).normal(size=(4, 250_000))
    (found,) = two_sign_moments((factors,), K)
    for values, a, b in zip(found, *sign_pairs_of(4), strict=True):
        for value, each in zip(values, factors, strict=True):
            drawn = np.sign(z[a] * z[b]) * z[list(each)].prod(axis=0)
            assert abs(drawn.mean() - value) < 4.5 * drawn.std() / math.sqrt(drawn.size)


def slopes(function, K, direction, h=1e-4):
    """First and second derivative along a direction, and what differences say."""
    once = jax.jit(lambda k: jax.jvp(function, (k,), (direction,))[1])
    twice = jax.jit(lambda k: jax.jvp(once, (k,), (direction,))[1])
    for derivative, of in ((once, jax.jit(function)), (twice, once)):
        near, far = (
            jax.tree.map(lambda p, m: p - m, of(K + s * h * direction), of(K - s * h * direction)) for s in (1, 2)
        )
        yield derivative(K), jax.tree.map(lambda n, f: (8 * n - f) / (12 * h), near, far)


@pytest.mark.parametrize("function", [lambda k, f=f: two_sign_moments((f,), k) for f in FACTORS] + [four_sign_moments])
def test_derivatives_by_differences(function):
    """Stein's lemma, once, and what JAX makes of it, twice."""
    direction = np.random.default_rng(5).normal(size=(4, 4))
    for found, expected in slopes(function, covariance(), jnp.asarray(direction + direction.T)):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8)


@pytest.mark.parametrize("rank", [2, 3, 6])
def test_two_factors_of_four_signs_are_a_derivative(rank):
    r"""$\partial\langle|z_1z_2z_3z_4|\rangle/\partial K_{kl} = \langle|z_iz_j|\,s_ks_l\rangle$, of singular covariances too."""
    vectors = np.random.default_rng(rank).normal(size=(4, rank))
    K = jnp.asarray(vectors @ vectors.T)
    gradient = jax.jit(jax.grad(lambda k: absolute_value_product(0.0, 1.0, k)))(K)
    found = jax.jit(four_sign_moments)(K)
    assert found.four == pytest.approx(float(absolute_value_product(0.0, 1.0, K)), rel=1e-12)
    for i, j in itertools.permutations(range(4), 2):
        k, m = (each for each in range(4) if each not in (i, j))
        assert found.two[i, j] == pytest.approx(float(gradient[k, m] + gradient[m, k]), abs=1e-11)


@pytest.mark.parametrize(
    "exponents",
    [
        ((1, 0), (1, 0), (0, 1), (0, 1)),
        ((2, 0), (0, 1), (0, 1), (0, 1)),
        ((0, 1), (2, 1), (0, 1), (0, 1)),
        ((1, 0), (0, 1), (0, 1), (0, 1)),
        ((0, 1), (0, 1), (0, 1), (0, 1)),
    ],
)
def test_slopes_of_four_inputs_in_a_plane(exponents):
    """Four inputs of two features: PDLT (8.77) averages two activations and two slopes of one neuron; others by the same moments."""
    vectors = np.random.default_rng(8).normal(size=(4, 2))
    value = gaussian.two_slope_average(1.5, -0.4, exponents, vectors @ vectors.T)

    def product(z):
        slopes = np.where(z > 0, 1.5, -0.4)
        return np.prod([(s * x) ** p * s**q for x, s, (p, q) in zip(z, slopes, exponents, strict=True)], axis=0)

    exact = in_a_plane(vectors, product, sum(p for p, _ in exponents))
    assert value == pytest.approx(exact, abs=1e-12)


def test_a_square_beside_four_slopes():
    """Within errors of half a million draws, and its gradient against differences."""
    exponents = ((2, 0), (0, 1), (0, 1), (0, 1))
    vectors = np.random.default_rng(4).normal(size=(4, 4))
    K = jnp.asarray(vectors @ vectors.T)
    z = np.random.default_rng(5).normal(size=(500_000, 4)) @ vectors.T
    slopes = np.where(z > 0, 1.5, -0.4)
    products = (slopes[:, 0] * z[:, 0]) ** 2 * slopes[:, 1:].prod(axis=1)
    average = jax.jit(functools.partial(two_slope_average, 1.5, -0.4, exponents))
    assert abs(products.mean() - average(K)) < 4.5 * products.std() / math.sqrt(len(z))
    direction = np.random.default_rng(6).normal(size=(4, 4))
    direction += direction.T
    along = jax.jit(jax.grad(lambda t: average(K + t * direction)))(0.0)
    assert along == pytest.approx(float(average(K + 1e-5 * direction) - average(K - 1e-5 * direction)) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("gap", [0.0, 3e-8, 1e-7, 1e-5])
def test_signs_that_nearly_coincide(gap):
    """Continuous as two variables merge, for the signs beside a factor of each and beside none."""
    vectors = np.random.default_rng(2).normal(size=(4, 5))
    near = vectors.copy()
    near[3] = vectors[2] + gap * np.random.default_rng(3).normal(size=5)
    merged, apart = (four_sign_moments(jnp.asarray(v @ v.T)) for v in (vectors[[0, 1, 2, 2]], near))
    (two,) = two_sign_moments((((0, 1), (2, 2)),), jnp.asarray(vectors @ vectors.T))
    np.testing.assert_allclose(merged.two[0, 1], two[0, 0], atol=1e-12)
    for one, other in zip(merged, apart, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12 + 20 * gap)


def test_gradients_where_variables_coincide():
    """Finite beside a factor of each sign, and no number where delta functions lie on top of one another."""
    K = jnp.asarray(np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 2.0]]))
    finite = jax.grad(lambda k: two_sign_moments((((0, 1, 2, 2),),), k)[0][0, 0])(K)
    np.testing.assert_allclose(finite, jax.grad(lambda k: k[0, 1] * k[2, 2] + 2 * k[0, 2] * k[1, 2])(K), atol=1e-12)
    assert np.isnan(jax.grad(lambda k: two_sign_moments((((2, 2),),), k)[0][0, 0])(K)).any()
