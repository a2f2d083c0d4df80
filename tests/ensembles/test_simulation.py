"""The three ways to simulate agree with exact results, with each other, and with themselves."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from finitewidth._errors import ArgumentError, BlowUpError, DomainError, ShapeError, UnknownNameError
from finitewidth.ensembles import simulate
from finitewidth.ensembles.measured import measured_metric
from finitewidth.ensembles.samplers import METHODS
from finitewidth.ensembles.simulation import add_lane
from finitewidth.ensembles.tally import new_tally
from finitewidth.networks import MLP
from finitewidth.results import Ensemble, Flow

NET = MLP("tanh", (3, 12, 8, 8, 1), C_b=[0.1, 0.0, 0.2, 0.1], C_W=[1.0, 1.2, 1.5, 0.8])
LINEAR = MLP("linear", (3, 5, 9, 1), C_W=0.9)
X = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])


def leaves(measured):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(measured)]


def assert_identical(first, second):
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def z_scores(measured, expected):
    return (measured.mean - expected) / measured.standard_error


@pytest.mark.parametrize("method", METHODS)
def test_linear_networks_with_many_inputs_exactly(method):
    r"""$E[\hat G_{12}\hat G_{34}]$ of a deep linear network at any widths, all index patterns; PDLT (3.25), PDLT (4.76)."""
    widths, C_W = LINEAR.widths, 0.9
    measured = simulate(LINEAR, X, networks=40_000, method=method)
    G0 = X @ X.T / 3
    A, B, C = (np.einsum(f"{s},{t}->abcd", G0, G0) for s, t in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")))
    scores = []
    for layer in (2, 3):
        inner = np.asarray(widths[1:layer])
        second = (A + B + C) / 3 * np.prod(1 + 2 / inner) + (2 * A - B - C) / 3 * np.prod(1 - 1 / inner)
        V = widths[layer - 1] * C_W ** (2 * layer) * (second - A)
        scores += [z_scores(measured.V[layer - 1], V), z_scores(measured.G[layer - 1], C_W**layer * G0)]
        scores += [z_scores(measured.G1[layer - 1], 0.0)]
    assert max(np.abs(score).max() for score in scores) < 4.5
    np.testing.assert_allclose(measured.G.mean[0], C_W * G0, rtol=1e-14)


def test_second_layer_exactly():
    """G and V of layer 2 are exact at any width, by quadrature over two neurons' inputs; PDLT (4.37), PDLT (4.40)."""
    measured = simulate(NET, X, networks=40_000, seed=5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    root = np.linalg.cholesky(np.asarray(NET.first_kernel(X)))
    u = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel() / weights.sum() ** 2
    s = np.tanh(u @ root.T)
    pairs = s[:, :, None] * s[:, None, :]
    mean = np.einsum("q,qab->ab", w, pairs)
    covariance = np.einsum("q,qab,qcd->abcd", w, pairs - mean, pairs - mean)
    assert np.abs(z_scores(measured.G[1], 1.2 * mean)).max() < 4
    assert np.abs(z_scores(measured.V[1], 1.44 * covariance)).max() < 4
    assert np.abs(z_scores(measured.G1[1], 0.0)).max() < 4


@pytest.mark.measured
def test_methods_agree():
    """Chain, dense and lazy differ by less than their errors; PDLT (4.69)-(4.70)."""
    chain, dense, lazy = (simulate(NET, X, networks=40_000, seed=seed, method=m) for seed, m in enumerate(METHODS))
    for (first, second), field in itertools.product(((chain, dense), (dense, lazy), (lazy, chain)), ("G", "V", "G1")):
        a, b = (getattr(measured, field)[1:] for measured in (first, second))
        assert np.abs((a.mean - b.mean) / np.hypot(a.standard_error, b.standard_error)).max() < 4.5


def test_first_layer_does_not_fluctuate():
    """The first metric is the kernel itself: no vertex, no correction, no error; PDLT (4.8)."""
    measured = simulate(NET, X, networks=40_000)
    np.testing.assert_array_equal(measured.G.mean[0], NET.first_kernel(X))
    for figures in (measured.G.standard_error, measured.V.mean, measured.V.standard_error):
        assert not figures[0].any()
    assert not measured.G1.mean[0].any()
    assert not measured.G1.standard_error[0].any()


def test_shapes_and_symmetries():
    """Same fields as theory: V symmetric in and between pairs, and positive semi-definite; PDLT (4.76)."""
    measured = simulate(NET, X, networks=40_000)
    assert isinstance(measured, Flow)
    assert measured.G.mean.shape == measured.G1.standard_error.shape == (4, 2, 2)
    assert measured.V.mean.shape == (4, 2, 2, 2, 2)
    assert measured.V.mean.dtype == np.float64
    assert (measured.net, measured.ensemble) == (NET, Ensemble(40_000, 0, "chain"))
    for V in (measured.V.mean, measured.V.standard_error):
        np.testing.assert_array_equal(V, V.transpose(0, 2, 1, 3, 4))
        np.testing.assert_allclose(V, V.transpose(0, 3, 4, 1, 2), rtol=1e-12)
    assert np.linalg.eigvalsh(measured.V.mean.reshape(4, 4, 4)).min() > -1e-12
    np.testing.assert_allclose(measured.G1.standard_error[2], 8 * measured.G.standard_error[2], rtol=1e-14)


def test_a_network_of_one_layer_needs_no_sampling():
    """All is exact there."""
    measured = simulate(MLP("tanh", (3, 4)), X, networks=10)
    np.testing.assert_allclose(measured.G.mean, [X @ X.T / 3], rtol=1e-14)
    assert not measured.V.mean.any()


def test_standard_errors_are_honest():
    """Over 300 independent runs deviations from the exact second layer have unit variance; PDLT (4.40)."""
    net = MLP("linear", (3, 10, 1))
    K = X @ X.T / 3
    V = np.einsum("ac,bd->abcd", K, K) + np.einsum("ad,bc->abcd", K, K)
    sampler = METHODS["chain"](net, jnp.asarray(X))
    start = new_tally(jax.eval_shape(sampler, jax.random.key(0)), jnp.asarray([K, K]), None)

    def run(seed):
        tally = add_lane(start, sampler, jax.random.key(seed), 0, 1024, 1024)
        return measured_metric(net, jnp.asarray([K, K]), tally, 1024)

    runs = [run(seed) for seed in range(300)]
    for scores in ([z_scores(run.G[1], K) for run in runs], [z_scores(run.V[1], V) for run in runs]):
        scores = np.asarray(scores)
        assert np.abs(scores.mean(axis=0)).max() < 0.35  # a ratio of correlated averages is a little skewed
        assert np.abs(scores.var(axis=0) - 1).max() < 4 * np.sqrt(2 / 300)
    errors = np.asarray([run.V.mean[1] - V for run in runs])
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0) * np.sqrt(300)).max() < 4  # V itself is unbiased


