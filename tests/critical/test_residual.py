"""Residual networks at criticality: how fast fluctuations grow, and how much skip a depth needs."""

import math

import numpy as np
import pytest
from scipy import integrate, special

import finitewidth as fw
from finitewidth.critical.large_depth import residual


@pytest.mark.parametrize(
    ("gamma", "printed", "complete"),
    [
        (0.3, 4.468, 6.295),
        (0.5, 3.5625, 6.496),
        (0.5**0.5, 2.25, 5.4425),
        (0.9, 0.796, 2.536),
        (0.99, 0.080, 0.291),
        (-(0.5**0.5), 2.25, 1.665),
    ],
)
def test_nu_of_relu(gamma, printed, complete):
    """PDLT (B.29) as printed, and complete; the second from a sum over depths that was done by hand elsewhere."""
    assert fw.critical.residual_nu("relu", gamma, form="printed") == pytest.approx(printed, abs=6e-4)
    assert fw.critical.residual_nu("relu", gamma) == pytest.approx(complete, abs=6e-4)


def test_nu_by_brute_force():
    """The complete nu of ReLU as a sum over depths of covariances by quadrature in polar coordinates."""
    gamma = 0.6
    angle = (np.arange(20000) + 0.5) / 20000 * 2 * np.pi

    def covariance(rho):  # of relu^2: the radius gives <r^4> = 8
        second = rho * np.cos(angle) + math.sqrt(1 - rho**2) * np.sin(angle)
        return 8 * np.mean(np.maximum(np.cos(angle), 0) ** 2 * np.maximum(second, 0) ** 2) - 0.25

    sums = 1.5 - 0.25 + 2 * sum(covariance(gamma**k) for k in range(1, 90))
    assert fw.critical.residual_nu("relu", gamma) == pytest.approx((2 * (1 - gamma**2)) ** 2 * sums, rel=1e-6)


def test_nu_of_classes_where_the_book_is_right():
    """Linear: 2(1 - gamma^4). K* = 0: two thirds of (1 - gamma^4), PDLT (B.35)."""
    for gamma in (0.0, 0.6, -0.8):
        for form in ("complete", "printed"):
            assert fw.critical.residual_nu("linear", gamma, form) == pytest.approx(2 * (1 - gamma**4))
            assert fw.critical.residual_nu("sin", gamma, form) == pytest.approx(2 / 3 * (1 - gamma**4))


def test_nu_without_skip_is_that_of_the_mlp():
    """gamma = 0, all classes."""
    for name in ("relu", "tanh", "gelu"):
        exponents = fw.criticality(name).exponents
        assert exponents is not None
        assert fw.critical.residual_nu(name, 0.0) == pytest.approx(exponents.nu, rel=1e-8)


def test_nu_of_gelu_tends_to_that_of_relu():
    """GELU at its critical point is nearly a ReLU, and the complete nu of the one nearly that of the other."""
    gelu, relu = (fw.critical.residual_nu(name, 0.5) for name in ("gelu", "relu"))
    assert 0.93 < gelu / relu < 1.0


def test_nu_of_strong_skips():
    """As gamma tends to one nu/(1 - gamma^2) tends to 12 + 4 ln 2 for ReLU."""
    gamma = 1 - 1e-5
    assert fw.critical.residual_nu("relu", gamma) / (1 - gamma**2) == pytest.approx(12 + 4 * math.log(2), rel=1e-4)


def test_optimal_gamma():
    """PDLT (B.36)-(B.37): the printed form in closed form, and the complete one by its definition."""
    q = 4 / 50 / 0.1
    found = fw.critical.optimal_gamma("relu", 0.1, outputs=10, form="printed")
    assert found**2 == pytest.approx(3 - math.sqrt(4 + q))
    assert fw.critical.optimal_gamma("tanh", 0.5, outputs=10) ** 4 == pytest.approx(1 - 1.5 * 4 / 50 / 0.5)
    found = fw.critical.optimal_gamma("relu", 0.1, outputs=10)
    assert fw.critical.residual_nu("relu", found) * 0.1 == pytest.approx(4 / 50)
    assert fw.critical.optimal_gamma("relu", 0.016, outputs=10) == 0.0  # r* of the MLP
    assert fw.critical.optimal_gamma("relu", 0.0, outputs=10) == 0.0
    assert fw.critical.optimal_gamma("relu", 0.0161, outputs=10) > 0.7  # where nu comes back to 5


