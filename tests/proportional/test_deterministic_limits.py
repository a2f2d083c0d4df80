"""Scaling regimes and residual networks of weight 1/sqrt(depth)."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

import finitewidth as fw
from finitewidth.networks.shaped import shaped_relu, shaped_smooth
from finitewidth.proportional import Regime, drift_ode, residual_ode, scalar_smooth, scaling_regime
from finitewidth.proportional.regimes import collapse, fluctuation, unshaped_relu_collapse

V0 = np.array([[1.0, 0.2], [0.2, 1.0]])


@pytest.mark.parametrize(
    ("exponent", "depth_exponent", "regime"),
    [
        (0.25, 0.5, Regime.ODE),
        (0.25, 1.0, Regime.DEGENERATE),
        (0.25, 0.25, Regime.FROZEN),
        (0.5, 1.0, Regime.SDE),
        (1.0, 1.0, Regime.LINEAR),
        (1.0, 2.0, Regime.DEGENERATE),
        (0.0, 0.0, Regime.ODE),
        (0.0, 1.0, Regime.DEGENERATE),
    ],
)
def test_regimes(exponent, depth_exponent, regime):
    """Lecture 17: which limit for which exponent and depth."""
    assert scaling_regime(exponent, depth_exponent) is regime


def test_drift_without_noise():
    """chi^2 = 1, T = 2, rho_0 = 0.2: rho = 0.66790; norms do not move."""
    path = drift_ode(shaped_relu(1, -1, exponent=0.25), V0, 2.0)
    np.testing.assert_allclose(path[-1, 0, 1], 0.66790, atol=5e-6)
    np.testing.assert_allclose(path[:, 0, 0], 1.0, rtol=1e-13)


def test_smooth_drift_without_noise():
    """One input follows the logistic equation; past its blow-up there is a clear error."""
    activation = shaped_smooth("expm1", exponent=0.25)
    path = drift_ode(activation, [[0.8]], 1.0)
    np.testing.assert_allclose(path[-1, 0, 0], scalar_smooth(activation).noiseless(0.8, 1.0), rtol=1e-9)
    with pytest.raises(fw.DomainError, match="blow-up"):
        drift_ode(activation, [[3.0]], 5.0)


@pytest.mark.parametrize("before", [0.03, 1e-4, 1e-5])
def test_close_to_the_blow_up(before):
    """The logistic equation is followed up to its blow-up, or refused by name; never a number of no meaning."""
    activation = shaped_smooth("expm1", exponent=0.25)
    exact = scalar_smooth(activation)
    end = exact.noiseless_blow_up_time(3.0)
    path = drift_ode(activation, [[3.0]], end - before, steps=20)
    np.testing.assert_allclose(path[-1, 0, 0], exact.noiseless(3.0, end - before), rtol=1e-10 / before)
    for beyond in (-1e-9, 1e-9, 1e-3, 1.0):
        with pytest.raises(fw.DomainError, match=r"`time`.*blow-up"):
            drift_ode(activation, [[3.0]], end + beyond, steps=20)


def test_stiff_drifts_relax():
    """tanh with a = 0.01 pulls norms to one at a rate of 20000: intervals far longer than that change nothing."""
    path = drift_ode(shaped_smooth("tanh", a=0.01, exponent=0.25), [[2.0, 0.5], [0.5, 1.5]], 0.1, steps=10)
    np.testing.assert_allclose(np.diagonal(path[-1]), 1.0, rtol=1e-9)


def test_collapse_of_correlations():
    """1 - rho falls as (18 pi^2/(c_+ - c_-)^4) (d n^{-2p})^{-2}: the ODE approaches it as 1/T."""
    activation = shaped_relu(1, -1, exponent=0.25)
    path = drift_ode(activation, V0, 200.0, steps=4000)
    n = 10_000
    ratios = [(1 - path[k, 0, 1]) / collapse(activation, n, int(k / 20 * n**0.5)) for k in (2000, 4000)]
    assert 0.9 < ratios[1] < 1
    np.testing.assert_allclose((1 - ratios[0]) / (1 - ratios[1]), 2.0, rtol=0.1)
    np.testing.assert_allclose(fluctuation(0.25, 2.0, 4096), 2 / 8, rtol=1e-14)


def test_collapse_of_plain_relu():
    """1 - rho after l layers is 9 pi^2/(2 l^2) times 1 + O(log l/l)."""
    rho = 0.2
    for _ in range(3000):
        theta = math.acos(rho)
        rho = (math.sin(theta) + (math.pi - theta) * math.cos(theta)) / math.pi
    np.testing.assert_allclose(1 - rho, unshaped_relu_collapse(3000), rtol=0.02)


@pytest.mark.parametrize(("rho", "least"), [(-0.9, 0.5), (0.2, 0.5), (0.95, 0.1)])
def test_collapse_begins_where_it_is_a_tenth(rho, least):
    """Before, its law exceeds what one minus a correlation can be; from there on it is an upper bound, and for inputs that began well
    apart within a factor of two."""
    activation, n = shaped_relu(1, -1, exponent=0.25), 10_000
    first = math.ceil(100 * math.sqrt(18 * math.pi**2 / 2**4 / 0.1))  # layers, of n^{-1/2} of time each
    end = drift_ode(activation, [[1.0, rho], [rho, 1.0]], first / 100, steps=10)[-1, 0, 1]
    assert least < (1 - end) / collapse(activation, n, first) < 1
    with pytest.raises(fw.DomainError, match=f"`depth`: got {first - 1}; expected at least {first} layers"):
        collapse(activation, n, first - 1)
    with pytest.raises(fw.DomainError, match="at least 22 layers"):
        unshaped_relu_collapse(21)
    assert unshaped_relu_collapse(22) < 0.1


def test_residual_relu():
    """rho_0 = 0.2 to s = 1: 0.38396 with norms kept; 0.30123 and norms of e^{1/2} for h + W relu(h)/sqrt(dn)."""
    kept = residual_ode("relu", V0)[-1]
    np.testing.assert_allclose(kept[0, 1], 0.38396, atol=5e-6)
    np.testing.assert_allclose(np.diag(kept), 1.0, rtol=1e-12)
    grown = residual_ode("relu", V0, normalised=False)[-1]
    np.testing.assert_allclose(np.diag(grown), math.exp(0.5), rtol=1e-9)
    np.testing.assert_allclose(grown[0, 1] / grown[0, 0], 0.30123, atol=5e-6)


def test_residual_correlation_is_the_drift_of_the_shaped_network():
    """Without normalisation and noise, rho obeys d rho/ds = nu(rho) with c_+ - c_- = 1."""
    expected = integrate.solve_ivp(lambda s, r: shaped_relu().nu(jnp.asarray(r)), (0, 1), [0.2], rtol=1e-10).y[0, -1]
    V = residual_ode("relu", np.array([[1.0, 0.4], [0.4, 4.0]]), normalised=False)[-1]
    np.testing.assert_allclose(V[0, 1] / np.sqrt(V[0, 0] * V[1, 1]), expected, rtol=1e-8)


def test_residual_erf():
    """A smooth activation against scipy, with the arcsine kernel of erf."""

    def rate(_, v):
        a, c, b = v
        kernel = [2 / math.pi * math.asin(2 * k / math.sqrt((1 + 2 * x) * (1 + 2 * y))) for k, x, y in
                  ((a, a, a), (c, a, b), (b, b, b))]  # fmt: skip
        return np.array(kernel) / (2 / math.pi * math.asin(2 / 3)) - v

    expected = integrate.solve_ivp(rate, (0, 1), [1.0, 0.3, 2.0], rtol=1e-11, atol=1e-13).y[:, -1]
    V = residual_ode("erf", [[1.0, 0.3], [0.3, 2.0]])[-1]
    np.testing.assert_allclose([V[0, 0], V[0, 1], V[1, 1]], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: scaling_regime(-0.1), "exponent"),
        (lambda: drift_ode("relu", V0, 1.0), "activation"),
        (lambda: residual_ode("relu", [[0.0]]), "V0"),
        (lambda: collapse(shaped_relu(1, 1), 100, 100), "activation"),
        (lambda: collapse(shaped_relu(1, -1), 100, 10**6), "activation"),
    ],
)
def test_bad_input(call, argument):
    """The argument is named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()


def test_norms_too_large_for_quadratures_are_refused():
    """On either side of the largest; a second program of a hundred scales compiled for minutes."""
    V0 = np.array([[1.0, 0.2], [0.2, 1.0]])
    with pytest.raises(fw.DomainError, match=r"V0.*norms too large"):
        fw.proportional.residual_ode("relu", 1.01e16 * V0, steps=4)
    assert fw.proportional.residual_ode("relu", 1e16 * V0, steps=4)[-1, 0, 0] == pytest.approx(1e16)
