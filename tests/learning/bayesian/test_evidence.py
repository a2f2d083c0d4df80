"""Evidence at infinite width: densities of SciPy, closed forms, where it is largest, and the scans of it."""

import numpy as np
import pytest
from scipy import optimize, stats

import finitewidth as fw
from finitewidth import learning
from finitewidth._errors import DomainError, ShapeError

K2 = np.array([[0.9, 0.4], [0.4, 0.6]])
Y = np.array([[1.0, -0.3, 0.2], [0.5, 0.8, -1.1]])


def test_many_inputs_against_scipy():
    """PDLT (6.34)."""
    expected = stats.multivariate_normal(np.zeros(2), K2).logpdf(Y.T).sum()
    np.testing.assert_allclose(learning.log_evidence(K2, Y), expected, rtol=1e-12)
    noisy = stats.multivariate_normal(np.zeros(2), K2 + 0.2 * np.eye(2)).logpdf(Y.T).sum()
    np.testing.assert_allclose(learning.log_evidence(K2, Y, noise=0.2), noisy, rtol=1e-12)


def test_one_input():
    """PDLT (6.36), its maximum at Y/n_L, and its limits PDLT (6.37)-(6.39)."""
    y = Y[0]
    np.testing.assert_allclose(learning.log_evidence_of_one(0.7, y), stats.norm(0, np.sqrt(0.7)).logpdf(y).sum())
    best = optimize.minimize_scalar(lambda K: -learning.log_evidence_of_one(K, y), bounds=(0.01, 5), method="bounded").x
    np.testing.assert_allclose(learning.best_kernel_of_one(y), best, rtol=1e-5)
    np.testing.assert_allclose(learning.best_kernel_of_one(y), np.sum(y**2) / 3)
    large = [learning.log_evidence_of_one(K, y) for K in (1e8, 1e10)]
    np.testing.assert_allclose(large[1] - large[0], -1.5 * np.log(100), rtol=1e-6)
    small = [K * learning.log_evidence_of_one(K, y) for K in (1e-6, 1e-8)]
    np.testing.assert_allclose(small[1], -np.sum(y**2) / 2, rtol=1e-5)


def test_two_inputs():
    """PDLT (6.48) for unequal and PDLT (6.45) for equal norms, by components PDLT (6.41), (6.44), (6.46)-(6.47)."""
    components = fw.critical.gamma_components(K2)
    direct = stats.multivariate_normal(np.zeros(2), K2).logpdf(Y.T).sum()
    np.testing.assert_allclose(learning.log_evidence_of_two(components, Y[0], Y[1]), direct, rtol=1e-13)
    found = learning.label_components(Y[0], Y[1])
    np.testing.assert_allclose(found.K_0, np.sum(((Y[0] + Y[1]) / 2) ** 2))
    np.testing.assert_allclose(found.K_1, np.sum(Y[0] ** 2 - Y[1] ** 2) / 2)
    np.testing.assert_allclose(found.K_2, np.sum(((Y[0] - Y[1]) / 2) ** 2))
    equal = fw.critical.gamma_components([[0.9, 0.4], [0.4, 0.9]])
    printed = (
        -1.5 * np.log(16 * np.pi**2 * equal.K_0 * equal.K_2) - found.K_0 / (2 * equal.K_0) - found.K_2 / (2 * equal.K_2)
    )
    np.testing.assert_allclose(learning.log_evidence_of_two(equal, Y[0], Y[1]), printed, rtol=1e-13)

    def minus(parts):
        K_0, K_2 = np.exp(parts)
        return -learning.log_evidence_of_two(fw.critical.GammaComponents(K_0, np.zeros(()), K_2), Y[0], Y[1])

    best = np.exp(optimize.minimize(minus, [0.0, 0.0], tol=1e-12).x)
    np.testing.assert_allclose(best, [found.K_0 / 3, found.K_2 / 3], rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: learning.log_evidence(-np.eye(2), Y), DomainError, "`kernel`"),
        (lambda: learning.log_evidence(K2, Y[:1]), ShapeError, "`y`: got shape"),
        (lambda: learning.log_evidence_of_one(0.0, [1.0]), DomainError, "`kernel`: got 0; expected a positive number"),
        (lambda: learning.log_evidence_of_one(1.0, [[1.0]]), ShapeError, "`y`"),
        (lambda: learning.label_components([1.0], [1.0, 2.0]), ShapeError, "`y_minus`: got 2 outputs; expected 1"),
        (
            lambda: learning.log_evidence_of_two(fw.critical.gamma_components(np.ones((2, 2))), [1.0], [1.0]),
            DomainError,
            "determinant 4 K_0 K_2 - K_1.2 = 0",
        ),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


PAIR = np.sqrt(2) * np.array([[np.cos(0.3), np.sin(0.3)], [np.cos(0.3), -np.sin(0.3)]])


@pytest.mark.parametrize(
    ("activation", "depths", "C_W", "expected"),
    [
        ("relu", (20, 80), [1.6, 2.0, 2.4], [[-89.543, None], [-2.244, -7.067], [-4.848, -14.776]]),
        (
            "tanh",
            (20,),
            [0.8, 1.0, 1.2, 1.5, 2.0, 2.5],
            [[-435.675], [-19.765], [-4.321], [-2.125], [-2.052], [-2.297]],
        ),
    ],
)
def test_scan_of_two_inputs_to_printed_digits(activation, depths, C_W, expected):
    """Evidence over C_W and depth, by numbers from another implementation."""
    net = fw.MLP(activation, (2, 64, 1))
    scan = learning.evidence_scan(net, PAIR, [1.0, 0.5], C_W=C_W, depths=depths)
    for row, printed in zip(scan.log_evidence[0], expected, strict=True):
        for value, wanted in zip(row, printed, strict=True):
            assert wanted is None or abs(value - wanted) < 6e-4


