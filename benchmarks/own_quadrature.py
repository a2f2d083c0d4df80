"""Gaussian averages in NumPy alone, for comparison: Gauss-Legendre panels, and derivatives from the density, not from the function.

With $P = K^{-1}$ and $s = Pz$, $\\partial_i\\partial_j p = (s_is_j - P_{ij})\\,p$ and so on: whatever kinks and jumps a function has,
$\\partial\\langle F\\rangle/\\partial K_{ij}$ is the average of F times a polynomial.
"""

from collections.abc import Callable, Sequence

import numpy as np

Values = Callable[[np.ndarray], np.ndarray]
_X, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_GRADED = np.geomspace(1e-5, 30.0, 24)
_ENTRIES = (((0, 0), 0.5), ((0, 1), 1.0), ((1, 1), 0.5))  # of a covariance, and what a change of each is worth


def panels(points: Sequence[float], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-reach, reach], panels graded towards the points at which a function changes."""
    beside = np.add.outer(np.asarray(points, float), np.concatenate([-_GRADED, [0.0], _GRADED])).ravel()
    ends = np.unique(np.concatenate([beside[np.abs(beside) < reach], np.linspace(-reach, reach, 41)]))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + _X)).ravel(), (half * _WEIGHTS).ravel()


def one(f: Values, points: Sequence[float], K: float) -> np.ndarray:
    """The average of one variable, and its first two derivatives by the variance."""
    z, weights = panels(points, 13 * K**0.5)
    terms, q = weights * f(z) * np.exp(-(z**2) / (2 * K)) / np.sqrt(2 * np.pi * K), z**2 / K
    return np.array([terms.sum(), (terms * (q - 1)).sum() / (2 * K), (terms * (q**2 - 6 * q + 3)).sum() / (4 * K**2)])


def two(f: Values, points: Sequence[float], K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The average of a pair, its gradient and its second derivatives by (K00, K01, K11)."""
    P, normal = np.linalg.inv(K), 1 / np.sqrt(np.linalg.det(2 * np.pi * K))
    (a, weights_a), (b, weights_b) = (panels(points, 11 * K[i, i] ** 0.5) for i in range(2))
    fa, fb = weights_a * f(a), weights_b * f(b)
    value, gradient, hessian = 0.0, np.zeros(3), np.zeros((3, 3))
    for rows in np.array_split(np.arange(len(a)), max(1, len(a) // 256)):
        x, y = a[rows, None], b[None]
        s = (P[0, 0] * x + P[0, 1] * y, P[0, 1] * x + P[1, 1] * y)
        exponent = (x * s[0] + y * s[1]) / 2
        p = normal * np.exp(-exponent) * fa[rows, None] * fb
        value += p.sum()
        moment = {(m, n): np.sum(p * s[0] ** m * s[1] ** n) for m in range(5) for n in range(5 - m) if (m + n) % 2 == 0}
        of = lambda *who: moment[who.count(0), who.count(1)]  # noqa: E731, B023
        for row, ((i, j), share) in enumerate(_ENTRIES):
            gradient[row] += share * (of(i, j) - P[i, j] * of())
            for column, ((k, m), other) in enumerate(_ENTRIES):
                pairs = ((i, j, k, m), (i, k, j, m), (i, m, j, k))
                once = sum(P[c, d] * of(e, g) + P[e, g] * of(c, d) - P[c, d] * P[e, g] * of() for c, d, e, g in pairs)
                hessian[row, column] += share * other * (of(i, j, k, m) - once)
    return value, gradient, hessian
