"""Squared errors at infinite width: printed numbers, and dynamics iterated by hand."""

import math

import numpy as np
import pytest
import scipy.linalg

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError, ShapeError, UnknownNameError, ValidityWarning

X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8], [0.8, -0.3, 1.0]])
Y = np.array([1.2, -0.7, 0.5])
NET = fw.MLP("tanh", (3, 64, 64, 1), C_b=0.1, C_W=1.2, lambda_b=0.3, lambda_W=0.7)
THETA = [1.1516408, 0.6393915, 0.7725125, 0.7246524, 1.1735363, 0.8706608, 0.5492832, 1.144574, 0.9745041, 1.1796671]
KERNEL = [0.4191734, 0.1788943, 0.2454062, 0.2263463, 0.4333734, 0.2987705, 0.133078, 0.4143175, 0.3484356, 0.4371327]

RANDOM = np.random.default_rng(3)
FEATURES, FIRST = RANDOM.normal(size=(2, 8, 12))
GIVEN = FEATURES @ FEATURES.T / 12, FIRST @ FIRST.T / 12  # any two kernels, on five training and three test inputs
TARGETS = RANDOM.normal(size=(5, 2))
KAPPA = np.cov(RANDOM.normal(size=(5, 9)))


def symmetric(upper):
    matrix = np.zeros((4, 4))
    matrix[np.triu_indices(4)] = upper
    return matrix + np.triu(matrix, 1).T


def given(**how):
    return fw.predict(kernel=GIVEN, y_train=TARGETS, **how)


def by_hand(step, steps):
    r"""Mean, covariance and loss after `steps`, from the map $z \mapsto Az + b$ of all outputs on all inputs, iterated."""
    A, b = np.eye(8), np.zeros((8, 2))
    for t in range(steps):
        change = step(t)  # of all outputs, per unit error of each training output
        A, b = A - change @ A[:5], b - change @ (b[:5] - TARGETS)
    covariance = A @ GIVEN[1] @ A.T
    loss = (np.sum((b[:5] - TARGETS) ** 2) + 2 * np.trace(covariance[:5, :5])) / 2
    return b[5:], covariance[5:, 5:], loss


def check(found, expected, tolerance=1e-12):
    mean, covariance, loss = expected
    np.testing.assert_allclose(found.mean, mean, atol=tolerance)
    np.testing.assert_allclose(found.sample_covariance, covariance, atol=tolerance)
    np.testing.assert_allclose(found.loss[-1], loss, rtol=1e-9, atol=1e-25)
    assert found.wiring is None


def test_printed_numbers():
    """PDLT (10.40)-(10.41) and, of the kernel alone, PDLT (6.57), (6.64), on three inputs of a tanh network of three layers."""
    found = fw.predict(NET, X[:3], Y, X[3:])
    assert found.mean.item() == pytest.approx(0.9657516, abs=1e-7)
    assert found.mean.item() == pytest.approx(0.96575154901022, abs=1e-12)  # the trapezoid rule in two dimensions
    assert found.variance.item() == pytest.approx(0.0846846, abs=5e-8)
    Theta, K = symmetric(THETA), symmetric(KERNEL)
    np.testing.assert_allclose(fw.frozen_ntk(NET, X), Theta, atol=6e-8)
    weights = fw.predict(kernel=(Theta, K), y_train=np.eye(3)).mean
    np.testing.assert_allclose(weights, [[0.1381792, -0.3895629, 1.0544851]], atol=3e-7)
    bayes = fw.predict(kernel=fw.kernel(NET, X), y_train=Y)
    assert bayes.mean.item() == pytest.approx(1.0657207, abs=5e-8)
    assert bayes.variance.item() == pytest.approx(0.078398, abs=5e-7)


def test_every_algorithm_ends_at_the_same_prediction():
    """PDLT (10.33)-(10.35): whatever way leads to the minimum."""
    end = given()
    largest = np.linalg.eigvalsh(GIVEN[0][:5, :5])[-1]
    assert end.loss[-1] == 0
    for other in (
        given(algorithm="newton"),
        given(algorithm="gradient_descent", rate=1.9 / largest),
        given(algorithm="gradient_descent", rate=1.9 / largest, steps=20_000),
        given(algorithm="gradient_descent", rate=0.1 / largest, steps=50_000),
        given(algorithm="sgd", rate=1 / largest, steps=4_000, batch=2, seed=1),
        given(algorithm="sgd", rate=1 / largest, steps=8_000, batch=1),
        given(time=1e5),
        given(time=1e5, kappa=KAPPA),
        given(algorithm="gradient_descent", rate=0.5 / largest, kappa=KAPPA),
    ):
        check(other, (end.mean, end.sample_covariance, 0.0), tolerance=1e-10)