@pytest.mark.parametrize("method", METHODS)
def test_bit_identical_whatever_the_chunk_size(method):
    """Chunks set the rhythm of reports, never the result."""
    run = {
        size: simulate(LINEAR, X, networks=10_000, method=method, chunk_size=size) for size in (1, 4097, 10**6, None)
    }
    for size in (1, 4097, 10**6):
        assert_identical(run[size], run[None])


def test_seeds_matter():
    """And nothing else is random."""
    assert_identical(simulate(NET, X, networks=10_000, seed=3), simulate(NET, X, networks=10_000, seed=3))
    assert not np.array_equal(
        simulate(NET, X, networks=10_000, seed=3).G.mean, simulate(NET, X, networks=10_000, seed=4).G.mean
    )


def test_widths_share_compiled_code():
    """Chains that differ in widths and hyperparameters only do not compile again."""
    simulate(NET, X, networks=10_000)
    programs = []

    def listen(event, *_, fun_name="", **__):
        if event.endswith("backend_compile_duration"):
            programs.append(fun_name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        simulate(NET.replace(widths=(3, 11, 14, 9, 5), C_W=1.1), 2 * X, networks=9_999, seed=8)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert not [name for name in programs if "add_lane" in name]


def test_float64_whatever_the_global_setting():
    """The caller's 32-bit mode changes nothing and is left alone."""
    expected = simulate(NET, X, networks=10_000)
    with jax.enable_x64(False):
        assert_identical(simulate(NET, X, networks=10_000), expected)


@pytest.mark.measured
def test_a_run_on_duplicated_and_dependent_inputs():
    """Singular kernels: all V components of duplicated inputs agree; PDLT (4.76)."""
    x = np.stack([X[0], X[0], -X[0]])
    for method in ("chain", "lazy"):
        measured = simulate(MLP("tanh", (3, 12, 12, 1)), x, networks=4096, method=method)
        V = measured.V.mean[2]
        np.testing.assert_allclose(V[0, 0, 0, 0], V[0, 1, 1, 1], rtol=1e-9)
        np.testing.assert_allclose(V[0, 0, 0, 0], -V[0, 2, 2, 2], rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"networks": 0}, DomainError, "networks"),
        ({"networks": 1}, DomainError, ">= 2"),
        ({"networks": 2.5}, DomainError, "networks"),
        ({"networks": 2**32}, DomainError, "networks"),
        ({"seed": -1}, DomainError, "seed"),
        ({"seed": 2**63}, DomainError, "seed"),
        ({"seed": "a"}, DomainError, "seed"),
        ({"seed": None}, DomainError, "seed"),
        ({"method": "lasy"}, UnknownNameError, "did you mean 'lazy'"),
        ({"through": "ntks"}, UnknownNameError, "did you mean 'ntk'"),
        ({"through": 3}, UnknownNameError, "through"),
        ({"through": "ntk", "method": "chain"}, ArgumentError, "'dense' or 'lazy'"),
        ({"method": ["chain"]}, UnknownNameError, "method"),
        ({"chunk_size": 0}, DomainError, "chunk_size"),
        ({"x": [[1.0, 2.0]]}, ShapeError, "x"),
        ({"x": [[1.0, np.nan, 0.0]]}, DomainError, "x"),
        ({"net": "tanh"}, ArgumentError, "net"),
        ({"checkpoint": "no/such/folder/run.npz"}, ArgumentError, "checkpoint"),
        ({"checkpoint": 3}, ArgumentError, "checkpoint"),
    ],
)
def test_bad_input_is_named(change, error, says):
    """Before any work is done."""
    arguments = {"net": NET, "x": X, "networks": 4096} | change
    with pytest.raises(error, match=says):
        simulate(**arguments)


