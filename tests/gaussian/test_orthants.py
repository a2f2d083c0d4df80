"""Products of signs, steps and piecewise linear functions, against closed forms and independent integrations."""

import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import erf, erfc, gamma

from finitewidth._errors import DomainError, ShapeError
from finitewidth.gaussian.orthants import absolute_value_product, sign_product, step_product

LEAKY = (0.6, 0.4)  # slopes 1 on the right and 0.2 on the left
RELU = (0.5, 0.5)
SIX = pytest.param(6, marks=pytest.mark.measured)  # compiled once, but that takes its time


def correlations(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    K = unit @ unit.T
    np.fill_diagonal(K, 1.0)
    return (K + K.T) / 2


def scale(K):
    return math.sqrt(np.prod(np.diagonal(K)))


def absolute_moments(n):
    """E|z|^n of a unit Gaussian."""
    return 2 ** (n / 2) * gamma((n + 1) / 2) / math.sqrt(math.pi)


def leaky(K):
    return absolute_value_product(*LEAKY, K)


def piecewise_linear(odd, even):
    return lambda z: odd * z + even * np.abs(z)


# Many covariances at once: one program for all tests that map.
MAPPED = {average: jax.jit(jax.vmap(average)) for average in (sign_product, step_product, leaky)}


# ---- independent integrations ----------------------------------------------------------------------------------------


def planar_average(vectors, functions, degree):
    """Vectors in a plane: the radius by hand, the angle by Gauss-Legendre between the directions where one is orthogonal."""
    directions = np.arctan2(vectors[:, 1], vectors[:, 0])
    edges = np.sort(
        np.concatenate([(directions + math.pi / 2) % (2 * math.pi), (directions - math.pi / 2) % (2 * math.pi)])
    )
    edges = np.append(edges, edges[0] + 2 * math.pi)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    angle = (edges[:-1, None] + half * (1 + nodes)).ravel()
    z = vectors @ np.stack([np.cos(angle), np.sin(angle)])
    values = np.prod([f(row) for f, row in zip(functions, z, strict=True)], axis=0)
    radial = 2 ** (degree / 2) * gamma(1 + degree / 2)
    return radial * np.sum((half * weights).ravel() * values) / (2 * math.pi)


def one_factor_average(loadings, noises, given_factor):
    r"""$z_i = \lambda_i\xi + \sqrt{\psi_i}\epsilon_i$: independent given $\xi$. Panels shrink towards the kink at zero."""
    half_edges = np.concatenate([[0.0], 10.0 ** np.arange(-12, 0), [0.3], np.arange(1.0, 14.0)])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(half_edges)[:, None] / 2
    positive = (half_edges[:-1, None] + half * (1 + nodes)).ravel()
    xi, weight = np.concatenate([-positive, positive]), np.tile((half * weights).ravel(), 2)
    values = np.prod([given_factor(a * xi, math.sqrt(b)) for a, b in zip(loadings, noises, strict=True)], axis=0)
    return np.sum(weight * values * np.exp(-(xi**2) / 2)) / math.sqrt(2 * math.pi)


def mean_sign(mean, deviation):
    return erf(mean / (deviation * math.sqrt(2))) if deviation else np.sign(mean)


def mean_piecewise_linear(odd, even):
    def given(mean, deviation):
        spread = deviation * math.sqrt(2 / math.pi) * np.exp(-((mean / deviation) ** 2) / 2) if deviation else 0.0
        return odd * mean + even * (mean * mean_sign(mean, deviation) + spread)

    return given


def relu_orthant(K, q=28, end=9.5):
    """Nested Gauss-Legendre over the positive orthant of four variables, the innermost integral in closed form."""
    L = np.linalg.cholesky(K)
    nodes, weights = np.polynomial.legendre.leggauss(q)

    def panel(start):
        half = (end - start) / 2
        return start[..., None] + half[..., None] * (1 + nodes), half[..., None] * weights

    u1, w1 = panel(np.zeros(()))
    u2, w2 = panel(np.maximum(-L[1, 0] * u1 / L[1, 1], -end))
    first = u1[:, None, None]
    u3, w3 = panel(np.maximum(-(L[2, 0] * u1[:, None] + L[2, 1] * u2) / L[2, 2], -end))
    second = u2[..., None]
    z = [L[0, 0] * first, L[1, 0] * first + L[1, 1] * second, L[2, 0] * first + L[2, 1] * second + L[2, 2] * u3]
    mean, deviation = (L[3, 0] * first + L[3, 1] * second + L[3, 2] * u3), L[3, 3]
    ratio = mean / deviation
    last = mean * erfc(-ratio / math.sqrt(2)) / 2 + deviation * np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)
    density = np.exp(-(first**2 + second**2 + u3**2) / 2) / (2 * math.pi) ** 1.5
    return np.sum(w1[:, None, None] * w2[..., None] * w3 * density * z[0] * z[1] * z[2] * last)


