"""Where a few networks decide a standard error, it is said; and populations measure what single networks cannot."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth import ArgumentError, ValidityWarning
from finitewidth.ensembles import simulate
from finitewidth.ensembles.many_populations import metric_of_populations
from finitewidth.ensembles.population import Estimate, Population
from finitewidth.ensembles.tails import add_tails, effective_of_mean, effective_of_variance, no_tails
from finitewidth.ensembles.trust import in_layers
from finitewidth.kernels.kernel_map import kernel_recursion
from finitewidth.networks import MLP

X = np.asarray([[1.0, 0.4, -0.3]])
HEAVY = MLP("relu", (3, 8, 8, 8, 8, 8, 1), C_W=2.0)
TAME = MLP("tanh", (3, 100, 100, 100, 1), C_b=0.1, C_W=1.2)


def exact_variances(net):
    r"""$E[\widehat G^2] = K^2(1 + 5/n)^{\ell-1}$ at the critical point of ReLU: each layer multiplies the metric by an
    independent $\frac2n\sum_j\mathrm{relu}(u_j)^2$, of mean one and variance $5/n$."""
    growth = np.cumprod([1.0, *(1 + 5 / np.asarray(net.hidden_widths))])
    return (2 * np.mean(X**2)) ** 2 * (growth - 1)


def tails_of(samples, lanes=(), orders=6):
    tails = no_tails(samples.shape[1:], orders)
    for part in np.split(samples, lanes):
        tails = add_tails(tails, jnp.asarray(part), jnp.ones(len(part), dtype=bool))
    return tails


def skewness_squared(y):
    c = y - y.mean(axis=0)
    return (c**3).mean(axis=0) ** 2 / (c**2).mean(axis=0) ** 3


def test_effective_networks_of_a_known_sample():
    """Against two passes over the sample, whatever its units and however it arrives."""
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(size=(300, 2, 3)) * [0.1, 0.8, 2.0]) * 1e-60
    x[:, 1] *= 1e130
    tails = tails_of(x, lanes=(1, 40))
    np.testing.assert_allclose(effective_of_mean(tails), 300 / (1 + skewness_squared(x / x[0])), rtol=1e-9)
    y = (x / x[0] - (x / x[0]).mean(axis=0)) ** 2
    np.testing.assert_allclose(effective_of_variance(tails), 300 / (1 + skewness_squared(y)), rtol=1e-7)


def test_samples_that_are_not_counted():
    """Not even when they are NaN."""
    x = np.random.default_rng(1).gamma(2.0, size=(20, 1, 2))
    counted = np.arange(20) < 13
    found = add_tails(no_tails((1, 2), 6), jnp.where(counted[:, None, None], x, np.nan), jnp.asarray(counted))
    np.testing.assert_allclose(effective_of_variance(found), effective_of_variance(tails_of(x[:13])), rtol=1e-12)


def test_known_laws():
    r"""A coin that shows one with chance $q$ has $\gamma^2 = (1-2q)^2/q(1-q)$; one that outweighs all others is alone."""
    coin = np.zeros((1000, 1, 1))
    coin[:100] = 1  # q = 0.1
    expected = 1000 / (1 + 0.8**2 / 0.09)
    assert effective_of_mean(tails_of(coin)).item() == pytest.approx(expected, rel=1e-9)
    coin[:50] = -1  # its square is the same coin
    assert effective_of_mean(tails_of(coin)).item() == pytest.approx(1000, rel=1e-9)
    assert effective_of_variance(tails_of(coin)).item() == pytest.approx(expected, rel=1e-9)
    x = np.random.default_rng(2).normal(size=(1000, 1, 1))
    x[7] = 1e6
    assert effective_of_mean(tails_of(x)).item() == pytest.approx(1, abs=0.01)
    assert effective_of_variance(tails_of(x)).item() == pytest.approx(1, abs=0.01)


def test_what_does_not_fluctuate_has_all_networks_behind_it():
    """Constants, rounding, and a sign, whose square is no random number."""
    rng = np.random.default_rng(3)
    constant = np.full((200, 1, 2), 0.3) * (1 + 1e-16 * rng.integers(0, 5, size=(200, 1, 2)))
    np.testing.assert_array_equal(effective_of_variance(tails_of(constant)), 200.0)
    np.testing.assert_array_equal(effective_of_mean(tails_of(np.zeros((200, 1, 2)))), 200.0)
    signs = np.resize([1.0, -1.0], (200, 1, 1))
    np.testing.assert_array_equal(effective_of_variance(tails_of(signs)), 200.0)


@pytest.mark.parametrize("seed", range(8))
def test_heavy_tails_are_said(seed):
    """Six ReLU layers of width 8: of a thousand networks a handful decide the error of V."""
    with pytest.warns(
        ValidityWarning, match=r"V in layers? .*6 cannot be trusted.* times as many networks.*population"
    ):
        measured = simulate(HEAVY, X, networks=1000, seed=seed)
    assert not measured.V.trustworthy[-1].any()
    assert measured.V.trustworthy[0].all()  # nothing fluctuates there
    assert not measured.relative_fluctuation.trustworthy[-1].any()
    assert 1 <= measured.V.effective_networks.min() < measured.V.effective_networks.max() == 1000


@pytest.mark.parametrize("seed", range(8))
def test_tame_networks_are_trusted(seed):
    """Wide tanh networks fluctuate like Gaussians: a ninth of a thousand networks stands behind V. Warnings are errors here."""
    measured = simulate(TAME, X, networks=1000, seed=seed)
    assert measured.V.trustworthy.all()
    assert measured.G.trustworthy.all()
    assert 50 < measured.V.effective_networks[1:].min() < measured.V.effective_networks[1:].max() < 250


def test_tangent_kernels_have_tails_too():
    """Narrow ReLU networks: all tensors of the last layer, by name; D and A with the tails of their factors."""
    net = MLP("relu", (3, 4, 4, 4, 4, 1), C_W=2.0, lambda_W=0.5)
    with pytest.warns(ValidityWarning, match=r"A in layer.* D in layer.*through='vertex'"):
        measured = simulate(net, X, networks=500, through="ntk")
    V, A, D = (getattr(measured, name).effective_networks[-1, 0, 0, 0, 0] for name in "VAD")
    assert min(V, A) == D
    assert not measured.A.trustworthy[-1].any()
    assert measured.B.effective_networks.shape == measured.B.mean.shape
    assert measured.H.effective_networks.shape == measured.H.mean.shape


@pytest.mark.measured
def test_effective_networks_predict_coverage():
    """Two standard errors of V hold the truth about as often as they claim where errors are trusted, and not where not."""
    covered = {}
    for widths in ((3, 8, 8, 8, 8, 8, 1), (3, 400, 400, 1)):
        net = MLP("relu", widths, C_W=2.0)
        truth = widths[-2] * exact_variances(net)[-1]
        runs = [_silent(net, networks=1000, seed=seed).V[-1, 0, 0, 0, 0] for seed in range(100)]
        inside = [abs(V.mean - truth) < 2 * V.standard_error for V in runs]
        covered[widths[1]] = np.mean(inside), np.mean([bool(V.trustworthy) for V in runs])
    assert covered[8][0] < 0.85
    assert covered[8][1] < 0.05
    assert covered[400][0] > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 100)
    assert covered[400][1] == 1


def _silent(net, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return simulate(net, X, **how)


def test_populations_are_unbiased():
    """Mean and second moment of every layer over many small populations, in standard errors, against the exact ones."""
    kernels = kernel_recursion(HEAVY, HEAVY.first_kernel(jnp.asarray(X)))
    population = Population(HEAVY, kernels, 64)
    keys = jax.random.split(jax.random.key(5), 1500)
    found = jax.jit(lambda keys: jax.lax.map(population, keys, batch_size=50))(keys)
    d, dd = np.asarray(found.d)[:, :, 0], np.asarray(found.dd)[:, :, 0, 0]
    error = np.sqrt(len(keys))
    assert np.abs(d.mean(axis=0) / d.std(axis=0) * error).max() < 4
    assert np.abs((dd.mean(axis=0) - exact_variances(HEAVY)[1:]) / dd.std(axis=0) * error).max() < 4


def test_the_jackknife_of_populations():
    """Populations of one member are plain networks, with their unbiased covariance; errors by leaving out one at a time."""
    net = MLP("tanh", (3, 7, 1))
    d = np.random.default_rng(7).gamma(2.0, size=(20, 1, 3))
    dd = d[..., :, None] * d[..., None, :]
    found = metric_of_populations(net, np.zeros((2, 2, 2)), Estimate(d, dd)).V[1]
    a, b = np.triu_indices(2)
    np.testing.assert_allclose(found.mean[a, b][:, a, b] / 7, np.cov(d[:, 0].T), rtol=1e-12)
    left = np.asarray([np.cov(np.delete(d[:, 0], r, axis=0).T, ddof=0) for r in range(20)])
    error = np.sqrt(19 / 20 * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.standard_error[a, b][:, a, b] / 7, error, rtol=1e-12)


def test_populations_measure_what_single_networks_cannot():
    """V of layer six to a few percent, where the chain scatters by a fifth; trusted, and true within errors."""
    measured = simulate(HEAVY, X, networks=20_000, seed=1, method="population")
    assert (measured.ensemble.method, measured.ensemble.networks) == ("population", 128 * 157)
    V = measured.V[:, 0, 0, 0, 0]
    truth = 8 * exact_variances(HEAVY)
    assert (V.mean[0], V.standard_error[0]) == (0, 0)
    assert np.abs((V.mean - truth)[1:] / V.standard_error[1:]).max() < 4
    assert V.standard_error[-1] < 0.05 * truth[-1]
    assert V.trustworthy.all()


@pytest.mark.measured
def test_coverage_of_populations():
    """A thousand networks of six ReLU layers of width 8: a third of the chain's scatter, and errors that hold."""
    truth = 8 * exact_variances(HEAVY)[-1]
    chain, population = (
        [_silent(HEAVY, networks=1000, seed=seed, method=method).V[-1, 0, 0, 0, 0] for seed in range(60)]
        for method in ("chain", "population")
    )
    cover = [np.mean([abs(V.mean - truth) < 2 * V.standard_error for V in runs]) for runs in (chain, population)]
    assert cover[0] < 0.8
    assert cover[1] > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 60)
    assert np.std([V.mean for V in population]) < 0.5 * np.std([V.mean for V in chain])


