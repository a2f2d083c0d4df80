"""Errata of chapter ∞ about differentials, shown by numbers, which do not rest on formulas of the library."""

import itertools

import numpy as np

import printed_differentials as printed

X = np.array([[1.0, 0.5], [-0.3, 0.8]])
RATES = ((0.5, 1.0), (0.4, 0.8), (0.3, 0.6))


def second_layer(scale):
    """Two inputs, all learning rates times a factor."""
    (b1, w1), (b2, w2) = RATES[:2]
    first = printed.first(0.1 + 0.75 * X @ X.T, scale * (b1 + w1 / 2 * X @ X.T))
    return printed.following(first, 1.0, 0.2, 1.3, scale * b2, scale * w2)


def as_printed(o, right, r, C, rate):
    """R of the next layer with brackets as printed: the rate, and C, before the first member of theirs only."""
    m, H, found = printed.Averages(o.K).mean, o.H, right.copy()
    for a, b, c, d in itertools.product(range(2), repeat=4):
        slopes = r * C * m((1, c), (1, d)) * o.P[a, c, d, b]
        found[a, b, c, d] += slopes * (1 - rate) * m((1, a), (1, b))
        found[a, b, c, d] += slopes * (1 - C) * H[a, b] * m((2, a), (2, b))
    return found


def test_the_second_differential_is_cubic_in_the_rates():
    """PDLT (∞.5): three rates, so doubled rates give eight times R. PDLT (∞.177) as printed does not, PDLT (∞.14) does."""
    C, (b3, w3) = 0.9, RATES[2]
    right, wrong = [], []
    for scale in (1.0, 2.0):
        before = second_layer(scale)
        R = printed.following(before, 1.5, 0.05, C, scale * b3, scale * w3).R
        right.append(R)
        wrong.append(as_printed(before, R, 1.5, C, scale * w3))
    np.testing.assert_allclose(right[1], 8 * right[0], rtol=1e-12)
    ratio = wrong[1] / (8 * wrong[0])
    np.testing.assert_allclose([ratio.min(), ratio.max()], [0.9479, 0.9977], atol=1e-4)