class ManyDigits:
    """Integration by parts down to signs, and Plackett's identity with two blocks of two, all in many digits."""

    def __init__(self, K):
        self.K = [[mpmath.mpf(float(entry)) for entry in row] for row in K]

    def absolute_value(self):
        everything = tuple(range(len(self.K)))
        return self._moment(self.K, everything, everything)

    def sign(self):
        return self._signs(self.K)

    def _moment(self, K, bare, signs):
        if not bare:
            return self._signs([[K[i][j] for j in signs] for i in signs])
        first, rest = bare[0], bare[1:]
        total = mpmath.mpf(0)
        for b in rest:
            total += K[first][b] * self._moment(K, tuple(i for i in rest if i != b), signs)
        for b in set(signs) - set(rest):
            renumber = [i - (i > b) for i in range(len(K))]
            inner = self._moment(
                self._given_zero(K, b), tuple(renumber[i] for i in rest), tuple(renumber[i] for i in signs if i != b)
            )
            total += K[first][b] * mpmath.sqrt(2 / (mpmath.pi * K[b][b])) * inner
        return total

    @staticmethod
    def _given_zero(K, b):
        kept = [i for i in range(len(K)) if i != b]
        return [[K[i][j] - K[i][b] * K[j][b] / K[b][b] for j in kept] for i in kept]

    def _signs(self, K):
        if len(K) == 0:
            return mpmath.mpf(1)
        if len(K) == 2:
            determinant = K[0][0] * K[1][1] - K[0][1] ** 2
            return 2 / mpmath.pi * mpmath.atan2(K[0][1], mpmath.sqrt(max(determinant, mpmath.mpf(0))))

        def slope(complement):
            scaled = [[K[i][j] * ((1 - complement) if (i < 2) != (j < 2) else 1) for j in range(4)] for i in range(4)]
            total = mpmath.mpf(0)
            for i, j in itertools.product((0, 1), (2, 3)):
                determinant = scaled[i][i] * scaled[j][j] - scaled[i][j] ** 2
                others = self._given_zero(self._given_zero(scaled, j), i)
                total += K[i][j] * 2 / mpmath.pi / mpmath.sqrt(determinant) * self._signs(others)
            return total

        edges = [mpmath.mpf(10) ** -k for k in range(30, -1, -1)]
        blocks = self._signs([row[:2] for row in K[:2]]) * self._signs([row[2:] for row in K[2:]])
        return blocks + mpmath.quad(slope, edges, method="gauss-legendre", maxdegree=4)


# ---- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 2, 3, 4, SIX])
def test_all_variables_independent_or_all_the_same(n):
    """PDLT (2.13)-(2.14) and PDLT (1.15): powers of one average, or moments of one variable."""
    odd, even = LEAKY
    alone, same = np.diag(np.arange(1.0, n + 1)), np.full((n, n), 4.0)
    assert abs(sign_product(alone) - (n == 0)) < 1e-14
    assert abs(sign_product(same) - (n % 2 == 0)) < 1e-11
    assert abs(step_product(alone) - 0.5**n) < 1e-14
    assert abs(step_product(same) - (0.5 if n else 1.0)) < 1e-11
    product = absolute_value_product(odd, even, alone)
    assert abs(product / scale(alone) - (even * math.sqrt(2 / math.pi)) ** n) < 1e-13
    moment = absolute_moments(n) * ((odd + even) ** n + (even - odd) ** n) / 2
    assert abs(absolute_value_product(odd, even, same) / 2**n - moment) < (1e-12 if n <= 4 else 1e-9)


