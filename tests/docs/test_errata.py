"""The errata page, shown by numbers: each test computes the printed form and the right form, and only one agrees.

Nothing here uses the library: the evidence against the book must not rest on our own formulas.
"""

import math
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats


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


def test_F_keeps_one_symmetry():
    """PDLT (8.69), footnote 6 of section 8.3: exchanging (1,3) with (2,4) changes nothing, other exchanges do."""
    random = np.random.default_rng(0)
    x, W1, W2 = (random.normal(size=shape) for shape in ((4, 3), (5, 3), (6, 5)))
    z1 = x @ W1.T
    z2 = np.tanh(z1) @ W2.T
    slope1, value2, slope2 = 1 - np.tanh(z1) ** 2, np.tanh(z2), 1 - np.tanh(z2) ** 2
    first = 1 + x @ x.T / 3  # PDLT (8.23)
    own = 1 + np.tanh(z1) @ np.tanh(z1).T / 5
    H = np.einsum("ji,ki,ai,bi,ab->jkab", W2, W2, slope1, slope1, first) + np.einsum("jk,ab->jkab", np.eye(6), own)
    F = np.einsum("aj,cj,jkcd,dk,bk->acbd", value2, slope2, H, slope2, value2)
    np.testing.assert_allclose(F, F.transpose(2, 3, 0, 1), rtol=1e-12)
    for other in ((2, 1, 0, 3), (0, 3, 2, 1), (1, 0, 3, 2), (1, 0, 2, 3)):
        assert np.abs(F - F.transpose(other)).max() > 0.01 * np.abs(F).max()


def test_leading_variance_of_the_tangent_kernel_is_far_off_for_shifted_tanh():
    """PDLT (9.86): the recursion (9.13)-(9.16) of a shifted tanh against the printed form, to ten thousand layers."""
    t = 0.4
    shift = math.atanh(t)
    s1, s2, s3 = 1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2)
    a1, b1 = s3 / s1 + 0.75 * (s2 / s1) ** 2, s3 / s1 + (s2 / s1) ** 2
    p, C, rate_b, rate_W = b1 / a1, 1 / s1**2, 0.8, 1.1
    u, weights = gaussian_grid(1.0, reach=9.0, points=121)
    K, theta, V, D, A = 0.5, rate_b + rate_W * 0.5 / C, 0.0, 0.0, 0.0
    ratios = []
    for layer in range(2, 10_001):
        T = np.tanh(math.sqrt(K) * u + shift)
        f, d1 = T - t, 1 - T**2
        d2, d3 = -2 * T * d1, d1 * (6 * T**2 - 2)
        rate = rate_W * layer ** (1 - p)
        k = rate / C
        g, perp = weights @ f**2, C * (weights @ d1**2)
        parallel, h = perp + C * (weights @ (f * d2)), C / 2 * (weights @ (d2**2 + d1 * d3))
        new_V = parallel**2 * V + C**2 * (weights @ f**4 - g**2)
        mixed = C**2 * (weights @ (f * d1) ** 2) - C * g * perp + 2 * h * parallel * V
        new_D = perp * parallel * D + k * new_V + theta * mixed
        slopes = C**2 * (weights @ d1**4) - perp**2 + 4 * h**2 * V
        A = perp**2 * A - k**2 * new_V + 2 * k * new_D + 4 * h * perp * theta * D + theta**2 * slopes
        K, theta, V, D = C * g, rate_b * layer**-p + rate * g + perp * theta, new_V, new_D
        if layer in (100, 1000, 10_000):
            Y = p * rate_b + (p - 1) * rate_W * s1**2 / -a1
            ratios.append(A / (4 / 27 * Y**2 * layer ** (3 - 2 * p)))
    assert ratios == [pytest.approx(13.5, abs=0.1), pytest.approx(2.9, abs=0.1), pytest.approx(1.17, abs=0.01)]


def test_every_hidden_layer_learns_at_first_order():
    """PDLT (6.107)-(6.108), footnote 35: two hidden layers of linear neurons, whose kernels are products of Gamma variables."""
    y, found = 1.5, []
    for n in (64, 256, 1024):
        spread = math.sqrt(2 / n)
        u, weights = np.polynomial.legendre.leggauss(240)
        low, high = max(1e-9, 1 - 9 * spread), 1 + 11 * spread
        g = low + (high - low) * (u + 1) / 2
        law = weights * stats.gamma(n / 2, scale=2 / n).pdf(g)
        first, second = np.meshgrid(g, g, indexing="ij")
        agrees = law[:, None] * law * np.exp(-(y**2) / (2 * first * second)) / np.sqrt(first * second)
        prior = law[:, None] * law
        change = [(agrees * G).sum() / agrees.sum() - (prior * G).sum() / prior.sum() for G in (first, first * second)]
        found.append(n * np.array(change))
    first, second = np.array(found).T
    assert first == pytest.approx(
        [1.2930, 1.2626, 1.2533], abs=1e-4
    )  # as printed it would be a quarter from one to the next
    assert (4 * first[-1] - first[-2]) / 3 == pytest.approx(y**2 - 1, rel=1e-3)
    assert (4 * second[-1] - second[-2]) / 3 == pytest.approx(2 * (y**2 - 1), rel=1e-3)


