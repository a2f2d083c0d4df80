r"""Activations with a corner at zero and $\sigma'' = 0$ beside it: no $K^{3/2}$, only what half-space moments leave.

With $\sigma = \sum_p t_p^\pm z^p$ on either side, $\langle\sigma^2\rangle = \frac12\sum_m K^{m/2}\langle|z|^m\rangle_1
\sum_{p+q=m}[t_p^+t_q^+ + (-1)^mt_p^-t_q^-]$: for $t_0 = t_2 = 0$ this is $A_2K + 3(t_1^+t_3^+ + t_1^-t_3^-)K^2 + O(K^3)$.
"""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from finitewidth.activations import as_activation
from finitewidth.critical import Stability, UniversalityClass, criticality, kernel_series

# A function for JAX, and its right and left sides for mpmath.
CASES = {
    "relu + .3 sin": (
        lambda z: jnp.maximum(z, 0) + 0.3 * jnp.sin(z),
        lambda z: z + 0.3 * mpmath.sin(z),
        lambda z: 0.3 * mpmath.sin(z),
    ),
    "cubic": (
        lambda z: jnp.where(z > 0, z + z**3 / 10, 0.1 * z),
        lambda z: z + z**3 / 10,
        lambda z: z / 10,
    ),
    "rectified tanh": (lambda z: jnp.maximum(jnp.tanh(z), 0), mpmath.tanh, lambda z: 0 * z),
    "leaky arctan": (
        lambda z: jnp.arctan(jnp.where(z > 0, z, 0.2 * z)),
        mpmath.atan,
        lambda z: mpmath.atan(0.2 * z),
    ),
    "rectified sin": (lambda z: jnp.where(z > 0, jnp.sin(z), 0), mpmath.sin, lambda z: 0 * z),
    "leaky root": (
        lambda z: jnp.where(z > 0, 1.0, 0.1) * z / jnp.sqrt(1 + z**2),
        lambda z: z / mpmath.sqrt(1 + z**2),
        lambda z: z / 10 / mpmath.sqrt(1 + z**2),
    ),
    "wide and small": (
        lambda z: 1e-3 * jnp.tanh(jnp.where(z > 0, z, 0.1 * z) / 100),
        lambda z: mpmath.tanh(z / 100) / 1000,
        lambda z: mpmath.tanh(z / 1000) / 1000,
    ),
}
CLOSE = {"relu + .3 sin": -0.269663, "cubic": 0.594059, "rectified tanh": -2.0}  # by hand


def _corrections(right, left):
    """c and d of $g/A_2 = K + cK^2$ and $s/A_2 = 1 + dK$, from integrals with thirty digits at two small kernels."""
    with mpmath.workdps(30):
        slopes = [side(mpmath.mpf("1e-14")) / mpmath.mpf("1e-14") for side in (right, left)]
        A2 = sum(slope**2 for slope in slopes) / 2

        def moment(function, K):
            def side(z):
                return function(mpmath.sqrt(K) * z) ** 2 * mpmath.npdf(z)

            return mpmath.quad(side, [0, 4, 12])

        def measured(K):
            g = moment(right, K) + moment(lambda z: left(-z), K)
            s = moment(lambda z: mpmath.diff(right, z), K) + moment(lambda z: mpmath.diff(left, -z), K)
            return (g / (A2 * K) - 1) / K, (s / A2 - 1) / K

        near, far = measured(mpmath.mpf("1e-6")), measured(mpmath.mpf("2e-6"))
        return [float(2 * one - two) for one, two in zip(near, far, strict=True)]


@pytest.fixture(params=CASES, scope="module")
def case(request):
    function, right, left = CASES[request.param]
    return request.param, as_activation(function), _corrections(right, left)


def test_the_first_correction(case):
    """PDLT (5.83)-(5.85), against numerical integrals; and by hand where the coefficients are plain."""
    name, activation, measured = case
    growth = kernel_series(activation).growth()
    assert (growth.power, growth.slope_first) == (1.0, 0.0)
    np.testing.assert_allclose([growth.c, growth.d], measured, rtol=1e-8)
    if name in CLOSE:
        np.testing.assert_allclose(growth.c, CLOSE[name], rtol=2e-6)


def test_the_verdict_follows_its_sign(case):
    """PDLT (5.90)-(5.93): attraction for c < 0, and the kernel falls as one over depth; the corner makes angles do so too."""
    _, activation, (c, _) = case
    found = criticality(activation)
    if c > 0:
        assert (found.universality_class, found.tunable) == (UniversalityClass.UNSTABLE_AT_ZERO, False)
        assert found.critical_points[0].stability is Stability.UNSTABLE
        return
    assert (found.universality_class, found.point.stability) == (UniversalityClass.ZERO, Stability.STABLE)
    e = found.exponents
    assert (e.p_0, e.p_parallel, e.p_psi, e.p_perp, e.p_V, e.p_1) == (1, 2, 1, 3, 1, 0)


def test_the_kernel_falls_as_predicted():
    """PDLT (5.92): the map of max(tanh, 0) iterated with Gauss-Legendre nodes of its own, and 1/(-c l)."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    z, weights = 6 * (nodes + 1), 6 * weights * np.exp(-18 * (nodes + 1) ** 2) / np.sqrt(2 * np.pi)
    K, layers = 1.0, 4000
    for _ in range(layers - 1):
        K = 2 * weights @ np.tanh(np.sqrt(K) * z) ** 2
    c = criticality(CASES["rectified tanh"][0]).point.a1_tilde
    np.testing.assert_allclose(K, -1 / (c * layers), rtol=2 * np.log(layers) / layers)


def test_a_term_that_is_small_is_not_rounding():
    """A K^1.5 term of one part in a million is there, and comes first."""
    growth = kernel_series(lambda z: jnp.where(z > 0, jnp.tanh(z) + 1e-6 * z**2, 0.1 * jnp.tanh(z))).growth()
    # c = <|z|^3> t_1 t_2 / A_2 with <|z|^3> = 2 sqrt(2/pi)
    assert growth.power == 0.5
    np.testing.assert_allclose(growth.c, 2 * np.sqrt(2 / np.pi) * 1e-6 / 0.505, rtol=1e-9)