def test_populations_of_several_inputs_agree_with_the_chain():
    """Tame networks, where both are sound: every entry of G and V within their joint errors; and the seed decides all."""
    net, x = MLP("tanh", (3, 40, 20, 1), C_b=0.1, C_W=1.4), np.vstack([X, [[0.2, -1.0, 0.6]]])
    chain = simulate(net, x, networks=20_000, seed=3)
    found = simulate(net, x, networks=20_000, seed=4, method="population")
    for name in ("G", "G1", "V"):
        a, b = getattr(chain, name)[1:], getattr(found, name)[1:]
        assert np.abs((a.mean - b.mean) / np.hypot(a.standard_error, b.standard_error)).max() < 4.5, name
        assert (b.standard_error < 2 * a.standard_error).all()
    again = simulate(net, x, networks=20_000, seed=4, method="population", chunk_size=1)
    np.testing.assert_array_equal(again.V.mean, found.V.mean)


def test_populations_have_no_tangent_kernels():
    with pytest.raises(ArgumentError, match="'dense' or 'lazy'"):
        simulate(HEAVY, X, networks=100, method="population", through="ntk")


@pytest.mark.parametrize(
    ("layers", "said"), [([3], "in layer 3"), ([2, 3], "in layers 2-3"), ([2, 4, 5, 6], "in layers 2, 4-6")]
)
def test_layers_in_words(layers, said):
    assert in_layers(layers) == said
