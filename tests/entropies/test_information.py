"""Informations of real layers: the exact ones against densities in closed form, theory against the exact ones."""

import math

import jax
import numpy as np
import pytest
from scipy import integrate
from scipy.special import kv
from scipy.stats import gamma, norm

import finitewidth as fw
from finitewidth.critical.one_input.second_order import second_order
from finitewidth.entropies.mixtures import GROUPS, entropies_of_neurons, entropies_of_two_samples, in_groups, jackknife

WHOLE = np.full((1, GROUPS), 1 / GROUPS)


def density_of_linear_neurons(n, m):
    r"""$p(r)$ of $m$ neurons behind one linear layer of width $n$ at criticality: normals times the root of $\chi^2_n/n$, a Bessel
    function."""
    k, theta = n / 2, 2 / n

    def density(r):
        order = k - m / 2
        scale = 2 / ((2 * math.pi) ** (m / 2) * math.gamma(k) * theta**k)
        return scale * (r * math.sqrt(theta / 2)) ** order * kv(order, r * math.sqrt(2 / theta))

    return density


def entropy_by_scipy(n, m):
    density, sphere = density_of_linear_neurons(n, m), 2 * math.pi ** (m / 2) / math.gamma(m / 2)

    def integrand(r):
        p = density(r)
        return -sphere * r ** (m - 1) * p * math.log(p) if p > 0 else 0.0

    return integrate.quad(integrand, 1e-12, 30, limit=400, epsrel=1e-11)[0]


@pytest.mark.parametrize("m", [1, 2, 5])
def test_entropy_of_a_mixture(m):
    r"""PDLT (A.1) behind one linear layer of eight neurons, the law of the metric by quantiles: $\chi^2_8/8$."""
    quantiles = (np.arange(2000) + 0.5) / 2000
    metrics = np.random.default_rng(0).permutation(gamma.ppf(quantiles, 4, scale=1 / 4))
    found = entropies_of_neurons(in_groups(metrics), m, WHOLE)[0]
    assert found == pytest.approx(entropy_by_scipy(8, m), abs=2e-4)


@pytest.mark.parametrize(("log_variance", "expected"), [(0.154, 0.0020), (0.5, 0.0131), (1.0, 0.034), (4.0, 0.160)])
def test_information_of_a_log_normal_metric(log_variance, expected):
    """PDLT (A.14) of two neurons, the limit of critical scale-invariant networks as deep as wide, by quadrature over the metric."""
    nodes = np.linspace(-9, 9, 201)
    weights = norm.pdf(nodes)[None] / norm.pdf(nodes).sum()
    metrics = np.exp(math.sqrt(log_variance) * nodes - log_variance / 2)[:, None]
    one, two = (entropies_of_neurons(metrics, m, weights)[0] for m in (1, 2))
    assert 2 * one - two == pytest.approx(expected, rel=0.04)


def test_two_samples_of_one_covariance():
    """PDLT (A.28): networks that do not differ leave the Gaussian value, to the digits of the plane."""
    K = np.array([[1.2, 0.7], [0.7, 0.9]])
    metrics = np.broadcast_to(K, (GROUPS, 3, 2, 2))
    alone = [entropies_of_neurons(metrics[..., i, i], 1, WHOLE)[0] for i in range(2)]
    found = sum(alone) - entropies_of_two_samples(metrics, WHOLE)[0]
    assert found == pytest.approx(fw.entropies.sample_information(K)[0, 1], rel=1e-9)


