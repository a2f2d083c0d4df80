"""Linear models, kernels, the features of networks, and penalties on parameters."""

import jax
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError, ShapeError
from finitewidth.learning import (
    fit_linear_model,
    gaussian_kernel,
    kernel_regression,
    linear_kernel,
    random_features,
    regularisation_correlation,
    regularisation_tensor,
    tangent_features,
)
from finitewidth.realised.parameters import preactivations

RANDOM = np.random.default_rng(5)
PHI, Y = RANDOM.normal(size=(7, 4)), RANDOM.normal(size=(5, 2))
NET = fw.MLP("gelu", (3, 5, 6, 2), C_b=[0.1, 0.2, 0.3], C_W=1.4, lambda_b=[0.3, 0.4, 0.5], lambda_W=[0.6, 0.7, 0.8])
X = RANDOM.normal(size=(4, 3))


@pytest.mark.parametrize(("features", "ridge"), [(4, 0.0), (4, 0.3), (7, 0.0), (7, 0.3)])
def test_the_two_pictures_agree(features, ridge):
    """PDLT (10.119)-(10.132): fewer and more features than samples, with and without ridge."""
    phi = RANDOM.normal(size=(7, features))
    W = fit_linear_model(phi[:5], Y, ridge)
    np.testing.assert_allclose(kernel_regression(linear_kernel(phi), Y, ridge), phi[5:] @ W.T, atol=1e-12)


def test_weights_minimise_the_penalised_loss():
    """PDLT (10.120)-(10.124): its gradient vanishes; without ridge they are the least squares of NumPy."""
    W, a = fit_linear_model(PHI[:5], Y, 0.3), 0.3
    gradient = (PHI[:5] @ W.T - Y).T @ PHI[:5] + 2 * a * W
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    np.testing.assert_allclose(fit_linear_model(PHI[:5], Y).T, np.linalg.lstsq(PHI[:5], Y, rcond=None)[0], atol=1e-12)
    assert fit_linear_model(PHI[:5], Y[:, 0]).shape == (1, 4)


def test_named_kernels():
    """PDLT (10.128), (10.133)."""
    found = gaussian_kernel(X, 0.7)
    for a, b in np.ndindex(4, 4):
        assert found[a, b] == pytest.approx(np.exp(-np.sum((X[a] - X[b]) ** 2) / (2 * 0.49)), rel=1e-12)
        assert linear_kernel(X)[a, b] == pytest.approx(X[a] @ X[b], rel=1e-12)


def test_random_features_are_those_of_the_last_layer():
    r"""PDLT (10.134)-(10.137): their kernel is the metric, by the network written out."""
    params = fw.draw_parameters(NET, jax.random.key(0))
    phi = random_features(NET, params, X)
    z = X
    for W, b in zip(params.weights[:-1], params.biases[:-1], strict=True):
        z = np.asarray(NET.activation(z @ np.asarray(W).T + np.asarray(b)))
    np.testing.assert_allclose(phi @ phi.T, 0.3 + 1.4 * z @ z.T / 6, rtol=1e-12)


def test_tangent_features_make_the_tangent_kernel():
    """PDLT (10.138)-(10.141)."""
    params = fw.draw_parameters(NET, jax.random.key(0))
    phi = tangent_features(NET, params, X)
    assert phi.shape == (4, 2, NET.parameters)
    kernel = np.einsum("aip,bjp->abij", phi, phi)
    np.testing.assert_allclose(fw.ntk(NET, params, X)[-1], kernel, rtol=1e-10)