def test_pairs_and_triples_in_closed_form():
    """PDLT (5.159), and the orthant of three variables, 1/8 + (sum of arcsines)/4 pi."""
    K = np.array([[2.0, -0.7, 0.4], [-0.7, 0.5, 0.1], [0.4, 0.1, 3.0]])
    rho = K / np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
    pair, psi = K[:2, :2], math.acos(rho[0, 1])
    assert abs(sign_product(pair) - 2 / math.pi * math.asin(rho[0, 1])) < 1e-15
    assert abs(step_product(pair) - (0.25 + math.asin(rho[0, 1]) / (2 * math.pi))) < 1e-15
    expected = (math.sin(psi) - psi * math.cos(psi)) * 0.8**2 / (2 * math.pi) + (1 + 0.2**2) / 2 * math.cos(psi)
    assert abs(leaky(pair) / scale(pair) - expected) < 1e-14
    arcsines = sum(math.asin(rho[i, j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert abs(step_product(K) - (0.125 + arcsines / (4 * math.pi))) < 1e-15


@pytest.mark.parametrize("psi", [0.0, 1e-9, 1e-4, 0.3, 1.5, 3.0, math.pi - 1e-7, math.pi])
def test_quartic_moments_of_two_inputs(psi):
    """Beyond PDLT (5.158)-(5.161): the moments (2, 2) and (3, 1) of a pair at the angle psi, all variables repeated."""
    c, s = math.cos(psi), math.sin(psi)

    def even_moment(psi):
        return (3 * math.sin(psi) * math.cos(psi) + (math.pi - psi) * (1 + 2 * math.cos(psi) ** 2)) / (2 * math.pi)

    def odd_moment(psi):
        sine, cosine = math.sin(psi), math.cos(psi)
        return ((2 + cosine**2) * sine + 3 * (math.pi - psi) * cosine) / (2 * math.pi)

    right, left, K_d = 1.0, 0.2, 1.7
    vectors = math.sqrt(K_d) * np.array([[1.0, 0.0], [c, s]])
    even = (right**4 + left**4) * even_moment(psi) + 2 * right**2 * left**2 * even_moment(math.pi - psi)
    odd = (right**4 + left**4) * odd_moment(psi) - (right**3 * left + right * left**3) * odd_moment(math.pi - psi)
    for which, expected in (((0, 0, 1, 1), even), ((0, 1, 0, 1), even), ((0, 0, 0, 1), odd), ((1, 0, 0, 0), odd)):
        K = vectors[list(which)] @ vectors[list(which)].T
        assert abs(leaky(K) - K_d**2 * expected) < 1e-11


def test_second_layer_vertex_of_relu():
    """PDLT (4.40) for two inputs: digits computed by angular quadrature in the theory notes."""
    K, C_W = np.array([[1.0, 0.3], [0.3, 0.5]]), 1.5
    pairs = [(0, 0), (0, 1), (1, 1)]
    expected = [2.8125, 0.9247660173, 0.4143078805, 0.607501209, 0.4623830086, 0.703125]
    for (left, right), vertex in zip(itertools.combinations_with_replacement(pairs, 2), expected, strict=True):
        four, a, b = (K[np.ix_(which, which)] for which in (left + right, left, right))
        apart = absolute_value_product(*RELU, a) * absolute_value_product(*RELU, b)
        assert abs(C_W**2 * (absolute_value_product(*RELU, four) - apart) - vertex) < 1e-10


# ---- independent numerics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_four_distinct_inputs_against_nested_quadrature(seed):
    """PDLT (4.40): the four-point average of ReLU with four different inputs."""
    vectors = np.random.default_rng(seed).normal(size=(4, 9)) / 3
    K = vectors @ vectors.T
    assert abs(absolute_value_product(*RELU, K) - relu_orthant(K)) < 1e-12 * scale(K)


@pytest.mark.parametrize("n", [2, 3, 4, 5, SIX])
def test_vectors_in_a_plane(n):
    """PDLT (2.9), PDLT (2.13)-(2.14): rank two, no two variables alike, and then with a multiple of one of them."""
    vectors = np.random.default_rng(n).normal(size=(n, 2))
    repeated = vectors.copy()
    repeated[-1] = -2 * repeated[0]
    tolerance = 1e-11 if n <= 4 else 1e-9
    for v in (vectors, repeated):
        K = v @ v.T
        assert abs(sign_product(K) - planar_average(v, [np.sign] * n, 0)) < tolerance
        assert abs(step_product(K) - planar_average(v, [lambda z: np.heaviside(z, 0.5)] * n, 0)) < tolerance
        expected = planar_average(v, [piecewise_linear(*LEAKY)] * n, n)
        assert abs(leaky(K) - expected) < tolerance * scale(K)


@pytest.mark.parametrize("n", [3, 4, 5, SIX])
@pytest.mark.parametrize("noise", [0.0, 2.0**-40, 2.0**-20, 1.0])
def test_one_common_factor(n, noise):
    """PDLT (2.9), PDLT (2.13)-(2.14): regular covariances of any size, from all variables alike to nearly independent."""
    loadings = np.array([1.0, -0.5, 2.0, 1.0, 0.25, -1.0])[:n]
    noises = noise * np.array([1.0, 0.5, 0.0, 2.0, 1.0, 0.25])[:n]
    K = np.outer(loadings, loadings) + np.diag(noises)  # exact in floating point
    tolerance = 1e-11 if n <= 4 else 1e-9
    assert abs(sign_product(K) - one_factor_average(loadings, noises, mean_sign)) < tolerance
    steps = one_factor_average(loadings, noises, lambda mean, deviation: (1 + mean_sign(mean, deviation)) / 2)
    assert abs(step_product(K) - steps) < tolerance
    expected = one_factor_average(loadings, noises, mean_piecewise_linear(*LEAKY))
    assert abs(leaky(K) - expected) < tolerance * scale(K)


def nearly_singular(kind, distance, seed):
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(4, 5))
    noise = distance * rng.normal(size=(4, 5))
    if kind == "two pairs":
        v[1], v[3] = -v[0] + noise[1], v[2] + noise[3]
    elif kind == "three alike":
        v[1], v[3] = -v[2] + noise[1], v[2] + noise[3]
    elif kind == "four alike":
        v = v[0] + noise
    elif kind == "in a plane":
        v[2], v[3] = v[0] + v[1] + noise[2], v[0] - 2 * v[1] + noise[3]
    return correlations(v)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("kind", "distance"),
    [("regular", 1.0), ("two pairs", 2e-7), ("three alike", 1e-4), ("four alike", 3e-7), ("in a plane", 1e-6)],
)
def test_nearly_singular_covariances_in_many_digits(kind, distance):
    """PDLT (2.13)-(2.14): integration by parts, whose cancellations need the digits, by a different Plackett path."""
    K = nearly_singular(kind, distance, seed=1)
    with mpmath.workdps(50):
        exact = ManyDigits(K)
        assert abs(float(exact.sign() - float(sign_product(K)))) < 1e-11
        assert abs(float(exact.absolute_value() - float(absolute_value_product(0.0, 1.0, K)))) < 1e-12


@pytest.mark.parametrize("gap", [1e-15, 1e-14, 1e-12, 1e-8, 1e-4])
def test_two_nearly_coincident_pairs(gap):
    """PDLT (5.159): independent pairs of correlation +-(1 - gap), wherever the pairs are among the variables."""
    rho = 1 - gap
    sign = 2 / math.pi * math.atan2(rho, math.sqrt((1 - rho) * (1 + rho)))
    length = 2 / math.pi * (math.sqrt((1 - rho) * (1 + rho)) + rho * math.asin(rho))
    for partner in (1, 2, 3):
        others = [i for i in (1, 2, 3) if i != partner]
        K = np.eye(4)
        K[0, partner] = K[partner, 0] = rho
        K[others[0], others[1]] = K[others[1], others[0]] = -rho
        assert abs(sign_product(K) + sign**2) < 1e-11
        assert abs(absolute_value_product(0.0, 1.0, K) - length**2) < 1e-12


@pytest.mark.measured
def test_six_variables_against_monte_carlo():
    """PDLT (4.59): the six-point average, regular and with repeated and dependent variables."""
    rng = np.random.default_rng(7)
    regular = rng.normal(size=(6, 6))
    dependent = rng.normal(size=(6, 3))
    dependent[4], dependent[5] = 2 * dependent[0], dependent[1] - dependent[2]
    for vectors in (regular, dependent):
        K = vectors @ vectors.T
        z = rng.normal(size=(4_000_000, vectors.shape[1])) @ vectors.T
        for exact, samples in (
            (sign_product(K), np.prod(np.sign(z), axis=1)),
            (step_product(K), np.all(z > 0, axis=1).astype(float)),
            (leaky(K), np.prod(piecewise_linear(*LEAKY)(z), axis=1)),
        ):
            error = samples.std() / math.sqrt(len(samples))
            assert abs(samples.mean() - exact) < 4 * error


# ---- symmetries, conventions, transformations ------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, SIX])
def test_order_reflection_and_units_do_not_matter(n):
    """PDLT (2.13)-(2.14): permutations, sign flips and scale invariance, for extreme units too."""
    rng = np.random.default_rng(n)
    K = correlations(rng.normal(size=(n, n)))
    tolerance = 1e-12 if n == 4 else 1e-9
    sign, moment = sign_product(K), leaky(K)
    order = rng.permutation(n)
    permuted = K[np.ix_(order, order)]
    assert abs(sign_product(permuted) - sign) < tolerance
    assert abs(leaky(permuted) - moment) < tolerance
    flip = np.where(np.arange(n) == 1, -1.0, 1.0)
    assert abs(sign_product(K * np.outer(flip, flip)) + sign) < tolerance
    assert abs(absolute_value_product(-LEAKY[0], LEAKY[1], K) - moment) < tolerance
    units = 10.0 ** np.linspace(-30, 30, n)
    assert abs(sign_product(K * np.outer(units, units)) - sign) < tolerance
    assert abs(leaky(K * np.outer(units, units)) - moment) < tolerance


@pytest.mark.measured
def test_groups_that_are_independent_factorise():
    """PDLT (2.9): six variables in groups of two and four."""
    rng = np.random.default_rng(3)
    K = np.zeros((6, 6))
    groups = [[0, 3], [1, 2, 4, 5]]
    for group in groups:
        K[np.ix_(group, group)] = correlations(rng.normal(size=(len(group), 5)))
    blocks = [K[np.ix_(group, group)] for group in groups]
    for average in (sign_product, step_product, lambda k: absolute_value_product(0.0, 1.0, k)):
        assert abs(average(K) - average(blocks[0]) * average(blocks[1])) < 1e-9


def test_degenerate_arrangements_do_not_depend_on_the_order():
    """PDLT (2.9), PDLT (2.13)-(2.14): parallel, antiparallel and coplanar vectors of all kinds, their entries rounded."""
    rng = np.random.default_rng(13)
    lattice = rng.integers(-2, 3, size=(400, 4, 3)).astype(float)
    lattice[np.all(lattice == 0, axis=2)] = 1.0
    vectors = lattice @ rng.normal(size=(400, 3, 6)) * np.exp(rng.normal(size=(400, 4, 1)))
    K = vectors @ vectors.swapaxes(1, 2)
    deviations = np.sqrt(np.diagonal(K, axis1=1, axis2=2))
    for average, unit in (
        (sign_product, np.ones(400)),
        (leaky, np.prod(deviations, axis=1)),
    ):
        mapped = MAPPED[average]
        first = np.asarray(mapped(jnp.asarray(K))) / unit
        for order in ([3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]):
            again = np.asarray(mapped(jnp.asarray(K[:, order][:, :, order]))) / unit
            assert np.abs(again - first).max() < 1e-12


def test_scaled_copies_are_recognised():
    """PDLT (2.9): multiples of one variable, whose covariances are rounded, have sign product +-1 and step 1/2."""
    factors = np.array([1.0, 0.3, 7.7, 1e-3])
    K = np.outer(factors, factors) * 0.7
    assert abs(sign_product(K) - 1) < 1e-11
    assert abs(step_product(K) - 0.5) < 1e-11


def test_a_variable_that_is_always_zero():
    """Sign 0, step 1/2, absolute value 0."""
    K = np.zeros((4, 4))
    K[1:, 1:] = correlations(np.random.default_rng(0).normal(size=(3, 3)))
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        zero = K[np.ix_(order, order)]
        assert sign_product(zero) == 0
        assert abs(step_product(zero) - step_product(K[1:, 1:]) / 2) < 1e-14
        assert leaky(zero) == 0


def test_under_jit_and_vmap():
    """PDLT (2.13)-(2.14): many covariances at once, some of them singular."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(7, 4, 5))
    vectors[2, 1] = vectors[2, 0]
    vectors[3] = vectors[3, :1]
    vectors[4, :, 2:] = 0
    K = jnp.asarray(vectors @ vectors.swapaxes(1, 2))
    for average in (sign_product, step_product, leaky):
        together = MAPPED[average](jnp.resize(K, (400, 4, 4)))[: len(K)]  # as many as above, where they are compiled
        assert np.abs(together - np.array([average(k) for k in K])).max() < 1e-11 * np.max(np.asarray(K)) ** 2


# ---- derivatives -----------------------------------------------------------------------------------------------------


def central_difference(function, K, direction, step=2e-3):
    near, far = (function(K + h * direction) - function(K - h * direction) for h in (step, 2 * step))
    return float(8 * near - far) / (12 * step)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("average", "n"),
    [(sign_product, 2), (step_product, 3), (sign_product, 4), (leaky, 4), (leaky, 6)],
)
def test_gradients_of_regular_covariances(average, n):
    """PDLT (4.40) and its kin as functions of the kernel, against differences."""
    rng = np.random.default_rng(n)
    K = correlations(rng.normal(size=(n, 2 * n)))
    direction = rng.normal(size=(n, n))
    direction = direction + direction.T
    slope = jnp.sum(jax.jit(jax.grad(average))(jnp.asarray(K)) * direction)
    assert abs(slope - central_difference(average, K, direction)) < 1e-7


def test_gradient_with_repeated_inputs():
    """PDLT (4.40): derivatives with respect to inputs that appear more than once, where the covariance is singular."""
    rng = np.random.default_rng(11)
    x, dx = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    gradient = jax.jit(jax.grad(leaky))
    for which in ([0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 2], [2, 0, 1, 2]):

        def along(h, which=which):
            return leaky(((x + h * dx) @ (x + h * dx).T)[np.ix_(which, which)])

        K, dK = ((a @ b.T + b @ a.T)[np.ix_(which, which)] for a, b in ((x, x / 2), (x, dx)))
        expected = central_difference(along, 0.0, 1.0, 1e-3)
        assert abs(jnp.sum(gradient(jnp.asarray(K)) * dK) - expected) < 1e-8 * scale(K)


def test_gradient_where_all_variables_coincide():
    r"""PDLT (5.159) and its kin: $\partial\langle|z_1z_2z_3z_4|\rangle/\partial K_{12} = \langle s_1s_2|z_3z_4|\rangle$."""
    gradient = jax.jit(jax.grad(lambda k: absolute_value_product(0.0, 1.0, k)))(jnp.ones((4, 4)))
    assert np.abs(gradient - (1 - np.eye(4)) / 2).max() < 1e-7


@pytest.mark.measured
def test_second_derivatives_of_regular_covariances():
    """PDLT (4.40) differentiated twice."""
    rng = np.random.default_rng(2)
    K = jnp.asarray(correlations(rng.normal(size=(4, 8))))
    a, b = (jnp.asarray(m + m.T) for m in rng.normal(size=(2, 4, 4)))

    @jax.jit
    def slope(k):
        return jax.jvp(leaky, (k,), (a,))[1]

    second = jax.jit(lambda k: jax.jvp(slope, (k,), (b,))[1])(K)
    assert abs(second - central_difference(slope, K, b, 3e-4)) < 1e-7


# ---- what cannot be used ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [sign_product, step_product, lambda k: absolute_value_product(1.0, 1.0, k)])
@pytest.mark.parametrize(
    ("K", "error"),
    [
        (np.eye(7), ShapeError),
        (np.ones((2, 3)), ShapeError),
        (np.ones(3), ShapeError),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), DomainError),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), DomainError),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), DomainError),
    ],
)
def test_matrices_that_are_no_covariances(average, K, error):
    """Each names the argument."""
    with pytest.raises(error, match="`K`"):
        average(K)


def test_slopes_that_are_no_numbers():
    """Each names the argument."""
    with pytest.raises(DomainError, match="odd_slope"):
        absolute_value_product(math.nan, 1.0, np.eye(2))
