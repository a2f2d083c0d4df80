"""Products of kinked functions, smoothed by the noise of each variable, against averages piece by piece and in one dimension."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

from finitewidth.gaussian import Function, product_moment
from finitewidth.gaussian.smoothed import _MOST_TILES, _REACH, _SHARE, _STEP, _TILE

KINKED = Function(lambda z: jnp.clip(z, -0.7, 1.2), (-0.7, 1.2))


def smoothed_by_hand(mean, deviation):
    """The average of the clipped line over noise, in closed form."""
    low, high = ((t - mean) / deviation for t in KINKED.kinks)
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    below, above = ndtr(low), ndtr(-high)
    return KINKED.kinks[0] * below + KINKED.kinks[1] * above + mean * (1 - below - above) + deviation * density


def one_common_factor(loadings, noises):
    """The product for $z_i = a_i w + s_i\\xi_i$: one integral over w of closed inner averages."""
    kinks = np.outer(1 / np.asarray(loadings), KINKED.kinks).ravel()
    ends = np.unique(np.clip([-12, 12, *np.linspace(-12, 12, 49), *kinks], -12, 12))
    x, weights = np.polynomial.legendre.leggauss(100)
    half = np.diff(ends)[:, None] / 2
    w, weights = (ends[:-1, None] + half * (1 + x)).ravel(), (half * weights).ravel()
    inner = np.prod([smoothed_by_hand(a * w, s) for a, s in zip(loadings, noises, strict=True)], axis=0)
    return np.sum(weights * np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * inner)


@pytest.mark.parametrize(
    "variables", [3, pytest.param(4, marks=pytest.mark.measured)]
)  # the fourth: minutes of compilation
def test_every_way_to_a_product(variables):
    """PDLT (1.68), on both sides of every threshold in the noise at which another way is taken, singular covariances included."""
    thresholds = (2 * _REACH / (_STEP * _TILE * np.array([1, 2, _MOST_TILES]))) ** 2 / _SHARE
    shares = [0.9, *(factor * at for at in thresholds for factor in (1.05, 0.95)), 1e-4, 0.0]
    loadings = np.array([1.0, -0.8, 1.3, 0.6])[:variables]
    for share in shares:
        noises = np.sqrt(share / (1 - share)) * np.abs(loadings) + 1e-9
        K = np.outer(loadings, loadings) + np.diag(noises**2)
        average = product_moment(((KINKED, 0),) * variables, None, jnp.asarray(K))
        assert float(average) == pytest.approx(one_common_factor(loadings, noises), abs=2e-9), share
