"""Masked attention written down once more, in NumPy, from the formulas of the paper: which token sees which, and how much."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

from finitewidth import ShapedAttention, simulate
from finitewidth.networks.shaped import AblatedAttention

V0 = np.array([[1.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 1.2]])
GAMMA, TAU = 0.7, 0.1  # a temperature at which logits of eight columns are far from small
# Row by row, what a token sees: itself and those before it; itself and the next one around a ring.
CAUSAL = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
RING = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
MASKS = {"causal": ("causal", CAUSAL), "ring": (RING, RING), "everything": (None, np.ones((3, 3), dtype=bool))}
LEAST_P_VALUE = 2e-3


def attention(logits, sees, xp=np):
    """I + softmax - uniform, both over what a token sees (Shaped Transformer Eq. 9)."""
    weights = xp.where(sees, xp.exp(logits), 0.0)
    return xp.eye(3) + weights / weights.sum(axis=-1, keepdims=True) - sees / sees.sum(axis=-1, keepdims=True)


@jax.jit
def derivatives(directions, sees):
    r"""First and second derivative of $AV_0A^{\mathsf T}$ along each of `directions` in the space of logits."""

    def mixed(size, direction):
        A = attention(size * direction, sees, jnp)
        return A @ V0 @ A.T

    first = jax.jacfwd(mixed)
    return tuple(jax.vmap(lambda d, f=f: f(0.0, d))(directions) for f in (first, jax.jacfwd(first)))


@pytest.mark.parametrize("name", MASKS)
def test_limit(name):
    """Shaped Transformer Thm 4.2 with masks: drift and diffusion from derivatives of the softmax along each Gaussian number."""
    mask, sees = MASKS[name]
    block, root = ShapedAttention(GAMMA, 0.8, mask=mask), np.linalg.cholesky(V0)
    # Logits are L Z L^T: one independent normal number Z_pq for every pair of columns of L.
    first, second = derivatives(np.array([np.outer(p, q) for p in root.T for q in root.T]), sees)
    np.testing.assert_allclose(block.drift(V0), GAMMA**2 / 0.8**2 * second.sum(axis=0) / 2, atol=1e-13)
    values = np.einsum("ac,bd->abcd", V0, V0) + np.einsum("ad,bc->abcd", V0, V0)
    mixing = np.einsum("zab,zcd->abcd", first, first)
    expected = GAMMA**2 * (2 - GAMMA**2) * values + GAMMA**4 / 0.8**2 * mixing
    np.testing.assert_allclose(block.diffusion(V0), expected, atol=1e-13)


WIDE = 10**12  # the chain does not store its columns: so many of them average everything but the logits


@pytest.mark.parametrize("name", ["causal", "ring"])
def test_one_layer_of_a_network_too_wide_to_fluctuate(name):
    r"""From orthogonal tokens $V' = \lambda^2 + \gamma^2AA^{\mathsf T}$, and the mask leaves so few numbers in $A$ that part of it gives
    the rest."""
    mask, sees = MASKS[name]
    # Without the temperature that grows with the width, logits stay of order one.
    block = AblatedAttention(ShapedAttention(GAMMA, 1.0, mask=mask), shaped_temperature=False)
    V = simulate(block.at(WIDE, 1), np.eye(3), networks=64, seed=2).final
    square = (V - (1 - GAMMA**2) * np.eye(3)) / GAMMA**2
    if name == "causal":
        A = np.linalg.cholesky(square)  # a lower triangle with positive diagonal, as A is
    else:
        A = around_the_ring(np.diagonal(square, axis1=1, axis2=2))
        np.testing.assert_allclose(A @ A.swapaxes(1, 2), square, atol=1e-4)
    softmax = A - np.eye(3) + sees / sees.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax.sum(axis=2), 1.0, atol=1e-4)
    assert ((softmax > 1e-3) | ~sees).all()
    np.testing.assert_allclose(softmax[:, ~sees], 0.0, atol=1e-4)
    assert softmax[:, 1, 1].std() > 0.1


def around_the_ring(norms):
    """From |row|^2 = (1/2 + s)^2 + (1/2 - s)^2: a row is 1/2 + s at its own token and 1/2 - s at the next one."""
    s = np.sqrt((norms - 0.5) / 2)
    return (0.5 + s)[:, :, None] * np.eye(3) + (0.5 - s)[:, :, None] * np.roll(np.eye(3), 1, axis=1)


def networks_by_hand(sees, networks, width, depth, seed):
    r"""$X' = \lambda X + \gamma AXW^V/\sqrt n$ with logits $XW^QW^{K\mathsf T}X^{\mathsf T}/(n\tau)$, where $\tau = \tau_0n$ for keys as
    wide as the stream."""
    random = np.random.default_rng(seed)
    X = np.zeros((networks, 3, width))
    X[:, :, :3] = np.sqrt(width) * np.linalg.cholesky(V0)
    for _ in range(depth):
        Q, K, W = random.standard_normal((3, networks, width, width))
        logits = (X @ Q) @ (X @ K).swapaxes(1, 2) / width / (TAU * width)
        X = np.sqrt(1 - GAMMA**2) * X + GAMMA * attention(logits, sees) @ X @ W / np.sqrt(width)
    return X @ X.swapaxes(1, 2) / width


def least_p_value(V, other):
    """Kolmogorov-Smirnov tests of all entries of the covariance, of two correlations and of the determinant."""

    def statistics(V):
        for a, b in zip(*np.triu_indices(3), strict=True):
            yield V[:, a, b]
        yield V[:, 0, 1] / np.sqrt(V[:, 0, 0] * V[:, 1, 1])
        yield V[:, 1, 2] / np.sqrt(V[:, 1, 1] * V[:, 2, 2])
        yield np.linalg.slogdet(V)[1]

    return min(ks_2samp(one, two).pvalue for one, two in zip(statistics(V), statistics(other), strict=True))


@pytest.mark.parametrize("name", ["causal", "ring"])
def test_small_networks(name):
    """Shaped Transformer Eq. 1 and 9: the law of three layers of width eight; the mask the other way round is told apart."""
    mask, sees = MASKS[name]
    V = simulate(ShapedAttention(GAMMA, TAU, mask=mask).at(8, 3), V0, networks=8192, seed=3).final
    assert least_p_value(V, networks_by_hand(sees, 8192, 8, 3, seed=5)) > LEAST_P_VALUE
    assert least_p_value(V, networks_by_hand(sees.T, 8192, 8, 3, seed=5)) < 1e-6
