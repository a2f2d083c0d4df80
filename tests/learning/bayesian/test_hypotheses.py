"""Priors, likelihoods and objectives against SciPy; neurons that fire together against an exact integral."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import finitewidth as fw
from finitewidth import learning
from finitewidth._errors import DomainError, ShapeError

NET = fw.MLP("tanh", (2, 3, 2), C_b=[0.2, 0.3], C_W=[1.5, 2.0])
X, Y = np.array([[1.0, 0.5], [-0.3, 0.8]]), np.array([[0.1, -0.2], [0.4, 0.3]])


@pytest.fixture(scope="module")
def params():
    return fw.draw_parameters(NET, 0)


def test_prior(params):
    """PDLT (6.6), and the ridge PDLT (6.22) it amounts to: they differ by a constant."""
    expected = sum(
        stats.norm(0, np.sqrt(C / n)).logpdf(W).sum() + stats.norm(0, np.sqrt(c)).logpdf(b).sum()
        for C, c, n, W, b in zip([1.5, 2.0], [0.2, 0.3], [2, 3], params.weights, params.biases, strict=True)
    )
    np.testing.assert_allclose(learning.log_prior(NET, params), expected, rtol=1e-12)
    ridge = learning.prior_as_ridge(NET)
    other = jax.tree.map(lambda leaf: 0.7 * leaf, params)

    def penalty(theta):
        return sum(float((a * t**2).sum()) for a, t in zip(jax.tree.leaves(ridge), jax.tree.leaves(theta), strict=True))

    difference = learning.log_prior(NET, params) - learning.log_prior(NET, other)
    np.testing.assert_allclose(difference, penalty(other) - penalty(params), rtol=1e-12)


def test_likelihoods():
    """PDLT (6.9)-(6.11), (6.17)."""
    z = Y + np.array([[0.3, -0.1], [0.2, 0.0]])
    expected = stats.norm(z, np.sqrt(0.25)).logpdf(Y).sum()
    np.testing.assert_allclose(learning.gaussian_log_likelihood(z, Y, 0.25), expected, rtol=1e-12)
    assert learning.agrees(Y, Y)
    assert not learning.agrees(z, Y)
    probabilities = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    expected = np.log(probabilities[[0, 1], [1, 0]]).sum()
    np.testing.assert_allclose(learning.categorical_log_likelihood(z, [1, 0]), expected, rtol=1e-12)


def test_objectives(params):
    """PDLT (6.16), (6.19)-(6.22)."""
    z = fw.realised.apply(NET, params, X)[-1]
    likelihood = stats.norm(np.asarray(z), np.sqrt(0.1)).logpdf(Y).sum()
    np.testing.assert_allclose(learning.maximum_likelihood_objective(NET, params, X, Y, 0.1), -likelihood, rtol=1e-12)
    found = learning.maximum_a_posteriori_objective(NET, params, X, Y, 0.1)
    np.testing.assert_allclose(found, -likelihood - learning.log_prior(NET, params), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: learning.log_prior(fw.MLP("tanh", (2, 3, 2)), fw.draw_parameters(NET, 0)),
            "`net`: got C_b or C_W of zero",
        ),
        (lambda: learning.gaussian_log_likelihood(Y, Y, 0.0), "`noise`: got 0.0; expected a positive variance"),
        (lambda: learning.gaussian_log_likelihood(Y, Y[:1], 0.1), "`y`"),
        (lambda: learning.categorical_log_likelihood(Y, [0, 2]), "`labels`: got a class number out of range"),
        (lambda: learning.categorical_log_likelihood(Y, [0.0, 1.0]), "`labels`"),
        (lambda: learning.categorical_log_likelihood(Y[0], [0]), "`z`"),
        (lambda: learning.variance_given_another(0.0, 1.0, 10, 1.0), "`G`"),
        (lambda: learning.variance_given_another_by_action(1.0, 2.0, 3, 1.0), "`width`: got 3; expected more than 4"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises((DomainError, ShapeError), match=message):
        call()


def test_neurons_that_fire_together():
    """PDLT (6.73)-(6.78) for a layer behind linear neurons, where the metric has a Gamma law: the exact conditional variance is
    reached as 1/n^2, by the expanded form and by the action."""
    remainders = []
    for n in (64, 256, 1024):
        flow = fw.flow(fw.MLP("linear", (1, n, 2)), [[1.0]])
        G, V = float(flow.G[1, 0, 0]), float(flow.V[1, 0, 0, 0, 0])
        law, row = stats.gamma(n / 2, scale=2 / n), []
        for seen in (0.5, 1.5):

            def weighted(power, seen=seen, law=law, n=n):
                ends = max(1e-9, 1 - 14 * np.sqrt(2 / n)), 1 + 16 * np.sqrt(2 / n)
                integrand = lambda g: law.pdf(g) * stats.norm.pdf(seen, 0, np.sqrt(g)) * g**power  # noqa: E731
                return integrate.quad(integrand, *ends, epsrel=1e-12, limit=400)[0]

            exact = weighted(1) / weighted(0)
            row.append(learning.variance_given_another(G, V, n, seen) - exact)
            row.append(learning.variance_given_another_by_action(G, V, n, seen) - exact)
            assert (exact > G) == (seen**2 > G)
        remainders.append(row)
    slopes = np.log(np.abs(np.array(remainders[:-1]) / np.array(remainders[1:]))) / np.log(4)
    np.testing.assert_allclose(slopes, 2.0, atol=0.15)
