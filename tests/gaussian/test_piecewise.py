"""Averages of kinked functions against polar grids, closed inner integrals, exact orthants and each other."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax.scipy.special import erf
from numpy.polynomial.legendre import leggauss
from scipy.special import log_ndtr, ndtr

from finitewidth._errors import DomainError, ShapeError
from finitewidth.activations.closed_pairs import erf_pair
from finitewidth.gaussian import piecewise
from finitewidth.gaussian.line import line_average
from finitewidth.gaussian.orthants import absolute_value_product, step_product
from finitewidth.gaussian.places import Places
from references import polar_rule, vectorised

VARIANCES = (1e-3, 0.1, 1.0, 10.0)
CORRELATIONS = (-1.0, -0.999999, -0.9, 0.0, 0.5, 0.99, 1 - 1e-9, 1.0)
AT_ZERO, AT_ONES = (0.0,), (-1.0, 1.0)
BETWEEN = pytest.param(1.0, marks=pytest.mark.measured)  # the variances around it decide


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def pair_average(f, g, kinks_f, kinks_g, *covariance):
    return piecewise.pair_average(f, g, around(kinks_f), around(kinks_g), *covariance)


def product_average(functions, kinks, K, mean=None):
    return piecewise.product_average(functions, tuple(map(around, kinks)), K, mean)


def around(kinks):
    return Places(kinks or (0.0,))


def softsign(z):
    return z / (1 + jnp.abs(z))


def elu(z):
    """With slope two on the left of zero: the first derivative jumps."""
    return jnp.where(z > 0, z, 2 * jnp.expm1(jnp.minimum(z, 0)))


def hard_tanh(z):
    return jnp.clip(z, -1, 1)


def relu(z):
    return jnp.maximum(z, 0.0)


def step(z):
    return jnp.where(z > 0, 1.0, 0.0)


def covariances(variances, correlations):
    """All combinations of two variances and a correlation, as three arrays."""
    a, b, rho = (np.array(x) for x in zip(*itertools.product(variances, variances, correlations), strict=True))
    return a, rho * np.sqrt(a * b), b


def correlation_matrix(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


# ---- independent integrations ----------------------------------------------------------------------------------------


def density(z):
    return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def mean_hard_tanh(m, s):
    """<clip(m + s xi, -1, 1)> in closed form."""
    low, high = (-1 - m) / s, (1 - m) / s
    inside = m * (ndtr(high) - ndtr(low)) + s * (density(low) - density(high))
    return inside + ndtr(-high) - ndtr(low)


def mean_elu(m, s):
    """<elu(m + s xi)> in closed form."""
    right = m * ndtr(m / s) + s * density(m / s)
    return right + 2 * (np.exp(m + s**2 / 2 + log_ndtr(-m / s - s)) - ndtr(-m / s))


def composite(function, edges, order=40):
    """A composite Gauss-Legendre integral over sorted edges, geometrically refined by the caller."""
    x, w = leggauss(order)
    edges = np.unique(edges)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    nodes = middle[:, None] + half[:, None] * x
    return float(np.sum(half[:, None] * w * function(nodes)))


def refined(centres, reach=12.0):
    """Edges that close in geometrically on every centre, down to 1e-9."""
    offsets = np.concatenate([[0.0], np.geomspace(1e-9, 2 * reach, 30)])
    edges = np.concatenate([c + s * offsets for c in centres for s in (-1, 1)] + [[-reach, 0.0, reach]])
    return edges[np.abs(edges) <= reach]


def conditioned_pair(f, mean_g, kinks, a, c, b):
    """<f(z_a) g(z_b)> from the closed inner average of g."""
    slope, noise = c / math.sqrt(a), math.sqrt(b - c**2 / a)
    centres = [k / math.sqrt(a) for k in kinks] + [k / slope for k in kinks if slope]
    return composite(lambda u: density(u) * f(math.sqrt(a) * u) * mean_g(slope * u, noise), refined(centres))


def one_factor_product(mean_f, kinks, loadings, noises, means):
    """<prod f(z_i)> for z_i = mean_i + loading_i w + noise_i xi_i: independent once w is known."""
    centres = [(k - m) / loading for m, loading in zip(means, loadings, strict=True) for k in kinks]
    factors = list(zip(loadings, noises, means, strict=True))
    return composite(
        lambda w: density(w) * np.prod([mean_f(m + loading * w, s) for loading, s, m in factors], axis=0),
        refined(centres),
    )


def planar_product(vectors, f):
    """<prod f(v_i . u)> for u of two independent normal components, f with its kink at zero: sectors between all zeros."""
    zeros = (np.arctan2(vectors[:, 1], vectors[:, 0])[:, None] + math.pi * np.array([0.5, 1.5])) % (2 * math.pi)
    edges = np.concatenate([[0.0, 2 * math.pi], zeros.ravel()])

    def radial(theta):
        slopes = np.stack([v[0] * np.cos(theta) + v[1] * np.sin(theta) for v in vectors])[..., None]
        x, w = leggauss(200)
        r = 6 * (x + 1)
        return np.prod(f(slopes * r), axis=0) @ (6 * w * r * np.exp(-(r**2) / 2)) / (2 * math.pi)

    return composite(radial, edges)


# ---- pairs -----------------------------------------------------------------------------------------------------------


def test_softsign_pairs_match_a_polar_grid_for_every_correlation():
    """PDLT (1.68) for pairs: 1e-12 of the norms from K = 1e-3 to 10, correlations -1 to 1."""
    Kaa, Kab, Kbb = covariances(VARIANCES, CORRELATIONS)
    averages = np.asarray(pair_average(softsign, softsign, AT_ZERO, AT_ZERO, Kaa, Kab, Kbb))
    norms = np.asarray(pair_average(softsign, softsign, AT_ZERO, AT_ZERO, Kaa, Kaa, Kaa))
    norms = np.sqrt(norms * np.asarray(pair_average(softsign, softsign, AT_ZERO, AT_ZERO, Kbb, Kbb, Kbb)))
    f = vectorised("softsign")
    for rho in CORRELATIONS:
        z_a, z_b, weights = polar_rule(rho)
        for i in np.flatnonzero(np.isclose(Kab / np.sqrt(Kaa * Kbb), rho, rtol=0, atol=1e-12)):
            expected = weights @ (f(math.sqrt(Kaa[i]) * z_a) * f(math.sqrt(Kbb[i]) * z_b))
            assert abs(averages[i] - expected) < 1e-12 * norms[i], (Kaa[i], Kbb[i], rho)


@pytest.mark.measured
def test_a_softsign_pair_in_extended_precision():
    """PDLT (1.68): nested tanh-sinh integration in 20 digits, unequal variances."""
    a, b, rho = 2.0, 0.7, 0.6
    with mpmath.workdps(20):

        def f(z):
            return z / (1 + abs(z))

        def integrand(u, v):
            gauss = mpmath.exp(-(u * u - 2 * rho * u * v + v * v) / (2 * (1 - rho**2)))
            return f(mpmath.sqrt(a) * u) * f(mpmath.sqrt(b) * v) * gauss

        total = 2 * sum(mpmath.quad(integrand, [0, 3, 12], [0, s * 3, s * 12]) * s for s in (1, -1))
        expected = float(total / (2 * mpmath.pi * mpmath.sqrt(1 - mpmath.mpf(rho) ** 2)))
    average = pair_average(softsign, softsign, AT_ZERO, AT_ZERO, a, rho * math.sqrt(a * b), b)
    assert float(average) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("f", "mean_f", "kinks"), [(hard_tanh, mean_hard_tanh, AT_ONES), (elu, mean_elu, AT_ZERO)], ids=["hard_tanh", "elu"]
)
def test_pairs_match_closed_inner_averages(f, mean_f, kinks):
    """PDLT (1.68) for pairs with kinks off zero, and with a jump of the slope: 1e-12 of the norms."""
    Kaa, Kab, Kbb = covariances(VARIANCES, CORRELATIONS[1:-1])
    averages = np.asarray(pair_average(f, f, kinks, kinks, Kaa, Kab, Kbb))
    norms = np.sqrt(
        np.asarray(pair_average(f, f, kinks, kinks, Kaa, Kaa, Kaa) * pair_average(f, f, kinks, kinks, Kbb, Kbb, Kbb))
    )
    for average, norm, *covariance in zip(averages, norms, Kaa, Kab, Kbb, strict=True):
        assert abs(average - conditioned_pair(f, mean_f, kinks, *covariance)) < 1e-12 * norm, covariance


@pytest.mark.parametrize(("f", "kinks"), [(softsign, AT_ZERO), (elu, AT_ZERO), (hard_tanh, AT_ONES)])
def test_coincident_pairs_are_averages_over_one_variable(f, kinks):
    """PDLT (5.5): g(K) from the pair at rho = 1, and <f(z) f(-z)> from rho = -1."""
    K = jnp.array(VARIANCES)
    for sign in (1.0, -1.0):
        expected = line_average(lambda z, sign=sign: f(z) * f(sign * z), K, kinks)
        np.testing.assert_allclose(pair_average(f, f, kinks, kinks, K, sign * K, K), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["tanh", *(pytest.param(name, marks=pytest.mark.measured) for name in ("swish", "softplus"))]
)
def test_smooth_functions_at_large_variance(name):
    """PDLT (1.68): zero declared as if it were a kink; K = 100 and 1e4."""
    f = {"tanh": jnp.tanh, "swish": jax.nn.silu, "softplus": jax.nn.softplus}[name]
    Kaa, Kab, Kbb = covariances((100.0, 1e4), (-0.9, 0.5, 0.99))
    averages = pair_average(f, f, AT_ZERO, AT_ZERO, Kaa, Kab, Kbb)
    for average, a, c, b in zip(averages, Kaa, Kab, Kbb, strict=True):
        z_a, z_b, weights = polar_rule(c / math.sqrt(a * b), radial=480)
        numpy_f = (lambda z: z * np.exp(-np.logaddexp(0, -z))) if name == "swish" else vectorised(name)
        expected = weights @ (numpy_f(math.sqrt(a) * z_a) * numpy_f(math.sqrt(b) * z_b))
        assert float(average) == pytest.approx(expected, rel=1e-10)


def test_large_variance_against_the_closed_form_of_erf():
    """PDLT (1.68): $\\frac2\\pi\\arcsin$ at K up to 1e4 and every correlation."""
    Kaa, Kab, Kbb = covariances((1.0, 100.0, 1e4), CORRELATIONS)
    averages = pair_average(erf, erf, (), (), Kaa, Kab, Kbb)
    np.testing.assert_allclose(averages, erf_pair(0, 0, Kaa, Kab, Kbb), rtol=0, atol=1e-11)


def test_exchanging_the_variables_changes_nothing():
    """PDLT (1.68): the rule treats its two variables differently, the average does not."""
    Kaa, Kab, Kbb = covariances(VARIANCES, CORRELATIONS)
    there = pair_average(softsign, hard_tanh, AT_ZERO, AT_ONES, Kaa, Kab, Kbb)
    back = pair_average(hard_tanh, softsign, AT_ONES, AT_ZERO, Kbb, Kab, Kaa)
    np.testing.assert_allclose(there, back, rtol=1e-12, atol=1e-16)


def test_pairs_broadcast_jit_and_differentiate():
    """PDLT (5.53): the derivative by the covariance is the average of derivatives."""
    Kab = jnp.linspace(-0.5, 0.5, 3)
    grid = jax.jit(lambda c: pair_average(softsign, elu, AT_ZERO, AT_ZERO, jnp.ones((2, 1)), c, 1.0))(Kab)
    assert grid.shape == (2, 3)
    assert pair_average(softsign, elu, AT_ZERO, AT_ZERO, jnp.zeros(0), 0.0, 1.0).shape == (0,)
    slope = jax.jacfwd(lambda c: pair_average(softsign, elu, AT_ZERO, AT_ZERO, 1.3, c, 0.8))(0.4)
    slopes = [jax.vmap(jax.grad(f)) for f in (softsign, elu)]
    first, second = (lambda z, d=d: d(z.ravel()).reshape(z.shape) for d in slopes)
    assert float(slope) == pytest.approx(float(pair_average(first, second, AT_ZERO, AT_ZERO, 1.3, 0.4, 0.8)), rel=1e-11)


def test_a_variable_without_variance_is_a_constant():
    """PDLT (1.68): K_aa = 0."""
    expected = float(line_average(elu, jnp.asarray(0.8), AT_ZERO))
    assert float(pair_average(hard_tanh, elu, AT_ONES, AT_ZERO, 0.0, 0.0, 0.8)) == 0.0
    assert float(pair_average(jnp.cos, elu, (), AT_ZERO, 0.0, 0.0, 0.8)) == pytest.approx(expected, rel=1e-13)
    assert float(pair_average(elu, jnp.cos, AT_ZERO, (), 0.8, 0.0, 0.0)) == pytest.approx(expected, rel=1e-13)


# ---- three and four variables ----------------------------------------------------------------------------------------


@partial(jax.jit, static_argnums=(0, 1))
def average(f, kinks, K, mean=None):
    return product_average((f,) * len(K), (kinks,) * len(K), K, mean)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("variance", [1e-3, BETWEEN, 10.0])
def test_rank_one_covariances(n, variance):
    """PDLT (1.68): all variables are one, up to factors."""
    factors = np.array([1.0, -0.6, 0.3, 0.9])[:n]
    expected = line_average(lambda z: math.prod(softsign(c * z) for c in factors), jnp.asarray(variance), AT_ZERO)
    result = average(softsign, AT_ZERO, variance * np.outer(factors, factors))
    assert result == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("variance", [1e-3, BETWEEN, 10.0])
def test_rank_two_covariances(n, variance):
    """PDLT (1.68): a two-dimensional average, in polar coordinates; equal, opposite and nearly equal variables too."""
    angles = [
        np.array([0.3, 1.1, 2.9, 4.0]),
        np.array([0.3, 0.3, 0.3 + math.pi, 1.0]),
        np.array([0.3, 0.301, 2.0, 2.0001]),
    ]
    for angle in angles:
        vectors = math.sqrt(variance) * np.stack([np.cos(angle), np.sin(angle)], axis=1)[:n]
        expected = planar_product(vectors, vectorised("softsign"))
        norm = float(line_average(lambda z: softsign(z) ** 4, jnp.asarray(variance), AT_ZERO)) ** (n / 4)
        assert abs(average(softsign, AT_ZERO, vectors @ vectors.T) - expected) < 1e-8 * norm


def test_independent_blocks_factorise():
    """PDLT (1.68): products of pair averages, whatever the order of the variables."""
    first, second = np.array([[1.0, 0.7], [0.7, 2.0]]), np.array([[0.5, -0.49], [-0.49, 0.5]])
    K = np.zeros((4, 4))
    for block, at in ((first, [0, 2]), (second, [3, 1])):
        K[np.ix_(at, at)] = block
    pairs = [
        float(pair_average(softsign, softsign, AT_ZERO, AT_ZERO, *b[[0, 0, 1], [0, 1, 1]])) for b in (first, second)
    ]
    assert average(softsign, AT_ZERO, K) == pytest.approx(math.prod(pairs), rel=1e-9)


def nearly_singular(rng, rank, distance):
    """A correlation matrix of four variables at this distance from one of given rank."""
    return correlation_matrix(np.hstack([rng.normal(size=(4, rank)), distance * rng.normal(size=(4, 4))]))


@pytest.mark.measured
@pytest.mark.parametrize("distance", [0.3, 1e-3])
def test_products_of_relus_and_steps_match_exact_orthants(distance):
    """PDLT (1.68): boundary layers of every thickness, for jumps of the slope and of the value."""
    rng = np.random.default_rng(int(-math.log2(distance)))
    for rank in (1, 2, 3):
        K = nearly_singular(rng, rank, distance)
        expected = float(absolute_value_product(0.5, 0.5, jnp.asarray(K)))
        assert abs(average(relu, AT_ZERO, K) - expected) < 1e-8
        assert abs(average(step, AT_ZERO, K) - float(step_product(jnp.asarray(K)))) < 1e-8


@pytest.mark.measured
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
def test_the_order_of_the_variables_does_not_matter(scale):
    """PDLT (1.68): equal variances, so that each order integrates another variable first."""
    rng = np.random.default_rng(7)
    for distance in (1.0, 0.02):
        K = scale * nearly_singular(rng, 2, distance)
        values = [average(softsign, AT_ZERO, K[np.ix_(p, p)]) for p in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0])]
        norm = float(line_average(lambda z: softsign(z) ** 4, jnp.asarray(scale), AT_ZERO))
        assert np.ptp(values) < 1e-8 * norm


@pytest.mark.parametrize("noise", [0.5, 0.02])
@pytest.mark.parametrize(("f", "mean_f", "kinks"), [(hard_tanh, mean_hard_tanh, AT_ONES), (elu, mean_elu, AT_ZERO)])
def test_triples_with_a_mean(f, mean_f, kinks, noise):
    """PDLT (1.35), (1.68): one common factor and independent noises, by a one-dimensional integral of closed forms."""
    loadings, noises, means = np.array([1.2, -0.7, 0.4]), noise * np.array([1.0, 0.5, 2.0]), np.array([0.3, -1.0, 0.8])
    K = np.outer(loadings, loadings) + np.diag(noises**2)
    expected = one_factor_product(mean_f, kinks, loadings, noises, means)
    assert average(f, kinks, K, means) == pytest.approx(expected, rel=1e-9)


@pytest.mark.measured
@pytest.mark.parametrize("noise", [0.5, 0.02])
def test_quadruples_with_kinks_off_zero(noise):
    """PDLT (1.68): hard tanh of four variables."""
    loadings, noises = np.array([1.2, -0.7, 0.4, 1.5]), noise * np.array([1.0, 0.5, 2.0, 0.2])
    K = np.outer(loadings, loadings) + np.diag(noises**2)
    expected = one_factor_product(mean_hard_tanh, AT_ONES, loadings, noises, np.zeros(4))
    assert average(hard_tanh, AT_ONES, K) == pytest.approx(expected, rel=1e-9)


def test_different_functions_keep_to_their_variables():
    """PDLT (1.68): the variables are reordered by variance, each with its function and kinks."""
    functions, kinks = (hard_tanh, jnp.cos, softsign), (AT_ONES, (), AT_ZERO)
    cosine = math.exp(-3.0 / 2)
    for c in (0.4, -0.7):
        K = np.array([[0.5, 0.0, c], [0.0, 3.0, 0.0], [c, 0.0, 1.0]])
        pair = float(pair_average(hard_tanh, softsign, AT_ONES, AT_ZERO, 0.5, c, 1.0))
        assert float(product_average(functions, kinks, K)) == pytest.approx(pair * cosine, rel=1e-9)


def test_one_and_two_variables_with_a_mean():
    """PDLT (1.35), (1.68): the mean moves the kinks."""
    assert average(hard_tanh, AT_ONES, np.array([[0.7]]), [0.4]) == pytest.approx(
        mean_hard_tanh(0.4, math.sqrt(0.7)), rel=1e-13
    )
    loadings, noises, means = np.array([0.8, -0.5]), np.array([0.3, 0.6]), np.array([0.4, 1.1])
    K = np.outer(loadings, loadings) + np.diag(noises**2)
    expected = one_factor_product(mean_hard_tanh, AT_ONES, loadings, noises, means)
    assert average(hard_tanh, AT_ONES, K, means) == pytest.approx(expected, rel=1e-12)


def test_products_jit_vmap_and_differentiate():
    """PDLT (5.53): by autodiff through the nodes, against averages of derivatives."""
    K = jnp.asarray(np.array([[1.0, 0.3, -0.2], [0.3, 0.8, 0.4], [-0.2, 0.4, 1.3]]))
    triple = lambda K: product_average((elu,) * 3, (AT_ZERO,) * 3, K)  # noqa: E731
    direction = jnp.zeros((3, 3)).at[0, 1].set(1.0).at[1, 0].set(1.0)
    along = lambda K: jax.jvp(triple, (K,), (direction,))  # noqa: E731
    values, (slope, _) = jax.jit(jax.vmap(along))(jnp.stack([K, 2 * K]))
    np.testing.assert_allclose(values, [triple(K), triple(2 * K)], rtol=1e-13)
    derivative = lambda z: jax.jvp(elu, (z,), (jnp.ones_like(z),))[1]  # noqa: E731
    expected = product_average((derivative, derivative, elu), (AT_ZERO,) * 3, K)
    assert float(slope) == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.measured
def test_four_softsigns_against_samples():
    """PDLT (1.68): within four standard errors of ten million draws."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(4, 4))
    total, square, draws = 0.0, 0.0, 10**7
    for _ in range(10):
        values = np.prod(vectorised("softsign")(rng.normal(size=(draws // 10, 4)) @ root.T), axis=1)
        total, square = total + values.sum(), square + (values**2).sum()
    mean = total / draws
    error = math.sqrt((square / draws - mean**2) / draws)
    assert abs(average(softsign, AT_ZERO, root @ root.T) - mean) < 4 * error


@pytest.mark.parametrize(
    ("functions", "kinks", "K", "mean", "argument", "error"),
    [
        ((), (), np.eye(0), None, "functions", ShapeError),
        ((relu,) * 5, (AT_ZERO,) * 5, np.eye(5), None, "functions", ShapeError),
        ((relu,) * 2, (AT_ZERO,), np.eye(2), None, "places", ShapeError),
        ((relu,) * 2, (AT_ZERO,) * 2, np.eye(3), None, "K", ShapeError),
        ((relu,) * 2, (AT_ZERO,) * 2, np.array([[1.0, 2.0], [2.0, 1.0]]), None, "K", DomainError),
        ((relu,) * 2, (AT_ZERO,) * 2, np.eye(2), [0.0], "mean", ShapeError),
        ((relu,) * 2, (AT_ZERO,) * 2, np.eye(2), [0.0, math.nan], "mean", DomainError),
    ],
)
def test_bad_input_is_named(functions, kinks, K, mean, argument, error):
    with pytest.raises(error, match=f"`{argument}`"):
        product_average(functions, kinks, K, mean)
