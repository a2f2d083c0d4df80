"""Shaped activations: the exact kernel, its expansion, and the drift they cause."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

import finitewidth as fw
from finitewidth.networks.shaped import ShapedReLU, shaped_relu, shaped_smooth
from finitewidth.networks.shaped.shaped_relu_kernel import kernel_excess
from references import polar_rule

RHO = np.array([-1.0, -0.93, -0.5, 0.0, 0.2, 0.7, 0.99, 1.0])


def test_nu_at_special_correlations():
    """Shaped Transformer Eq. 6: nu(1) = 0, nu(0) = 2 chi^2/pi, nu(-1) = 2 chi^2, nu'(-1) = -2 chi^2."""
    activation = shaped_relu(0.3, -1.0)
    chi_squared = 1.3**2 / 4
    np.testing.assert_allclose(activation.chi_squared, chi_squared, rtol=1e-15)
    expected = [0.0, 2 * chi_squared / math.pi, 2 * chi_squared]
    np.testing.assert_allclose(activation.nu(jnp.asarray([1.0, 0.0, -1.0])), expected, rtol=1e-15)
    np.testing.assert_allclose(activation.nu_slope(jnp.asarray([-1.0, 1.0])), [-2 * chi_squared, 0.0], rtol=1e-15)


def test_symmetric_slopes_have_an_exact_normalisation():
    """c_+ = -c_-: the mean slope is one and c = 1/(1 + chi^2/n) exactly."""
    activation = shaped_relu(1.5, -1.5)
    np.testing.assert_allclose(np.mean(activation.slopes(100)), 1.0, rtol=1e-15)
    np.testing.assert_allclose(activation.normalisation(100), 1 / (1 + 2.25 / 100), rtol=1e-15)


def test_exact_kernel_against_quadrature():
    """The kernel and its slope at slopes 1.3 and 0.2, in polar coordinates with sectors at the kinks."""
    activation = ShapedReLU(c_plus=0.3, c_minus=-0.8)  # at n = 1 the slopes are 1.3 and 0.2
    for rho in RHO[1:-1]:
        a, b, weights = polar_rule(rho)
        phi, slope = (lambda z: np.where(z > 0, 1.3 * z, 0.2 * z)), (lambda z: np.where(z > 0, 1.3, 0.2))
        c = 2 / (1.3**2 + 0.2**2)
        np.testing.assert_allclose(activation.kernel(rho, 1), c * weights @ (phi(a) * phi(b)), atol=2e-13)
        np.testing.assert_allclose(activation.kernel_slope(rho, 1), c * weights @ (slope(a) * slope(b)), atol=2e-13)
    assert float(activation.kernel(1.0, 1)) == 1.0
    np.testing.assert_allclose(activation.kernel(-1.0, 1), -2 * 1.3 * 0.2 / (1.3**2 + 0.2**2), rtol=1e-14)


@pytest.mark.parametrize(("c_plus", "order"), [(0.3, 1.5), (1.0, 2.0)])
def test_expansion_of_the_kernel(c_plus, order):
    """Shaped Transformer Eq. 6: n(cK - rho) tends to nu with an error -(c_+ + c_-) nu n^{-1/2}, or 1/n if c_+ = -c_-."""
    activation = shaped_relu(c_plus, -1.0)
    widths = (10**4, 10**6)
    error = [n * (activation.kernel(RHO[:-1], n) - RHO[:-1]) / activation.nu(RHO[:-1]) - 1 for n in widths]
    slope = np.log(np.abs(error[0] / error[1])) / np.log(widths[1] / widths[0])
    np.testing.assert_allclose(slope, order - 1, atol=0.02)
    if c_plus == 0.3:
        np.testing.assert_allclose(error[1], 0.7 / 1e3, rtol=0.01)


def test_values_of_the_expansion():
    """n(cK - rho) at n = 10^6, c = (0.3, -1), correlations -1, 0, 0.5."""
    rho = np.array([-1.0, 0.0, 0.5])
    measured = 10**6 * (np.asarray(shaped_relu(0.3, -1.0).kernel(rho, 10**6)) - rho)
    np.testing.assert_allclose(measured, [0.84559, 0.26916, 0.092168], rtol=2e-5)


