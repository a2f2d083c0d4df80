r"""The book's recursions as they are printed, inverse kernels and all, summed over a dense grid: NumPy alone.

Slow and simple, for a few inputs: what the library computes by integration by parts is here a moment of $z_\beta z_\gamma - K$.
Extended precision pays for the digits that inverse kernels lose.
"""

from typing import NamedTuple

import numpy as np

REAL = np.longdouble


class Flow(NamedTuple):
    """One layer, in the book's normalisation and order of samples: 1324 for B and F."""

    K: np.ndarray
    Theta: np.ndarray
    V: np.ndarray
    G1: np.ndarray
    H1: np.ndarray
    D: np.ndarray
    F: np.ndarray
    B: np.ndarray
    A: np.ndarray


class Settings(NamedTuple):
    """Of the layer that a step leads to; `ratio` is the width of the layer before over the one before that."""

    C_b: float
    C_W: float
    lambda_b: float
    lambda_W: float
    ratio: float


def even_grid(K, step=0.2, reach=9.0):
    """Points and weights of the Gaussian of covariance `K`: the trapezoidal rule, best for smooth functions."""
    axis = np.arange(-reach, reach + step / 2, step, dtype=REAL)
    u = np.stack(np.meshgrid(*[axis] * len(K), indexing="ij"), axis=-1).reshape(-1, len(K))
    weights = np.exp(-(u**2).sum(axis=1) / 2)
    return u @ lower_root(K).T, weights / weights.sum()


def polar_grid(K, angles=40, radii=12):
    r"""The same for two variables and functions of two slopes with the kink at zero, in double precision.

    Between the rays on which a variable vanishes all is smooth in the angle, and a polynomial in half the squared radius.
    """
    root = lower_root(K).astype(float)
    rays = np.arctan2(root[:, 1], root[:, 0])
    zeros = np.sort(np.concatenate([rays + np.pi / 2, rays - np.pi / 2]) % (2 * np.pi))
    edges = np.append(zeros, zeros[0] + 2 * np.pi)
    x, w = np.polynomial.legendre.leggauss(angles)
    half = np.diff(edges)[:, None] / 2
    angle, of_angle = (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel() / (2 * np.pi)
    t, of_radius = np.polynomial.laguerre.laggauss(radii)
    r = np.sqrt(2 * t)[:, None]
    u = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1, 2)
    return (u @ root.T).astype(REAL), np.outer(of_radius, of_angle).ravel().astype(REAL)


def lower_root(K):
    """The Cholesky factor, in the precision of `K`."""
    root = np.zeros_like(K)
    for i in range(len(K)):
        for j in range(i):
            root[i, j] = (K[i, j] - root[i, :j] @ root[j, :j]) / root[j, j]
        root[i, i] = np.sqrt(K[i, i] - root[i, :i] @ root[i, :i])
    return root


def inverse(K):
    """From the Cholesky factor."""
    root, solved = lower_root(K), np.eye(len(K), dtype=REAL)
    for i in range(len(K)):
        solved[i] = (solved[i] - root[i, :i] @ solved[:i]) / root[i, i]
    return solved.T @ solved


def first_layer(K, theta):
    """Nothing fluctuates, PDLT (4.8), (8.23), (9.17)."""
    K, theta = np.asarray(K, dtype=REAL), np.asarray(theta, dtype=REAL)
    matrix, tensor = np.zeros_like(K), np.zeros(K.shape * 2, dtype=REAL)
    return Flow(K, theta, tensor, matrix, matrix, tensor, tensor, tensor, tensor)


def next_layer(old, function, slope, settings, grid=even_grid):
    """PDLT (4.118), (4.119), (4.115), (8.63), (8.74), (8.77), (8.79), (8.89), (8.97), and H1 from (8.59), (8.71)."""
    C_b, C, lambda_b, lam, r = (REAL(each) for each in settings)
    K, theta, up = old.K, old.Theta, inverse(old.K)
    z, weights = grid(K)
    s, ds = function(z), slope(z)
    zz = pairs(z) - K
    ss, dsds = pairs(s), pairs(ds)
    omega = lam * ss + C * theta * dsds

    def mean(f, g=None):
        """Of `f`, or of the products of all components of `f` with all of `g`."""
        if g is None:
            return np.tensordot(weights, f, 1)
        flat = (weights[:, None] * f.reshape(len(f), -1)).T @ g.reshape(len(g), -1)
        return flat.reshape(f.shape[1:] + g.shape[1:])

    def covariance(f, g):
        return mean(f, g) - np.multiply.outer(mean(f), mean(g))

    V = np.einsum("abcd,ae,bf,cg,dh->efgh", old.V, up, up, up, up)  # all indices raised, PDLT (4.120)
    D = np.einsum("abcd,ae,bf->efcd", old.D, up, up)
    p, q = mean(dsds), mean(np.einsum("qa,qb->qab", s, ds), z) @ up
    on_ss, on_dsds, on_omega = (mean(f, zz) for f in (ss, dsds, omega))

    def shifted(f, on_f):
        """The change of an average by the metric's mean and variance, the bracket of PDLT (4.115)."""
        twice = mean(f, np.einsum("qab,qcd->qabcd", zz, zz))
        contracted = np.einsum("acbd,cd->ab", V, K)
        by_V = np.einsum("efabcd,abcd->ef", twice, V) / 8
        by_V += np.einsum("efab,ab->ef", -2 * on_f - np.multiply.outer(mean(f), K), contracted) / 4
        return by_V + np.einsum("efab,ab->ef", on_f, up @ old.G1 @ up) / 2

    moved, moved_slopes = shifted(ss, on_ss), shifted(dsds, on_dsds)
    curvature = np.einsum("abcd,ce,df->abef", on_dsds, up, up)  # of the product of two slopes
    with_tangent = np.einsum("abcd,cdab->ab", curvature, old.D) / 2 + np.einsum("abcd,cadb->ab", curvature, old.F)
    crossed = r / 2 * C * np.einsum("abef,efcd,cd->abcd", on_omega, D, p)
    return Flow(
        K=C_b + C * mean(ss),
        Theta=lambda_b + lam * mean(ss) + C * p * theta,
        V=C**2 * (covariance(ss, ss) + r / 4 * np.einsum("efgh,abef,cdgh->abcd", V, on_ss, on_ss)),
        G1=r * C * moved,
        H1=r * (lam * moved + C * theta * moved_slopes + C * p * old.H1 + C * with_tangent),
        D=C * covariance(ss, omega)
        + r / 4 * C * np.einsum("efgh,abef,cdgh->abcd", V, on_ss, on_omega)
        + r / 2 * C**2 * np.einsum("efcd,abef,cd->abcd", D, on_ss, p),
        F=C**2 * np.einsum("abcd,cd->acbd", mean(ss, dsds), theta)
        + r * C**2 * np.einsum("ace,bdf,ecfd->acbd", q, q, old.F),
        B=C**2 * np.einsum("abcd,ab,cd->acbd", mean(dsds, dsds), theta, theta)
        + r * C**2 * np.einsum("ac,bd,acbd->acbd", p, p, old.B),
        A=covariance(omega, omega)
        + r / 4 * np.einsum("efgh,abef,cdgh->abcd", V, on_omega, on_omega)
        + r * C**2 * np.einsum("ab,cd,abcd->abcd", p, p, old.A)
        + crossed
        + crossed.transpose(2, 3, 0, 1),
    )


def pairs(f):
    """All products of two components."""
    return np.einsum("qa,qb->qab", f, f)
