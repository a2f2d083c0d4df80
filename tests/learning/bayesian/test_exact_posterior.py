"""Measured posteriors: against exact integrals and networks with all their weights; theory against them, order by order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import finitewidth as fw
from finitewidth import learning
from finitewidth._errors import DomainError, ValidityWarning
from finitewidth.learning.bayesian.weighted import add_networks, no_networks

X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8], [0.2, -0.7, 0.4]])
Y = np.array([[1.2, 0.4], [-0.7, 0.9], [0.5, -0.3]])


def deviations(measured, expected):
    return np.abs(measured.mean - expected) / np.where(measured.standard_error > 0, measured.standard_error, 1e-12)


def test_one_input_of_linear_neurons_exactly():
    """The metric has a Gamma law: evidence and hidden kernel are one-dimensional integrals, at width 6 too, with noise."""
    n, noise, y = 6, 0.2, np.array([[1.5, -0.5, 0.3]])
    law = stats.gamma(n / 2, scale=2 / n)

    def moment(power):
        def integrand(G):
            return law.pdf(G) * G**power * np.prod(stats.norm.pdf(y, 0, np.sqrt(G + noise)))

        return integrate.quad(integrand, 0, np.inf, epsrel=1e-11, limit=300)[0]

    measured = learning.exact_posterior(fw.MLP("linear", (1, n, 3)), [[1.0]], y, [[2.0]], noise=noise, networks=40_000)
    assert deviations(measured.log_evidence, np.log(moment(0))) < 4
    assert deviations(measured.representation.posterior, np.array([[[1, 2], [2, 4]]]) * moment(1) / moment(0)).max() < 4
    assert deviations(measured.representation.prior, np.array([[[1.0, 2.0], [2.0, 4.0]]])).max() < 4

    def known(function):
        return integrate.quad(
            lambda G: law.pdf(G) * function(G) * np.prod(stats.norm.pdf(y, 0, np.sqrt(G + noise))),
            0,
            np.inf,
            epsrel=1e-11,
        )[0] / moment(0)

    shrinkage = known(lambda G: G / (G + noise))
    assert deviations(measured.mean, 2 * shrinkage * y).max() < 4
    assert deviations(measured.sample_covariance, 4 * known(lambda G: G * noise / (G + noise))).max() < 4
    spread = known(lambda G: (G / (G + noise)) ** 2) - shrinkage**2
    assert deviations(measured.wiring[0, 0], 4 * spread * y.T @ y).max() < 4
    whole = measured.whole_covariance
    np.testing.assert_allclose(
        whole.mean[0, 0], measured.sample_covariance.mean[0, 0] * np.eye(3) + measured.wiring.mean[0, 0], atol=1e-12
    )
    assert 0 < measured.effective_networks < 40_000
    assert (measured.mean.effective_networks == measured.effective_networks).all()


def test_against_networks_with_all_their_weights():
    """ReLU, three layers of width 6, drawn in NumPy; two targets with noise are put to them one after the other by hand."""
    net = fw.MLP("relu", (3, 6, 6, 1), C_b=0.1, C_W=1.5)
    y, noise, rng, count = np.array([[1.2], [-0.7]]), 0.2, np.random.default_rng(0), 40_000
    W1, b1 = rng.normal(size=(count, 6, 3)) * np.sqrt(1.5 / 3), rng.normal(size=(count, 6, 1)) * np.sqrt(0.1)
    W2, b2 = rng.normal(size=(count, 6, 6)) * np.sqrt(1.5 / 6), rng.normal(size=(count, 6, 1)) * np.sqrt(0.1)
    W3, b3 = rng.normal(size=(count, 1, 6)) * np.sqrt(1.5 / 6), rng.normal(size=(count, 1, 1)) * np.sqrt(0.1)
    hidden = np.maximum(W2 @ np.maximum(W1 @ X[:3].T + b1, 0) + b2, 0)
    z = (W3 @ hidden + b3)[:, 0]  # all weights drawn: the likelihood is that of noise alone
    weight = stats.norm.pdf(y[:, 0], z[:, :2], np.sqrt(noise)).prod(axis=1)
    mean = (weight * z[:, 2]).sum() / weight.sum()
    error = np.sqrt((weight**2 * (z[:, 2] - mean) ** 2).sum()) / weight.sum()
    evidence, evidence_error = weight.mean(), weight.std() / np.sqrt(count)
    measured = learning.exact_posterior(net, X[:2], y, X[2:3], noise=noise, networks=40_000)
    assert abs(measured.mean.mean[0, 0] - mean) < 4 * np.hypot(error, measured.mean.standard_error[0, 0])
    both = np.hypot(evidence_error / evidence, measured.log_evidence.standard_error)
    assert abs(measured.log_evidence.mean - np.log(evidence)) < 4 * both


def test_standard_errors_are_those_of_repeated_runs():
    net = fw.MLP("linear", (1, 6, 1))
    runs = [learning.exact_posterior(net, [[1.0]], [1.5], [[2.0]], noise=0.2, networks=2000, seed=s) for s in range(40)]
    values = np.array([run.log_evidence.mean for run in runs])
    said = np.mean([run.log_evidence.standard_error for run in runs])
    assert 0.65 < values.std(ddof=1) / said < 1.5  # 40 runs know their spread to 11 %


def test_a_network_that_agrees_far_better_comes_late():
    """Weights are relative to the largest so far: one that is larger by e^50 leaves nothing of those before, in one lane or in two."""
    y, metrics = jnp.ones((1, 1)), jnp.array([[[[0.01, 0.01], [0.01, 0.01]]]] * 3 + [[[[1.0, 0.5], [0.5, 1.0]]]])
    indices, counted = jnp.arange(4), jnp.ones(4, bool)
    at_once = add_networks(no_networks(1, 2, 1, 1), metrics, y, 0.0, indices, counted)
    in_two = no_networks(1, 2, 1, 1)
    for half in (slice(0, 2), slice(2, 4)):
        in_two = add_networks(in_two, metrics[half], y, 0.0, indices[half], counted[half])
    for one, other in zip(jax.tree.leaves(at_once), jax.tree.leaves(in_two), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-30)
    np.testing.assert_allclose(in_two.effective_networks, 1.0, rtol=1e-12)
    np.testing.assert_allclose(in_two.mean.sum() / in_two.weight.sum(), 0.5, rtol=1e-12)


def test_few_networks_that_agree():
    """Warned of and refused, on both sides of each threshold."""
    net, x, y = fw.MLP("linear", (1, 4, 4)), [[1.0]], np.full((1, 4), 1.0)
    ample = learning.exact_posterior(net, x, y, [[2.0]], networks=2000)
    assert ample.effective_networks > 100
    with pytest.warns(ValidityWarning, match=r"Only \d+ of 2000 networks decide the posterior"):
        few = learning.exact_posterior(net, x, 3.5 * y, [[2.0]], networks=2000)
    assert 10 <= few.effective_networks < 100
    with pytest.raises(
        DomainError, match=r"`networks`: got 2000, of which only .* decide the posterior; expected about"
    ):
        learning.exact_posterior(net, x, 6 * y, [[2.0]], networks=2000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"networks": 10}, "`networks`"),
        ({"net": fw.MLP("tanh", (3, 1))}, "`net`: got no hidden layer"),
        ({"net": fw.MLP("tanh", (3, 2, 1))}, "`net`: got 2 neurons, which cannot pass through 3 targets"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"net": fw.MLP("tanh", (3, 8, 1)), "x_train": X[:3], "y_train": Y[:, :1], "x_test": X[3:]} | change
    with pytest.raises(DomainError, match=message):
        learning.exact_posterior(**arguments)


FIELDS = ("mean", "sample_covariance", "wiring", "log_evidence", "representation.change")
SMALLEST = {
    ("tanh", 2): 32,
    ("tanh", 3): 64,
    ("relu", 2): 128,
    ("relu", 3): 128,
}  # width from which the correction is small


def field(posterior, name):
    for part in name.split("."):
        posterior = getattr(posterior, part)
    return posterior


@pytest.mark.measured
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize(
    ("activation", "depth", "train"),
    [("tanh", 2, 2), ("tanh", 3, 2), ("tanh", 4, 2), ("tanh", 3, 3), ("relu", 2, 3), ("relu", 3, 2)],
)
def test_theory_is_right_to_first_order(activation, depth, train, noise):
    """Posterior mean, covariance, wiring, evidence and the kernel of every hidden layer of real networks. Times n, what is left when
    the order-1 theory is taken off falls as 1/n: a line in 1/n through it meets zero at infinite width, within errors that are
    small beside the correction itself. Footnote 35 of the book's chapter 6 would leave all of the earlier layers' change."""
    rows = {name: [] for name in FIELDS}
    widths = SMALLEST[activation, train] * np.array([1, 2, 4])
    for n in widths:
        net = fw.MLP(activation, (3, *[int(n)] * (depth - 1), 2), C_b=0.1, C_W=1.5)
        theory, limit = (fw.bayes(net, X[:train], Y[:train], X[3:], noise=noise, order=order) for order in (1, 0))
        measured = learning.exact_posterior(net, X[:train], Y[:train], X[3:], noise=noise, networks=400_000)
        for name in FIELDS:
            found, value = field(measured, name), field(theory, name)
            rows[name].append([n * (found.mean - value), n * found.standard_error, n * (value - field(limit, name))])
    for name in FIELDS:
        left, error, correction = (np.array(each) for each in zip(*rows[name], strict=True))
        w, x = 1 / np.maximum(error, 1e-9) ** 2, (1 / widths).reshape(-1, *[1] * (left.ndim - 1))
        sw, swx, swxx = w.sum(0), (w * x).sum(0), (w * x**2).sum(0)
        determinant = sw * swxx - swx**2
        intercept = (swxx * (w * left).sum(0) - swx * (w * x * left).sum(0)) / determinant
        spread = np.sqrt(swxx / determinant)
        assert (np.abs(intercept) < 4.5 * spread).all(), name
        assert spread.max() < 0.35 * np.abs(correction).max(), name
