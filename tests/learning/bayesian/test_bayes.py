"""Posteriors to order 1/n: printed digits, brute force, exact integrals, and what is refused."""

import numpy as np
import pytest
from scipy import integrate, stats

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError, ShapeError, ValidityWarning

X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
Y = np.array([[1.2, 0.4], [-0.7, 0.9]])
WIDE = 10**6


def network(width=WIDE, activation="tanh", depth=3, outputs=2, C_W=1.5):
    return fw.MLP(activation, (3, *[width] * (depth - 1), outputs), C_b=0.1, C_W=C_W)


@pytest.fixture(scope="module")
def limit():
    return fw.bayes(network(), X[:2], Y, X[2:], order=0)


@pytest.fixture(scope="module")
def corrected():
    return fw.bayes(network(), X[:2], Y, X[2:])


def test_infinite_width_to_printed_digits(limit):
    """PDLT (6.64), (6.57), (6.34), by numbers from another implementation; no wiring, no representation learning: PDLT (6.71)."""
    np.testing.assert_allclose(limit.mean, [[0.03285995, 0.60905748]], atol=1e-8)
    np.testing.assert_allclose(limit.sample_covariance, [[0.2672188]], atol=1e-7)
    np.testing.assert_allclose(limit.log_evidence, -5.5717797, atol=1e-7)
    assert not limit.wiring.any()
    assert not limit.representation.change.any()
    np.testing.assert_array_equal(limit.representation.posterior, limit.representation.prior)


def test_corrections_to_printed_digits(limit, corrected):
    """The expanded form, times n: numbers from another implementation, themselves checked against measured networks."""
    np.testing.assert_allclose(WIDE * (corrected.mean - limit.mean), [[0.0789433, 0.1614868]], atol=2e-6)
    np.testing.assert_allclose(
        WIDE * (corrected.sample_covariance - limit.sample_covariance), [[-0.7067861]], atol=2e-6
    )
    wiring = [[2.6025085, -0.5180285], [-0.5180285, 0.4137554]]
    np.testing.assert_allclose(WIDE * corrected.wiring[0, 0], wiring, atol=2e-6)
    np.testing.assert_allclose(WIDE * (corrected.log_evidence - limit.log_evidence), -2.8642763, atol=2e-6)
    change = [0.2536755, -1.4429875, -0.5967446, 0.1342435, -0.3079131, -0.1638904]
    np.testing.assert_allclose(WIDE * corrected.representation.change[1][np.triu_indices(3)], change, atol=2e-6)


def test_covariance_is_made_of_its_parts(corrected):
    whole = corrected.covariance
    np.testing.assert_allclose(whole[0, 0], corrected.sample_covariance[0, 0] * np.eye(2) + corrected.wiring[0, 0])
    np.testing.assert_allclose(corrected.variance, np.diagonal(whole[0, 0])[None])
    np.testing.assert_allclose(corrected.standard_deviation**2, corrected.variance)
    table = corrected.table()
    np.testing.assert_array_equal(table.columns["mean[1]"], corrected.mean[:, 1])
    np.testing.assert_array_equal(table.columns["standard deviation[0]"], corrected.standard_deviation[:, 0])
    assert table.facts["order"] == 1


def test_against_the_gaussian_process_by_brute_force():
    """PDLT (6.64), (6.57): conditioning a Gaussian with NumPy's inverse, with noise, for several test samples."""
    x = np.random.default_rng(0).normal(size=(7, 3))
    y, net = np.random.default_rng(1).normal(size=(4, 2)), network()
    found = fw.bayes(net, x[:4], y, x[4:], noise=0.3, order=0)
    K = fw.kernel(net, x)
    inverse = np.linalg.inv(K[:4, :4] + 0.3 * np.eye(4))
    np.testing.assert_allclose(found.mean, K[4:, :4] @ inverse @ y, rtol=1e-12)
    np.testing.assert_allclose(found.sample_covariance, K[4:, 4:] - K[4:, :4] @ inverse @ K[:4, 4:], atol=1e-13)
    density = stats.multivariate_normal(np.zeros(4), K[:4, :4] + 0.3 * np.eye(4))
    np.testing.assert_allclose(found.log_evidence, density.logpdf(y.T).sum(), rtol=1e-12)
    given = fw.bayes(kernel=K, y_train=y, noise=0.3, order=0)
    np.testing.assert_allclose(given.mean, found.mean, rtol=1e-12)
    assert given.representation is None