def test_critical_points_with_skips():
    """PDLT (B.20)-(B.21): (1 - gamma^2) times those without; both susceptibilities, PDLT (B.15)-(B.16), are one there."""
    for name, gamma in (("relu", 0.6), ("tanh", -0.8), ("gelu", 0.5)):
        verdict = fw.criticality(name, gamma=gamma)
        point, before = verdict.point, fw.criticality(name).point
        assert point is not None
        assert before is not None
        assert point.K_star == before.K_star
        K = point.K_star or 1e-7
        at = fw.susceptibilities(name, K, point.C_W)
        assert at.chi_parallel + gamma**2 == pytest.approx(1, abs=1e-6)
        assert at.chi_perp + gamma**2 == pytest.approx(1, abs=1e-6)
        assert verdict.exponents.nu == fw.critical.residual_nu(name, gamma)
        assert fw.criticality(fw.ResidualMLP(name, 8, 4, gamma)) == verdict
    assert fw.criticality(fw.MLP("relu", (2, 8, 1))) == fw.criticality("relu")
    assert fw.criticality("relu", gamma=0.5).exponents.p_1 == -1
    assert fw.criticality("linear", gamma=0.5).exponents.p_1 is None
    with pytest.raises(fw.ArgumentError, match="gamma"):
        fw.criticality(fw.MLP("relu", (2, 8, 1)), gamma=0.5)


def test_the_map_near_a_critical_point_with_skips():
    r"""$K' = \gamma^2K + C_b + C_W\langle\sigma^2\rangle_K$ meets $K^\star$ with slope one and curvature $2\tilde a_1$, by SciPy's
    quadrature: GELU has all three numbers other than zero; tanh, $\langle\tanh^2\rangle = K - 2K^2$, has $\tilde a_1 = -2(1-\gamma^2)$."""
    gamma = 0.5
    point = fw.criticality("gelu", gamma=gamma).point

    def step(K):
        def weighed(z):
            return (z * special.ndtr(z)) ** 2 * math.exp(-(z**2) / (2 * K)) / math.sqrt(2 * math.pi * K)

        reach = 12 * math.sqrt(K)
        average = integrate.quad(weighed, -reach, reach, epsabs=0, epsrel=1e-13, limit=200)[0]
        return gamma**2 * K + point.C_b + point.C_W * average

    K, h = point.K_star, 0.03
    left, here, right = (step(K + change) for change in (-h, 0.0, h))
    assert point.C_b > 0.01
    assert here == pytest.approx(K, rel=1e-10)
    assert (right - left) / (2 * h) == pytest.approx(1, abs=1e-4)
    assert (right - 2 * here + left) / (2 * h**2) == pytest.approx(point.a1_tilde, rel=2e-3)
    assert fw.criticality("tanh", gamma=gamma).point.a1_tilde == pytest.approx(-2 * (1 - gamma**2), rel=1e-12)


@pytest.mark.parametrize(("a_plus", "a_minus", "p_1"), [(1.0, -1.0, None), (-0.7, -0.7, None), (1.0, -0.9, -1.0)])
def test_mean_kernels_with_skips_stay_where_squares_do(a_plus, a_minus, p_1):
    r"""$\sigma^2 = a^2z^2$, as of $|z|$: the mean over weights of the next mean square, $(\gamma^2 + C_Wa^2)$ times this one at $C_b = 0$,
    is this one whatever the neurons are, so that $G^{\{1\}}$ vanishes; unequal squares feel the odd part of their law."""
    sigma = fw.activations.scale_invariant(a_plus, a_minus)
    found = fw.criticality(sigma, gamma=0.6)
    assert found.exponents.p_1 == p_1
    z = np.random.default_rng(0).normal(size=(5, 64))
    squares = np.where(z > 0, a_plus, a_minus) ** 2 * z**2
    after = np.mean(0.36 * z**2 + found.point.C_W * squares, axis=1)
    assert np.allclose(after, np.mean(z**2, axis=1), rtol=1e-13) == (p_1 is None)


def test_errors():
    """What cannot be critical is refused."""
    with pytest.raises(fw.DomainError, match="gamma"):
        fw.critical.residual_nu("relu", 1.0)
    with pytest.raises(fw.NotTunableError):
        fw.critical.residual_nu("softplus", 0.5)
    with pytest.raises(fw.UnknownNameError, match="form"):
        fw.critical.residual_nu("relu", 0.5, "book")  # type: ignore[arg-type]
    with pytest.raises(fw.DomainError, match="ratio"):
        fw.critical.optimal_gamma("relu", 1e6, outputs=10)
    with pytest.raises(fw.DomainError, match=r"within 0\.0001 of one"):  # at once: no sum over depths is made
        fw.critical.optimal_gamma("gelu", 1e308, outputs=10)
    with pytest.raises(fw.DomainError, match=r"quadratures would be summed; expected .gamma. <= 0\.9999"):
        fw.critical.residual_nu("gelu", 1 - 1e-5)


def test_long_sums_over_depths_are_made_piece_by_piece(monkeypatch):
    """No piece is longer than memory allows, and none is left out."""
    whole = fw.critical.residual_nu("relu", 0.99)
    seen = []
    real = residual.angle_moments
    monkeypatch.setattr(residual, "_TOGETHER", 1000)
    monkeypatch.setattr(residual, "angle_moments", lambda *args: seen.append(len(args[1])) or real(*args))
    assert fw.critical.residual_nu("relu", 0.99) == pytest.approx(whole, rel=1e-13)
    assert seen == [1000] * 4
