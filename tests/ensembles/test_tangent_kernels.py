"""Measured tangent kernels: against exact results at finite width, real networks neuron by neuron, and each other."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from finitewidth._errors import ArgumentError, BlowUpError, DomainError, UnknownNameError
from finitewidth.ensembles import DenseGaussian, simulate
from finitewidth.ensembles.forward_backward import backward, draw, forward
from finitewidth.ensembles.ntk_samples import ntk_samples
from finitewidth.ensembles.simulation import _method as default_method
from finitewidth.ensembles.tangent_samplers import DenseTangentSampler, kernel_from_gradients, kernel_through_rows
from finitewidth.networks import MLP
from finitewidth.realised.parameters import Parameters
from finitewidth.realised.tangent_kernel import ntk

RATES = {"lambda_b": [0.5, 0.7, 0.2, 0.9], "lambda_W": [1.1, 0.6, 1.4, 0.8]}
TANH = MLP("tanh", (3, 8, 6, 6, 3), C_b=[0.3, 0.1, 0.2, 0.05], C_W=[1.3, 1.7, 1.4, 1.2], **RATES)
RELU = MLP("relu", (3, 8, 6, 9, 1), C_b=[0.3, 0.1, 0.2, 0.05], C_W=[1.3, 2.2, 1.8, 1.9], **RATES)
X = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
TENSORS = ("A", "B", "D", "F", "V")


def scores(found, expected):
    return np.abs((found.mean - expected) / found.standard_error)


def exact_scale_invariant(net, square):
    """ReLU at any widths and one input, layer by layer: the sign of a preactivation is independent of all else."""
    half, quarter = 0.5, 0.5  # averages of the slope's square and fourth power
    K, T = net.C_b[0] + net.C_W[0] * square, net.lambda_b[0] + net.lambda_W[0] * square
    V = D = F = B = A = 0.0
    for layer in range(1, net.depth):
        m, n = net.widths[layer - 1 : layer + 1]
        C, rate = net.C_W[layer], net.lambda_W[layer]
        k, signs, others = rate / C, quarter - half**2, (n - 1) * half**2
        V_ = C**2 * ((3 * quarter - half**2) * (K**2 + V / m) + n * half**2 * V / m)
        R = C**2 * (signs * K * T + quarter * (D + 2 * F) / m + others * D / m)
        A_ = k**2 * V_ + 2 * k * R + C**2 * (signs * T**2 + quarter * (A + 2 * B) / m + others * A / m)
        F = C**2 * (quarter * (K * T + (D + 2 * F) / m) + others * F / m)
        B = C**2 * (quarter * (T**2 + (A + 2 * B) / m) + others * B / m)
        V, D, A = V_, k * V_ + R, A_
        K, T = net.C_b[layer] + C * half * K, net.lambda_b[layer] + rate * half * K + C * half * T
    return {"H": T, "H1": 0.0, "V": V, "D": D, "F": F, "B": B, "A": A}


@pytest.mark.measured
@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_scale_invariant_networks_exactly(method):
    """Layer 4 of ReLU networks 3-8-6-9, where every moment is known at finite width; PDLT (8.82), PDLT (8.67)."""
    measured = simulate(RELU, X[:1], networks=60_000, method=method, through="ntk")
    for name, value in exact_scale_invariant(RELU, np.mean(X[0] ** 2)).items():
        assert scores(getattr(measured, name)[-1], value).max() < 4, name


@pytest.fixture(scope="module")
def of_dense_networks(pytestconfig):
    """Drawn once for all who look at them; measured tests need more."""
    networks = 40_000 if pytestconfig.getoption("--measured") else 10_000
    return simulate(TANH, X, networks=networks, through="ntk", seed=8)


@pytest.mark.parametrize("method", ["dense", pytest.param("lazy", marks=pytest.mark.measured)])
def test_second_layer_exactly(method):
    """All components at width 8 against quadrature over one neuron; PDLT (8.32)-(8.34), PDLT (8.38)-(8.39)."""
    net = TANH.replace(widths=(3, 8, 1), **{f: np.asarray(getattr(TANH, f))[:2] for f in ("C_b", "C_W", *RATES)})
    measured = simulate(net, X, networks=40_000, method=method, through="ntk")
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    u = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel() / weights.sum() ** 2
    z = u @ np.linalg.cholesky(np.asarray(net.first_kernel(X))).T
    s, t = np.tanh(z), 1 - np.tanh(z) ** 2
    H = 0.5 + 1.1 * X @ X.T / 3
    C, rate = 1.7, 0.6
    ss, tt = s[:, :, None] * s[:, None], t[:, :, None] * t[:, None]
    omega = rate * ss + C * H * tt
    mean_s, mean = np.einsum("q,qab->ab", w, ss), np.einsum("q,qab->ab", w, omega)
    expected = {
        "A": np.einsum("q,qab,qcd->abcd", w, omega - mean, omega - mean),
        "D": C * np.einsum("q,qab,qcd->abcd", w, ss - mean_s, omega - mean),
        "B": C**2 * np.einsum("q,qab,qcd,ab,cd->acbd", w, tt, tt, H, H),
        "F": C**2 * np.einsum("q,qab,qcd,cd->acbd", w, ss, tt, H),
        "V": C**2 * np.einsum("q,qab,qcd->abcd", w, ss - mean_s, ss - mean_s),
        "H": 0.7 + mean,
        "H1": 0.0,
    }
    for name, value in expected.items():
        assert scores(getattr(measured, name)[-1], value).max() < 4, name


@jax.jit
def outputs_and_kernels(net, x, keys):
    """Output preactivations (networks, i, sample) and tangent kernels (networks, i, j, sample, sample)."""

    def one(key):
        passed, network = forward(draw(net, key, DenseGaussian), x)
        gradients, _ = backward(network, passed, (0, 1, 2))
        return passed.preactivations[-1][-1].T, kernel_from_gradients(net, passed, gradients)

    return jax.vmap(one)(keys)


@pytest.mark.measured
def test_all_neural_indices(of_dense_networks):
    r"""Every pattern of $E[\Delta H\,\Delta H]$ and $E[zz\,\Delta H]$ over three outputs; PDLT (8.67), PDLT (8.82)."""
    networks, n = 40_000, TANH.widths[-2]
    z, H = map(np.asarray, outputs_and_kernels(TANH, X, jax.random.split(jax.random.key(3), networks)))
    A, B, D, F, theta = (getattr(of_dense_networks, name).mean[-1] for name in ("A", "B", "D", "F", "H"))
    one = np.eye(3)
    dH = H - one[:, :, None, None] * theta

    def predicted(pairs, crossed):
        """Axes: i1, i2, samples 1, 2, then i3, i4, samples 3, 4."""
        return (
            np.einsum("ij,kl,abcd->ijabklcd", one, one, pairs)
            + np.einsum("ik,jl,acbd->ijabklcd", one, one, crossed)
            + np.einsum("il,jk,adbc->ijabklcd", one, one, crossed)
        ) / n

    zz = np.einsum("sia,sjb->sijab", z, z)
    for first, expected in ((dH, predicted(A, B)), (zz, predicted(D, F))):
        left, right = first.reshape(networks, -1), dH.reshape(networks, -1)
        mean = left.T @ right / networks
        error = np.sqrt(((left**2).T @ right**2 / networks - mean**2) / networks)
        assert np.abs((mean - expected.reshape(mean.shape)) / error).max() < 5
    assert np.abs(np.einsum("sia,sjkbc->iajkbc", z, dH) / networks).max() < 5 * np.sqrt(2 * 4 / n / networks)


def written_out_parameters(network):
    """The weights and biases of a dense network, layer by layer."""
    stages = [(W, b) for stage in network.stages for W, b in zip(stage.weights.entries, stage.biases, strict=True)]
    return Parameters(*(tuple(map(np.asarray, column)) for column in zip(*stages, strict=True)))


def test_one_network_against_the_forward_equation():
    """What is measured of one dense network, and of rows of weights, is made of its kernels; PDLT (8.69), PDLT (8.83)."""
    sampler = DenseTangentSampler(TANH, jnp.asarray(X))
    network = draw(sampler.trunk, jax.random.key(1), DenseGaussian)
    sample = jax.jit(lambda key: sampler(key))(jax.random.key(1))
    passed, network = forward(network, sampler.x)
    kernels = ntk(sampler.trunk, written_out_parameters(network), sampler.x)
    for layer, (H, z) in enumerate(zip(kernels, (z for s in passed.preactivations for z in s), strict=True)):
        s, t, n = np.tanh(z), 1 - np.tanh(z) ** 2, z.shape[1]
        C = TANH.C_W[layer + 1]
        M = np.einsum("aj,abjk,bk->abjk", t, H, t)
        mean = TANH.lambda_b[layer + 1] + TANH.lambda_W[layer + 1] * s @ s.T / n + C / n * np.einsum("abjj->ab", M)
        np.testing.assert_allclose(sample.tangent.kernels[layer, 0], mean, rtol=1e-12)
        np.testing.assert_allclose(
            sample.tangent.F[layer], C**2 / n * np.einsum("aj,cdjk,bk->acbd", s, M, s), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            sample.tangent.B[layer], C**2 / n * np.einsum("abjk,cdjk->acbd", M, M), rtol=0, atol=1e-12
        )
    rows = np.random.default_rng(2).normal(size=(3, n))
    found = kernel_through_rows(network, passed, jnp.asarray(rows))
    np.testing.assert_allclose(found, np.einsum("ij,abjk,lk->ilab", rows, M, rows), rtol=0, atol=1e-11)


@pytest.mark.measured
def test_lazy_and_dense_statistics_agree(of_dense_networks):
    """The last of four layers, two inputs, unequal widths: by less than their errors; PDLT (8.82)."""
    dense = of_dense_networks
    lazy = simulate(TANH, X, networks=40_000, through="ntk", method="lazy", seed=1)
    assert (dense.tangent.layers, lazy.tangent.layers) == ((1, 2, 3, 4), (4,))
    assert (dense.ensemble.method, lazy.ensemble.method) == ("dense", "lazy")
    for name in (*TENSORS, "H", "G"):
        a, b = getattr(dense, name)[-1], getattr(lazy, name)[-1]
        assert np.abs((a.mean - b.mean) / np.hypot(a.standard_error, b.standard_error)).max() < 4.5, name


def test_shapes_symmetries_and_the_first_layer(of_dense_networks):
    """Axes in the printed order with the symmetries of theory; the first kernel does not fluctuate; PDLT (8.23)."""
    measured = of_dense_networks
    assert measured.H.mean.shape == measured.H1.mean.shape == (4, 2, 2)
    np.testing.assert_allclose(measured.H.mean[0], 0.5 + 1.1 * X @ X.T / 3, rtol=1e-14)
    for name in TENSORS:
        tensor = getattr(measured, name)
        assert tensor.mean.shape == tensor.standard_error.shape == (4, 2, 2, 2, 2)
        assert not tensor.mean[0].any()
        assert not tensor.standard_error[0].any()
    symmetries = {"A": ("bacd", "cdab"), "D": ("bacd", "abdc"), "B": ("badc", "cdab"), "F": ("cdab",)}
    for name, orders in symmetries.items():
        tensor = getattr(measured, name).mean
        for order in orders:
            np.testing.assert_allclose(tensor, np.einsum(f"labcd->l{order}", tensor), rtol=0, atol=1e-12)
    B, F = measured.B.mean[-1], measured.F.mean[-1]
    assert abs(B[0, 0, 1, 1] - B[0, 1, 1, 0]) > 5 * measured.B.standard_error[-1, 0, 0, 1, 1]  # not symmetric in 1, 2
    assert F[0, 1, 0, 1] != F[0, 0, 1, 1]
    V, D, A = (getattr(measured, name).mean[-1].reshape(4, 4) for name in "VDA")
    assert np.linalg.eigvalsh(np.block([[V, D], [D.T, A]])).min() > -1e-12


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_bit_identical_whatever_the_chunk_size(method):
    """Chunks set the rhythm of reports, never the result."""
    runs = [simulate(TANH, X, networks=2000, through="ntk", method=method, chunk_size=size) for size in (1, 700, None)]
    for run, other in itertools.pairwise(runs):
        for a, b in zip(jax.tree.leaves(run), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_many_features_and_one_layer():
    """Inputs of more features than samples go through their products; a single layer needs no sampling; PDLT (8.23)."""
    x = np.random.default_rng(5).normal(size=(2, 50))
    single = simulate(MLP("tanh", (50, 4), lambda_b=0.3), x, networks=10, through="ntk")
    np.testing.assert_allclose(single.H.mean, [0.3 + x @ x.T / 50], rtol=1e-14)
    assert single.tangent.layers == (1,)
    assert not single.A.mean.any()
    deep = simulate(MLP("tanh", (50, 8, 1)), x, networks=4096, through="ntk")
    assert scores(deep.H1[1], 0.0).max() < 4


@pytest.mark.measured
def test_realised_kernels_lazy_and_dense_in_law():
    """Two-sample Kolmogorov-Smirnov on diagonal and off-diagonal kernels, and their mean; PDLT (8.16)-(8.18)."""
    dense, lazy = (ntk_samples(TANH, X, 1500, seed, method) for seed, method in enumerate(("dense", "lazy")))
    assert dense.shape == (1500, 3, 3, 2, 2)
    np.testing.assert_allclose(lazy, lazy.transpose(0, 2, 1, 4, 3), rtol=0, atol=1e-12)
    entries = [(0, 0, 0, 0), (1, 1, 0, 1), (0, 1, 1, 1), (0, 1, 0, 1), (2, 1, 0, 1)]
    pvalues = [stats.ks_2samp(dense[:, *e], lazy[:, *e]).pvalue for e in entries]
    assert min(pvalues) > 1e-2 / len(pvalues)
    np.testing.assert_array_equal(ntk_samples(TANH, X, 3, 1), lazy[:3])


def test_by_default_wide_networks_are_lazy(monkeypatch):
    """From width 257 on, and only their last layer is measured."""
    for width, method in ((256, "dense"), (257, "lazy")):
        assert default_method(MLP("relu", (3, width, 2)), None, "ntk") == method
    monkeypatch.setattr("finitewidth.ensembles.simulation._WIDEST_DENSE", 7)  # wide enough, and compiled already
    measured = simulate(TANH, X, networks=2000, through="ntk")
    assert (measured.ensemble.method, measured.tangent.layers) == ("lazy", (4,))
    assert measured.A.mean.shape == (1, 2, 2, 2, 2)
    assert measured.V.mean.shape == (4, 2, 2, 2, 2)


def test_what_was_not_measured_is_said():
    """A run that stops at the vertex has no tangent kernel."""
    measured = simulate(TANH, X, networks=1000)
    for name in ("Theta", "H1", "H", "A", "B", "D", "F"):
        with pytest.raises(DomainError, match="through='ntk'"):
            getattr(measured, name)


def test_blow_up_says_where():
    """Of single networks whose mean kernel is finite."""
    net = MLP("exp", (3, 2, 2, 1), C_W=[1.0, 100.0, 1e-3])
    with pytest.raises(BlowUpError, match="layer 3"):
        simulate(net, X, networks=4096, through="ntk")
    with pytest.raises(BlowUpError, match="leaves the finite numbers: lower C_W or the depth"):
        ntk_samples(MLP("linear", (3, 4, 4, 4), C_W=1e200), X, 2)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"net": "tanh"}, ArgumentError, "net"),
        ({"net": MLP("perceptron", (3, 4, 1))}, DomainError, "jumps"),
        ({"x": [[1.0]]}, ArgumentError, "x"),
        ({"networks": 0}, DomainError, "networks"),
        ({"seed": -1}, DomainError, "seed"),
        ({"method": "chain"}, UnknownNameError, "method"),
    ],
)
def test_bad_input_is_named(change, error, says):
    """Before any work is done."""
    with pytest.raises(error, match=says):
        ntk_samples(**({"net": TANH, "x": X, "networks": 2} | change))
