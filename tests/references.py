"""Averages by brute force in extended precision or with dense grids: slow, simple, and independent of the library."""

import itertools
import math

import mpmath
import numpy as np
from numpy.polynomial.legendre import leggauss

# Klambauer et al., arXiv:1706.02515, equation (14): the fixed point of unit variance.
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848

REFERENCES = {
    "linear": lambda z: z,
    "relu": lambda z: z if z > 0 else 0 * z,
    "leaky_relu": lambda z: z if z > 0 else z / 100,
    "abs": abs,
    "perceptron": lambda z: mpmath.mpf(z >= 0),
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "centered_sigmoid": lambda z: mpmath.tanh(z / 2) / 2,
    "tanh": mpmath.tanh,
    "sin": mpmath.sin,
    "softplus": lambda z: mpmath.log1p(mpmath.exp(-abs(z))) + max(z, 0),
    "centered_softplus": lambda z: mpmath.log1p(mpmath.exp(-abs(z))) + max(z, 0) - mpmath.log(2),
    "swish": lambda z: z / (1 + mpmath.exp(-z)),
    "gelu": lambda z: z * mpmath.ncdf(z),
    "erf": mpmath.erf,
    "arctan": mpmath.atan,
    "softsign": lambda z: z / (1 + abs(z)),
    "z^2": lambda z: z**2,
    "z^3": lambda z: z**3,
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "elu": lambda z: z if z > 0 else mpmath.expm1(z),
    "selu": lambda z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * mpmath.expm1(z)),
    "gelu_tanh": lambda z: z * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (z + mpmath.mpf("0.044715") * z**3))) / 2,
    "mish": lambda z: z * mpmath.tanh(mpmath.log1p(mpmath.exp(z))),
    "relu2": lambda z: max(z, 0) ** 2,
    "relu6": lambda z: min(max(z, 0), 6),
    "hardtanh": lambda z: min(max(z, -1), 1),
    "hardswish": lambda z: z * min(max(z + 3, 0), 6) / 6,
    "softshrink": lambda z: mpmath.sign(z) * max(abs(z) - 0.5, 0),
}

_VECTORISED = {
    "linear": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, z / 100),
    "abs": np.abs,
    "perceptron": lambda z: (z >= 0) * 1.0,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "centered_sigmoid": lambda z: np.tanh(z / 2) / 2,
    "tanh": np.tanh,
    "sin": np.sin,
    "softplus": lambda z: np.logaddexp(0, z),
    "centered_softplus": lambda z: np.logaddexp(0, z) - math.log(2),
    "swish": lambda z: z / (1 + np.exp(-z)),
    "arctan": np.arctan,
    "softsign": lambda z: z / (1 + np.abs(z)),
    "z^2": lambda z: z**2,
    "z^3": lambda z: z**3,
    "exp": np.exp,
    "expm1": np.expm1,
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "selu": lambda z: SELU_SCALE * np.where(z > 0, z, SELU_ALPHA * np.expm1(z)),
    "gelu_tanh": lambda z: z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2,
    "mish": lambda z: z * ((1 + np.exp(z)) ** 2 - 1) / ((1 + np.exp(z)) ** 2 + 1),
    "relu2": lambda z: np.maximum(z, 0) ** 2,
    "relu6": lambda z: np.minimum(np.maximum(z, 0), 6),
    "hardtanh": lambda z: np.minimum(np.maximum(z, -1), 1),
    "hardswish": lambda z: z * np.minimum(np.maximum(z + 3, 0), 6) / 6,
    "softshrink": lambda z: np.sign(z) * np.maximum(np.abs(z) - 0.5, 0),
}

KINKS_AWAY_FROM_ZERO = {"relu6": (0, 6), "hardtanh": (-1, 1), "hardswish": (-3, 3), "softshrink": (-0.5, 0.5)}


def vectorised(name):
    """A NumPy version of a built-in activation."""
    if name in ("gelu", "erf"):
        from scipy.special import erf, ndtr

        return erf if name == "erf" else (lambda z: z * ndtr(z))
    return _VECTORISED[name]


def _panels(edges, nodes):
    x, w = leggauss(nodes)
    middles, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middles[:, None] + halves[:, None] * x).ravel(), (halves[:, None] * w).ravel()


