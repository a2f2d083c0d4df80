"""Errata of lecture 19, shown by networks written out in NumPy: each test computes the printed form and the right one.

Nothing here uses the library: the evidence must not rest on our own formulas.
"""

import math

import numpy as np

PHI = np.array([[1.0, 0.3], [0.3, 0.8]])


def networks(count, n, d, chi, seed):
    """Shaped-ReLU networks of one output: weights, all pre-activations, slopes and the gradients at them, by hand."""
    rng = np.random.default_rng(seed)
    right, left = 1 + chi / math.sqrt(n), 1 - chi / math.sqrt(n)
    scale = math.sqrt(2 / (right**2 + left**2) / n)
    x = np.linalg.cholesky(PHI) * math.sqrt(2)
    first = rng.normal(size=(count, n, 2))
    hidden = rng.normal(size=(d - 1, count, n, n))
    last = rng.normal(size=(count, 1, n))
    h = [np.einsum("pij,aj->pai", first, x) / math.sqrt(2)]
    slopes = [np.where(h[0] > 0, right, left)]
    for W in hidden:
        h.append(scale * (slopes[-1] * h[-1]) @ W.swapaxes(1, 2))
        slopes.append(np.where(h[-1] > 0, right, left))
    f = scale * ((slopes[-1] * h[-1]) @ last.swapaxes(1, 2))[..., 0]
    u = [slopes[-1] * scale * last]
    for W, D in zip(hidden[::-1], slopes[-2::-1], strict=True):
        u.append(D * scale * (u[-1] @ W))
    return x, (first, hidden, last), h, slopes, u[::-1], f, scale


def test_gradients_do_not_stay_uncorrelated_with_the_outputs():
    """Lecture 19 has no drift of Q, by which E[(Q_0^{12} - f^1) f^1] would be zero; it is -0.336(11) in the limit at d/n = 0.4."""
    found = []
    for seed in range(10):
        _, _, h, _, u, f, _ = networks(120, 60, 24, 1.5, seed)
        Q = np.einsum("pi,pi->p", h[0][:, 0], u[0][:, 1])
        found.append((Q - f[:, 0]) * f[:, 0])
    values = np.concatenate(found)
    error = values.std() / math.sqrt(len(values))
    assert values.mean() < -5 * error
    assert (
        abs(values.mean() + 0.336) < 4.5 * math.hypot(error, 0.011) + 6 * 1.5**2 / 60 * 0.336
    )  # noise 6 chi^2/n too large


def test_factor_of_the_backward_kernel():
    """E[phi' phi'] by the probability that two Gaussians agree in sign, at n = 1e8: the sum of squares, not their difference."""
    n, rho, c_plus, c_minus = 1e8, 0.5, 0.3, -1.0
    right, left = 1 + c_plus / math.sqrt(n), 1 + c_minus / math.sqrt(n)
    both = 1 / 4 + math.asin(rho) / (2 * math.pi)
    average = both * (right**2 + left**2) + (1 - 2 * both) * right * left
    exact = n * (2 / (right**2 + left**2) * average - 1)
    kernel = both * (c_plus**2 + c_minus**2) + (1 - 2 * both) * c_plus * c_minus
    assert abs(exact - (kernel - (c_plus**2 + c_minus**2) / 2)) < 1e-3
    assert abs(exact - (kernel - (c_plus**2 - c_minus**2) / 2)) > 0.5
    assert abs(exact - (average - (c_plus**2 - c_minus**2) / 2)) > 0.5


def test_what_the_lecture_calls_the_change_of_features_is_not():
    """One step of gradient descent: the covariance of features changes by R + R^T, not by the Gram matrix of velocities."""
    n, d, step = 40, 4, 1e-6
    x, (first, hidden, _), h, slopes, u, f, scale = networks(1, n, d, 1.5, 7)
    delta = np.array([1.0, -0.5]) - f[0]
    c = scale**2 * n
    phi = [slope * each for slope, each in zip(slopes, h, strict=True)]
    moved = np.einsum("a,ai,aj->ij", delta, u[0][0], x) / math.sqrt(2)
    velocities = [x @ moved.T / math.sqrt(2)]
    for layer in range(1, d):
        moved = scale * np.einsum("a,ai,aj->ij", delta, u[layer][0], phi[layer - 1][0])
        velocity = scale * (
            phi[layer - 1][0] @ moved.T + (slopes[layer - 1][0] * velocities[-1]) @ hidden[layer - 1][0].T
        )
        velocities.append(velocity)
    dphi = slopes[-1][0] * velocities[-1]
    R, gram = c / n * dphi @ phi[-1][0].T, c / n * dphi @ dphi.T

    def covariance(t):
        features = None
        for layer in range(d):
            seen = x / math.sqrt(2) if layer == 0 else scale * features
            before = x if layer == 0 else phi[layer - 1][0]
            factor = 1 / math.sqrt(2) if layer == 0 else scale
            W = first[0] if layer == 0 else hidden[layer - 1][0]
            W = W + t * factor * np.einsum("a,ai,aj->ij", delta, u[layer][0], before)
            features = slopes[layer][0] * (seen @ W.T)
        return c / n * features @ features.T

    measured = (covariance(step) - covariance(-step)) / (2 * step)
    np.testing.assert_allclose(measured, R + R.T, rtol=1e-5, atol=1e-6)
    assert np.abs(measured - gram).max() > 0.1 * np.abs(measured).max()


def test_the_auxiliary_gaussians_have_the_covariance_over_c():
    """z = W^T g/sqrt(n) has entries of variance |g|^2/n = G/c, since G = c|g|^2/n; and W^T g = sqrt(n) z."""
    _, (_, hidden, _), _, slopes, u, _, scale = networks(200, 50, 3, 1.5, 3)
    n, c = 50, scale**2 * 50
    g = math.sqrt(n / c) * u[2][:, 0]
    z = np.einsum("pij,pi->pj", np.random.default_rng(1).normal(size=(200, n, n)), g) / math.sqrt(n)
    G = c / n * np.sum(g**2, axis=1)
    ratio = np.sum(z**2, axis=1) / n / G
    assert abs(ratio.mean() - 1 / c) < 4.5 * ratio.std() / math.sqrt(200)
    own = np.einsum("pij,pi->pj", hidden[1], g)
    u_below = slopes[1][:, 0] * math.sqrt(c / n) * own * math.sqrt(c / n)
    np.testing.assert_allclose(u_below, u[1][:, 0], atol=1e-12)
