"""Moments of a shaped activation and its slope: against averages at huge widths by quadrature, and against closed forms."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth import ArgumentError
from finitewidth.gaussian import sign_pair_moments, sign_pairs
from finitewidth.gaussian.two_signs import two_sign_moments
from finitewidth.networks.shaped import shaped_relu, shaped_smooth, slope_tensors
from finitewidth.networks.shaped.bends import bends_of

PHI = np.array([[1.2, 0.4], [0.4, 0.7]])
WIDTH = 10**8


def angles(root):
    """Nodes and weights for homogeneous functions of two Gaussians: Gauss-Legendre between the angles where one is zero."""
    zeros = np.concatenate([np.arctan2(-row[0], row[1]) + np.array([0.0, math.pi]) for row in root]) % (2 * math.pi)
    edges = np.sort(zeros)
    x, w = np.polynomial.legendre.leggauss(40)
    ends = zip(edges, [*edges[1:], edges[0] + 2 * math.pi], strict=True)
    theta, weight = np.concatenate([((b - a) / 2 * x + (a + b) / 2, (b - a) / 2 * w) for a, b in ends], axis=1)
    return np.stack([np.cos(theta), np.sin(theta)]), weight / (2 * math.pi)


def of_two_slopes(Phi, c):
    """`average(f, degree)` of the shaped ReLU with slopes 1 ± c/sqrt(n): f of (h, phi, D), homogeneous in h."""
    root = np.linalg.cholesky(Phi)
    directions, weights = angles(root)
    h = root @ directions
    right, left = 1 + c * WIDTH**-0.5, 1 - c * WIDTH**-0.5
    D = np.where(h > 0, right, left)
    moments = {0: 1.0, 2: 2.0}  # of the radius
    norm = 2 / (right**2 + left**2)
    return h, D * h, D, norm, lambda values, degree: moments[degree] * float(weights @ values)


def of_smooth(Phi, value, slope, S):
    x, w = np.polynomial.hermite_e.hermegauss(60)
    u = np.stack(np.meshgrid(x, x)).reshape(2, -1)
    weights = np.outer(w, w).ravel() / (2 * math.pi)
    h = np.linalg.cholesky(Phi) @ u
    norm = 1 / float(w @ (S * value(x / S)) ** 2 / math.sqrt(2 * math.pi))
    return h, S * value(h / S), slope(h / S), norm, lambda values, degree: float(weights @ values)


def by_quadrature(h, phi, D, c, average, n):
    """The five tensors as n times averages at one width."""
    found = {name: np.empty((2,) * rank) for name, rank in dict(g=2, t=3, lam=4, e=3, epsilon=4).items()}
    for a, g, b, d in itertools.product(range(2), repeat=4):
        found["g"][a, b] = n * (c * average(D[a] * D[b], 0) - 1)
        found["t"][a, g, d] = n * c * average((D[a] * h[g] - phi[g]) * phi[d], 2)
        found["lam"][a, g, b, d] = n * average((D[a] * h[g] - phi[g]) * (D[b] * h[d] - phi[d]), 2)
        found["e"][g, a, b] = n * average(D[g] * (D[a] - D[b]), 0)
        found["epsilon"][a, b, g, d] = n * average((D[a] - D[b]) * (D[g] - D[d]), 0)
    return found


@pytest.mark.parametrize("Phi", [PHI, np.array([[1.2, -0.8], [-0.8, 0.7]])], ids=["alike", "opposed"])
def test_shaped_relu(Phi):
    found = vars(slope_tensors(shaped_relu(1.3, -1.3), Phi))
    for name, exact in by_quadrature(*of_two_slopes(Phi, 1.3), WIDTH).items():
        np.testing.assert_allclose(found[name], exact, atol=3e-7, err_msg=name)


def test_only_the_difference_of_the_slopes_counts():
    found, other = slope_tensors(shaped_relu(0.4, -1.0), PHI), slope_tensors(shaped_relu(0.7, -0.7), PHI)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-14)


def test_shaped_smooth():
    """A shifted tanh, whose second and third derivatives at zero both count."""
    theta, a, n = math.atanh(0.4), 0.6, 10**7
    slope_at_zero = 1 - 0.4**2

    def value(x):
        return (np.tanh(x + theta) - 0.4) / slope_at_zero

    def slope(x):
        return (1 - np.tanh(x + theta) ** 2) / slope_at_zero

    found = vars(slope_tensors(shaped_smooth(lambda x: jnp.tanh(x + theta), a=a), PHI))
    size = {name: np.abs(array).max() for name, array in found.items()}
    for name, exact in by_quadrature(*of_smooth(PHI, value, slope, a * n**0.5), n).items():
        np.testing.assert_allclose(found[name], exact, atol=2e-5 * size[name], err_msg=name)


def test_sign_moments_of_many_variables():
    """Against Stein's lemma taken one factor at a time, all indices distinct or not; and where two signs are one."""
    root = np.random.default_rng(3).normal(size=(4, 4))
    K = root @ root.T
    Psi = sign_pair_moments(K)
    none, two = two_sign_moments((((),), tuple(itertools.product(range(4), repeat=2))), K)
    for pair, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        for found in (Psi[a, b], Psi[b, a]):
            np.testing.assert_allclose(found, two[pair].reshape(4, 4), atol=1e-12)
        np.testing.assert_allclose(sign_pairs(K)[a, b], none[pair, 0], rtol=1e-13)
    np.testing.assert_allclose(Psi[np.arange(4), np.arange(4)], np.stack([K] * 4), atol=1e-12)
    copies = np.array([[1.0, -2.0, 0.3], [-2.0, 4.0, -0.6], [0.3, -0.6, 1.0]])
    np.testing.assert_allclose(sign_pair_moments(copies)[0, 1], -copies, atol=1e-13)


