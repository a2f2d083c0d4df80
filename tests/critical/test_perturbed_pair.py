"""Two nearby inputs: the gamma basis, the bootstrapped recursions against exact kernels, the Jacobian of networks."""

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError, DomainError, ShapeError
from finitewidth.critical import (
    first_layer_components,
    gamma_components,
    near_coincidence_average,
    perturbed_pair_flow,
    susceptibilities,
)

C_B, C_W = 0.05, 1.4


def test_gamma_basis():
    """PDLT (5.15)-(5.20): components, their meaning, and the way back."""
    kernel = np.array([[[2.0, 0.7], [0.7, 1.2]], [[0.5, -0.1], [-0.1, 0.5]]])
    parts = gamma_components(kernel)
    plus, minus, cross = kernel[:, 0, 0], kernel[:, 1, 1], kernel[:, 0, 1]
    np.testing.assert_allclose(parts.K_0, (plus + minus + 2 * cross) / 4)
    np.testing.assert_allclose(parts.K_1, (plus - minus) / 2)
    np.testing.assert_allclose(parts.K_2, (plus + minus - 2 * cross) / 4)
    np.testing.assert_allclose(parts.kernel(), kernel, atol=1e-16)
    with pytest.raises(ShapeError, match="kernel"):
        gamma_components(np.eye(3))


def test_first_layer():
    """PDLT (5.2), (5.17)-(5.19): the first layer is exact for any difference."""
    random = np.random.default_rng(0)
    x_0, delta = random.normal(size=(2, 5))
    x = np.stack([x_0 + delta / 2, x_0 - delta / 2])
    expected = gamma_components(C_B + C_W * x @ x.T / 5)
    found = first_layer_components(x_0, delta, C_B, C_W)
    np.testing.assert_allclose(
        [found.K_0, found.K_1, found.K_2], [expected.K_0, expected.K_1, expected.K_2], rtol=1e-13
    )
    with pytest.raises(ShapeError, match="delta_x"):
        first_layer_components(x_0, delta[:3], C_B, C_W)


