"""Shaped blocks: drift and diffusion against the printed sums, and structured noise against the diffusion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.gaussian.root import covariance_root
from finitewidth.networks.shaped import (
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.networks.shaped.block import ShapedBlock, linear_diffusion
from finitewidth.results import CovarianceLaw


def covariance(m, seed=0, rank=None):
    X = np.random.default_rng(seed).normal(size=(m, rank or m + 2))
    return X @ X.T / X.shape[1]


def random_mask(m, seed=5):
    mask = np.random.default_rng(seed).random((m, m)) < 0.5
    mask[np.arange(m), np.random.default_rng(seed).permutation(m)] = True
    return mask


def blocks(m):
    return {
        "relu": ShapedMLP(shaped_relu(0.5, -1.0)),
        "softplus": ShapedMLP(shaped_smooth("softplus", a=0.7)),
        "tanh": ShapedMLP(shaped_smooth("tanh")),
        "resnet": ShapedResNet(0.6, hidden_ratio=4),
        "smooth resnet": ShapedResNet(0.6, hidden_ratio=2, activation=shaped_smooth("softplus", a=0.7)),
        "attention": ShapedAttention(0.6, tau0=0.8),
        "projection": ShapedAttention(0.6, heads=4, output_projection=True),
        "causal": ShapedAttention(0.6, tau0=0.8, heads=3, mask="causal"),
        "mask": ShapedAttention(0.7, tau0=0.9, mask=random_mask(m)),
        "stack": ShapedTransformer(
            ShapedAttention(0.6, mask="causal"), ShapedTransformer(ShapedResNet(0.4), ShapedAttention(0.5, heads=2))
        ),
    }


NAMES = list(blocks(2))


def printed_attention(V, gamma, tau0, mask):
    """Drift and A of Shaped Transformer Thm 4.2 as explicit averages over Gaussian logits, extended to masks."""
    m = len(V)
    P = np.array([np.diag(row * 1.0) - np.outer(row, row) / row.sum() for row in mask])
    size = mask.sum(axis=1)
    b, A = np.zeros((m, m)), np.zeros((m,) * 4)
    # Softmax: A_ab = sum_k Y_ak P_a[k, b]/m_a + second order; E[Y_ak Y_dl] = V_ad V_kl.
    s = np.array([P[a] @ np.diag(P[a] @ V @ P[a]) for a in range(m)])
    for a in range(m):
        for c in range(m):
            b[a, c] = V[a, c] * np.trace(V @ P[a] @ V @ P[c]) / (size[a] * size[c])
            b[a, c] += 0.5 * (V[a, a] / size[a] * (V @ s[a])[c] + V[c, c] / size[c] * (V @ s[c])[a])
            for d in range(m):
                for w in range(m):

                    def B(i, j, k, n):
                        return V[i, j] * (V @ P[i] @ V @ P[j] @ V)[k, n] / (size[i] * size[j])

                    A[a, c, d, w] = B(c, w, a, d) + B(c, d, a, w) + B(a, w, c, d) + B(a, d, c, w)
    return gamma**2 / tau0**2 * b, gamma**4 / tau0**2 * A


@pytest.mark.parametrize(("name", "m"), [*((name, 3) for name in NAMES), ("mask", 7), ("stack", 7)])
def test_structured_noise_has_the_covariance_of_the_block(name, m):
    """Noise is linear in its normals: J J^T is its covariance, equal to the diffusion tensor to 1e-12."""
    block, V = blocks(m)[name], jnp.asarray(covariance(m))
    L = jnp.linalg.cholesky(V)
    J = jax.jacobian(block.noise_from)(jnp.zeros((1 + block.mixings, m, m)), L).reshape(m, m, -1)
    expected = np.asarray(block.diffusion(V))
    np.testing.assert_allclose(np.einsum("abz,cdz->abcd", J, J), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["relu", "attention", "mask"])
def test_noise_from_any_factor(name):
    """A singular V with a factor of as many columns as its rank gives the same covariance."""
    m, rank = 3, 2
    X = np.random.default_rng(1).normal(size=(m, rank))
    block, V, L = blocks(m)[name], jnp.asarray(X @ X.T), jnp.asarray(X)
    J = jax.jacobian(block.noise_from)(jnp.zeros((1 + block.mixings, rank, rank)), L).reshape(m, m, -1)
    expected = np.asarray(block.diffusion(V))
    np.testing.assert_allclose(np.einsum("abz,cdz->abcd", J, J), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_drift_splits_into_positive_part_generator_and_mixing(name):
    r"""b = P + CV + VC^T + (E[A^2]V + V E[A^2]^T)/2 + E[A V A^T]: the first order of the exponential step."""
    m = 3
    block, V = blocks(m)[name], jnp.asarray(covariance(m))
    total = np.zeros((m, m))
    if (P := block.positive_drift(V)) is not None:
        assert np.linalg.eigvalsh(np.asarray(V + min(1.0, float(block.largest_step)) * P))[0] > -1e-14
        total += P
    if (C := block.generator(V)) is not None:
        total += C @ V + V @ C.T
    if block.mixings:
        A = jax.jacobian(block.mixing)(jnp.zeros((block.mixings, m, m)), jnp.linalg.cholesky(V)).reshape(m, m, -1)
        square = np.einsum("abz,bcz->ac", A, A) @ V
        total += (square + square.T) / 2 + np.einsum("abz,bc,dcz->ad", A, V, A)
    np.testing.assert_allclose(block.drift(V), total, atol=1e-13 * np.abs(total).max())


@pytest.mark.parametrize("name", NAMES)
def test_growth_of_norms(name):
    """What a block says without the rest of its drift is the diagonal of that: the definitions, which blocks replace by shorter ones."""
    block, V = blocks(4)[name], jnp.asarray(covariance(4))
    for of_block, defined in (
        (block.positive_growth(V), ShapedBlock.positive_growth(block, V)),
        (block.mixing_growth(V), ShapedBlock.mixing_growth(block, V)),
    ):
        expected = np.zeros(4) if defined is None else defined
        np.testing.assert_allclose(np.zeros(4) if of_block is None else of_block, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["full", "causal", "random"])
def test_attention_against_printed_sums(kind):
    """Shaped Transformer Thm 4.2, and its extension to masks, summed term by term."""
    m, gamma, tau0 = 3, 0.6, 0.8
    mask = {"full": None, "causal": "causal", "random": random_mask(m)}[kind]
    block, V = ShapedAttention(gamma, tau0, mask=mask), covariance(m, seed=2)
    drift, A = printed_attention(V, gamma, tau0, block.sees(m))
    np.testing.assert_allclose(block.drift(jnp.asarray(V)), drift, atol=1e-14)
    expected = gamma**2 * (2 - gamma**2) * np.asarray(linear_diffusion(V)) + A
    np.testing.assert_allclose(block.diffusion(jnp.asarray(V)), expected, atol=1e-13)


def test_unmasked_attention_in_closed_form():
    r"""b = (g^2/t^2)(|C|^2 V/m^2 + ...), A from M = VPVPV/m^2; a full mask given as an array is the same block."""
    m, gamma, tau0 = 3, 0.6, 0.8
    V = covariance(m, seed=3)
    P = np.eye(m) - 1 / m
    C = P @ V @ P
    s, M, v = P @ np.diag(C), V @ P @ V @ P @ V / m**2, np.diag(V)
    drift = (C**2).sum() / m**2 * V + (np.outer(v, V @ s) + np.outer(V @ s, v)) / (2 * m)
    A = sum(np.einsum(f"{x},{y}->abdw", M, V) for x, y in (("ad", "bw"), ("aw", "bd"), ("bd", "aw"), ("bw", "ad")))
    for mask in (None, np.ones((m, m), dtype=bool)):
        block = ShapedAttention(gamma, tau0, mask=mask)
        np.testing.assert_allclose(block.drift(jnp.asarray(V)), gamma**2 / tau0**2 * drift, atol=1e-14)
        np.testing.assert_allclose(block.mixing_diffusion(jnp.asarray(V)), gamma**4 / tau0**2 * A, atol=1e-14)


def test_exchangeable_tokens():
    """V = v((1 - r) I + r): b = (g^2/t^2) (m - 1) v^2 (1 - r)^2 V/m^2, correlations untouched; one token is inert."""
    m, v, r, gamma, tau0 = 7, 1.7, 0.3, 0.5, 0.9
    V = v * ((1 - r) * np.eye(m) + r)
    expected = gamma**2 / tau0**2 * (m - 1) / m**2 * v**2 * (1 - r) ** 2 * V
    np.testing.assert_allclose(ShapedAttention(gamma, tau0).drift(jnp.asarray(V)), expected, atol=1e-15)
    assert float(ShapedAttention(gamma).drift(jnp.ones((1, 1)))[0, 0]) == 0.0


def test_antisymmetric_pair():
    """x_2 = -x_1 closes: dv = (g^2/t^2) v^3 dt, and (2 g^2/t)^2 v^4 from the logits."""
    v, gamma, tau0 = 1.3, 0.6, 0.7
    block, V = ShapedAttention(gamma, tau0), jnp.asarray(1.3 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(block.drift(V)[0, 0], gamma**2 / tau0**2 * v**3, rtol=1e-14)
    np.testing.assert_allclose(block.mixing_diffusion(V)[0, 0, 0, 0], 4 * gamma**4 / tau0**2 * v**4, rtol=1e-14)


def test_first_causal_token_has_no_drift():
    """It sees only itself."""
    drift = ShapedAttention(0.5, mask="causal").drift(jnp.asarray(covariance(3)))
    np.testing.assert_allclose(drift[0, 0], 0.0, atol=1e-16)


def test_noise_coefficients():
    """MLP 1; ResNet g^2 (2 - g^2 (1 - n/n_h)); attention g^2 (2 - g^2), with projection 2 g^2; heads divide A."""
    g = 0.6
    assert ShapedMLP().value_noise == 1.0
    coefficients = {
        ShapedResNet(g).value_noise: 2 * g**2,
        ShapedResNet(g, hidden_ratio=4).value_noise: g**2 * (2 - g**2 * 0.75),
        ShapedAttention(g).value_noise: g**2 * (2 - g**2),
        ShapedAttention(g, output_projection=True).value_noise: 2 * g**2,
    }
    np.testing.assert_allclose(list(coefficients), list(coefficients.values()), rtol=1e-15)
    V = jnp.asarray(covariance(3))
    one, eight = (ShapedAttention(g, heads=heads) for heads in (1, 8))
    np.testing.assert_allclose(one.mixing_diffusion(V), 8 * eight.mixing_diffusion(V), rtol=1e-13)
    np.testing.assert_array_equal(one.drift(V), eight.drift(V))
    np.testing.assert_allclose(ShapedResNet(0.6).skip, 0.8, rtol=1e-15)


def test_stacks_add():
    """Shaped Transformer Cor. 4.3: drifts and diffusions of a stack, nested or not, are sums."""
    V = jnp.asarray(covariance(3))
    attention, feedforward = ShapedAttention(0.6, tau0=0.8), ShapedResNet(0.5)
    flat = ShapedTransformer(attention, feedforward, feedforward)
    nested = ShapedTransformer(ShapedTransformer(attention, feedforward), feedforward)
    for stack in (flat, nested):
        assert len(stack.parts) == 3
        np.testing.assert_allclose(stack.drift(V), attention.drift(V) + 2 * feedforward.drift(V), rtol=1e-13)
        expected = attention.diffusion(V) + 2 * feedforward.diffusion(V)
        np.testing.assert_allclose(stack.diffusion(V), expected, rtol=1e-13, atol=1e-15)


def test_exponents():
    """p > 1/2: linear, or inert attention. p < 1/2: the drift alone, or attention without value noise."""
    V = jnp.asarray(covariance(3))
    fast, slow = ShapedMLP(shaped_relu(exponent=0.25)), ShapedMLP(shaped_relu(exponent=1.0))
    assert (fast.value_noise, slow.value_noise) == (0.0, 1.0)
    assert (fast.time_exponent, slow.time_exponent) == (0.5, 1.0)
    assert not np.asarray(slow.drift(V)).any()
    np.testing.assert_array_equal(fast.drift(V), ShapedMLP().drift(V))
    cold, hot = ShapedAttention(0.5, exponent=0.25), ShapedAttention(0.5, exponent=1.0)
    np.testing.assert_allclose(cold.diffusion(V), ShapedAttention(0.5).mixing_diffusion(V), rtol=1e-14)
    np.testing.assert_allclose(hot.diffusion(V), 0.25 * 1.75 * linear_diffusion(V), rtol=1e-14)
    assert not np.asarray(hot.drift(V)).any()


def test_coefficients_under_jit_and_grad():
    """A sweep over gamma and tau0 compiles once and can be differentiated."""
    V = jnp.asarray(covariance(3))

    @jax.jit
    def drift(gamma, tau0):
        return ShapedAttention(gamma, tau0).drift(V)[0, 1]

    reference = float(ShapedAttention(0.5, 0.8).drift(V)[0, 1])
    np.testing.assert_allclose(drift(0.5, 0.8), reference, rtol=1e-13)
    np.testing.assert_allclose(jax.grad(drift)(0.5, 0.8), 2 * reference / 0.5, rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 3, 4])
def test_root_of_singular_covariances(rank):
    """R R^T = V for every rank, also in a batch in which only some are singular."""
    V = np.stack([covariance(4, rank=rank), covariance(4)])
    R = np.asarray(jax.jit(jax.vmap(covariance_root))(V))
    np.testing.assert_allclose(R @ R.swapaxes(1, 2), V, atol=1e-14)


def test_law_of_covariances():
    """Correlations, quantiles, counts and Gaussian outputs of a law made by hand."""
    V = np.broadcast_to(np.array([[4.0, 1.0], [1.0, 1.0]]), (3000, 2, 2, 2))
    status = np.zeros(3000, dtype=int)
    status[:2] = 1
    law = CovarianceLaw(
        ShapedMLP(), np.array([0.0, 0.5]), V, np.where(status, 0.2, np.inf), status, 0.5, seed=0, method="by hand"
    )
    assert law.counts == {"running": 2998, "stopped": 2, "left the cone": 0}
    np.testing.assert_allclose(law.correlation()[0, 1], [[1.0, 0.5], [0.5, 1.0]])
    assert law.quantile([0.1, 0.9]).shape == (2, 2, 2, 2)
    outputs = law.output_samples(outputs=5, seed=3)
    assert outputs.shape == (3000, 5, 2)
    measured = np.einsum("poa,pob->ab", outputs, outputs) / 15000
    errors = np.sqrt((V[0, 0] ** 2 + np.outer(np.diag(V[0, 0]), np.diag(V[0, 0]))) / 15000)
    assert (np.abs(measured - V[0, 0]) < 4 * errors).all()


@pytest.mark.parametrize("block", [ShapedMLP(), ShapedAttention(0.5), ShapedTransformer(ShapedResNet(0.5))])
def test_double_precision_in_any_mode(block):
    """Drift and diffusion of arrays and lists are float64, also where JAX is in 32-bit mode."""
    V = covariance(2)
    expected = block.drift(V), block.diffusion(V)
    with jax.enable_x64(False):
        found = block.drift(V.tolist()), block.diffusion(V)
    for value, reference in zip(found, expected, strict=True):
        assert value.dtype == np.float64
        np.testing.assert_allclose(value, reference, rtol=1e-13, atol=1e-15)


def test_windows():
    """Each token sees itself and the few before it; a window that is long enough is causal."""
    seen = ShapedAttention(0.5, mask="window:2").sees(4)
    np.testing.assert_array_equal(seen, [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    causal = ShapedAttention(0.5, mask="causal").sees(4)
    np.testing.assert_array_equal(ShapedAttention(0.5, mask="window:4").sees(4), causal)
    V = covariance(4)
    by_hand = ShapedAttention(0.5, mask=seen)
    np.testing.assert_array_equal(ShapedAttention(0.5, mask="window:2").drift(V), by_hand.drift(V))


@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_feedforward_layers_of_any_activation(activation):
    """The drift is n times the change of the mean covariance over one layer of a wide network, lecture 17 with a shortcut."""
    gamma, n, V = 0.6, 10**6, covariance(2)
    block = ShapedResNet(gamma, activation=shaped_smooth(activation, a=0.8))
    phi = block.activation.at_width(n)
    kernel = [
        [float(fw.gaussian_expectation([phi] * 2, V[np.ix_(p, p)])) for p in ([a, a], [a, b])]
        for a, b in ((0, 1), (1, 0))
    ]
    (own, cross), (other, _) = kernel
    mean = block.activation.normalisation(n) * np.array([[own, cross], [cross, other]])
    np.testing.assert_allclose(block.drift(V), gamma**2 * n * (mean - V), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: ShapedResNet(1.5), "gamma"),
        (lambda: ShapedAttention(-0.1), "gamma"),
        (lambda: ShapedAttention(0.5, tau0=0.0), "tau0"),
        (lambda: ShapedAttention(0.5, heads=0), "heads"),
        (lambda: ShapedAttention(0.5, heads=3).at(16, 3), "width"),
        (lambda: ShapedTransformer(ShapedAttention(0.5, heads=3), ShapedResNet(0.5)).at(16, 3), "width"),
        (lambda: ShapedAttention(0.5, mask="casual"), "mask"),
        (lambda: ShapedAttention(0.5, mask=np.ones((2, 3), dtype=bool)), "mask"),
        (lambda: ShapedAttention(0.5, mask=np.ones((2, 2))), "mask"),
        (lambda: ShapedAttention(0.5, mask=np.array([[True, False], [False, False]])), "mask"),
        (lambda: ShapedAttention(0.5, mask=np.ones((2, 2), dtype=bool)).drift(jnp.eye(3)), "mask"),
        (lambda: ShapedAttention(0.5, mask=[[True], [True, False]]), "mask"),
        (lambda: ShapedAttention(0.5, mask=np.ones((2, 2), dtype=bool)).diffusion(np.eye(3)), "mask"),
        (lambda: ShapedMLP().drift(np.full((2, 2), np.nan)), "V"),
        (lambda: ShapedMLP().drift([[1.0, 2.0], [2.0, 1.0]]), "V"),
        (lambda: ShapedAttention(0.5).drift(np.ones(3)), "V"),
        (lambda: ShapedAttention(0.5).diffusion(np.ones((2, 3))), "V"),
        (lambda: ShapedResNet(0.5, hidden_ratio=0), "hidden_ratio"),
        (lambda: ShapedMLP("relu"), "activation"),
        (lambda: ShapedResNet(0.5, activation="gelu"), "activation"),
        (lambda: ShapedResNet(0.5, activation=shaped_smooth("gelu", exponent=1.0)), "activation"),
        (lambda: ShapedResNet(0.5, 0.1, activation=shaped_smooth("gelu")), "c_plus, c_minus"),
        (lambda: ShapedAttention(0.5, mask="window:0"), "mask"),
        (lambda: ShapedAttention(0.5, mask="window:x"), "mask"),
        (lambda: ShapedTransformer(), "blocks"),
        (lambda: ShapedTransformer(ShapedResNet(0.5), ShapedMLP(shaped_relu(exponent=0.25))), "blocks"),
    ],
)
def test_bad_input(make, argument):
    """The argument is named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        make()