def test_samples_have_mean_and_covariance(limit):
    """PDLT (6.66), in standard errors."""
    found = fw.bayes(network(), X[:1], Y[:1], X[1:], order=0)
    drawn = found.samples(40_000, seed=1)
    assert drawn.shape == (40_000, 2, 2)
    sd = found.standard_deviation
    assert (np.abs(drawn.mean(axis=0) - found.mean) < 4.5 * sd / np.sqrt(len(drawn))).all()
    both = np.cov(drawn[:, :, 0].T)
    error = np.sqrt((np.outer(np.diag(both), np.diag(both)) + both**2) / len(drawn))
    assert (np.abs(both - found.sample_covariance) < 4.5 * error).all()
    with pytest.raises(ArgumentError, match="order 0"):
        fw.bayes(network(), X[:1], Y[:1], X[1:]).samples(3)


def gamma_average(n, function):
    """Of a metric with the law Gamma(n/2) of mean one: one hidden layer of linear neurons, one input of kernel one."""
    law = stats.gamma(n / 2, scale=2 / n)
    spread = 14 * np.sqrt(2 / n)
    ends = max(1e-12, 1 - spread), 1 + spread + 40 / n
    return integrate.quad(lambda G: law.pdf(G) * function(G), *ends, epsabs=0, epsrel=1e-12, limit=400)[0]


@pytest.mark.parametrize(
    ("y", "change_times_n", "evidence_times_n", "orders"),
    [([2.0, 1.0, 0.0], 2.0, -2.5, (2, 1)), ([1.0, 1.0, 0.0], -1.0, -0.25, (1, 1))],
)
def test_deep_linear_networks_exactly(y, change_times_n, evidence_times_n, orders):
    """PDLT (6.104) and the evidence against an exact integral: remainders times n fall as 1/n. With S = Y - n_L the change is S/n and
    the correction of the evidence (Y^2 - 10 Y + 15)/4n; the former's next order happens to vanish at Y = 5, n_L = 3."""
    remainders = []
    total = float(np.sum(np.square(y)))
    for n in (64, 256, 1024):
        net = fw.MLP("linear", (1, n, 3))
        theory = fw.bayes(net, [[1.0]], [y], [[2.0]])

        def weight(G):
            return (2 * np.pi * G) ** -1.5 * np.exp(-total / (2 * G))

        evidence = gamma_average(n, weight)
        change = gamma_average(n, lambda G: G * weight(G)) / evidence - 1
        limit = np.log(weight(1.0))
        np.testing.assert_allclose(n * theory.representation.change[0, 0, 0], change_times_n, rtol=1e-9)
        np.testing.assert_allclose(n * (theory.log_evidence - limit), evidence_times_n, rtol=1e-9)
        remainders.append([n * change - change_times_n, n * (np.log(evidence) - limit) - evidence_times_n])
        # The second input is twice the first: its output is known, with no variance at any width.
        np.testing.assert_allclose(theory.mean, 2 * np.array([y]), atol=1e-9)
        np.testing.assert_allclose(theory.covariance, 0.0, atol=1e-9)
    ratios = np.abs(np.array(remainders[:-1]) / np.array(remainders[1:]))
    np.testing.assert_allclose(np.log(ratios) / np.log(4), np.broadcast_to(orders, (2, 2)), atol=0.1)