@pytest.mark.parametrize("rate", [0.05, 0.6])
@pytest.mark.parametrize("kappa", [None, KAPPA])
def test_gradient_descent_step_by_step(rate, kappa):
    """PDLT (10.20), (10.23): every finite step, with and without a metric of the loss; rates below and above $1/\\lambda$."""
    metric = np.eye(5) if kappa is None else kappa
    found = given(algorithm="gradient_descent", rate=rate, steps=7, kappa=kappa, record=[2, 3])
    np.testing.assert_allclose(found.times, rate * np.array([0, 2, 3, 7]))
    for moment, steps in enumerate((0, 2, 3, 7)):
        mean, covariance, loss = by_hand(lambda _: rate * GIVEN[0][:, :5] @ metric, steps)
        np.testing.assert_allclose(found.trajectory.mean[moment], mean, atol=1e-13)
        np.testing.assert_allclose(found.trajectory.sample_covariance[moment], covariance, atol=1e-13)
        if kappa is None:
            np.testing.assert_allclose(found.loss[moment], loss, rtol=1e-12)
    assert found.training.steps == 7
    assert found.training.time == 7 * rate


def test_the_loss_in_a_metric():
    r"""PDLT (10.22): $\frac12\sum\kappa^{ab}(z_a-y_a)(z_b-y_b)$ before the first step."""
    found = given(algorithm="gradient_descent", rate=0.1, steps=1, kappa=KAPPA)
    expected = (np.einsum("ai,ab,bi->", TARGETS, KAPPA, TARGETS) + 2 * np.sum(KAPPA * GIVEN[1][:5, :5])) / 2
    assert found.loss[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("kappa", [None, KAPPA])
def test_gradient_flow_by_the_matrix_exponential(kappa):
    metric = np.eye(5) if kappa is None else kappa
    generator = np.zeros((8, 8))
    generator[:, :5] = -GIVEN[0][:, :5] @ metric
    found = given(time=2.5, kappa=kappa, record=[0.3])
    for moment, time in ((1, 0.3), (2, 2.5)):
        A = scipy.linalg.expm(generator * time)
        gone = np.eye(8) - A
        np.testing.assert_allclose(found.trajectory.mean[moment], gone[5:, :5] @ TARGETS, atol=1e-12)
        np.testing.assert_allclose(found.trajectory.sample_covariance[moment], (A @ GIVEN[1] @ A.T)[5:, 5:], atol=1e-12)


@pytest.mark.parametrize("kappa", [None, KAPPA])
def test_the_loss_of_one_moment_and_of_several(kappa):
    """A moment on its own is found another way than with others; both against the map iterated by hand."""
    metric = np.eye(5) if kappa is None else kappa
    for steps in (1, 4):
        loss = given(algorithm="gradient_descent", rate=0.2, steps=steps, kappa=kappa).loss[-1]
        several = given(algorithm="gradient_descent", rate=0.2, steps=6, kappa=kappa, record=[steps]).loss[1]
        change = 0.2 * GIVEN[0][:5, :5] @ metric
        left = np.linalg.matrix_power(np.eye(5) - change, steps)
        spread = TARGETS @ TARGETS.T + 2 * GIVEN[1][:5, :5]
        expected = np.trace(metric @ left @ spread @ left.T) / 2
        assert (loss, several) == pytest.approx((expected, expected), rel=1e-12)


def test_one_kernel_for_both_is_bayes():
    """PDLT (6.57), (6.64) by an inverse, in one factor; and by the formula of two kernels, which happen to be equal."""
    K = GIVEN[1]
    inverse = np.linalg.inv(K[:5, :5])
    one, two = (fw.predict(kernel=kernel, y_train=TARGETS) for kernel in (K, (K, K.copy())))
    for found in (one, two):
        np.testing.assert_allclose(found.mean, K[5:, :5] @ inverse @ TARGETS, atol=1e-12)
        np.testing.assert_allclose(found.sample_covariance, K[5:, 5:] - K[5:, :5] @ inverse @ K[:5, 5:], atol=1e-12)


@pytest.mark.parametrize("place", [(3, 200), (299, 298), (150, 7)])
def test_flaws_of_a_kernel_are_found_anywhere(place):
    """In a matrix that is looked at in squares; one that is symmetric to rounding only is taken, as its symmetric part."""
    features = np.random.default_rng(0).normal(size=(300, 320))
    kernel, y = features @ features.T / 320, np.ones(250)
    for change, message in ((1e-3, "not symmetric"), (1e-13, None)):
        other = kernel.copy()
        other[place] += change
        if message is None:
            symmetric_part = fw.predict(kernel=(other + other.T) / 2, y_train=y).mean
            np.testing.assert_array_equal(fw.predict(kernel=other, y_train=y).mean, symmetric_part)
        else:
            with pytest.raises(DomainError, match=message):
                fw.predict(kernel=other, y_train=y)
    kernel[place] = kernel[place[::-1]] = 3.0  # its diagonal is about one
    with pytest.raises(DomainError, match="two samples between which it is negative"):
        fw.predict(kernel=kernel, y_train=y)


def test_sgd_step_by_step():
    """PDLT (7.10): only the samples of a batch pull, and everyone moves."""
    batches = ((0, 3), (4, 1), (2, 0), (1,))

    def step(t):
        pull = np.zeros((5, 5))
        pull[batches[t], batches[t]] = 0.4
        return GIVEN[0][:, :5] @ pull

    found = given(algorithm="sgd", rate=0.4, steps=4, batch=batches, record=[1])
    check(found, by_hand(step, 4))
    mean, _, loss = by_hand(step, 1)
    np.testing.assert_allclose(found.trajectory.mean[1], mean, atol=1e-13)
    np.testing.assert_allclose(found.loss[1], loss, rtol=1e-12)
    assert found.training.batches == batches


def test_seeded_batches_visit_every_sample_of_an_epoch():
    one, other = (given(algorithm="sgd", rate=0.4, steps=9, batch=2, seed=seed).training.batches for seed in (0, 1))
    assert one != other
    for epoch in range(4):
        assert len(set(sum(one[2 * epoch : 2 * epoch + 2], ()))) == 4  # of five: what does not fill a batch waits


def test_full_batches_are_gradient_descent():
    whole = tuple([tuple(range(5))] * 6)
    one = given(algorithm="sgd", rate=0.3, steps=6, batch=whole)
    check(given(algorithm="gradient_descent", rate=0.3, steps=6), (one.mean, one.sample_covariance, one.loss[-1]))


def test_draws_of_first_outputs():
    """PDLT (10.39)-(10.41): mean and covariance over draws of what each network would predict, in standard errors."""
    samples = 200_000
    root = np.linalg.cholesky(GIVEN[1])
    z = root @ np.random.default_rng(5).normal(size=(samples, 8, 1))
    R = GIVEN[0][5:, :5] @ np.linalg.inv(GIVEN[0][:5, :5])
    trained = (z[:, 5:] - R @ (z[:, :5] - TARGETS[:, :1]))[..., 0]
    found = given()
    error = np.sqrt(np.diag(found.sample_covariance) / samples)
    assert (np.abs(trained.mean(axis=0) - found.mean[:, 0]) < 4 * error).all()
    variances = np.diag(found.sample_covariance)
    spread = np.sqrt((found.sample_covariance**2 + np.outer(variances, variances)) / samples)
    assert (np.abs(np.cov(trained.T) - found.sample_covariance) < 4 * spread).all()


def test_rates_that_diverge_are_refused_with_the_number():
    r"""PDLT (10.20): the error along the first eigenvector is multiplied by $1-\eta\lambda_{\max}$."""
    limit = 2 / np.linalg.eigvalsh(GIVEN[0][:5, :5])[-1]
    given(algorithm="gradient_descent", rate=0.999 * limit, steps=3)
    with pytest.raises(DomainError, match=rf"`rate`.*2/lambda_max = {limit:.6g}"):
        given(algorithm="gradient_descent", rate=1.001 * limit, steps=3)
    with pytest.raises(DomainError, match=r"on the batch \[3\]"):
        given(algorithm="sgd", rate=2.001 / GIVEN[0][3, 3], steps=1, batch=[[3]])
    with pytest.raises(DomainError, match="2/lambda_max"):
        given(
            algorithm="gradient_descent",
            rate=2.001 / np.linalg.eigvals(GIVEN[0][:5, :5] @ KAPPA).real.max(),
            kappa=KAPPA,
        )


def test_inputs_that_repeat():
    """The end of training is that without the copy, if the targets agree; their mean is learned, and told of, if they do not."""
    x, y = np.concatenate([X[:3], X[1:2]]), np.append(Y, Y[1])
    once, twice = fw.predict(NET, X[:3], Y, X[3:]), fw.predict(NET, x, y, X[3:])
    np.testing.assert_allclose(twice.mean, once.mean, atol=1e-10)
    np.testing.assert_allclose(twice.variance, once.variance, atol=1e-10)
    with pytest.warns(ValidityWarning, match=r"a loss of 0.01 is left"):
        torn = fw.predict(NET, x, y + np.array([0, 0.1, 0, -0.1]), X[3:])
    np.testing.assert_allclose(torn.mean, once.mean, atol=1e-10)
    assert torn.loss[-1] == pytest.approx(0.01)
    late = fw.predict(NET, x, y, X[3:], time=1e30)
    np.testing.assert_allclose(late.mean, once.mean, atol=1e-8)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"algorithm": "gradient_flw"}, UnknownNameError, "did you mean 'gradient_flow'"),
        ({"loss": "mes"}, UnknownNameError, "did you mean 'mse'"),
        ({"order": 1}, ArgumentError, "`kernel`.*corrections in 1/n need a network"),
        ({"time": 0.0}, DomainError, "`time`"),
        ({"time": math.nan}, DomainError, "`time`"),
        ({"time": "long"}, DomainError, "`time`"),
        ({"rate": 0.1}, ArgumentError, "`rate`.*does not have it"),
        ({"steps": 4}, ArgumentError, "`steps`.*does not have it"),
        ({"batch": 4}, ArgumentError, "`batch`.*does not have it"),
        ({"algorithm": "newton", "time": 3.0}, ArgumentError, "`time`.*does not have it"),
        ({"algorithm": "newton", "record": [1]}, ArgumentError, "`record`"),
        ({"algorithm": "newton", "kappa": np.eye(5)}, ArgumentError, "`kappa`"),
        ({"algorithm": "newton", "loss": "cross_entropy"}, DomainError, "`algorithm`"),
        ({"algorithm": "gradient_descent"}, ArgumentError, "`rate`: got nothing"),
        ({"algorithm": "gradient_descent", "rate": 0.0}, DomainError, "`rate`"),
        ({"algorithm": "sgd", "rate": 0.1}, ArgumentError, "`steps`: got nothing"),
        ({"algorithm": "sgd", "rate": 0.1, "steps": 2}, ArgumentError, "`batch`: got nothing"),
        ({"algorithm": "sgd", "rate": 0.1, "steps": 2, "batch": 6}, DomainError, "at most 5"),
        ({"algorithm": "sgd", "rate": 0.1, "steps": 2, "batch": [[1]]}, ShapeError, "one a step"),
        ({"algorithm": "sgd", "rate": 0.1, "steps": 1, "batch": [[1, 5]]}, DomainError, "from 0 to 4"),
        ({"algorithm": "sgd", "rate": 0.1, "steps": 1, "batch": [[1, 1]]}, DomainError, "different sample"),
        ({"time": 2.0, "record": [3.0]}, DomainError, "`record`.*up to the last, 2"),
        ({"time": 2.0, "kappa": np.eye(4)}, ShapeError, "`kappa`"),
        ({"time": 2.0, "kappa": np.zeros((5, 5))}, DomainError, "positive definite"),
        ({"net": NET}, ArgumentError, "`net`.*either a network"),
        ({"y_train": np.zeros((8, 1))}, ShapeError, "more than 8 rows"),
        ({"y_train": None}, ArgumentError, "`y_train`: got nothing"),
        ({"kernel": None}, ArgumentError, "`net`: got nothing"),
        ({"kernel": (np.eye(8), np.eye(7))}, ShapeError, "of one size"),
        ({"kernel": np.zeros((8, 8))}, DomainError, "zero"),
        ({"kernel": -np.eye(8)}, DomainError, "positive semi-definite"),
        (
            {"kernel": 1 - 3 * np.eye(8) / 2 + 1.5 * np.eye(8) - 2 * np.eye(8)[::-1]},
            DomainError,
            "positive semi-definite",
        ),
        ({"kernel": np.arange(64.0).reshape(8, 8)}, DomainError, "not symmetric"),
        ({"kernel": np.ones((3, 8))}, ShapeError, "square"),
        ({"kernel": (1.4 * np.eye(8) - 0.4, np.eye(8))}, DomainError, "with eigenvalue"),
        ({"kernel": (1.14 * np.eye(8) - 0.14, 1.4 * np.eye(8) - 0.4)}, DomainError, "a negative variance"),
    ],
)
def test_bad_arguments(how, error, message):
    with pytest.raises(error, match=message):
        fw.predict(**({"kernel": GIVEN, "y_train": TARGETS} | how))


def test_bad_data_of_a_network():
    with pytest.raises(ShapeError, match=r"`y_train`.*shape \(3, 1\)"):
        fw.predict(NET, X[:3], np.zeros((3, 2)), X[3:])
    with pytest.raises(ShapeError, match="`x_test`"):
        fw.predict(NET, X[:3], Y, X[3:, :2])
    with pytest.raises(ArgumentError, match="`x_test`: got nothing"):
        fw.predict(NET, X[:3], Y)
