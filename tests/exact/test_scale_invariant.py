"""One input through scale-invariant networks: exact moments against fractions, their limits, and draws from the exact law."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from finitewidth._errors import BlowUpError
from finitewidth.activations import scale_invariant
from finitewidth.exact import (
    c_2m,
    fixed_ratio_connected,
    fixed_ratio_moment,
    linear_connected_correlator,
    log_kernel_statistics,
    moment_ratio,
    sample_scale_invariant,
    scale_invariant_flow,
)
from finitewidth.networks import MLP
from narrow_networks import BIASED, UNBIASED, X, kernel_chain, sites, within_standard_errors


def test_c_2m_values():
    """PDLT (3.46), PDLT (3.25), PDLT (3.43): printed polynomials, Gamma functions, and the first order m(m-1)/n."""
    assert [float(c_2m(4, n)) for n in (1, 2, 5)] == pytest.approx([105, 24, 5.544], rel=1e-15)
    n = np.array([1.0, 2.0, 7.0, 64.0, 1000.0])
    np.testing.assert_allclose(c_2m(1, n), np.ones(5), rtol=1e-15)
    np.testing.assert_allclose(c_2m(2, n), 1 + 2 / n, rtol=1e-15)
    np.testing.assert_allclose(c_2m(3, n), 1 + 6 / n + 8 / n**2, rtol=1e-15)
    for m in range(1, 9):
        gamma = (2 / n) ** m * np.exp(special.gammaln(n / 2 + m) - special.gammaln(n / 2))
        np.testing.assert_allclose(c_2m(m, n), gamma, rtol=1e-11)
        wide = 1e6
        assert (float(c_2m(m, wide)) - 1) * wide == pytest.approx(m * (m - 1), rel=1e-4, abs=1e-9)


# ------------------------------------------------------------------------------------------------------------ moments


def test_worked_example_two_four_six_point():
    """PDLT (3.15), PDLT (3.25), PDLT (3.43): hidden widths 5, 3, 7 at C_W = 0.9."""
    net = MLP("linear", (4, 5, 3, 7, 2), C_W=0.9)
    G0 = 0.09536 / 0.9**4
    moments = scale_invariant_flow(net, kernel=[[0.9 * G0]], order=3).moments[:, -1, 0]
    assert float(moments[0]) == pytest.approx(0.09536, rel=1e-13)
    assert [round(float(g), 5) for g in moments[1:]] == [0.02728, 0.01717]


def test_moments_without_biases_are_products():
    """PDLT (3.36)-(3.47): recursion in m against the product of c_2m, layer-dependent C_W."""
    flow = scale_invariant_flow(UNBIASED, X, order=6)
    G0 = (X**2).sum(axis=1) / 3
    for layer in range(4):
        G2 = np.prod(np.asarray(UNBIASED.C_W)[: layer + 1]) * G0
        for m in range(1, 7):
            product = np.prod([c_2m(m, n) for n in UNBIASED.hidden_widths[:layer]])
            np.testing.assert_allclose(flow.moments[m - 1, layer], product * G2**m, rtol=1e-13)
    assert float(moment_ratio(5, UNBIASED.hidden_widths)) == pytest.approx(
        float(flow.moments[4, -1, 0] / flow.G[-1, 0] ** 5), rel=1e-13
    )


def exact_moments(a_plus: Fraction, a_minus: Fraction, net: MLP, start: Fraction, order: int) -> list[Fraction]:
    """E[Ghat^m] of the last layer in rational numbers, neuron by neuron."""
    hyper = [(Fraction(float(b)), Fraction(float(w))) for b, w in zip(net.C_b[1:], net.C_W[1:], strict=True)]
    neuron = [
        Fraction(math.factorial(2 * k), 2**k * math.factorial(k)) * (a_plus ** (2 * k) + a_minus ** (2 * k)) / 2
        for k in range(order + 1)
    ]
    moments = [start**k for k in range(order + 1)]
    for n, (b, w) in zip(net.hidden_widths, hyper, strict=True):
        total = [Fraction(1)] + [Fraction(0)] * order
        for _ in range(n):
            total = [sum(math.comb(k, i) * total[i] * neuron[k - i] for i in range(k + 1)) for k in range(order + 1)]
        y = [t / n**k for k, t in enumerate(total)]
        moments = [
            sum(math.comb(k, i) * b ** (k - i) * w**i * y[i] * moments[i] for i in range(k + 1))
            for k in range(order + 1)
        ]
    return moments[1:]


@pytest.mark.parametrize(("a_plus", "a_minus"), [(1, 1), (1, 0), (1, -1), (1, 0.25), (-0.5, 2)])
def test_moments_against_rational_arithmetic(a_plus, a_minus):
    """PDLT (3.45) and its extension to any slopes and to biases, in exact fractions up to order 20."""
    net = MLP(scale_invariant(a_plus, a_minus), (2, 1, 4, 9, 3), C_b=[0.0, 0.5, 0.25, 0.0], C_W=[1.0, 0.75, 1.5, 1.0])
    start = Fraction(3, 2)
    exact = exact_moments(Fraction(a_plus), Fraction(a_minus), net, start, 20)
    flow = scale_invariant_flow(net, kernel=[[1.5]], order=20)
    np.testing.assert_allclose(flow.moments[:, -1, 0], [float(e) for e in exact], rtol=2e-14)
    assert float(flow.v[-1, 0]) == pytest.approx(float(exact[1] - exact[0] ** 2), rel=2e-14)


def test_relu_and_leaky_relu_products():
    """PDLT (5.120) resummed: E[Ghat^2]/K^2 = prod(1 + nu/n), with nu = 5 for ReLU and 4.88236 for leaky ReLU."""
    relu = MLP("relu", (3, 40, 30, 50, 1), C_W=2.0)
    flow = scale_invariant_flow(relu, X[:1])
    assert float(flow.moments[1, -1, 0] / flow.G[-1, 0] ** 2) == pytest.approx(1.44375, rel=1e-14)
    critical = scale_invariant_flow(MLP("relu", (1, *(64,) * 9, 1), C_W=2.0), kernel=[[1.0]])
    assert [round(float(critical.V[layer - 1, 0]), 3) for layer in (5, 10)] == [22.468, 61.951]
    leaky = MLP(scale_invariant(1.0, 0.1), (1, 48, 32, 64, 1), C_W=2 / 1.01)
    exact = float(scale_invariant_flow(leaky, kernel=[[1.0]]).V[-1, 0])
    leading = 64 * 4.88236 * (1 / 48 + 1 / 32 + 1 / 64)
    assert exact / leading == pytest.approx(22.55 / 20.33, rel=5e-4)


def test_semi_critical_line():
    """PDLT (5.120) with C_b > 0: a value worked out before, E[Ghat'^2] by hand, and V/K^2 -> nu l/3 at large depth."""
    net = MLP("relu", (1, *(64,) * 9, 1), C_b=0.5, C_W=2.0)
    flow = scale_invariant_flow(net, kernel=[[1.0]])
    assert round(float(flow.V[-1, 0]), 1) == 569.8
    mean, square = 1.0, 1.0
    for layer in range(1, 10):
        mean, square = mean + 0.5, 0.25 + 2 * 0.5 * mean + (1 + 5 / 64) * square
        assert float(flow.moments[1, layer, 0]) == pytest.approx(square, rel=1e-14)
        assert float(flow.v[layer, 0]) == pytest.approx(square - mean**2, rel=1e-12)
    slopes = []
    for depth in (200, 400):
        wide = MLP("relu", (1, *(10**9,) * (depth - 1), 1), C_b=0.5, C_W=2.0)
        deep = scale_invariant_flow(wide, kernel=[[0.5]])
        slopes.append(float(deep.V[-1, 0] / deep.G[-1, 0] ** 2) / (5 * depth / 3))
    assert abs(slopes[1] - 1) < 0.55 * abs(slopes[0] - 1) < 0.01


def test_absolute_value_has_the_law_of_linear():
    """PDLT (3.45): one input sees only sigma squared, so |z| and z give the same kernels."""
    kwargs = {"widths": (3, 4, 6, 2), "C_b": 0.1, "C_W": 1.2}
    one, other = (scale_invariant_flow(MLP(name, **kwargs), X, order=4) for name in ("linear", "abs"))
    np.testing.assert_allclose(one.moments, other.moments, rtol=1e-15)


# ------------------------------------------------------------------------------------------------------------- limits


def test_fixed_ratio_numbers():
    """PDLT (3.53)-(3.55): exact over limit at r = 1/2, for n = 400 and 3200."""
    for n, expected in ((400, [0.99255, 0.97301, 0.93751]), (3200, [0.99906, 0.99657, 0.99192])):
        ratios = [float(moment_ratio(m, [n] * (n // 2 - 1)) / fixed_ratio_moment(m, 0.5)) for m in (2, 3, 4)]
        assert [round(ratio, 5) for ratio in ratios] == expected


def test_fixed_ratio_is_approached_as_one_over_n():
    """PDLT (3.55) for ReLU and linear: the deviation of the exact moments halves when width and depth double."""
    for name, C_W, nu in (("linear", 1.0, 2.0), ("relu", 2.0, 5.0)):
        deviations = []
        for n in (400, 800):
            net = MLP(name, (1, *(n,) * (n // 4), 1), C_W=C_W)  # L - 1 = n/4 fluctuating layers
            exact = scale_invariant_flow(net, kernel=[[1.0]], order=3).moments[2, -1, 0]
            deviations.append(float(exact / fixed_ratio_moment(3, 0.25, nu)) - 1)
        assert deviations[0] / deviations[1] == pytest.approx(2, rel=0.05)


def test_limits_do_not_commute():
    """PDLT (3.48)-(3.51): width first gives a Gaussian, depth first diverges as c_2m^(L-1)."""
    assert abs(float(moment_ratio(3, [10**12] * 50)) - 1) < 1e-9
    assert float(moment_ratio(3, [50] * 500)) == pytest.approx(float(c_2m(3, 50)) ** 500, rel=1e-10)
    assert float(moment_ratio(3, [50] * 1000)) > 1e40
    assert float(moment_ratio(1, [50] * 1000)) == 1
    assert float(moment_ratio(4, [])) == 1
    with pytest.raises(BlowUpError):
        moment_ratio(3, [2] * 10_000)


def test_connected_limits():
    """PDLT (3.56)-(3.57): closed forms, leading orders, and cumulants from moments at fifty digits."""
    r = 0.3
    assert float(fixed_ratio_connected(1, r)) == 1
    assert float(fixed_ratio_connected(2, r)) == pytest.approx(math.expm1(2 * r), rel=1e-15)
    assert float(fixed_ratio_connected(3, r)) == pytest.approx(math.exp(6 * r) - 3 * math.exp(2 * r) + 2, rel=1e-14)
    assert float(fixed_ratio_connected(3, 1e-7)) == pytest.approx(12e-14, rel=1e-6)
    with mpmath.workdps(80):
        for ratio in (1e-6, 0.01, 0.8):
            cumulants = [mpmath.mpf(1)]
            for m in range(2, 9):
                moments = [mpmath.exp(5 * mpmath.mpf(ratio) * k * (k - 1) / 2) for k in range(m + 1)]
                lower = sum(math.comb(m - 1, k - 1) * cumulants[k - 1] * moments[m - k] for k in range(1, m))
                cumulants.append(moments[m] - lower)
                assert float(fixed_ratio_connected(m, ratio, nu=5.0)) == pytest.approx(float(cumulants[-1]), rel=1e-13)
    n = 2000
    net = MLP("linear", (1, *(n,) * 200, 1), C_W=1.0)
    exact = linear_connected_correlator(net, sites([0, 0, 1, 1, 2, 2], [0] * 6), kernel=[[1.0]])[-1]
    assert float(exact) == pytest.approx(float(fixed_ratio_connected(3, 0.1)), rel=0.01)


def test_log_normal_statistics():
    """PDLT (3.55): ln Ghat at n = 200, L = 100; finite-n mean and variance against mpmath, tending to -r and 2r."""
    mean, variance = log_kernel_statistics(MLP("linear", (1, *(200,) * 100, 1), C_W=1.0))
    assert round(float(mean[-1]), 4) == -0.5008
    assert round(float(variance[-1]), 4) == 1.0050
    mean, variance = log_kernel_statistics(UNBIASED)
    for layer in range(4):
        halves = [mpmath.mpf(n) / 2 for n in UNBIASED.hidden_widths[:layer]]
        exact = sum(mpmath.digamma(h) - mpmath.log(h) for h in halves), sum(mpmath.psi(1, h) for h in halves)
        assert float(mean[layer]) == pytest.approx(float(exact[0]), rel=1e-13)
        assert float(variance[layer]) == pytest.approx(float(exact[1]), rel=1e-13)
    offsets = []
    for n in (300, 600):
        mean, variance = log_kernel_statistics(MLP("linear", (1, *(n,) * (n // 3), 1), C_W=1.0))
        offsets.append((float(mean[-1]) + 1 / 3, float(variance[-1]) - 2 / 3))
    np.testing.assert_allclose(np.divide(*offsets), 2, rtol=0.02)


# ------------------------------------------------------------------------------------------------------------ sampler


@pytest.mark.measured
@pytest.mark.parametrize("slopes", [(1.0, 1.0), (1.0, 0.3)])
def test_sampler_has_the_exact_moments(slopes):
    """PDLT (3.45)-(3.47), PDLT (5.120): three moments of every layer, biases and unequal widths, in standard errors."""
    net = MLP(scale_invariant(*slopes), (3, 8, 1, 30, 2), C_b=[0.0, 0.1, 0.0, 0.2], C_W=[1.0, 1.3, 0.9, 1.1])
    draws = np.asarray(sample_scale_invariant(net, X[:1], networks=100_000, seed=4))
    flow = scale_invariant_flow(net, X[:1], order=3)
    assert (draws[:, 0] == float(flow.G[0, 0])).all()
    for m in (1, 2, 3):
        assert within_standard_errors(draws[:, 1:] ** m, np.asarray(flow.moments[m - 1, 1:, 0]))


@pytest.mark.parametrize("slopes", [(1.0, -1.0), (1.0, 0.0)])
def test_sampler_has_the_law_of_the_chain(slopes):
    """PDLT (3.44): the whole distribution of the last kernel against neurons drawn one by one."""
    net = MLP(scale_invariant(*slopes), (3, 4, 6, 2), C_b=0.05, C_W=1.1)
    draws = np.asarray(sample_scale_invariant(net, X[:1], networks=20_000, seed=5))[:, -1]
    chain = kernel_chain(np.random.default_rng(6), net, np.asarray(net.first_kernel(X[:1])), 20_000)[-1][:, 0, 0]
    assert stats.ks_2samp(draws, chain).pvalue > 1e-3


@pytest.mark.measured
def test_sampler_of_narrow_relu_and_log_statistics():
    """PDLT (3.55): one ReLU neuron is off half of the time; ln Ghat of linear networks has its mean and variance."""
    off = np.asarray(sample_scale_invariant(MLP("relu", (3, 1, 1), C_W=2.0), X[:1], networks=40_000)) == 0
    assert within_standard_errors(off.astype(float), np.array([0.0, 0.5]))  # layer 1 does not fluctuate
    draws = np.asarray(sample_scale_invariant(UNBIASED, X[:1], networks=100_000, seed=7))
    logs = np.log(draws / np.asarray(scale_invariant_flow(UNBIASED, X[:1]).G[:, 0]))
    mean, variance = log_kernel_statistics(UNBIASED)
    assert within_standard_errors(logs[:, 1:], np.asarray(mean)[1:])
    assert within_standard_errors(((logs - np.asarray(mean)) ** 2)[:, 1:], np.asarray(variance)[1:])


def test_sampler_is_reproducible():
    """PDLT (3.44): the same seed gives the same draws, another seed others."""
    once, again, other = (sample_scale_invariant(BIASED, X[:1], networks=10, seed=seed) for seed in (1, 1, 2))
    assert (np.asarray(once) == np.asarray(again)).all()
    assert not np.isclose(once[:, 1:], other[:, 1:]).any()
