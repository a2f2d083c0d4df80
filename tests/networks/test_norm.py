"""Networks with normalised layers: kernels by hand, tangent kernels of real networks, ensembles written out."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw

X = np.array([[1.0, 0.3], [-0.4, 0.8]])


def net(**changes):
    settings = {"activation": "relu", "width": 8, "depth": 3, "gamma": 0.8, "C_b": 0.1, "C_W": 1.4, "inputs": 2}
    return fw.ResidualMLP(**(settings | {"norm": "rms"} | changes))


@pytest.mark.parametrize("gamma", [0.8, 0.0])
def test_kernel_by_hand(gamma):
    """K' = C_b + C_W <sigma sigma> of correlations + gamma^2 K, with the arc cosine of ReLU; layer norm is the same at infinite width."""
    K = 0.1 + 1.4 * X @ X.T / 2
    for _ in range(2):
        rho = np.clip(K / np.sqrt(np.outer(np.diag(K), np.diag(K))), -1, 1)
        psi = np.arccos(rho)
        K = 0.1 + 1.4 * (np.sin(psi) + (np.pi - psi) * rho) / (2 * np.pi) + gamma**2 * K
    for norm in ("rms", "layer"):
        np.testing.assert_allclose(fw.kernel(net(gamma=gamma, norm=norm), X), K, rtol=1e-12)
        layers = fw.flow(net(gamma=gamma, norm=norm), X, through="kernel").K
        np.testing.assert_allclose(layers[-1], K, rtol=1e-12)


def written_out(params, x, norm):
    """The outputs of a network with one readout, each layer's parameters scaled as the tangent kernel asks."""
    z = x @ params[0][0].T / x.shape[1] ** 0.5 * 1.4**0.5 + params[0][1] * 0.1**0.5
    for W, b in params[1:]:
        read = z - z.mean(axis=1, keepdims=True) if norm == "layer" else z
        read = read / jnp.sqrt((read**2).mean(axis=1, keepdims=True))
        new = jax.nn.relu(read) @ W.T * (1.4 / z.shape[1]) ** 0.5 + b * 0.1**0.5
        z = new + 0.8 * z if new.shape == z.shape else new
    return z


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_tangent_kernel_of_real_networks(norm):
    """Theta against automatic differentiation of networks of width 256, all of the normalisation's derivatives included."""
    widths, random, found = (2, 256, 256, 1), np.random.default_rng(0), []
    for _ in range(12):
        params = [(random.normal(size=(n, m)), random.normal(size=n)) for m, n in itertools.pairwise(widths)]
        params = jax.tree.map(jnp.asarray, params)
        rates = [(1 / 1.4, 1 / 0.1)] * 3  # of rescaled parameters: lambda_W = lambda_b = 1
        found.append(fw.empirical_ntk(_WRITTEN_OUT[norm], params, X, outputs="trace", rates=rates))
    theory = fw.frozen_ntk(net(width=256, outputs=1, norm=norm), X)
    error = np.std(found, axis=0) / 12**0.5
    assert (abs(np.mean(found, axis=0) - theory) < 5 * error + 0.02 * theory).all()


_WRITTEN_OUT = {
    "rms": lambda params, x: written_out(params, x, "rms"),
    "layer": lambda params, x: written_out(params, x, "layer"),
}


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_ensembles(norm):
    """Chain and dense weights of narrow networks, where layer norm and RMS norm differ, against networks in NumPy."""
    random, networks, n = np.random.default_rng(3), 40_000, 8
    z = np.sqrt(1.4 / 2) * np.einsum("mij,aj->mai", random.standard_normal((networks, n, 2)), X)
    z = z + np.sqrt(0.1) * random.standard_normal((networks, 1, n))
    for _ in range(2):
        read = z - z.mean(axis=2, keepdims=True) if norm == "layer" else z
        read = np.maximum(read / np.sqrt((read**2).mean(axis=2, keepdims=True)), 0)
        gram = np.einsum("mai,mbi->mab", read, read) / n
        metric = 0.1 + 1.4 * gram + 0.64 * np.einsum("mai,mbi->mab", z, z) / n
        W = np.sqrt(1.4 / n) * random.standard_normal((networks, n, n))
        z = np.einsum("mij,maj->mai", W, read) + np.sqrt(0.1) * random.standard_normal((networks, 1, n)) + 0.8 * z
    for method in ("chain", "dense"):
        measured = fw.simulate(net(norm=norm), X, networks=8000, seed=1, method=method)
        error = np.hypot(metric.std(axis=0) / networks**0.5, measured.G.standard_error[2])
        assert (abs(measured.G.mean[2] - metric.mean(axis=0)) < 4.5 * error).all()


def test_what_is_not_known_is_refused():
    """With what to do instead."""
    with pytest.raises(fw.DomainError, match="simulate"):
        fw.flow(net(), X)
    with pytest.raises(fw.DomainError, match="through"):
        fw.simulate(net(), X, networks=4, through="ntk")
    with pytest.raises(fw.DomainError, match="norm=None"):
        fw.tune(net())
    with pytest.raises(fw.DomainError, match="norm=None"):
        fw.criticality(net())
    with pytest.raises(fw.UnknownNameError, match="norm"):
        net(norm="batch")
    assert "norm=rms" in repr(net())
