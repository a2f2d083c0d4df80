"""Results of theory and of measurement: the same class, the same fields, meaning the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
import made_up
from finitewidth._errors import ArgumentError, DomainError
from finitewidth.results import Ensemble, Flow, Measurement, Metric, as_flow

NET = fw.MLP("tanh", (2, 6, 5, 1), C_b=0.1, C_W=1.3)
X = np.array([[1.0, 0.4], [-0.3, 0.8]])


@pytest.fixture(scope="module")
def theory():
    return fw.flow(NET, X)


@pytest.fixture(scope="module")
def measured():
    return fw.simulate(NET, X, networks=4000, seed=2)


def test_the_kernel_is_that_of_infinite_width_on_both_sides(theory, measured):
    """PDLT (4.118): `K` is known exactly, and no measurement of it is made."""
    np.testing.assert_allclose(measured.K, theory.K, rtol=1e-10)
    assert (theory.ensemble, measured.ensemble) == (None, Ensemble(4000, 2, "chain"))
    assert type(theory) is type(measured) is Flow
    assert eqx.tree_equal(measured.net, theory.net)


def test_a_field_means_the_same_on_both_sides(theory, measured):
    """PDLT (4.70), (4.104): measured means of $z_iz_i$ are `G`, their covariance over $1/n$ is `V`; in theory to leading order."""
    for name, gap in (("G", 0.02), ("V", 0.25)):  # what the next orders in 1/n leave, as a part of the largest entry
        expected, found = getattr(theory, name), getattr(measured, name)
        assert expected.shape == found.mean.shape == found.standard_error.shape
        allowed = 4.5 * found.standard_error + gap * np.abs(expected).max()
        assert (np.abs(found.mean - expected) <= allowed).all(), name


@pytest.mark.parametrize("side", ["theory", "measured"])
def test_corrections_and_means_agree_with_each_other(side, request):
    r"""PDLT (4.104): $G = K + G^{\{1\}}/n$ in theory, and $G^{\{1\}} = n(G - K)$ when it is measured."""
    flow = request.getfixturevalue(side)
    G, g1, v, V = (part.mean if side == "measured" else part for part in (flow.G, flow.g1, flow.v, flow.V))
    np.testing.assert_allclose(G, flow.K + g1, rtol=1e-12)
    np.testing.assert_allclose(v * np.array([2, 6, 5]).reshape(-1, 1, 1, 1, 1), V, rtol=1e-14)


def test_relative_fluctuation_on_both_sides():
    r"""$V_{(\alpha\alpha)(\alpha\alpha)}/(nK_{\alpha\alpha}^2)$, and its standard error with it."""
    theory = made_up.theory()
    found, measured = theory.relative_fluctuation, made_up.perfect(theory).relative_fluctuation
    n, same = np.array([2, 8, 4]), range(2)
    expected = np.stack([theory.V[:, a, a, a, a] / (n * theory.K[:, a, a] ** 2) for a in same], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(measured.mean, expected, rtol=1e-14)
    errors = np.stack([made_up.ERRORS["V"] / (n * theory.K[:, a, a] ** 2) for a in same], axis=1)
    np.testing.assert_allclose(measured.standard_error[1:], errors[1:], rtol=1e-14)
    np.testing.assert_array_equal(measured.standard_error[0], 0)


@pytest.mark.parametrize(
    ("field", "what_to_call"),
    [
        ("V", r"`flow` with through='vertex'"),
        ("relative_fluctuation", r"or by `simulate`"),
        ("Theta", r"`flow` or `simulate` with through='ntk'"),
        ("relative_tangent_fluctuation", r"through='ntk'"),
        ("P", r"`flow` or `simulate` with through='dntk'"),
        ("Q", r"without its group `differential`"),
        *((name, r"without its group `second_differential`.*through='ddntk'") for name in "RSTU"),
        ("six_point", r"`flow` with next_order=True"),
    ],
)
def test_a_group_that_was_not_computed(field, what_to_call):
    """The error says which group is missing and which call computes it."""
    bare = Flow(NET, made_up.theory().K)
    with pytest.raises(DomainError, match=what_to_call):
        getattr(bare, field)


def test_a_measurement_is_no_theory(measured):
    """Functions that take a theory refuse a measurement, by name."""
    with pytest.raises(ArgumentError, match=r"`flow`: got a measured flow.*`flow\(net, x\)`"):
        as_flow(measured)
    with pytest.raises(ArgumentError, match="got NoneType"):
        as_flow(None)
    with pytest.raises(ArgumentError, match="a measured flow"):
        _ = measured.relative_tangent_fluctuation


def test_parts_of_a_measurement():
    """Figures and errors are chosen together; a single entry is still a measurement."""
    found = Measurement(np.arange(6.0).reshape(2, 3), np.ones((2, 3)))
    np.testing.assert_array_equal(found[1].mean, [3, 4, 5])
    one = found[1, 2]
    assert (one.mean.shape, float(one.mean), float(one.standard_error)) == ((), 5.0, 1.0)
    doubled = found.map(lambda part: 2 * part)
    np.testing.assert_array_equal(doubled.mean, 2 * found.mean)
    np.testing.assert_array_equal(doubled.standard_error, 2)


@pytest.mark.parametrize(
    "make", [made_up.theory, lambda: made_up.perfect(made_up.theory())], ids=["theory", "measured"]
)
def test_results_are_pytrees(make):
    """Taken apart and put together again nothing is lost; what was not computed has no leaves."""
    flow = make()
    leaves, structure = jax.tree.flatten(flow)
    again = jax.tree.unflatten(structure, leaves)
    assert eqx.tree_equal(flow, again)
    assert (again.net.widths, again.ensemble, again.tangent) == (flow.net.widths, flow.ensemble, None)
    doubled = jax.tree.map(lambda leaf: 2 * leaf, flow.metric)
    assert isinstance(doubled, Metric)
    np.testing.assert_array_equal(jax.tree.leaves(doubled)[2], 2 * jax.tree.leaves(flow.metric)[2])


def test_numpy_outside_of_a_trace_and_traced_inside(theory):
    """A user gets NumPy's arrays; inside the user's own `jit` the same fields are traced."""
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves((theory.K, theory.metric)))
    seen = []

    @jax.jit
    def last_vertex(x):
        inside = fw.flow(NET, x)
        seen.extend(isinstance(leaf, jax.core.Tracer) for leaf in (inside.K, inside.V, inside.G1, inside.v))
        return inside.relative_fluctuation[-1]

    np.testing.assert_allclose(last_vertex(jnp.asarray(X)), theory.relative_fluctuation[-1], rtol=1e-9)
    assert seen == [True] * 4


def test_effective_networks_of_parts():
    """Networks behind an error are chosen with it, and are not scaled; ten of them are trusted."""
    count = np.array([[4.0, 9.99, 10.0], [50.0, 1.0, 300.0]])
    found = Measurement(np.zeros((2, 3)), np.ones((2, 3)), count)
    np.testing.assert_array_equal(found.trustworthy, count >= 10)
    np.testing.assert_allclose((found[1].map(lambda part: 0.3 * part)).effective_networks, count[1], rtol=1e-15)
    assert not found[1, 1].trustworthy
    unknown = Measurement(np.zeros(2), np.ones(2))
    assert unknown[0].effective_networks is None
    assert unknown.trustworthy.all()