@settings(max_examples=150, deadline=None)
@given(
    argument=st.sampled_from(["networks", "seed", "method", "chunk_size", "x", "checkpoint"]),
    value=st.one_of(
        st.floats(),
        st.text(max_size=5),
        st.integers(-(10**9), -1),
        st.lists(st.floats(), max_size=3),
        st.just({}),
        st.just(b""),
    ),
)
def test_any_bad_input_is_an_argument_error(argument, value):
    """Whatever comes, an error of the library that names the argument."""
    if argument in ("checkpoint", "x") and isinstance(value, str | bytes):
        value = 1.5
    with pytest.raises(ArgumentError, match=argument):
        simulate(**({"net": NET, "x": X, "networks": 4096} | {argument: value}))


def test_blow_up_says_where():
    """A kernel that leaves the finite numbers is an error with the layer's number, not a NaN."""
    net = MLP("exp", (3, 4, 4, 4, 4, 1), C_W=1.0)
    with pytest.raises(BlowUpError, match="layer"):
        simulate(net, 3 * X, networks=4096)


def test_blow_up_of_single_networks_says_where():
    """The mean kernel may be finite where a metric of a narrow network overflows."""
    net = MLP("exp", (3, 2, 2, 1), C_W=[1.0, 100.0, 1e-3])
    with pytest.raises(BlowUpError, match="layer 3"):
        simulate(net, X, networks=4096)
