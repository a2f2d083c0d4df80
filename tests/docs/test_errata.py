"""The errata page, shown by numbers: each test computes the printed form and the right form, and only one agrees.

Nothing here uses the library: the evidence against the book must not rest on our own formulas.
"""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, special


def gaussian_grid(K, reach=13.0, points=1601):
    """Nodes and weights of a trapezoid rule for N(0, K): spectrally accurate for functions analytic near the axis."""
    u = np.linspace(-reach, reach, points)
    weights = np.exp(-(u**2) / 2)
    return math.sqrt(K) * u, weights / weights.sum()


def average(function, K):
    z, weights = gaussian_grid(K)
    return float(weights @ function(z))


def correlated_average(function, K, points=401):
    """An average over two Gaussian variables with covariance K."""
    u, weights = gaussian_grid(1.0, reach=9.0, points=points)
    root = np.linalg.cholesky(K)
    z0 = root[0, 0] * u[:, None] + 0 * u[None, :]
    z1 = root[1, 0] * u[:, None] + root[1, 1] * u[None, :]
    return float(weights @ function(z0, z1) @ weights)


def test_six_point_recursion_starts_at_the_first_layer():
    """PDLT (3.42)-(3.43): the first layer brings no factor of n_0, so G_6 starts at layer 1 and not at layer 0."""
    x, n_0, C_W = np.array([1.0, 2.0]), 2, 0.9
    gaussian_moment = {0: 1.0, 2: 1.0, 4: 3.0, 6: 15.0}  # of a weight of unit variance; odd ones vanish
    sixth = 0.0
    for indices in product(range(n_0), repeat=6):
        counts = [indices.count(j) for j in range(n_0)]
        if not any(c % 2 for c in counts):
            sixth += math.prod(gaussian_moment[c] for c in counts) * math.prod(x[j] for j in indices)
    G2_input = float(x @ x) / n_0
    G6_exact = (C_W / n_0) ** 3 * sixth / 15
    assert G6_exact == pytest.approx(C_W**3 * G2_input**3, rel=1e-14)
    from_layer_zero = (1 + 6 / n_0 + 8 / n_0**2) * C_W**3 * G2_input**3
    assert from_layer_zero / G6_exact == pytest.approx(6.0)


def test_2m_point_product_runs_over_the_widths_of_the_earlier_layers():
    """PDLT (3.46)-(3.47): $c_{2m}$ takes the width of layer l': the exact moments of a product of chi-squares."""

    def c(m, n):
        return math.prod(1 + 2 * s / n for s in range(1, m))

    widths, m = (3, 7), 3
    exact = math.prod((2 / n) ** m * math.exp(special.gammaln(n / 2 + m) - special.gammaln(n / 2)) for n in widths)
    assert c(m, 3) * c(m, 7) == pytest.approx(exact, rel=1e-13)
    assert c(m, 7) ** 2 != pytest.approx(exact, rel=0.1)  # the layer's own width, the letter of the print


def test_joint_action_needs_the_log_determinant():
    """PDLT (4.124)-(4.126): without log|G| of the random metric the second layer of one linear neuron has twice the
    variance that PDLT (4.69)-(4.70) give it."""

    def variance(with_determinant):
        def weight(z2, z1):
            action = z1**2 / 2 + z2**2 / 2 + (1 / z1**2 - 1) * z2**2 / 2
            return math.exp(-action) / (z1 if with_determinant else 1.0)

        def moment(power):
            return integrate.dblquad(lambda z2, z1: z2**power * weight(z2, z1), 0, 12, 0, lambda z1: 40 * z1)[0]

        return moment(2) / moment(0)

    assert variance(with_determinant=True) == pytest.approx(1.0, rel=1e-6)
    assert variance(with_determinant=False) == pytest.approx(2.0, rel=1e-6)