def test_best_weights_of_relu_by_depth():
    """One input, Y/n_L = |x|^2/n_0 = 1: the best C_W is 2^((L-1)/L), which tends to the critical 2; its curvature is -n_L L^2/2."""
    for L in (2, 5, 50):
        net, best = fw.MLP("relu", (1, 64, 1)), 2 ** ((L - 1) / L)
        step = 1e-3 / L
        grid = best * np.exp(step * np.arange(-1, 2))
        values = learning.evidence_scan(net, [[1.0]], [1.0], C_W=grid, depths=L).log_evidence[0, :, 0]
        np.testing.assert_allclose((values[2] - values[0]) / (2 * step), 0.0, atol=1e-2 * L)
        np.testing.assert_allclose((values[0] - 2 * values[1] + values[2]) / step**2, -(L**2) / 2, rtol=1e-4)


def test_best_weights_of_tanh_are_not_critical():
    """Section 6.3.1 of the book: for tanh the evidence does not peak at the critical C_W = 1, but where K = 1."""
    for L, best in ((2, 1.94249), (5, 2.49195), (10, 2.53531)):
        net = fw.MLP("tanh", (1, 64, 1))
        grid = [best - 1e-2, best, best + 1e-2, 1.0]
        low, peak, high, critical = learning.evidence_scan(net, [[1.0]], [1.0], C_W=grid, depths=L).log_evidence[
            0, :, 0
        ]
        assert peak > max(low, high, critical)
        np.testing.assert_allclose(
            fw.kernel(fw.MLP("tanh", (1, *[64] * (L - 1), 1), C_W=best), [[1.0]]), 1.0, atol=2e-5
        )


def test_scan_says_where_kernels_leave_the_numbers():
    scan = learning.evidence_scan(fw.MLP("relu", (1, 64, 1)), [[1.0]], [1.0], C_W=[2.0, 1e4], depths=(3, 200))
    assert np.isfinite(scan.log_evidence[0, 0]).all()
    assert np.isfinite(scan.log_evidence[0, 1, 0])
    assert scan.log_evidence[0, 1, 1] == -np.inf
    assert scan.best[:2] == (0.0, 2.0)


def test_scan_at_finite_width():
    """Order 1 is the evidence of `bayes`."""
    net = fw.MLP("relu", (2, 256, 1), C_b=0.1)
    scan = learning.evidence_scan(net, PAIR, [1.0, 0.5], C_b=0.1, C_W=[1.8], depths=[3], order=1)
    deep = fw.MLP("relu", (2, 256, 256, 1), C_b=0.1, C_W=1.8)
    found = fw.bayes(deep, PAIR, [1.0, 0.5], PAIR[:1]).log_evidence
    np.testing.assert_allclose(scan.log_evidence, [[[found]]], rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C_W": [-1.0]}, "`C_W`"),
        ({"depths": [0]}, "`depths`"),
        ({"order": 2}, "`order`"),
        ({"net": fw.MLP("relu", (2, 8, 9, 1)), "depths": 5}, r"`net`: got hidden widths \(8, 9\)"),
    ],
)
def test_bad_scans(change, message):
    arguments = {"net": fw.MLP("relu", (2, 64, 1)), "x": PAIR, "y": [1.0, 0.5]} | change
    with pytest.raises((DomainError, ShapeError), match=message):
        learning.evidence_scan(**arguments)


def test_models_compared():
    """PDLT (6.29)-(6.31): probabilities are normalised, factors are ratios, finite width counts."""
    nets = [fw.MLP("relu", (2, width, 1), C_b=0.1, C_W=C_W) for width, C_W in ((64, 2.0), (256, 2.0), (64, 0.5))]
    found = fw.compare_models(nets, PAIR, [1.0, 0.5], prior=[1.0, 1.0, 2.0])
    expected = [float(fw.bayes(net, PAIR, [1.0, 0.5], PAIR[:1]).log_evidence) for net in nets]
    np.testing.assert_allclose(found.log_evidence, expected, rtol=1e-10)
    assert found.log_evidence[0] != found.log_evidence[1]
    np.testing.assert_allclose(found.log_bayes_factors[0, 2], expected[0] - expected[2], rtol=1e-9)
    weights = np.exp(expected) * [1.0, 1.0, 2.0]
    np.testing.assert_allclose(found.probabilities, weights / weights.sum(), rtol=1e-9)
    assert found.best == int(np.argmax(weights))
    favourite = int(np.argmin(expected))  # of the prior, strongly; of the data least
    prior = np.where(np.arange(3) == favourite, 1e9, 1.0)
    assert learning.ModelComparison(found.nets, found.log_evidence, np.log(prior)).best == favourite
    np.testing.assert_array_equal(found.table().columns["probability"], found.probabilities)
    at_infinity = fw.compare_models(nets[:2], PAIR, [1.0, 0.5], order=0)
    assert at_infinity.log_evidence[0] == at_infinity.log_evidence[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nets": []}, "`nets`"),
        ({"prior": [1.0]}, "`prior`"),
        ({"prior": [0.0, 0.0]}, "`prior`"),
        ({"order": 3}, "`order`"),
    ],
)
def test_bad_comparisons(change, message):
    arguments = {"nets": [fw.MLP("relu", (2, 64, 1))] * 2, "x": PAIR, "y": [1.0, 0.5]} | change
    with pytest.raises((DomainError, ShapeError), match=message):
        fw.compare_models(**arguments)
