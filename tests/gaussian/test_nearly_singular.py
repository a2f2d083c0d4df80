"""Products of four kinked functions of variables that depend on one another, or nearly, against NumPy's panels in two dimensions and
in one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

from finitewidth.gaussian import Function
from finitewidth.gaussian.nearly_singular import dependent_averages, dependent_part
from finitewidth.gaussian.places import PanelRule

CLIPPED = Function(lambda z: jnp.clip(z, -0.7, 1.2), (-0.7, 1.2))
BENT = Function(lambda z: jnp.where(z > 0.5, z, 0.5 * jnp.exp(jnp.minimum(z, 0.5) - 0.5)), (0.5,))
JUMPING = Function(lambda z: jnp.where(z > 0.5, z, 0.0), (0.5,))
NUMPY = {
    CLIPPED: lambda z: np.clip(z, -0.7, 1.2),
    BENT: lambda z: np.where(z > 0.5, z, 0.5 * np.exp(np.minimum(z, 0.5) - 0.5)),
    JUMPING: lambda z: np.where(z > 0.5, z, 0.0),
}

FUNCTIONS = [  # each is a program to compile
    pytest.param(CLIPPED, id="clipped"),
    pytest.param(JUMPING, id="jumping"),
    pytest.param(BENT, id="bent", marks=pytest.mark.measured),
]


def found(function, K):
    """By the coordinates of pairs."""
    K = jnp.asarray(K)
    of = dependent_part(K)
    assert of.is_served
    return float(averaged(function, K, of)), of


@functools.partial(jax.jit, static_argnums=0)
def averaged(function, K, of):
    """One product, compiled once for each function."""
    places = function.places.reaching(PanelRule(8.0))
    points = jnp.broadcast_to(places.array, (4, len(places.array)))
    return dependent_averages((function,), np.zeros((1, 4), int), points, places, K, of)[0]


def nodes(ends):
    """Gauss-Legendre nodes and normal weights between ends."""
    x, weights = np.polynomial.legendre.leggauss(24)
    ends = np.unique(np.clip([*ends, *np.arange(-10, 11)], -10, 10))
    half = np.diff(ends)[:, None] / 2
    u, weights = (ends[:-1, None] + half * (1 + x)).ravel(), (half * weights).ravel()
    return u, weights * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)


def in_the_plane(factors):
    r"""$\langle\prod_if_i(w_i\cdot u)\rangle$ over two variables: outer panels end where two kinks meet, inner ones at kinks."""
    lines = [(w, t) for _, w, kinks in factors for t in kinks]
    meet = [
        np.linalg.solve([w, v], [t, q])[0]
        for i, (w, t) in enumerate(lines)
        for v, q in lines[:i]
        if abs(np.linalg.det([w, v])) > 1e-9
    ]
    total = 0.0
    for u, weight in zip(*nodes([*meet, *(t / w[0] for w, t in lines if abs(w[1]) < 1e-12)]), strict=True):
        v, weights = nodes([(t - w[0] * u) / w[1] for w, t in lines if abs(w[1]) > 1e-12])
        total += weight * np.sum(weights * np.prod([f(w[0] * u + w[1] * v) for f, w, _ in factors], axis=0))
    return total


def interpolated(function, kinks):
    """A function of one variable, analytic between kinks, evaluated once."""
    ends = np.unique([*np.arange(-16, 17), *kinks])
    x = np.polynomial.legendre.leggauss(24)[0]
    inverse = np.linalg.inv(np.polynomial.legendre.legvander(x, 23))
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    series = np.array([[function(m + h * y) for y in x] for m, h in zip(middle, half, strict=True)]) @ inverse.T

    def value(z):
        panel = np.clip(np.searchsorted(ends, z) - 1, 0, len(half) - 1)
        return np.sum(np.polynomial.legendre.legvander((z - middle[panel]) / half[panel], 23) * series[panel], axis=-1)

    return value


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("rank", [1, 2])
def test_variables_in_a_plane(function, rank):
    """PDLT (1.68) for a singular covariance: inputs of two components without a bias, or of one; a pair of them coincides."""
    W = np.array([[1.1, 0.3], [-0.4, 0.8], [0.6, -0.9], [0.6, -0.9]]) * ([1.0, 1.0] if rank == 2 else [1.0, 0.0])
    average, of = found(function, W @ W.T)
    assert of.apart == 0
    exact = in_the_plane([(NUMPY[function], w, function.kinks) for w in W])
    assert average == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("loadings", [(0.6, 0.5, 0.6), (0.05, 0.8, -0.6), (0.9, 0.05, 0.1)])
def test_one_variable_depends_on_three(function, loadings):
    r"""$z_4 = \sum_ia_iu_i$ of independent $z_i = u_i$: the average over $u_3$ is a function of $m = a_1u_1 + a_2u_2$ with kinks where
    those of $z_3$ and $z_4$ meet."""
    f, kinks, a = NUMPY[function], function.kinks, np.array(loadings)
    K = np.eye(4)
    K[3, :3] = K[:3, 3] = a
    K[3, 3] = a @ a
    average, of = found(function, K)
    assert of.apart > 0

    def inner(m):
        u, weights = nodes([*kinks, *((t - m) / a[2] for t in kinks)])
        return np.sum(weights * f(u) * f(m + a[2] * u))

    meet = [t - a[2] * q for t in kinks for q in kinks]
    factors = [
        (f, np.array([1.0, 0.0]), kinks),
        (f, np.array([0.0, 1.0]), kinks),
        (interpolated(inner, meet), a[:2], meet),
    ]
    assert average == pytest.approx(in_the_plane(factors), abs=1e-10)


@pytest.mark.parametrize("noise", [4e-3, 1e-5])
def test_noise_of_every_variable(noise):
    """A regular covariance close to a singular one of rank one: inner averages in closed form, one integral over the common factor."""
    loadings = np.array([1.0, -0.8, 1.3, 0.6])
    deviations = np.sqrt(noise) * np.abs(loadings)
    average, of = found(CLIPPED, np.outer(loadings, loadings) + np.diag(deviations**2))
    assert float(of.noise) == pytest.approx(noise / (1 + noise))
    layers = np.sqrt(noise) * np.array([-8, -4, -2, -1, 0, 1, 2, 4, 8])
    u, weights = nodes([t / a + layer for t in CLIPPED.kinks for a in loadings for layer in layers])
    inner = np.prod([smoothed_by_hand(a * u, s) for a, s in zip(loadings, deviations, strict=True)], axis=0)
    assert average == pytest.approx(np.sum(weights * inner), abs=1e-10)


def smoothed_by_hand(mean, deviation):
    """The average of the clipped line over noise, in closed form."""
    low, high = ((t - mean) / deviation for t in CLIPPED.kinks)
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    below, above = ndtr(low), ndtr(-high)
    return CLIPPED.kinks[0] * below + CLIPPED.kinks[1] * above + mean * (1 - below - above) + deviation * density


@pytest.mark.measured
def test_two_functions_in_every_place():
    """Products of two functions of the same variables are found where they belong, whichever pairs are made."""
    W = np.random.default_rng(3).normal(size=(4, 2))
    K, both = W @ W.T, (CLIPPED, BENT)
    which = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1]])
    places = [f.places.reaching(PanelRule(8.0)) for f in both]
    finest = min(places, key=lambda each: each.scale)
    points = jnp.broadcast_to(jnp.asarray([*CLIPPED.kinks, *BENT.kinks]), (4, 3))
    averages = dependent_averages(both, which, points, finest, jnp.asarray(K), dependent_part(jnp.asarray(K)))
    for average, chosen in zip(averages, which, strict=True):
        exact = in_the_plane([(NUMPY[both[k]], w, both[k].kinks) for k, w in zip(chosen, W, strict=True)])
        assert float(average) == pytest.approx(exact, abs=1e-10)
