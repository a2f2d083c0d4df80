"""Flows of kinked and steep activations, large inputs, copies, and bounds that a trace cannot look at."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError


def hard_tanh(z):
    return jnp.clip(z, -1, 1)


X = np.array([[1.0, 0.4], [0.3, -1.0]])


def vertex(C_W, C_b, inputs):
    net = fw.MLP(activation=hard_tanh, widths=[2, 5, 5, 5], C_W=C_W, C_b=C_b)
    return fw.flow(net, X[:inputs]).V[-1, 0, 0, 0, 0]


def difference(function, at, step=1e-3):
    return (8 * (function(at + step) - function(at - step)) - function(at + 2 * step) + function(at - 2 * step)) / (
        12 * step
    )


@pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")
@pytest.mark.parametrize("inputs", [1, pytest.param(2, marks=pytest.mark.measured)])
def test_gradients_of_the_vertex_across_kinks(inputs):
    """PDLT (4.119), differentiated: delta functions at the kinks are counted."""
    by_C_W = difference(lambda C_W: vertex(C_W, 0.1, inputs), 1.5)
    by_C_b = difference(lambda C_b: vertex(1.5, C_b, inputs), 0.1)
    gradient = jax.jit(jax.grad(lambda C: vertex(C[0], C[1], inputs)))(np.array([1.5, 0.1]))
    np.testing.assert_allclose(gradient, [by_C_W, by_C_b], rtol=1e-8)


def test_steep_activations():
    """A steep tanh is a sign, PDLT (4.118), up to its width: 1/100 leaves about .8 of it on the diagonal."""
    K = fw.kernel(fw.MLP(activation=lambda z: jnp.tanh(100 * z), widths=[2, 5, 5], C_W=1.0, C_b=0.0), np.eye(2) + 0.3)
    sign = fw.kernel(fw.MLP(activation=jnp.sign, widths=[2, 5, 5], C_W=1.0, C_b=0.0), np.eye(2) + 0.3)
    np.testing.assert_array_equal(K, K.T)
    deviation = np.sqrt((1.3**2 + 0.3**2) / 2)
    # <1 - tanh^2(kz)> = 2 p(0)/k + O(k^-3), with the density at zero
    np.testing.assert_allclose(1 - np.diagonal(K), 2 / (100 * deviation * np.sqrt(2 * np.pi)), rtol=1e-3)
    assert abs(K[0, 1] - sign[0, 1]) < 1e-4
    with pytest.raises(DomainError, match="oscillates"):
        fw.kernel(fw.MLP(activation=lambda z: jnp.sin(50 * z), widths=[2, 5, 5]), np.eye(2))


@pytest.mark.parametrize("activation", ["tanh", pytest.param("arctan", marks=pytest.mark.measured), "erf", "gelu"])
def test_copies_of_large_inputs(activation):
    """An input and its copy are one, however large, by quadrature and in closed form."""
    x = 1e4 * np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.8]])
    theta = fw.frozen_ntk(fw.MLP(activation=activation, widths=[2, 5, 5, 5], C_W=1.5, C_b=0.1), x)
    np.testing.assert_allclose(theta[0, 1], theta[0, 0], rtol=1e-12)
    np.testing.assert_allclose(theta[0, 2], theta[1, 2], rtol=1e-12)


def test_a_bound_that_does_not_hold():
    """Under `jit` rules are chosen before the kernel is known: beyond their bound there is an error, not a wrong digit."""
    net = fw.MLP(activation="tanh", widths=[2, 5, 5, 5], C_W=1.5, C_b=0.1)
    kernel = jax.jit(lambda scale: fw.kernel(net, scale * jnp.asarray(X)))
    np.testing.assert_allclose(kernel(1.0), fw.kernel(net, X), rtol=1e-12)
    with pytest.raises(Exception, match="exceeds 4"):
        jax.block_until_ready(kernel(100.0))
    wide = jax.jit(lambda scale: fw.flow(net, scale * jnp.asarray(X), through="kernel", traced_variance=1e4).K)
    np.testing.assert_allclose(wide(100.0), fw.flow(net, 100 * X, through="kernel").K, rtol=1e-10)
    for bound in (-1.0, np.nan):
        with pytest.raises(DomainError, match="traced_variance"):
            fw.flow(net, X, traced_variance=bound)
    closed = fw.MLP(activation="relu", widths=[2, 5, 5, 5])  # needs no rule
    doubled = jax.jit(lambda scale: fw.kernel(closed, scale * jnp.asarray(X)))
    np.testing.assert_allclose(doubled(100.0), fw.kernel(closed, 100 * X), rtol=1e-12)


def test_infinite_slopes_have_no_tangent_kernel():
    """Of roots the kernel exists, the tangent kernel does not; a continuous root is not said to jump."""
    net = fw.MLP(activation=lambda z: jnp.sign(z) * jnp.sqrt(jnp.abs(z)), widths=[2, 5, 5])
    assert np.isfinite(fw.kernel(net, X)).all()
    with pytest.raises(DomainError, match="infinitely steep"):
        fw.frozen_ntk(net, X)


def test_kernels_beyond_which_the_mean_tangent_kernel_loses_digits():
    """GELU has no closed form of H1: above a kernel of 1e6 this is said, below and for ReLU it is not."""
    net = fw.MLP("gelu", (1, 1000, 1), C_W=1.0)
    fw.flow(net, kernel=[[0.9e6]], through="ntk")
    with pytest.warns(fw.ValidityWarning, match=r"reaches 1\.1e\+06.*H1.*below 1e\+06"):
        fw.flow(net, kernel=[[1.1e6]], through="ntk")
    fw.flow(net.replace(activation="relu"), kernel=[[1.1e6]], through="ntk")


@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("distance", [1e-6, 1e-7])
def test_the_vertex_of_inputs_that_nearly_coincide(features, distance):
    """It tends to that of inputs that do, in proportion to the distance. What tells them apart is rounding among four variables, and
    once put the vertex wrong by two per cent."""
    net = fw.MLP(activation="tanh", widths=(features, 64, 64, 64, 1), C_W=1.0)
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=(4, features))
        at_one = x.copy()
        at_one[1] = at_one[0]
        x[1] = x[0] + distance * x[1]
        V, limit = fw.flow(net, x).V[-1], fw.flow(net, at_one).V[-1]
        assert np.abs(V - limit).max() < 10 * distance * np.abs(limit).max()
