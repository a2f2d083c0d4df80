"""Residual networks: chain, dense and lazy weights against networks written out in NumPy, and against exact moments."""

import numpy as np
import pytest

import finitewidth as fw

GAMMA = 0.5**0.5
NET = fw.ResidualMLP("relu", width=6, depth=3, gamma=GAMMA, C_W=[2.0, 1.0, 1.0], C_b=[0.0, 0.1, 0.2], inputs=2)
X = np.array([[1.0, 0.2], [-0.3, 0.9]])


@pytest.fixture(scope="module")
def written_out():
    """Products z_a z_b of two different neurons of layer 3 of networks with all their weights: means, and a covariance."""
    random, networks, n = np.random.default_rng(0), 200_000, 6
    z = np.sqrt(2 / 2) * np.einsum("mij,aj->mai", random.standard_normal((networks, n, 2)), X)
    for C_b in (0.1, 0.2):
        W = np.sqrt(1 / n) * random.standard_normal((networks, n, n))
        z = (
            np.sqrt(C_b) * random.standard_normal((networks, 1, n))
            + np.einsum("mij,maj->mai", W, np.maximum(z, 0))
            + GAMMA * z
        )
    products = np.stack([z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2], axis=-1)  # networks, neurons, pairs
    d = products - products.mean(axis=(0, 1))
    total = d.sum(axis=1)
    crossed = (total[:, :, None] * total[:, None, :] - np.einsum("mip,miq->mpq", d, d)) / (n * (n - 1))
    means = products.mean(axis=1)
    return (
        (means.mean(axis=0), means.std(axis=0) / networks**0.5),
        (n * crossed.mean(axis=0), n * crossed.std(axis=0) / networks**0.5),
    )


@pytest.mark.parametrize("method", ["chain", "dense", "lazy"])
def test_against_networks_written_out(written_out, method):
    """G, and V between different neurons, within five standard errors; PDLT (B.3), (B.23)."""
    measured = fw.simulate(NET, X, networks=20_000, seed=1, method=method)
    (mean, error), (vertex, vertex_error) = written_out
    G, V = measured.G, measured.V
    pair = ([0, 0, 1], [0, 1, 1])
    deviation = (G.mean[2][pair] - mean) / np.hypot(error, G.standard_error[2][pair])
    assert np.abs(deviation).max() < 5
    rows, columns = np.meshgrid(range(3), range(3))
    index = tuple(np.asarray(side)[which] for which in (rows, columns) for side in pair)
    deviation = (V.mean[2][index] - vertex[rows, columns]) / np.hypot(
        vertex_error[rows, columns], V.standard_error[2][index]
    )
    assert np.abs(deviation).max() < 5


def test_linear_networks_exactly():
    """V/(n K^2) = (1 + 2(1 - gamma^4)/n)^(l-1) - 1 at any width, for linear networks at C_W = 1 - gamma^2."""
    n, gamma = 16, 0.8
    net = fw.ResidualMLP("linear", width=n, depth=5, gamma=gamma, C_W=[1.0] + [1 - gamma**2] * 4, inputs=1)
    measured = fw.simulate(net, [[1.0]], networks=10_000, seed=3)
    exact = n * ((1 + 2 * (1 - gamma**4) / n) ** np.arange(5) - 1)
    V = measured.V
    deviation = (V.mean.ravel() - exact)[1:] / V.standard_error.ravel()[1:]
    assert np.abs(deviation).max() < 4.5
    np.testing.assert_allclose(measured.K.ravel(), 1.0, rtol=1e-13)


def test_methods_that_do_not_exist():
    """Populations follow metrics, which residual networks do not have one of."""
    with pytest.raises(fw.ArgumentError, match="populations follow"):
        fw.simulate(NET, X, networks=10, method="population")
    with pytest.raises(fw.UnknownNameError, match="method"):
        fw.simulate(NET, X, networks=10, method="sparse")


def test_warning_names_no_method_that_does_not_exist():
    """Heavy tails: what helps is said, without populations."""
    net = fw.ResidualMLP("relu", width=2, depth=40, gamma=0.2, C_W=1.9, inputs=1)
    with pytest.warns(fw.ValidityWarning, match="larger widths") as caught:
        fw.simulate(net, [[1.0]], networks=50)
    assert "population" not in str(caught[0].message)
