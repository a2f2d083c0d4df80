"""Errata of chapters 11 and ∞ on trained models, shown by numbers: each test computes the printed form and the right one.

Nothing here uses the library: the evidence against the book must not rest on our own formulas.
"""

import numpy as np
import pytest

RANDOM = np.random.default_rng(4)


def symmetric(size):
    matrix = RANDOM.normal(size=(size, size))
    return matrix + matrix.T


def test_signs_of_fluctuations_of_the_kernel():
    """PDLT (∞.154): kernel regression with a kernel that fluctuates, expanded to second order."""
    A, D = 3, 4
    root = RANDOM.normal(size=(D, 8))
    H, change, error = root @ root.T / 8, symmetric(D), RANDOM.normal(size=A)
    G = np.linalg.inv(H[:A, :A])
    left = []
    for size in (1e-2, 5e-3):
        delta = size * change
        exact = -((H + delta)[A:, :A] @ np.linalg.solve((H + delta)[:A, :A], error))
        moved = delta[A:, :A] - H[A:, :A] @ G @ delta[:A, :A]
        once, twice = moved @ G @ error, moved @ G @ delta[:A, :A] @ G @ error
        frozen = -H[A:, :A] @ G @ error
        right, printed = frozen - once + twice, frozen + once - twice
        left.append([np.abs(right - exact).max(), np.abs(printed - exact).max()])
    assert np.divide(*left) == pytest.approx(
        [8, 2], rel=0.15
    )  # third order is left of the right one, first order of the printed one


def quadratic_model():
    features, train = 7, 2
    phi, psi = RANDOM.normal(size=(3, features)), np.stack([symmetric(features) for _ in range(3)])
    y = RANDOM.normal(size=train)
    k, mu = phi @ phi.T, np.einsum("ajk,bj,ck->abc", psi, phi, phi)
    v = np.linalg.solve(k[:2, :2], y)
    passed = k[2:, :2] @ np.linalg.inv(k[:2, :2])
    first = (mu[2:, :2, :2] - np.einsum("ba,acd->bcd", passed, mu[:2, :2, :2]))[0]
    second = mu[:2, 2, :2] - np.einsum("a,cad->cd", passed[0], mu[:2, :2, :2])
    return phi, psi, y, k, mu, v, first, second


def test_the_trained_kernel_does_not_predict_what_direct_optimisation_does():
    """PDLT (11.142) against PDLT (11.132): kernel regression with the symmetric kernel has another term of first order."""
    _, _, y, k, mu, v, first, second = quadratic_model()
    epsilon = 1e-6
    sharp = k + epsilon * (np.einsum("pqa,a->pq", mu[:, :, :2], v) + np.einsum("qpa,a->pq", mu[:, :, :2], v)) / 2
    by_kernel = sharp[2, :2] @ np.linalg.solve(sharp[:2, :2], y)
    shift = (by_kernel - k[2, :2] @ v) / epsilon
    direct = v @ first @ v / 2
    assert shift == pytest.approx(direct + v @ second @ v / 2, rel=1e-4)
    assert abs(shift - direct) > 0.01 * abs(direct)


def test_a_vanishing_ridge_is_not_direct_optimisation():
    """PDLT (11.116)-(11.118): the limit of small ridges has a term outside the span of training features that the book drops."""
    phi, psi, y, k, _, v, first, second = quadratic_model()
    epsilon, ridge, train = 1e-4, 1e-7, slice(2)
    W = v @ phi[train]
    for _ in range(60):  # Newton's steps on the loss with its ridge
        z = phi[train] @ W + epsilon / 2 * np.einsum("j,ajk,k->a", W, psi[train], W)
        slopes = phi[train] + epsilon * np.einsum("ajk,k->aj", psi[train], W)
        gradient = slopes.T @ (z - y) + 2 * ridge * W
        bend = slopes.T @ slopes + epsilon * np.einsum("a,ajk->jk", z - y, psi[train]) + 2 * ridge * np.eye(len(W))
        W = W - np.linalg.solve(bend, gradient)
    found = phi[2] @ W + epsilon / 2 * W @ psi[2] @ W
    shift = (found - k[2, :2] @ v) / epsilon
    assert shift == pytest.approx(v @ first @ v / 2 + v @ second @ v, rel=5e-3)