def test_second_order_of_scale_invariant_networks():
    r"""$V/(nK^2) = (1+\nu/n)^{\ell-1}-1$ exactly: its second order, and the third cumulant, beside PDLT (5.120)."""
    n, nu, layer = 20, 5.0, np.arange(6)
    net = fw.tune(fw.MLP("relu", (3, *[n] * 5, 1)))
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, second_order(net.activation, np.asarray(1.3), net.layers[1:]))
    np.testing.assert_allclose(found.v1 / 1.69, nu * layer / n, rtol=1e-12)
    np.testing.assert_allclose(found.v2 / 1.69, layer * (layer - 1) / 2 * nu**2 / n**2, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose([found.g1, found.g2], 0, atol=1e-14)
    # the mean of n squares of ReLUs, times two, has the third moment 1 + 15/n + 44/n^2: one of them has moments 1, 6, 60
    np.testing.assert_allclose(found.u / 1.3**3, (44 * layer + 75 * layer * (layer - 1)) / n**2, rtol=1e-11, atol=1e-13)


@pytest.mark.measured
def test_second_order_is_the_flow_of_one_input():
    """PDLT (4.104)-(4.105) at second order: the same numbers by tensors and by one-dimensional averages."""
    net = fw.MLP("tanh", (3, 12, 16, 20, 8, 1), C_b=0.05, C_W=1.4)
    flow = fw.flow(net, kernel=[[0.8]], next_order=True)
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, second_order(net.activation, np.asarray(0.8), net.layers[1:]))
    n = np.asarray(net.widths[:-1], float)
    for mine, theirs in ((found.v2, flow.V1), (found.u, flow.six_point), (found.g2, flow.G2)):
        np.testing.assert_allclose(mine * n**2, np.ravel(theirs), rtol=1e-9, atol=1e-14)


@pytest.fixture(scope="module")
def narrow():
    return fw.information(fw.tune(fw.MLP("linear", (2, 8, 8, 1))), [[1.0, 1.0], [1.0, -0.5]], networks=4000, seed=1)


def test_exact_values_of_networks(narrow):
    """PDLT (A.14), (A.24): behind one linear layer of eight neurons, where densities are Bessel functions."""
    S = {m: entropy_by_scipy(8, m) for m in (1, 2, 3)}
    exact = {"entropy": S[1], "neurons": 2 * S[1] - S[2], "tripartite": 3 * S[1] - 3 * S[2] + S[3]}
    for name, expected in exact.items():
        measured = getattr(narrow, name).exact
        deviation = (measured.mean[1] - expected) / measured.standard_error[1]
        assert abs(deviation) < 4.5, name
        assert measured.standard_error[1] < 0.1 * expected
    for name in ("neurons", "tripartite"):
        assert abs(getattr(narrow, name).exact.mean[0]) < 1e-12


def test_orders_of_a_linear_network(narrow):
    r"""PDLT (A.67) with $\varepsilon = \frac2n(\ell-1)$ and its square: consistent to third order."""
    layer = np.arange(3)
    e, square = 2 / 8 * layer, (2 / 8) ** 2 * layer * (layer - 1) / 2
    np.testing.assert_allclose(narrow.coupling, e, rtol=1e-12)
    np.testing.assert_allclose(narrow.neurons.leading, e**2 / 8, rtol=1e-12)
    np.testing.assert_allclose(narrow.neurons.next, (e**2 + 2 * e * square) / 8 - 26 / 48 * e**3, rtol=1e-11)
    np.testing.assert_allclose(narrow.tripartite.leading, e**3 / 8, rtol=1e-12)
    gaussian = 0.5 * math.log(2 * math.pi * math.e)
    np.testing.assert_allclose(narrow.entropy.next, gaussian - 3 / 16 * e**2, rtol=1e-12)
    rho = np.array([0.5, 0.5]) @ [1, -0.5] / math.sqrt(0.625)
    np.testing.assert_allclose(narrow.samples.leading, -0.5 * math.log(1 - rho**2), rtol=1e-12)
    assert set(narrow.assumes) == {"leading", "next", "exact"}


@pytest.mark.measured
@pytest.mark.parametrize(
    ("activation", "width", "depth", "printed"), [("relu", 128, 2, 1.67e-4), ("tanh", 64, 5, 1.56e-4)]
)
def test_theory_meets_exact_values(activation, width, depth, printed):
    """PDLT (A.67): the next order is nearer to networks than the leading one, and off by no more than their difference squared; with
    numbers from elsewhere."""
    net = fw.tune(fw.MLP(activation, (3, *[width] * (depth - 1), 1)))
    found = fw.information(net, np.ones((1, 3)), networks=200_000, seed=2).neurons
    exact, error = found.exact.mean[-1], found.exact.standard_error[-1]
    leading, following = found.leading[-1], found.next[-1]
    assert error < 0.01 * exact
    assert abs(exact - printed) < 4.5 * error + 0.01 * printed
    left_out = (leading - following) ** 2 / leading
    assert abs(exact - following) < 4.5 * error + 2 * left_out
    assert abs(exact - leading) > 4.5 * error
    assert abs(exact - following) < abs(exact - leading)