@pytest.mark.parametrize(
    "activation", [shaped_relu(1.5, -1.5), shaped_smooth("softplus", a=0.5)], ids=["relu", "softplus"]
)
def test_drawn_bends_have_their_covariance(activation):
    """The linear map from normals to bends, column by column: its covariance is M times G."""
    G = np.array([[1.0, 0.6], [0.6, 0.9]])
    bends = bends_of(activation)
    Z = jax.random.normal(jax.random.key(1), (20_000, 5, 2))
    drawn = jax.vmap(lambda z: bends.draw(z, jnp.asarray(PHI), jnp.asarray(G)))(Z)
    flat = np.asarray(drawn).reshape(20_000, 8)
    exact = np.einsum("agbd,pq->agpbdq", np.asarray(bends.moments(jnp.asarray(PHI))), G).reshape(8, 8)
    spread = np.sqrt((np.outer(np.diag(exact), np.diag(exact)) + exact**2) / 20_000)
    assert np.abs((flat.T @ flat / 20_000 - exact) / spread).max() < 5.0


@pytest.mark.parametrize(
    "activation", [shaped_relu(2.0, -2.0), shaped_smooth("softplus", a=0.5), shaped_smooth("tanh", a=0.4)]
)
def test_kernels_of_a_step_are_positive_and_right_to_first_order(activation):
    bends, Phi = bends_of(activation), jnp.asarray(PHI)
    for step in (1e-6, 0.1, 3.0):
        assert np.linalg.eigvalsh(np.asarray(bends.slope_kernel(Phi, step)))[0] > -1e-12
        assert np.linalg.eigvalsh(np.asarray(bends.value_kernel(Phi, step)))[0] > -1e-12
    first = (np.asarray(bends.slope_kernel(Phi, 1e-6)) - 1) / 1e-6
    np.testing.assert_allclose(first, bends.backward_factor(Phi), rtol=1e-4, atol=1e-4)
    first = (np.asarray(bends.value_kernel(Phi, 1e-6)) - Phi) / 1e-6
    np.testing.assert_allclose(first, activation.drift(Phi), rtol=1e-4, atol=1e-4)


def test_weak_shaping_is_refused():
    with pytest.raises(ArgumentError, match=r"exponent 0\.25"):
        slope_tensors(shaped_relu(1.0, -1.0, exponent=0.25), PHI)
    assert not any(
        np.any(tensor) for tensor in jax.tree.leaves(slope_tensors(shaped_relu(1.0, -1.0, exponent=1.0), PHI))
    )
