"""Averages of three to six variables against dense tensor grids, lower dimensions and Wick's theorem."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.activations import ACTIVATIONS, Activation
from finitewidth.gaussian.accuracy import VALUES, coarse_rule, product_rule
from finitewidth.gaussian.powers import power_average
from finitewidth.gaussian.products import product_moment
from finitewidth.gaussian.wick import wick_moment
from references import vectorised

SMOOTH = ["sigmoid", "tanh", "softplus", "swish", "gelu", "erf", "arctan", "centered_softplus"]
MEASURED = {"softplus", "erf", "arctan", "centered_softplus"}  # integrated as the others are


def random_covariance(n, seed, K=1.0, rank=None):
    vectors = np.random.default_rng(seed).normal(size=(n, rank or n))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return K * vectors @ vectors.T


def dense_grid(function, K, nodes=53):
    """<prod f(z_i)> on a tensor grid of equispaced points in the eigenbasis of K."""
    u = np.linspace(-7.5, 7.5, nodes)
    w = np.exp(-(u**2) / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    total = 0.0
    for first, weight in zip(u, w, strict=True):  # one slab at a time keeps memory small
        rest = np.meshgrid(*[u] * (len(K) - 1), indexing="ij")
        weights = weight * math.prod(np.meshgrid(*[w] * (len(K) - 1), indexing="ij"))
        z = [row[0] * first + sum(r * axis for r, axis in zip(row[1:], rest, strict=True)) for row in root]
        total += float((weights * math.prod(map(function, z))).sum())
    return total


def moment(name, K, n):
    activation = ACTIVATIONS[name]
    rule = product_rule(activation, float(np.diagonal(K).max()))
    return float(jax.jit(lambda K: product_moment(((activation, 0),) * n, rule, K))(K))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.measured if name in MEASURED else ()) for name in SMOOTH]
)
def test_four_points_at_unit_variance(name):
    """PDLT (4.40): four distinct inputs against a tensor grid."""
    K = random_covariance(4, seed=1)
    np.testing.assert_allclose(moment(name, K, 4), dense_grid(vectorised(name), K), rtol=1e-8)


def test_coarser_grids_for_many_inputs():
    """Fewer points, and still eight digits for four inputs that differ."""
    tanh, K = ACTIVATIONS["tanh"], random_covariance(4, seed=1)
    rule = coarse_rule(tanh, 1.0, VALUES)
    assert rule.nodes < product_rule(tanh, 1.0).nodes
    found = jax.jit(lambda K: product_moment(((tanh, 0),) * 4, rule, K))(K)
    np.testing.assert_allclose(found, dense_grid(np.tanh, K), rtol=1e-8)
    assert coarse_rule(ACTIVATIONS["sin"], 1.0, VALUES) is None
    assert coarse_rule(ACTIVATIONS["relu"], 1.0, VALUES) is None


@pytest.mark.parametrize("K", [1e-3, 10.0])
@pytest.mark.parametrize("name", [*SMOOTH[:5:2], pytest.param("arctan", marks=pytest.mark.measured)])
def test_four_points_on_a_line_and_in_a_plane(name, K):
    """Singular covariances: four equal inputs, and four inputs that are two, against one and two dimensions."""
    activation = ACTIVATIONS[name]
    f = vectorised(name)
    u = np.linspace(-13, 13, 6001)
    w = np.exp(-(u**2) / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    line = float(w @ f(math.sqrt(K) * u) ** 4)
    np.testing.assert_allclose(moment(name, np.full((4, 4), K), 4), line, rtol=1e-8)
    pair = random_covariance(2, seed=3, K=K)
    square = pair[np.ix_([0, 1, 0, 1], [0, 1, 0, 1])]
    rule = product_rule(activation, K)
    np.testing.assert_allclose(
        moment(name, square, 4),
        jax.jit(lambda K: power_average(activation, ((2, 0), (2, 0)), K, rule))(pair),
        rtol=1e-8,
    )


@pytest.mark.parametrize("name", ["tanh", pytest.param("gelu", marks=pytest.mark.measured)])
def test_rank_deficient_covariances(name):
    """Four inputs in three dimensions, as any data set in a low dimension gives."""
    K = random_covariance(4, seed=4, rank=3)
    np.testing.assert_allclose(moment(name, K, 4), dense_grid(vectorised(name), K), rtol=1e-8)


@pytest.mark.parametrize("name", ["tanh", "swish", "relu", "sin"])
def test_order_of_variables_does_not_matter(name):
    """Every split of four variables into two groups gives the same number."""
    K = random_covariance(4, seed=5)
    values = [moment(name, K[np.ix_(order, order)], 4) for order in ([0, 1, 2, 3], [0, 2, 1, 3], [3, 0, 2, 1])]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_polynomials_are_wick_sums(n):
    """PDLT (1.45): cubic polynomials with up to six variables; 18 legs."""
    K = random_covariance(n, seed=6)
    legs = [i for i in range(n) for _ in range(3)]
    np.testing.assert_allclose(moment("z^3", K, n), wick_moment(K, legs), rtol=1e-9, atol=1e-9)


def test_six_variables_factorise_and_reduce():
    """Six tanh variables: independent triples vanish, and three equal pairs are a three-point average of squares."""
    tanh = ACTIVATIONS["tanh"]
    K = random_covariance(3, seed=7, K=0.5)
    doubled = K[np.ix_([0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 2])]
    rule = product_rule(tanh, 0.5)
    three = jax.jit(lambda K: power_average(tanh, ((2, 0),) * 3, K, rule))(K)
    np.testing.assert_allclose(moment("tanh", doubled, 6), three, rtol=1e-9)
    apart = np.block([[K, np.zeros((3, 3))], [np.zeros((3, 3)), K]])
    assert abs(moment("tanh", apart, 6)) < 1e-15


@pytest.mark.parametrize("name", ["tanh", pytest.param("gelu", marks=pytest.mark.measured), "sin", "relu"])
def test_derivatives_in_the_covariance(name):
    """Stein's lemma against finite differences, for a symmetric change of the covariance."""
    activation = ACTIVATIONS[name]
    K, change = random_covariance(4, seed=8), random_covariance(4, seed=9)
    rule = product_rule(activation, 1.5, (*VALUES, (0, 2)))

    @jax.jit
    def average_and_slope(t):
        return jax.jvp(lambda t: product_moment(((activation, 0),) * 4, rule, K + t * change), (t,), (1.0,))

    step = 1e-3
    values = [float(average_and_slope(m * step)[0]) for m in (-2, -1, 1, 2)]
    difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    np.testing.assert_allclose(average_and_slope(0.0)[1], difference, rtol=1e-7)


def test_a_callable_nobody_has_seen():
    """Any smooth callable: z exp(-z^2), three inputs, against a tensor grid."""
    unseen = Activation(lambda z: z * jnp.exp(-(z**2)), name="unseen")
    K = random_covariance(4, seed=10)
    value = product_moment(((unseen, 0),) * 4, product_rule(unseen, 1.0), jnp.asarray(K))
    np.testing.assert_allclose(value, dense_grid(lambda z: z * np.exp(-(z**2)), K, 61), rtol=1e-8)


def test_patterns_of_signs():
    """Flipping the sign of one input of an odd function flips the average."""
    K = random_covariance(4, seed=11)
    for flip in itertools.islice(itertools.product((1, -1), repeat=4), 1, 6):
        signs = np.asarray(flip)
        flipped = moment("tanh", K * signs[:, None] * signs, 4)
        np.testing.assert_allclose(flipped, signs.prod() * moment("tanh", K, 4), rtol=1e-10)