def test_quadratic_coupling_correction_sums_over_samples():
    """PDLT (4.113): the first correction is a sum over beta_1..beta_4; one term of it is not the derivative."""
    K, G1 = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[0.2, -0.1], [-0.1, 0.4]])

    def kernel(K):
        return correlated_average(lambda a, b: np.tanh(a) * np.tanh(b), K)

    step = 1e-4
    derivative = (kernel(K + step * G1) - kernel(K - step * G1)) / (2 * step)
    raised = np.linalg.inv(K) @ G1 @ np.linalg.inv(K)

    def insertion(i, j):
        return correlated_average(lambda *z: np.tanh(z[0]) * np.tanh(z[1]) * (z[i] * z[j] - K[i, j]), K)

    terms = raised * np.array([[insertion(i, j) for j in range(2)] for i in range(2)]) / 2
    assert terms.sum() == pytest.approx(derivative, rel=1e-7)
    assert all(abs(term - derivative) > 0.05 * abs(derivative) for term in terms.ravel())


def test_quartic_action_is_unbounded_below():
    """PDLT (4.44), (4.80): with V > 0 the action falls without bound, so exp(-S) has no integral."""

    def action(z, g=1.0, v=0.01):
        return g * z**2 / 2 - v * z**4 / 8

    assert action(1.0) > 0
    assert action(2 / math.sqrt(0.01)) == pytest.approx(0.0)
    assert action(40.0) < -1000
    inside = [integrate.quad(lambda z: math.exp(-action(z)), -reach, reach)[0] for reach in (8, 12, 16)]
    assert inside[1] == pytest.approx(inside[0], rel=1e-6)  # a plateau, which is all that perturbation theory sees
    assert integrate.quad(lambda z: math.exp(-action(z)), 20, 23)[0] > 1e3 * inside[2]