def test_every_hidden_layer_of_a_deep_linear_network():
    """Two hidden layers, C_W = 2 in the last: kernels are products of Gamma variables, and both layers' changes are integrals."""
    y, found = 1.5, []
    for n in (256, 1024):
        spread = np.sqrt(2 / n)
        nodes, weights = np.polynomial.legendre.leggauss(240)
        g = 1 + spread * (10 * nodes + 1)
        law = weights * stats.gamma(n / 2, scale=2 / n).pdf(g)
        first, last = np.meshgrid(g, 2 * g, indexing="ij")
        last, prior = last * first, law[:, None] * law
        weighted = prior * np.exp(-(y**2) / (2 * last)) / np.sqrt(last)
        kernels = first, last
        found.append([n * np.sum((weighted / weighted.sum() - prior / prior.sum()) * G) for G in kernels])
    exact = (4 * np.array(found[1]) - found[0]) / 3
    theory = fw.bayes(fw.MLP("linear", (1, 1024, 1024, 1), C_W=[1.0, 1.0, 2.0]), [[1.0]], [y], [[2.0]])
    np.testing.assert_allclose(1024 * theory.representation.change[:, 0, 0], [0.125, 0.5], rtol=1e-9)
    np.testing.assert_allclose(exact, [0.125, 0.5], rtol=5e-3)


def test_many_test_samples_meet_in_pairs(monkeypatch):
    """Blocks of test samples give what each pair of them alone gives; blocks of two, of which the last takes a sample of another."""
    monkeypatch.setattr("finitewidth.learning.bayesian.blocks.AT_ONCE", 2)
    x = np.random.default_rng(2).normal(size=(5, 3))
    net = network(256, "relu")
    found = fw.bayes(net, X[:2], Y, x)
    pair = fw.bayes(net, X[:2], Y, x[[1, 4]])
    np.testing.assert_allclose(found.mean[[1, 4]], pair.mean, rtol=1e-10)
    chosen = np.ix_([1, 4], [1, 4])
    np.testing.assert_allclose(found.sample_covariance[chosen], pair.sample_covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.wiring[chosen], pair.wiring, rtol=1e-9, atol=1e-12)
    rows = np.ix_([0, 1], [0, 1, 3, 6], [0, 1, 3, 6])
    np.testing.assert_allclose(found.representation.change[rows], pair.representation.change, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.representation.prior[rows], pair.representation.prior, rtol=1e-9)


def test_samples_told_twice():
    """Without noise a copy says nothing new; with noise it counts; two targets for one input are refused."""
    net, twice = network(256, "relu"), [0, 1, 0]
    once = fw.bayes(net, X[:2], Y, X[2:])
    again = fw.bayes(net, X[twice], Y[twice], X[2:])
    np.testing.assert_array_equal(again.mean, once.mean)
    assert again.log_evidence == once.log_evidence
    noisy = fw.bayes(net, X[twice], Y[twice], X[2:], noise=0.5, order=0)
    single = fw.bayes(net, X[:2], Y, X[2:], noise=0.5, order=0)
    assert noisy.sample_covariance[0, 0] < single.sample_covariance[0, 0]
    with pytest.raises(DomainError, match=r"`y_train`: got two targets for one input \(samples 0 and 2\).*`noise` > 0"):
        fw.bayes(net, X[twice], [[1.2, 0.4], [-0.7, 0.9], [1.0, 0.4]], X[2:])


def test_inputs_that_are_nearly_alike():
    """A pair of inputs at a distance below rounding of its kernel: the posterior interpolates, and a warning names the pair."""
    near = np.stack([X[0], X[0] + 1e-9, X[1]])
    with pytest.warns(
        ValidityWarning,
        match="`x_train` is singular to about 13 digits .samples 0 and 1 are duplicates or nearly so.*or give `noise` > 0",
    ):
        found = fw.bayes(network(), near, [[1.0, 0.0], [1.0, 0.0], [0.5, 0.2]], X[2:], order=0)
    clean = fw.bayes(network(), X[:2], [[1.0, 0.0], [0.5, 0.2]], X[2:], order=0)
    np.testing.assert_allclose(found.mean, clean.mean, atol=1e-5)


