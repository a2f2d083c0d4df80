"""What is known exactly of finite shaped networks, and of the random numbers that they are made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

from finitewidth.ensembles import simulate
from finitewidth.ensembles.shaped.chi_squares import chi_squares
from finitewidth.ensembles.shaped.columns import split_columns
from finitewidth.ensembles.shaped.draws import Wisharts, draw
from finitewidth.networks.shaped import ShapedMLP, ShapedResNet, shaped_relu

V0 = np.asarray([[1.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 1.2]])
LINEAR = ShapedMLP(shaped_relu(0.7, 0.7))
ROOT = jnp.linalg.cholesky(jnp.asarray(V0))


N, DEPTH, NETWORKS = 12, 10, 20_000


@pytest.fixture(scope="module")
def linear():
    """Linear networks, half-way and at the end."""
    return simulate(LINEAR.at(N, DEPTH), V0, networks=NETWORKS, save=2).V[:, 1:]


def z_score(samples, expected):
    return (samples.mean(axis=0) - expected) / (samples.std(axis=0) / np.sqrt(len(samples)))


def test_chi_squares():
    """Against the distribution functions, from one degree of freedom to many."""
    degrees = np.asarray([1, 2, 3, 10, 400])
    keys = jax.random.split(jax.random.key(0), 20_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: chi_squares(key, degrees, jnp.float64)))(keys))
    for samples, degree in zip(drawn.T, degrees, strict=True):
        assert stats.kstest(samples, stats.chi2(degree).cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(drawn.T) - np.eye(5)).max() < 4.5 / np.sqrt(20_000)


def test_wishart_factors():
    r"""$E[W] = \nu I$ and $E[W^2] = \nu(\nu + s + 1)I$, also where $\nu$ is less than the size $s$ or zero."""
    kinds = [Wisharts(2, 3, 7), Wisharts(1, 3, 2), Wisharts(1, 2, 0)]
    keys = jax.random.split(jax.random.key(1), 20_000)
    (normals,), factors = jax.jit(jax.vmap(lambda key: draw(key, [(4,)], kinds, jnp.float64)))(keys)
    assert np.abs(z_score(np.asarray(normals), 0)).max() < 4
    for kind, factor in zip(kinds, map(np.asarray, factors), strict=True):
        assert factor.shape == (20_000, kind.matrices, kind.size, min(kind.size, kind.degrees))
        if kind.degrees:
            W = factor @ factor.swapaxes(-1, -2)
            identity = np.eye(kind.size)
            assert np.abs(z_score(W, kind.degrees * identity)).max() < 4.5
            assert np.abs(z_score(W @ W, kind.degrees * (kind.degrees + kind.size + 1) * identity)).max() < 4.5


@pytest.mark.parametrize("ones", [False, True])
def test_columns_add_up(ones):
    """Whatever the split, the Gram matrices of all groups sum to the covariance of the inputs."""
    keys = jax.random.split(jax.random.key(2), 2000)
    grams = np.asarray(jax.vmap(lambda key: split_columns(key, ROOT, 8, 4, ones))(keys))
    total = grams.sum(axis=1)
    np.testing.assert_allclose(total[:, :3, :3], np.broadcast_to(V0, (2000, 3, 3)), atol=1e-12)
    assert np.abs(z_score(grams[:, 0, :3, :3], V0 / 4)).max() < 4.5
    if ones:
        # The mean of a token over its columns is its product with a random direction: variance V/n.
        np.testing.assert_allclose(total[:, 3, 3], 1.0)
        means = total[:, :3, 3]
        assert np.abs(z_score(means[:, :, None] * means[:, None, :], V0 / 8)).max() < 4.5


def test_determinant_of_linear_networks(linear):
    r"""$\log\det V_d - \log\det V_0 = \sum_\ell\sum_i\log(\chi^2_{n-i+1}/n)$, mean and variance in digamma functions."""
    change = np.linalg.slogdet(linear[:, 1])[1] - np.linalg.slogdet(V0)[1]
    halves = (N - np.arange(3)) / 2
    mean, variance = DEPTH * np.sum(digamma(halves) + np.log(2 / N)), DEPTH * np.sum(polygamma(1, halves))
    assert abs(z_score(change, mean)) < 4
    assert abs(change.var() / variance - 1) < 4 * np.sqrt(2 / NETWORKS)


def test_second_moments_of_linear_networks(linear):
    r"""$E[V^{12}V^{34}] = \tfrac13(x_1 + x_2 + x_3)(1 + \tfrac2n)^d + \tfrac13(2x_1 - x_2 - x_3)(1 - \tfrac1n)^d$, all entries."""
    V, d = linear[:, 0], DEPTH // 2  # deeper, fourth moments are too heavy for honest error bars
    A, B, C = (np.einsum(f"{s},{t}->abcd", V0, V0) for s, t in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")))
    expected = (A + B + C) / 3 * (1 + 2 / N) ** d + (2 * A - B - C) / 3 * (1 - 1 / N) ** d
    assert np.abs(z_score(np.einsum("nab,ncd->nabcd", V, V), expected)).max() < 4.5


def test_mean_of_one_residual_layer():
    r"""$E[V'] = \lambda^2V + \gamma^2\sqrt{V^{\alpha\alpha}V^{\beta\beta}}\,cK_1(\rho)$ with the exact kernel of that width."""
    block, n = ShapedResNet(0.6, 1.0, -2.0, hidden_ratio=1.5), 10
    V = simulate(block.at(n, 1), V0, networks=20_000).final
    scale = np.sqrt(np.outer(np.diag(V0), np.diag(V0)))
    kernel = scale * np.asarray(block.activation.kernel(jnp.asarray(V0 / scale), n))
    assert np.abs(z_score(V, 0.64 * V0 + 0.36 * kernel)).max() < 4.5
    assert np.abs(z_score(V, V0)).max() > 8  # and the kernel is no trifle


def test_more_inputs_than_units():
    """A fully connected network narrower than its inputs: covariances of the rank of the width, with the right mean."""
    start = np.eye(4) + 0.5
    law = simulate(ShapedMLP().at(2, 1), start, networks=4096)
    assert set(np.linalg.matrix_rank(law.final, tol=1e-9).tolist()) == {2}
    assert np.abs(z_score(law.final[:, np.arange(4), np.arange(4)], np.diag(start))).max() < 4
