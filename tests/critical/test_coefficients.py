"""The kernel map near zero: Taylor rows of the table, corrections at half-integer powers, and the erratum of (5.81)."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from finitewidth.activations import ACTIVATIONS, Activation, as_activation
from finitewidth.critical import kernel_series, susceptibilities

ROOT = math.sqrt(2 / math.pi)

# sigma_0..sigma_5; a1, a2, b1 (None where sigma_0 or the slope forbids them)
ROWS = {
    "linear": ([0, 1, 0, 0, 0, 0], (0, 0, 0)),
    "tanh": ([0, 1, 0, -2, 0, 16], (-2, 17 / 3, -2)),
    "sin": ([0, 1, 0, -1, 0, 1], (-1, 2 / 3, -1)),
    "erf": (np.array([0, 1, 0, -2, 0, 12]) * 2 / math.sqrt(math.pi), (-2, 14 / 3, -2)),
    "scaled erf": (ROOT * np.array([0, 1, 0, -1, 0, 3]), (-1, 7 / 6, -1)),
    "arctan": ([0, 1, 0, -2, 0, 24], (-2, 23 / 3, -2)),
    "centered_sigmoid": ([0, 1 / 4, 0, -1 / 8, 0, 1 / 4], (-1 / 2, 17 / 48, -1 / 2)),
    "sigmoid": ([1 / 2, 1 / 4, 0, -1 / 8, 0, 1 / 4], None),
    "softplus": ([math.log(2), 1 / 2, 1 / 4, 0, -1 / 8, 0], None),
    "centered_softplus": ([0, 1 / 2, 1 / 4, 0, -1 / 8, 0], (3 / 16, -5 / 64, 1 / 4)),
    "z^2": ([0, 0, 2, 0, 0, 0], None),
    "z^3": ([0, 0, 0, 6, 0, 0], None),
    "exp": ([1, 1, 1, 1, 1, 1], None),
    "expm1": ([0, 1, 1, 1, 1, 1], (7 / 4, 31 / 24, 2)),
    "swish": ([0, 1 / 2, 1 / 2, 0, -1 / 2, 0], (3 / 4, -5 / 8, 1)),
    "gelu": ([0, 1 / 2, ROOT, 0, -2 * ROOT, 0], (6 / math.pi, -10 / math.pi, 8 / math.pi)),
}
SCALED_ERF = Activation(lambda z: erf(z / math.sqrt(2)), name="scaled erf")


def activation(name):
    return SCALED_ERF if name == "scaled erf" else ACTIVATIONS[name]


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_at_zero(name):
    """PDLT (5.79): the Taylor coefficients of the table."""
    np.testing.assert_allclose(kernel_series(activation(name)).right[:6], ROWS[name][0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row[1] is not None])
def test_coefficients(name):
    """PDLT (5.83)-(5.88): the values of the table, and the formulas in sigma_p that the series stands for."""
    series = kernel_series(activation(name))
    s, (a1, a2, b1) = ROWS[name]
    np.testing.assert_allclose([series.a1, series.a2, series.b1], [a1, a2, b1], rtol=1e-13, atol=1e-15)
    by_formula = (
        s[3] / s[1] + 3 / 4 * (s[2] / s[1]) ** 2,
        s[5] / (4 * s[1]) + 5 / 8 * s[4] * s[2] / s[1] ** 2 + 5 / 12 * (s[3] / s[1]) ** 2,
        s[3] / s[1] + (s[2] / s[1]) ** 2,
    )
    np.testing.assert_allclose([series.a1, series.a2, series.b1], by_formula, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["tanh", "gelu", "centered_softplus"])
def test_series_against_quadrature(name):
    r"""PDLT (5.83)-(5.85): $\chi_\parallel = C_W\sigma_1^2[1+2a_1K+3a_2K^2]$, $\chi_\perp = C_W\sigma_1^2[1+b_1K]$."""
    series = kernel_series(activation(name))
    K = np.array([1e-5, 2e-5])
    at = susceptibilities(name, K, 1 / series.A2)
    np.testing.assert_allclose((at.chi_parallel - 1) / K, 2 * series.a1 + 3 * series.a2 * K, rtol=1e-6)
    slope = (at.chi_perp - 1) / K
    np.testing.assert_allclose(2 * slope[0] - slope[1], series.b1, rtol=1e-6)


def test_erratum_of_5_81():
    r"""PDLT (5.81): $g'(0) = \sigma_1^2 + \sigma_0\sigma_2$, not $\sigma_1^2 + 2\sigma_0\sigma_2$; softplus 0.42329."""
    series = kernel_series(ACTIVATIONS["softplus"])
    corrected, printed = 1 / 4 + math.log(2) / 4, 1 / 4 + 2 * math.log(2) / 4
    numeric = float(susceptibilities("softplus", 1e-5).chi_parallel)
    np.testing.assert_allclose(series.mean_square[2], corrected, rtol=1e-14)
    np.testing.assert_allclose(numeric, corrected, atol=1e-5)
    assert (round(corrected, 5), round(printed, 5)) == (0.42329, 0.59657)
    assert abs(numeric - printed) > 0.17


@pytest.mark.parametrize(
    ("activation", "c"),
    [
        (ACTIVATIONS["softsign"], -4 * ROOT),
        (Activation(lambda z: jnp.where(z > 0, z, jnp.expm1(jnp.minimum(z, 0))), (0.0,), name="elu"), -ROOT),
        (Activation(lambda z: jnp.where(z > 0, z + z**2, z), (0.0,), name="bent"), 2 * ROOT),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_half_integer_powers(activation, c):
    r"""PDLT (5.83) with a kink at zero: $g = A_2[K + cK^{3/2}]$ and $\langle\sigma'^2\rangle = A_2[1 + cK^{1/2}]$."""
    growth = kernel_series(activation).growth()
    assert growth is not None
    assert growth.power == 0.5
    np.testing.assert_allclose([growth.c, growth.d], [c, c], rtol=1e-11)
    K = 1e-8
    at = susceptibilities(activation, K)
    measured = [(at.chi_parallel - 1) / math.sqrt(K) / 1.5, (at.chi_perp - 1) / math.sqrt(K)]
    np.testing.assert_allclose(measured, [c, c], rtol=2e-3)


@pytest.mark.measured
def test_fine_tuned():
    r"""PDLT footnote 19: the first coefficient that does not vanish, here $a_3$ of $\sin z + z^3/6 - z^5/120$."""
    growth = kernel_series(as_activation(lambda z: jnp.sin(z) + z**3 / 6 - z**5 / 120)).growth()
    assert growth is not None
    # sigma = z - z^7/5040: sigma^2 = z^2 - z^8/2520, <z^8> = 105 K^4; sigma'^2 = 1 - z^6/360, <z^6> = 15 K^3
    assert growth.power == 3
    np.testing.assert_allclose([growth.c, growth.d, growth.slope_first], [-105 / 2520, -15 / 360, 0], rtol=1e-12)


def test_fine_tuned_without_parity():
    r"""PDLT footnote 19: with $a_1 = 0$, $b_1 = \frac14(\sigma_2/\sigma_1)^2 > 0$ comes first."""
    growth = kernel_series(as_activation(lambda z: z + z**2 / 2 - z**3 / 8)).growth()
    assert growth is not None
    assert growth.power == 2
    np.testing.assert_allclose(growth.slope_first, 1 / 4, rtol=1e-12)