@pytest.mark.measured
def test_two_samples_to_the_next_order():
    r"""PDLT (A.28) with $K + G^{\{1\}}/n$: deviations from networks fall as $1/n^2$."""
    x = np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 1.0]])
    off = []
    for n in (16, 32):
        net = fw.MLP("tanh", (3, n, n, n, 1), C_W=2.0)
        found = fw.information(net, x, networks=2000, seed=3).samples
        off.append(((found.exact.mean - found.next)[-1], found.exact.standard_error[-1]))
    (first, e_1), (second, e_2) = off
    assert abs(first - 4 * second) < 4.5 * math.hypot(e_1, 4 * e_2)


def test_networks_that_died_are_counted():
    """All eight ReLUs of a layer are silent in one network of 256."""
    with pytest.raises(fw.DomainError, match=r"of 1000 networks whose neurons are all silent.*wider layers"):
        fw.information(fw.MLP("relu", (2, 8, 8, 1), C_W=2.0), [[1.0, 0.5]], networks=1000)


def test_jackknife_of_a_mean_and_of_its_square():
    """The error of a mean is the usual one, and the bias of its square is removed."""
    values = np.random.default_rng(0).normal(size=GROUPS)
    mean = jackknife(lambda weights: weights @ values)
    assert mean.value == pytest.approx(values.mean(), rel=1e-12)
    assert mean.error == pytest.approx(values.std(ddof=1) / math.sqrt(GROUPS), rel=1e-12)
    square = jackknife(lambda weights: (weights @ values) ** 2)
    assert square.value == pytest.approx(values.mean() ** 2 - values.var(ddof=1) / GROUPS, rel=1e-10)


def test_metric_samples_are_networks():
    """PDLT (4.69)-(4.70): mean and variance behind a layer of linear neurons, and one seed one network."""
    net = fw.tune(fw.MLP("linear", (2, 8, 8, 1)))
    drawn = fw.ensembles.metric_samples(net, [[1.0, 1.0], [1.0, -0.5]], networks=4000, seed=1)
    assert drawn.shape == (4000, 3, 2, 2)
    np.testing.assert_array_equal(
        drawn[:, 0], np.broadcast_to(net.first_kernel([[1.0, 1.0], [1.0, -0.5]]), (4000, 2, 2))
    )
    assert abs(drawn[:, 1, 0, 0].mean() - 1) < 4.5 * math.sqrt(0.25 / 4000)
    assert abs(drawn[:, 1, 0, 0].var() - 0.25) < 4.5 * math.sqrt((60 / 64 - 0.25**2) / 4000)
    np.testing.assert_array_equal(drawn[:8], fw.ensembles.metric_samples(net, [[1.0, 1.0], [1.0, -0.5]], 8, seed=1))


@pytest.mark.parametrize(
    "net",
    [fw.MLP("relu", (2, 5), C_b=0.1), fw.ResidualMLP("relu", width=5, depth=1, gamma=0.5, C_b=0.1)],
    ids=["mlp", "residual"],
)
def test_one_layer_is_gaussian(net):
    """PDLT (A.25)-(A.28): entropies and what samples tell of one another as of Gaussians, exactly; neurons tell nothing."""
    x = np.array([[1.0, 0.5], [0.2, -1.0]])
    found, K = fw.information(net, x, networks=400), 0.1 + x @ x.T / 2
    entropy, shared = 0.5 * np.log(2 * np.pi * np.e * K[0, 0]), 0.5 * np.log(K[0, 0] * K[1, 1] / np.linalg.det(K))
    for of, expected in (
        (found.entropy, entropy),
        (found.samples, shared),
        (found.neurons, 0.0),
        (found.tripartite, 0.0),
    ):
        assert of is not None
        np.testing.assert_allclose(of.leading, [expected], rtol=1e-12)
        np.testing.assert_allclose(of.exact.mean, [expected], rtol=1e-6, atol=1e-9)