def test_weight_distribution_matters_at_order_one_over_n():
    """PDLT section 2.3 (footnote 9): uniform weights change the connected four-point function of PDLT (4.77) at O(1/n).

    One input with K = 1, tanh, a second layer of fan-in 16: $3V/n$ for Gaussian weights,
    $3V/n - \\tfrac65 C_W^2\\langle\\sigma^4\\rangle/n$ for uniform weights of the same variance.
    """
    n, C_W, networks, rng = 16, 1.5, 1_000_000, np.random.default_rng(0)
    second, fourth = (average(lambda z, p=p: np.tanh(z) ** p, 1.0) for p in (2, 4))
    gaussian = 3 * C_W**2 * (fourth - second**2) / n
    uniform = gaussian - 1.2 * C_W**2 * fourth / n
    batches = []
    for _ in range(50):
        sigma = np.tanh(rng.standard_normal((networks // 50, n)))
        W = rng.uniform(-1, 1, sigma.shape) * math.sqrt(3 * C_W / n)
        z = np.sum(W * sigma, axis=1)
        batches.append((np.mean(z**4), np.mean(z**2)))
    fourths, seconds = np.array(batches).T
    connected = fourths - 3 * (2 * seconds * seconds.mean() - seconds.mean() ** 2)  # linear in the batch
    estimate, error = connected.mean(), connected.std(ddof=1) / math.sqrt(len(connected))
    assert abs(estimate - uniform) < 4 * error
    assert abs(estimate - gaussian) > 20 * error


def test_low_kernel_expansion_of_g():
    """PDLT (5.81): the coefficient of K is sigma_1^2 + sigma_0 sigma_2, here for softplus at 20 digits."""
    with mpmath.workdps(20):
        K = mpmath.mpf("1e-7")

        def g(K):
            density = lambda z: mpmath.exp(-(z**2) / (2 * K)) / mpmath.sqrt(2 * mpmath.pi * K)  # noqa: E731
            reach = 12 * mpmath.sqrt(K)
            return mpmath.quad(lambda z: density(z) * mpmath.log1p(mpmath.exp(z)) ** 2, [-reach, 0, reach])

        slope = float((g(K) - mpmath.log(2) ** 2) / K)
    s0, s1, s2 = math.log(2), 0.5, 0.25
    assert slope == pytest.approx(s1**2 + s0 * s2, abs=1e-6)
    assert abs(slope - (s1**2 + 2 * s0 * s2)) > 0.17


def trigonometric_flow(coefficients, layers):
    """K, V and G1 of PDLT (5.108)-(5.110), (5.140) for sigma a trigonometric polynomial with sigma(0) = 0.

    Critical: C_b = 0, C_W = 1/sigma_1^2; renormalised by c_W = 2/(3 sigma_1^2), PDLT (5.142). Every average is a
    finite sum, <e^{ikz}> = e^{-k^2 K/2}.
    """
    square = np.convolve(coefficients, coefficients)
    fourth = np.convolve(square, square)
    frequencies = [np.arange(len(c)) - len(c) // 2 for c in (coefficients, square, fourth)]
    C_W = 1 / float(np.real(np.sum(1j * frequencies[0] * coefficients)) ** 2)

    def moment(c, k, K, power=0):
        # expm1, since the constant sums to sigma(0)^p = 0: no cancellation at small K
        decay = np.expm1(-(k**2) * K / 2) if power == 0 else (-(k**2) / 2) ** power * np.exp(-(k**2) * K / 2)
        return float(np.real(c @ decay))

    K, V, G1 = 1.0, 0.0, 0.0
    for _ in range(layers - 1):
        g, slope, curvature = (moment(square, frequencies[1], K, power) for power in range(3))
        chi = C_W * slope
        G1 = 2 * C_W / 3 * g + chi * G1 + C_W * curvature * V / 2
        V = chi**2 * V + C_W**2 * (moment(fourth, frequencies[2], K) - g**2)
        K = C_W * g
    return K, V, G1


@pytest.mark.parametrize(
    "coefficients",
    [np.array([0.5j, 0, -0.5j]), np.array([-0.25 + 0.5j, 0.5, -0.25 - 0.5j])],
    ids=["sin z", "sin z + (1 - cos z)/2"],
)
def test_renormalised_metric_of_the_K0_class(coefficients):
    """PDLT (5.143): the coefficient of 1/l, against the recursion of PDLT (5.140) iterated over 20,000 layers."""
    s1, s2, s3, s4, s5 = (float(np.real(coefficients @ (1j * np.arange(-1, 2)) ** p)) for p in range(1, 6))
    a1 = s3 / s1 + 3 / 4 * (s2 / s1) ** 2
    a2 = s5 / s1 / 4 + 5 / 8 * s4 * s2 / s1**2 + 5 / 12 * (s3 / s1) ** 2
    b1 = s3 / s1 + (s2 / s1) ** 2
    layers = 20_000
    _, _, G1 = trigonometric_flow(coefficients, layers)
    right = (84 * a1**2 - 90 * a1 * b1 - a2) / (3 * a1**3)
    printed = 2 / 3 * (3 * a2 - a1**2) / (-a1) ** 3
    assert layers * G1 == pytest.approx(right, abs=5e-3)  # what is left falls as log(l)/l
    assert abs(layers * G1 - printed) > 1.0


def swish(z):
    return z / (1 + np.exp(-z))


def swish_slope(z):
    gate = 1 / (1 + np.exp(-z))
    return gate * (1 + z * (1 - gate))


def gelu(z):
    return z * special.ndtr(z)


def gelu_slope(z):
    return special.ndtr(z) + z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(
    ("sigma", "slope", "near", "beyond", "right", "printed"),
    [
        (swish, swish_slope, (14.0, 14.5), (14.45, 15.0), 14.593, 14.5),
        (gelu, gelu_slope, (3.4, 3.8), (2.5, 3.4), 3.035, 3.2),
    ],
    ids=["swish", "gelu"],
)
def test_trivial_fixed_points_beside_the_half_stable_ones(sigma, slope, near, beyond, right, printed):
    """Footnotes 20 and 21 of PDLT section 5.3.4, at the half-critical hyperparameters of PDLT (5.101) and (5.105)."""

    def excess(K):  # chi_perp - chi_parallel, up to C_W
        return average(lambda z: slope(z) ** 2 - z * sigma(z) * slope(z) / K, K)

    K_star = optimize.brentq(excess, *near, xtol=1e-13)
    C_W = 1 / average(lambda z: slope(z) ** 2, K_star)
    C_b = K_star - C_W * average(lambda z: sigma(z) ** 2, K_star)
    K = optimize.brentq(lambda K: C_b + C_W * average(lambda z: sigma(z) ** 2, K) - K, *beyond)
    assert pytest.approx(right, abs=5e-4) == K
    assert abs(K - printed) > 0.09
