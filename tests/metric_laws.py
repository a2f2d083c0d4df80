"""Averages over the laws of a random metric without the library: tensor Gauss-Hermite rules, and random vertices."""

import itertools

import numpy as np


def hermite_grid(K, nodes):
    """Points (q^N, N) and weights that integrate polynomials of degree 2q-1 against N(0, K) exactly."""
    one_point, one_weight = np.polynomial.hermite_e.hermegauss(nodes)
    K = np.atleast_2d(K)
    points = np.array(list(itertools.product(one_point, repeat=len(K))))
    weights = np.array([np.prod(w) for w in itertools.product(one_weight / one_weight.sum(), repeat=len(K))])
    return points @ np.linalg.cholesky(K).T, weights


def random_metric_law(seed, samples, size=0.02):
    """An invertible K, symmetric matrices B_k whose outer squares sum to v, and a shift g1 of the same order."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(samples, samples))
    K = root @ root.T / samples + 0.5 * np.eye(samples)
    modes = rng.normal(size=(3, samples, samples)) * np.sqrt(size)
    modes = (modes + modes.swapaxes(1, 2)) / 2
    shift = rng.normal(size=(samples, samples)) * size
    return K, modes, np.einsum("kab,kcd->abcd", modes, modes), (shift + shift.T) / 2