def test_one_output_may_be_a_list():
    net = network(256, "relu", outputs=1)
    one, column = fw.bayes(net, X[:2], [1.0, 2.0], X[2:], order=0), fw.bayes(net, X[:2], [[1.0], [2.0]], X[2:], order=0)
    np.testing.assert_array_equal(one.mean, column.mean)


def test_no_hidden_layer_is_a_gaussian_process():
    net = fw.MLP("tanh", (3, 2), C_b=0.1)
    zero, one = (fw.bayes(net, X[:2], Y, X[2:], order=order) for order in (0, 1))
    np.testing.assert_allclose(one.mean, zero.mean, rtol=1e-12)
    assert one.log_evidence == pytest.approx(float(zero.log_evidence))
    assert one.representation.change.shape == (0, 3, 3)


def test_corrections_that_are_not_small_say_so(recwarn):
    """On both sides of the threshold."""
    with pytest.warns(ValidityWarning, match=r"not small: its terms in the log-evidence add up to .* n_L N_train = 4"):
        narrow = fw.bayes(network(8, "relu"), X[:2], 3 * Y, X[2:])
    assert narrow.correction > 1
    n = int(np.ceil(8 * narrow.correction)) + 1
    recwarn.clear()
    assert 0.5 < fw.bayes(network(n, "relu"), X[:2], 3 * Y, X[2:]).correction < 1
    assert not [w for w in recwarn if "log-evidence" in str(w.message)]


def test_too_many_training_samples_at_order_one():
    x = np.random.default_rng(0).normal(size=(150, 3))
    want = r"`x_train`: got 150 training samples at order 1, whose four-point vertex takes about .* GB.*use order=0"
    with pytest.raises(DomainError, match=want):
        fw.bayes(network(), x, np.zeros((150, 2)), X)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"order": 2}, DomainError, "`order`: got 2; expected 0 or 1"),
        ({"order": -1}, DomainError, "`order`"),
        ({"noise": -0.1}, DomainError, "`noise`"),
        ({"net": None}, ArgumentError, "`net`: got None; expected a network, or `kernel`"),
        ({"net": "tanh"}, ArgumentError, "`net`: got .*tanh.*; expected an MLP"),
        ({"y_train": [[1.0], [2.0]]}, ShapeError, r"`y_train`: got shape \(2, 1\); expected shape \(2, 2\)"),
        ({"y_train": [1.0, 2.0]}, ShapeError, r"`y_train`: got shape \(2,\)"),
        ({"y_train": [[1.0, np.nan], [2.0, 0.0]]}, DomainError, "`y_train`: got a NaN"),
        ({"x_test": [[1.0, 2.0]]}, ShapeError, "`x_test`: got 2 features"),
        ({"kernel": np.eye(3)}, ArgumentError, "`net`: got an argument beside `kernel`"),
    ],
)
def test_bad_arguments(change, error, message):
    arguments = {"net": network(), "x_train": X[:2], "y_train": Y, "x_test": X[2:]} | change
    with pytest.raises(error, match=message):
        fw.bayes(**arguments)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"order": 1}, ArgumentError, "`order`: got 1 with `kernel`; expected order=0: a kernel says nothing"),
        ({"kernel": np.ones((2, 3))}, ShapeError, "`kernel`: got shape"),
        ({"kernel": [[1.0, 0.2], [0.0, 1.0]]}, DomainError, "`kernel`: got a matrix that is not symmetric"),
        ({"kernel": [[1.0, 2.0], [2.0, 1.0]]}, DomainError, "`kernel`: got a matrix that is not positive"),
        ({"y_train": np.ones((3, 1))}, ShapeError, "`y_train`"),
    ],
)
def test_bad_kernels(change, error, message):
    arguments = {"kernel": np.eye(2), "y_train": [1.0], "order": 0} | change
    with pytest.raises(error, match=message):
        fw.bayes(**arguments)
