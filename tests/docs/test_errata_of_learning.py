"""Errata of chapter 10, shown by numbers: each test computes the printed form and the right form, and only one agrees.

Nothing here uses the library: the evidence against the book must not rest on our own formulas.
"""

import numpy as np
import pytest

U = np.linspace(-9.0, 9.0, 121)
WEIGHTS = np.exp(-(U**2) / 2) / np.exp(-(U**2) / 2).sum()


def pair_average(function, K):
    """Of a function of each of N variables with covariance K, two at a time, by the trapezoid rule."""
    found = np.empty_like(K)
    for a, b in np.ndindex(K.shape):
        first = np.sqrt(K[a, a]) * U[:, None]
        share = K[a, b] / K[a, a]
        rest = np.sqrt(max(K[b, b] - share * K[a, b], 0.0))
        second = share * first + rest * U[None]
        found[a, b] = WEIGHTS @ (function(first) * function(second)) @ WEIGHTS
    return (found + found.T) / 2


def tanh_kernels(x, layers=3, C_b=0.1, C_W=1.2, lambda_b=0.3, lambda_W=0.7):
    """K and Theta of the last layer, PDLT (10.44)-(10.45)."""
    overlap = x @ x.T / x.shape[1]
    K, theta = C_b + C_W * overlap, lambda_b + lambda_W * overlap
    for _ in range(layers - 1):
        values, slopes = pair_average(np.tanh, K), pair_average(lambda z: 1 / np.cosh(z) ** 2, K)
        K, theta = C_b + C_W * values, lambda_b + lambda_W * values + C_W * slopes * theta
    return K, theta


def on_a_line(scale, s):
    """Kernels of x_+, x_- of equal norm and of s x_+ + (1-s) x_-."""
    middle, sideways = np.array([0.6, -0.3, 0.9]), np.array([0.5, 1.0, 0.0])  # perpendicular
    plus, minus = middle + scale * sideways / 2, middle - scale * sideways / 2
    return tanh_kernels(np.stack([plus, minus, s * plus + (1 - s) * minus]))


def test_interpolation_bends_by_a_quarter_of_what_is_printed():
    r"""PDLT (10.113)-(10.115), (10.117): halfway, with $y_\pm = 1$, $m - 1 = p' = -\frac12\delta\delta\Theta_{[0]}/\Theta_{00}$, where
    the printed form is four times that."""
    K, theta = on_a_line(0.1, 0.5)
    m = (theta[2, :2] @ np.linalg.solve(theta[:2, :2], np.ones(2))).item()
    gram = (theta[0, 0] + theta[1, 1] + 2 * theta[0, 1]) / 4
    bend = (gram - theta[2, 2]) / theta[2, 2]  # deltadelta Theta_[0] over Theta_00
    assert m - 1 == pytest.approx(-bend / 2, rel=0.01)
    assert -4 * 0.25 * bend * 2 == pytest.approx(4 * (m - 1), rel=0.01)
    assert K.shape == (3, 3)


def test_interpolation_off_the_middle_needs_the_third_and_fourth_order():
    r"""PDLT (10.113): the weights differ, $w_+-w_- - (2s-1) = q' \ne 0$ at the order $\delta^2$ also for equal norms, where the
    printed form has none."""
    found = []
    for scale in (0.2, 0.1):
        _, theta = on_a_line(scale, 0.3)
        w = np.linalg.solve(theta[:2, :2], theta[:2, 2])
        found.append(w[0] - w[1] - (2 * 0.3 - 1))
    assert abs(found[1]) > 1e-4
    assert np.log2(found[0] / found[1]) == pytest.approx(2, abs=0.05)


def test_the_variance_of_interpolation_is_of_fourth_order():
    r"""PDLT (10.116) states $O(\delta^3)$."""
    variances = []
    for scale in (0.4, 0.2):
        K, theta = on_a_line(scale, 0.5)
        w = np.linalg.solve(theta[:2, :2], theta[:2, 2])
        variances.append(K[2, 2] - 2 * w @ K[:2, 2] + w @ K[:2, :2] @ w)
    assert np.log2(variances[0] / variances[1]) == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize(("name", "right"), [("tanh", 1.5), ("sin", 1.25)])