def exact_flow(kernel, depth):
    """Two inputs by a tensor Gauss-Hermite rule, for tanh at moderate kernels."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(90)
    weights = np.outer(weights, weights) / (2 * np.pi)
    u, v = np.meshgrid(nodes, nodes, indexing="ij")
    layers = [kernel]
    for _ in range(depth - 1):
        root = np.linalg.cholesky(layers[-1])
        plus, minus = np.tanh(root[0, 0] * u), np.tanh(root[1, 0] * u + root[1, 1] * v)
        moments = [np.sum(weights * left * right) for left, right in ((plus, plus), (plus, minus), (minus, minus))]
        layers.append(C_B + C_W * np.array([[moments[0], moments[1]], [moments[1], moments[2]]]))
    return np.array(layers)


def test_recursions_to_their_order():
    r"""PDLT (5.46)-(5.48), (5.34) and the recursion of $\delta\delta K_{[0]}$: residuals vanish as $\delta^3$, $\delta^4$."""
    residuals = []
    for scale in (0.4, 0.2, 0.1):
        x_0, delta = np.array([0.6, -0.3]), scale * np.array([0.5, 0.8])
        first = first_layer_components(x_0, delta, C_B, C_W)
        pair = perturbed_pair_flow("tanh", float(first.K_0), float(first.K_1), float(first.K_2), 4, C_B, C_W)
        exact = exact_flow(np.asarray(first.kernel()), 4)[-1]
        parts = gamma_components(exact)
        high, low = pair.eigenvalues
        residuals.append(
            [
                parts.K_0 - (pair.K_00 + pair.deltadelta_K_0)[-1],
                parts.K_1 - pair.delta_K_1[-1],
                parts.K_2 - pair.deltadelta_K_2[-1],
                np.linalg.eigvalsh(exact)[1] - high[-1],
                np.linalg.eigvalsh(exact)[0] - low[-1],
            ]
        )
    residuals = np.abs(np.array(residuals, dtype=float))
    orders = np.log2(residuals[:-1] / residuals[1:])
    np.testing.assert_allclose(orders[-1], [4, 3, 4, 4, 4], atol=0.15)


def test_eigenvectors():
    r"""PDLT (5.33)-(5.34): orthonormal and diagonalising, to the order kept."""
    errors = []
    for scale in (0.1, 0.05):
        pair = perturbed_pair_flow("tanh", 0.7, scale, scale**2, 3, C_B, C_W)
        u, w = (np.asarray(vector)[-1] for vector in pair.eigenvectors)
        parts = (pair.K_00 + pair.deltadelta_K_0)[-1], pair.delta_K_1[-1], pair.deltadelta_K_2[-1]
        kernel = np.einsum("a,aij->ij", np.array(parts), [[[1, 1], [1, 1]], [[1, 0], [0, -1]], [[1, -1], [-1, 1]]])
        assert abs(u @ w) < 1e-16
        errors.append([u @ u - 1, w @ kernel @ u])
    np.testing.assert_allclose(np.log2(np.abs(errors[0]) / np.abs(errors[1])), [4, 3], atol=0.05)


def test_perpendicular_jacobian():
    r"""PDLT (5.54): for $\delta x \perp x_0$ the norm is $\frac{C_W}{n_0}|\delta x|^2\prod\chi_\perp$."""
    pair = perturbed_pair_flow("gelu", 1.2, 0.0, 0.25, 5, 0.1, 1.8)
    chi = np.asarray(susceptibilities("gelu", pair.K_00, 1.8).chi_perp)
    np.testing.assert_allclose(pair.jacobian_norm, np.concatenate([[1.0], np.cumprod(chi[:-1])]), rtol=1e-13)


@pytest.mark.measured
def test_jacobian_of_networks():
    """PDLT (5.48), (5.54): neurons and their derivative along a direction are jointly Gaussian given the layer before."""
    width, networks, depth = 1000, 1500, 5
    random = np.random.default_rng(2)
    for direction in ([0.0, 1.0], [1.0, 0.3]):
        x_0, delta = np.array([1.1, 0.0]), np.array(direction)
        first = first_layer_components(x_0, delta, C_B, C_W)
        theory = perturbed_pair_flow("tanh", float(first.K_0), float(first.K_1), float(first.K_2), depth, C_B, C_W)
        one = np.ones(networks)
        G, M, J = float(first.K_0) * one, float(first.K_1) * one, 4 * float(first.K_2) * one
        for _ in range(depth - 1):
            noise = random.standard_normal((2, networks, width))
            z = np.sqrt(G)[:, None] * noise[0]
            dz = (M / G)[:, None] * z + np.sqrt(np.maximum(J - M**2 / G, 0))[:, None] * noise[1]
            sigma, dsigma = np.tanh(z), dz / np.cosh(z) ** 2
            G, M = C_B + C_W * np.mean(sigma**2, axis=1), C_W * np.mean(sigma * dsigma, axis=1)
            J = C_W * np.mean(dsigma**2, axis=1)
        error = J.std() / np.sqrt(networks)
        # corrections of relative order 1/n = 0.1 % are below the error
        assert abs(J.mean() - float(theory.jacobian_norm[-1])) < 4 * error
        assert error < 0.005 * J.mean()


def test_average_near_coincidence():
    r"""PDLT (5.39): $F = e^{az_++bz_-}$, whose average is $e^{v^TKv/2}$; what is left out is of third order."""
    a, b = 0.7, -0.4
    residuals = []
    for scale in (0.08, 0.04, 0.02):
        K_00, tilt, spread, shift = 0.8, 0.5 * scale, 0.6 * scale**2, 0.3 * scale**2
        kernel = np.array([[1, 1], [1, 1]]) * (K_00 + shift) + np.diag([tilt, -tilt])
        kernel = kernel + spread * np.array([[1, -1], [-1, 1]])
        exact = np.exp(np.array([a, b]) @ kernel @ np.array([a, b]) / 2)
        found = near_coincidence_average(lambda p, m: jnp.exp(a * p + b * m), jnp.asarray(K_00), tilt, shift, spread)
        residuals.append(abs(float(found) - exact))
    np.testing.assert_allclose(np.log2(np.array(residuals[:-1]) / residuals[1:]), 3, atol=0.12)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (("relu", 1.0, 0.0, 0.1, 3, 0.0, 2.0), DomainError, "activation"),
        (("perceptron", 1.0, 0.0, 0.1, 3, 0.0, 2.0), DomainError, "activation"),
        (("tanh", 0.0, 0.0, 0.1, 3, 0.0, 2.0), ArgumentError, "K_00"),
        (("tanh", 1.0, 0.0, -0.1, 3, 0.0, 2.0), ArgumentError, "deltadelta_K_2"),
        (("tanh", 1.0, 0.0, 0.1, 0, 0.0, 2.0), ArgumentError, "depth"),
    ],
)
def test_bad_arguments(arguments, error, named):
    """Each names the argument; corners are sent to `angle_flow`."""
    with pytest.raises(error) as caught:
        perturbed_pair_flow(*arguments)
    assert caught.value.argument == named


@pytest.mark.parametrize(
    ("activation", "K_00", "depth", "hyperparameters", "message"),
    [
        ("tanh", 1.0, 900, (0.0, 0.5), "vanishes: it is .* at layer [45]"),
        (lambda z: z**2 * jnp.exp(-(z**2)), 100.0, 40, (0.0, 8.0), "vanishes: it is .* at layer"),
        ("z^3", 1.0, 40, (0.0, 2.0), "overflows at layer"),
    ],
)
def test_never_nan(activation, K_00, depth, hyperparameters, message):
    """PDLT (5.46)-(5.48) where the kernel leaves the numbers: an error that names the layer, and not a layer of NaN."""
    with pytest.raises(ValueError, match=message):
        perturbed_pair_flow(activation, K_00, 0.01, 0.01, depth, *hyperparameters)


def test_up_to_the_layer_that_is_named():
    """PDLT (5.46): one layer less than the error names is computed, and finite."""
    with pytest.raises(DomainError, match="at layer") as caught:
        perturbed_pair_flow("tanh", 1.0, 0.01, 0.01, 900, 0.0, 0.5)
    layer = int(str(caught.value).partition("at layer ")[2].partition(";")[0])
    pair = perturbed_pair_flow("tanh", 1.0, 0.01, 0.01, layer - 1, 0.0, 0.5)
    assert all(
        np.isfinite(part).all() for part in (pair.K_00, pair.delta_K_1, pair.deltadelta_K_2, pair.deltadelta_K_0)
    )


def test_softsign_is_smooth_enough():
    """PDLT (5.46)-(5.48): a kink in the curvature only is admitted."""
    assert float(perturbed_pair_flow("softsign", 1.0, 0.0, 0.1, 3, 0.0, 1.0).jacobian_norm[-1]) > 0