def test_a_penalty_moves_outputs():
    r"""PDLT (10.42)-(10.43): a small step on $\sum a\theta^2$ by hand, $\theta \to \theta - 2\eta\lambda a\theta$."""
    params = fw.draw_parameters(NET, jax.random.key(0))
    a_b, a_W, eta = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6]), 1e-6
    found = regularisation_tensor(NET, params, X, a_b, a_W)
    z, moved = X, X
    for layer in range(3):
        W, b = np.asarray(params.weights[layer]), np.asarray(params.biases[layer])
        shrink_W = 1 - 2 * eta * NET.lambda_W[layer] * a_W[layer]  # (lambda_W/n) (n a_W)
        shrink_b = 1 - 2 * eta * NET.lambda_b[layer] * a_b[layer]
        z, moved = z @ W.T + b, moved @ (shrink_W * W).T + shrink_b * b
        if layer < 2:
            z, moved = (np.asarray(NET.activation(each)) for each in (z, moved))
    np.testing.assert_allclose(found, (z - moved) / (2 * eta), rtol=1e-4)


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["tanh", "gelu", "relu"])
def test_the_mean_correlation_of_penalty_and_output(activation):
    r"""$E[\widehat Rz]$ at infinite width, not symmetric, against wide networks in standard errors and what 1/n leaves."""
    n, outputs, networks = 256, 64, 200
    net = fw.MLP(activation, (3, n, n, outputs), C_b=0.2, C_W=1.3, lambda_b=0.5, lambda_W=0.9)
    x = X[:2]

    @jax.jit
    def one(key):
        params = fw.draw_parameters(net, key)
        R = regularisation_tensor(net, params, x, 0.4, 0.7)
        return R.T[:, :, None] * preactivations(net, params, x)[-1].T[:, None]

    draws = np.stack([np.asarray(one(key)).mean(axis=0) for key in jax.random.split(jax.random.key(1), networks)])
    error = draws.std(axis=0) / np.sqrt(networks)
    expected = regularisation_correlation(net, x, 0.4, 0.7)
    assert (np.abs(draws.mean(axis=0) - expected) < 4 * error + 3 / n * np.abs(expected).max()).all()
    assert abs(expected[0, 1] - expected[1, 0]) > 1e-4


def test_the_correlation_of_deep_linear_networks():
    r"""By hand: of one layer $aλC$ of each kind, and every further layer hands on $C_Wr$."""
    net = fw.MLP("linear", (3, 8, 8, 1), C_b=0.2, C_W=1.3, lambda_b=0.5, lambda_W=0.9)
    overlap = X @ X.T / 3
    K, r = 0.2 + 1.3 * overlap, 0.4 * 0.5 * 0.2 + 0.7 * 0.9 * 1.3 * overlap
    for _ in range(2):
        K, r = 0.2 + 1.3 * K, 0.4 * 0.5 * 0.2 + 0.7 * 0.9 * 1.3 * K + 1.3 * r
    np.testing.assert_allclose(regularisation_correlation(net, X, 0.4, 0.7), r, rtol=1e-12)


def test_bad_arguments():
    with pytest.raises(ShapeError, match="`features`"):
        fit_linear_model([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(DomainError, match="`ridge`"):
        fit_linear_model(PHI[:5], Y, -0.1)
    with pytest.raises(ShapeError, match="more than 5 rows"):
        kernel_regression(np.eye(5), Y)
    with pytest.raises(DomainError, match="`width`"):
        gaussian_kernel(X, 0.0)


def test_ridges_beside_scikit_learn():
    """Its losses have no half, so that its `alpha` is twice our `ridge`; with what any number but two would give told apart."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(5)
    x, y, asked, a = rng.normal(size=(6, 3)), rng.normal(size=(6, 2)), rng.normal(size=(4, 3)), 0.7
    kernel = fw.learning.linear_kernel(np.concatenate([x, asked]))
    theirs = KernelRidge(alpha=2 * a, kernel="linear").fit(x, y).predict(asked)
    np.testing.assert_allclose(fw.learning.kernel_regression(kernel, y, ridge=a), theirs, rtol=1e-10)
    weights = Ridge(alpha=2 * a, fit_intercept=False).fit(x, y).coef_
    np.testing.assert_allclose(fw.learning.fit_linear_model(x, y, ridge=a), weights, rtol=1e-10)