@pytest.mark.parametrize("theta", [1e-6, 1e-3, 0.1, 0.299, 0.301, 1.0, 3.1])
def test_excess_keeps_its_digits(theta):
    """sin t - t cos t cancels to t^3/3 at small angles; here relative to the correlation as rounded."""
    rho = math.cos(theta)
    with mpmath.workdps(50):
        exact = 2 / mpmath.pi * (mpmath.sqrt(1 - mpmath.mpf(rho) ** 2) - rho * mpmath.acos(mpmath.mpf(rho)))
    np.testing.assert_allclose(float(kernel_excess(jnp.asarray(rho))), float(exact), rtol=2e-14)


def test_gradients_are_finite_at_coincidence():
    """The drift of two identical inputs has the derivative zero, not NaN."""
    gradient = jax.grad(lambda r: shaped_relu().nu(r))
    np.testing.assert_allclose([gradient(1.0), gradient(0.0)], [0.0, -0.25], atol=1e-16)
    jacobian = jax.jacobian(shaped_relu().drift)(jnp.ones((2, 2)))
    assert np.isfinite(np.asarray(jacobian)).all()


def expected_drift(activation, V, n):
    """n (c E[phi phi^T] - V) by a product Gauss-Hermite rule of 80 nodes a side."""
    x, w = hermegauss(80)
    w = w / w.sum()
    phi, c = activation.at_width(n), activation.normalisation(n)
    L = np.linalg.cholesky(V)
    a = np.asarray(phi(jnp.asarray(L[0, 0] * x[:, None] + 0 * x)))
    b = np.asarray(phi(jnp.asarray(L[1, 0] * x[:, None] + L[1, 1] * x)))
    weights = w[:, None] * w
    gram = np.array([[(weights * f * g).sum() for g in (a, b)] for f in (a, b)])
    return n * (c * gram - V)


@pytest.mark.parametrize("name", ["tanh", "sin", "sigmoid", "softplus", "expm1", "gelu", "swish"])
def test_smooth_drift_against_quadrature(name):
    """Lecture 17's drift, from nothing but the second and third derivatives at zero, with an error that falls as 1/n."""
    V = np.array([[1.4, 0.5], [0.5, 0.7]])
    activation = shaped_smooth(name, a=1.3)
    limit = np.asarray(activation.drift(jnp.asarray(V)))
    errors = [np.abs(expected_drift(activation, V, n) - limit).max() for n in (10**3, 10**5)]
    assert errors[1] < 2e-4 * np.abs(limit).max()
    np.testing.assert_allclose(errors[0] / errors[1], 100, rtol=0.1)


@pytest.mark.parametrize(
    ("activation", "phi2", "phi3"),
    [
        ("tanh", 0.0, -2.0),
        ("sin", 0.0, -1.0),
        ("sigmoid", 0.0, -0.5),
        ("softplus", 0.5, 0.0),
        ("expm1", 1.0, 1.0),
        (lambda z: 2 * z * jax.nn.sigmoid(2 * z), 2.0, 0.0),
        (lambda z: jnp.tanh(z + math.atanh(0.4)), -0.8, 6 * 0.16 - 2),
    ],
)
def test_taylor_coefficients(activation, phi2, phi3):
    """The normalised activation's second and third derivatives at zero."""
    found = shaped_smooth(activation)
    np.testing.assert_allclose([found.phi2, found.phi3], [phi2, phi3], atol=1e-14)
    at_width = found.at_width(400)
    np.testing.assert_allclose(at_width(jnp.zeros(())), 0.0, atol=1e-13)
    np.testing.assert_allclose(jax.grad(at_width.value)(0.0), 1.0, rtol=1e-14)


def test_equal_descriptions_are_equal():
    """Compiled code is found again for an activation described twice."""
    assert shaped_smooth("tanh", a=2.0) == shaped_smooth("tanh", a=2.0)
    assert hash(shaped_smooth("tanh").at_width(50)) == hash(shaped_smooth("tanh").at_width(50))
    assert shaped_relu().at_width(50) == shaped_relu().at_width(50)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: shaped_smooth("relu"), "activation"),
        (lambda: shaped_smooth("z^2"), "activation"),
        (lambda: shaped_smooth("nonsense"), "activation"),
        (lambda: shaped_smooth("tanh", a=0.0), "a"),
        (lambda: shaped_smooth("tanh", exponent=0.0), "exponent"),
        (lambda: shaped_relu(math.nan), "c_plus"),
        (lambda: shaped_relu(exponent=-1), "exponent"),
        (lambda: shaped_relu().slopes(0), "n"),
    ],
)
def test_bad_input(make, argument):
    """Kinked or flat at zero, unknown, or not positive: named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        make()