def polar_rule(rho, radial=240, angular=24, reach=14.0):
    r"""Nodes (z_a, z_b) for unit variances and correlation rho, in polar coordinates with sector edges at both zeros."""
    psi = math.acos(max(-1.0, min(1.0, rho)))
    zeros = np.array([math.pi / 2, -math.pi / 2, psi + math.pi / 2, psi - math.pi / 2]) % (2 * math.pi)
    sectors = np.unique(np.concatenate([[0.0], np.sort(zeros), [2 * math.pi]]))
    # Graded towards the edges: functions that turn on a scale far below a deviation turn near the zeros.
    grading = np.concatenate([[0.0], 2.0 ** np.arange(-12, -0.5), 1 - 2.0 ** np.arange(-2, -12.5, -1), [1.0]])
    edges = np.unique(np.concatenate([a + (b - a) * grading for a, b in itertools.pairwise(sectors)]))
    theta, weight_theta = _panels(edges, angular)
    r, weight_r = _panels(np.concatenate([[0.0], np.geomspace(1e-3, reach, radial // 12)]), 12)
    weights = (weight_theta[:, None] * weight_r * r * np.exp(-(r**2) / 2) / (2 * math.pi)).ravel()
    z_a = (np.cos(theta)[:, None] * r).ravel()
    z_b = (np.cos(theta - psi)[:, None] * r).ravel()
    return z_a, z_b, weights


def kinked_pair(f, kinks, K, rho, reach=14.0):
    r"""<f(z_a) f(z_b)> with kinks anywhere, $z_b = \rho z_a + \sqrt{1-\rho^2}\,y$: first over y, between kinks, then over z_a, between
    kinks and graded towards where z_b meets one."""
    scale, spread = math.sqrt(K), math.sqrt(1 - rho**2)
    at = np.asarray(kinks) / scale
    near = np.concatenate([at, at / rho if rho else at])
    around = near[:, None] + np.concatenate([-np.geomspace(1e-4, 4, 24), [0.0], np.geomspace(1e-4, 4, 24)])
    edges = np.concatenate([np.linspace(-reach, reach, 57), around.ravel()])
    x, weight_x = _panels(np.unique(np.clip(edges, -reach, reach)), 12)
    cuts = np.clip((at - rho * x[:, None]) / spread, -reach, reach)
    ends = np.sort(
        np.concatenate([np.broadcast_to(np.linspace(-reach, reach, 29), (len(x), 29)), cuts], axis=1), axis=1
    )
    nodes, weights = leggauss(12)
    middles, halves = (ends[:, 1:] + ends[:, :-1]) / 2, (ends[:, 1:] - ends[:, :-1]) / 2
    y = middles[..., None] + halves[..., None] * nodes
    inner = (f(scale * (rho * x[:, None, None] + spread * y)) * np.exp(-(y**2) / 2) * halves[..., None] * weights).sum(
        (1, 2)
    )
    return float(np.sum(weight_x * np.exp(-(x**2) / 2) * f(scale * x) * inner) / (2 * math.pi))


def exact_pair(function, K, rho):
    """<f(z_a) f(z_b)> with variances K, of a built-in's name or a NumPy callable: polar, or mpmath at |rho| = 1."""
    if function in ("exp", "expm1"):
        return _exponential_pair(function, K, rho)
    kinks = KINKS_AWAY_FROM_ZERO.get(function, ()) if isinstance(function, str) else ()
    if kinks and abs(rho) < 1:
        return kinked_pair(vectorised(function), kinks, K, rho)
    if abs(rho) < 1:
        z_a, z_b, weights = polar_rule(rho)
        f = function if callable(function) else vectorised(function)
        return float(weights @ (f(math.sqrt(K) * z_a) * f(math.sqrt(K) * z_b)))
    f = REFERENCES[function]
    with mpmath.workdps(20):
        K = mpmath.mpf(K)
        reach = 16 * mpmath.sqrt(K)

        def density(z):
            return mpmath.exp(-z * z / (2 * K)) / mpmath.sqrt(2 * mpmath.pi * K)

        points = sorted(
            {-reach, -1, 0, 1, reach, *kinks, *(-kink for kink in kinks), *(s * mpmath.sqrt(K) for s in (-3, 3, 6, 12))}
        )
        return float(mpmath.quad(lambda z: f(z) * f(rho * z) * density(z), [p for p in points if abs(p) <= reach]))


def _exponential_pair(name, K, rho):
    whole = math.exp(K * (1 + rho))
    return whole if name == "exp" else whole - 2 * math.exp(K / 2) + 1