def test_robustness_at_uniform_rates(name, right):
    r"""PDLT (10.70), (10.80)-(10.81): the recursion over 4000 layers with $\lambda_b = \frac12$, $\lambda_W = 1$; the printed limit
    is 1."""
    value, slope, bend = {
        "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2, lambda z: -2 * np.tanh(z) / np.cosh(z) ** 2),
        "sin": (np.sin, np.cos, lambda z: -np.sin(z)),
    }[name]
    K, spread, theta, difference = 1.0, 1e-3, 1.5, 1e-3
    for _ in range(4000):
        z = np.sqrt(K) * U
        g, s, c = (float(WEIGHTS @ function(z) ** 2) for function in (value, slope, bend))
        theta, difference = 0.5 + g + s * theta, s * difference + (s + c * theta) * spread
        K, spread = g, s * spread
    delta_squared = spread * 4001
    assert difference / delta_squared == pytest.approx(right, rel=0.01)


def test_the_printed_second_moment_of_the_first_step_is_too_small():
    r"""PDLT (10.12): deep linear networks of three layers, drawn; the printed form drops what the tangent kernel between neurons adds."""
    random = np.random.default_rng(0)
    n, C, eta, networks = 48, 1.3, 0.5, 6000
    x, y = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2]]), np.array([[1.2], [-0.7]])
    overlap = x @ x.T / 3
    squares = []
    for _ in range(networks // 500):
        W1 = np.sqrt(C / 3) * random.normal(size=(500, n, 3))
        W2, W3 = np.sqrt(C / n) * random.normal(size=(500, n, n)), np.sqrt(C / n) * random.normal(size=(500, 1, n))
        z1 = x @ W1.mT
        z2 = z1 @ W2.mT
        pull = (z2 @ W3.mT - y) @ W3  # dL/dz of layer two, [network, sample, neuron]
        own = np.einsum("nak,nbk->nab", z1, z1) / n @ pull
        passed = overlap @ pull @ W2 @ W2.mT
        change = -eta * (own + passed)
        squares.append(np.mean(change[:, 0] ** 2, axis=1))
    squares = np.concatenate(squares)
    M = C**3 * overlap + y @ y.T
    printed = eta**2 * C / n * (2 * C * overlap @ M @ (2 * C * overlap))[0, 0]
    right = printed + eta**2 * C / n * (C * overlap @ M @ (C * overlap))[0, 0]
    error = squares.std() / np.sqrt(networks)
    assert abs(squares.mean() - right) < 4 * error + 4 / n * right
    assert squares.mean() - printed > 10 * error
    assert printed / right == pytest.approx(0.8)


def test_stochastic_descent_needs_no_falling_rate():
    """Footnote 15 of chapter 10: a constant rate and batches of one sample reach the minimum to rounding."""
    random = np.random.default_rng(1)
    features = random.normal(size=(4, 9))
    theta, y, z = features @ features.T / 9, random.normal(size=4), np.zeros(4)
    for step in range(20_000):
        sample = step % 4
        z = z - 0.5 * theta[:, sample] * (z[sample] - y[sample])
    assert np.abs(z - y).max() < 1e-12


def test_outputs_are_coupled_while_cross_entropy_is_learned():
    """Footnote 2 of chapter 10: after some steps the first output depends on where the second began."""
    p = np.array([0.7, 0.2, 0.1])
    ends = []
    for second in (0.0, 1.0):
        z = np.array([0.3, second, -0.2])
        for _ in range(5):
            z = z - 0.4 * (np.exp(z) / np.exp(z).sum() - p)
        ends.append(z)
    assert abs(ends[0][0] - ends[1][0]) > 0.01