def test_observation_noise_is_diagonal():
    """PDLT (6.10), footnote 6: the density of noisy observations of two outputs, by quadrature over the outputs."""
    K, noise, y = np.array([[0.9, 0.4], [0.4, 0.7]]), 0.3, np.array([0.8, -0.5])
    density = correlated_average(
        lambda a, b: np.exp(-((y[0] - a) ** 2 + (y[1] - b) ** 2) / (2 * noise)) / (2 * math.pi * noise), K
    )
    diagonal, constant = (stats.multivariate_normal(cov=K + noise * shift) for shift in (np.eye(2), np.ones((2, 2))))
    assert density == pytest.approx(diagonal.pdf(y), rel=1e-10)
    assert density != pytest.approx(constant.pdf(y), rel=0.1)


def test_evidence_of_tanh_does_not_peak_at_criticality():
    """Section 6.3.1: one input, C_b = 0, y = 1; the evidence is that of a Gaussian of variance K."""

    def kernel(C_W, L):
        K = C_W
        for _ in range(L - 1):
            K = C_W * average(lambda z: np.tanh(z) ** 2, K)
        return K

    def log_evidence(C_W, L):
        K = kernel(C_W, L)
        return -0.5 * math.log(2 * math.pi * K) - 1 / (2 * K)

    for L, best in ((2, 1.94249), (5, 2.49195), (10, 2.53531)):
        peak = optimize.minimize_scalar(lambda C, L=L: -log_evidence(C, L), bounds=(0.8, 4), method="bounded").x
        assert peak == pytest.approx(best, abs=2e-4)
        assert optimize.brentq(lambda C, L=L: kernel(C, L) - 1, 0.5, 4) == pytest.approx(best, abs=1e-5)
    assert 1 / average(lambda z: np.tanh(z) ** 2, 1.0) == pytest.approx(2.536175, abs=1e-6)
    assert log_evidence(2.536175, 50) - log_evidence(1.0, 50) == pytest.approx(45, abs=3)


def test_drift_of_shaped_relu():
    """Shaped Transformer Eq. 6 against App. B and lecture 17: the kernel of shaped ReLU by quadrature in the angle."""
    n, c_plus, c_minus = 10**6, 0.3, -1.0
    right_slope, left_slope = 1 + c_plus / math.sqrt(n), 1 + c_minus / math.sqrt(n)

    def value(z):
        return right_slope * max(z, 0.0) + left_slope * min(z, 0.0)

    def kernel(rho):
        """E[phi(w) phi(w')] in polar coordinates, where the radius is integrated: E[r^2] = 2."""
        second = math.acos(rho)

        def integrand(angle):
            return value(math.cos(angle)) * value(math.cos(angle - second))

        zeros = (math.pi / 2, 1.5 * math.pi, *((second + q * math.pi / 2) % (2 * math.pi) for q in (1, 3)))
        edges = [0.0, *sorted(zeros), 2 * math.pi]
        pieces = pairwise(edges)
        return sum(integrate.quad(integrand, a, b, epsabs=1e-15)[0] for a, b in pieces) / math.pi

    for rho in (-1.0, 0.0, 0.5):
        found = n * (kernel(rho) / kernel(1.0) - rho)
        root, angle = math.sqrt(1 - rho**2), math.acos(rho)
        assert found == pytest.approx((c_plus - c_minus) ** 2 / (2 * math.pi) * (root - rho * angle), rel=1e-3)
        assert found != pytest.approx((c_plus + c_minus) ** 2 / (2 * math.pi) * (root - rho * angle), rel=0.5)
        if rho:
            assert found != pytest.approx((c_plus - c_minus) ** 2 / (2 * math.pi) * (root + rho * angle), rel=0.5)


def test_second_order_of_the_softmax():
    """Shaped Transformer Eq. 8, 10: the sign inside the bracket of the second-order term."""
    y = [mpmath.mpf(v) for v in (0.3, -1.2, 0.8, 2.0)]

    def first(inverse_temperature):
        return mpmath.exp(y[0] * inverse_temperature) / sum(mpmath.exp(v * inverse_temperature) for v in y)

    mean = sum(y) / 4
    F1 = [v - mean for v in y]
    right = (F1[0] ** 2 - sum(f**2 for f in F1) / 4) / 4
    assert float(mpmath.diff(first, 0, 2)) == pytest.approx(float(right), rel=1e-10)


def test_scalar_drift_carries_the_scale_of_the_activation():
    """Lecture 17: the drift of one input's variance for tanh shaped with a = 1.3 has the factor 1/a^2."""
    n, a, X = 10**6, 1.3, 1.5
    S = a * math.sqrt(n)

    def second_moment(K):
        return average(lambda z: (S * np.tanh(z / S)) ** 2, K)

    found = n * (second_moment(X) / second_moment(1.0) - X)
    assert found == pytest.approx(-2 / a**2 * X * (X - 1), rel=1e-3)
    assert found != pytest.approx(-2 * X * (X - 1), rel=0.3)
