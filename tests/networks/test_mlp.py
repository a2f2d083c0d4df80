"""The description of a network, and everything that may be wrong with one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import finitewidth as fw


def test_parameters_of_figure_2_1():
    """PDLT (2.7): four inputs, three hidden layers of five, one output: 91 parameters."""
    assert fw.MLP("tanh", (4, 5, 5, 5, 1)).parameters == 91


def test_properties():
    """Depth, widths, the expansion parameter, replacement."""
    net = fw.MLP("gelu", [3, 10, 20, 1], C_b=[0.1, 0.2, 0.3], C_W=2.0)
    assert (net.depth, net.hidden_widths) == (3, (10, 20))
    assert net.depth_over_width == pytest.approx(0.15)
    np.testing.assert_array_equal(net.replace(C_W=1.0).C_W, [1, 1, 1])
    np.testing.assert_array_equal(net.replace(C_W=1.0).C_b, [0.1, 0.2, 0.3])
    assert "gelu" in repr(net)


def test_is_a_pytree_with_hyperparameters_as_leaves():
    """Networks pass through jit and grad; widths and activation are static."""
    net = fw.MLP("tanh", (3, 4, 1), C_b=0.1)
    assert len(jax.tree.leaves(net)) == 4
    assert jax.jit(lambda net: net.C_W.sum())(net) == 2.0


def test_global_precision_is_left_alone():
    """Top-level calls compute in float64 in 32-bit mode, too, and leave the mode as it was."""
    with jax.enable_x64(False):
        theory = fw.flow(fw.MLP("tanh", (2, 8, 1)), [[1.0, 0.5]])
        assert theory.K.dtype == np.float64
        assert jnp.ones(1).dtype == jnp.float32
        with pytest.raises(fw.ArgumentError, match="enable_x64"):
            jax.grad(lambda x: fw.flow(fw.MLP("tanh", (2, 8, 1)), x).K[-1, 0, 0])(jnp.ones((1, 2)))


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"widths": (3,)}, "widths"),
        ({"widths": 3}, "widths"),
        ({"widths": (3, 0, 1)}, r"widths\[1\]"),
        ({"widths": (3, 2.5, 1)}, r"widths\[1\]"),
        ({"widths": (3, -1)}, r"widths\[1\]"),
        ({"C_b": -0.1}, "C_b"),
        ({"C_W": [1.0, -1.0]}, "C_W"),
        ({"C_W": [1.0, 1.0, 1.0]}, "C_W"),
        ({"C_W": float("nan")}, "C_W"),
        ({"C_W": "large"}, "C_W"),
        ({"C_b": 1j}, "C_b"),
        ({"C_b": None}, "C_b"),
    ],
)
def test_bad_networks_are_refused(arguments, argument):
    """Widths below one, negative or non-finite variances, wrong numbers of layers."""
    with pytest.raises(fw.ArgumentError, match=argument):
        fw.MLP(**({"activation": "tanh", "widths": (3, 4, 1)} | arguments))


NET = fw.MLP("tanh", (2, 8, 8, 1))
BAD_INPUTS = {
    "vector": np.ones(2),
    "empty": np.ones((0, 2)),
    "too many features": np.ones((1, 3)),
    "nan": [[np.nan, 1.0]],
    "infinite": [[np.inf, 1.0]],
    "zero": [[0.0, 0.0], [1.0, 1.0]],
    "text": [["a", "b"]],
    "ragged": [[1.0], [1.0, 2.0]],
    "complex": [[1j, 1.0]],
    "none": None,
    "ragged, of JAX": [jnp.ones(2), jnp.ones(3)],
    "keys": jax.random.key(0),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
@pytest.mark.parametrize("call", [fw.flow, lambda net, x: fw.simulate(net, x, networks=4)], ids=["flow", "simulate"])
def test_bad_inputs_are_refused(call, case):
    """Shapes, non-finite and zero inputs: an error that names the argument."""
    with pytest.raises(fw.ArgumentError, match="`x`"):
        call(NET, BAD_INPUTS[case])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
        ([[1.0, 0.5], [0.1, 1.0]], "symmetric"),
        ([1.0, 2.0], "square"),
        ([[np.nan]], "finite"),
    ],
)
def test_bad_kernels_are_refused(kernel, message):
    """A first-layer kernel must be a covariance."""
    with pytest.raises(fw.ArgumentError, match=message):
        fw.flow(NET, kernel=kernel)


@pytest.mark.parametrize(
    "call",
    [
        fw.flow,
        fw.kernel,
        fw.frozen_ntk,
        fw.expansion.tangent_contributions,
        fw.exact.exact_tangent_flow,
        fw.exact.deep_linear,
        fw.diagnose_gradients,
        fw.advice.equivalence_rates,
        lambda net, x: fw.advice.equivalence_rates(net),
        lambda net, x: fw.tune(net),
        lambda net, x: fw.learning_rates(net),
        lambda net, x: fw.advice.standard_rates(net),
        lambda net, x: fw.draw_parameters(net, 0),
        fw.simulate,
        fw.ntk_samples,
        fw.report,
    ],
)
def test_what_is_no_network_is_refused(call):
    """An activation in place of the network, say."""
    with pytest.raises(fw.ArgumentError, match=r"`net`: got (a )?str; expected an? (MLP|Network)"):
        call("tanh", np.ones((1, 2)))


def test_blow_up_is_said():
    """A kernel that leaves the numbers is an error that names the layer, not a NaN."""
    with pytest.raises(fw.BlowUpError, match="layer"):
        fw.flow(fw.MLP("exp", (1, *[8] * 10, 1), C_W=2.0), [[3.0]])
    with pytest.raises(fw.BlowUpError, match="layer"):
        fw.flow(fw.MLP("relu", (1, *[8] * 900, 1), C_W=8.0), [[3.0]], through="kernel")
    with pytest.raises(fw.BlowUpError, match="layer 2"):
        fw.flow(fw.MLP("tanh", (1, 8, 8, 1), C_W=[1.0, 0.0, 1.0]), [[3.0]])


def test_unknown_options_are_refused():
    """Names of methods and depths of expansion suggest the nearest."""
    with pytest.raises(fw.UnknownNameError, match="kernel"):
        fw.flow(NET, [[1.0, 2.0]], through="kernl")
    with pytest.raises(fw.ArgumentError, match="either inputs or a first-layer kernel"):
        fw.flow(NET)


numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@settings(max_examples=1000, deadline=None)
@given(
    widths=st.lists(st.integers(-2, 5), min_size=0, max_size=4),
    C_b=numbers,
    C_W=numbers,
)
def test_a_network_is_valid_or_refused(widths, C_b, C_W):
    """Thousands of descriptions: either a network with finite non-negative variances, or an ArgumentError."""
    try:
        net = fw.MLP("tanh", widths, C_b=C_b, C_W=C_W)
    except fw.ArgumentError:
        assert len(widths) < 2 or min(widths) < 1 or not (0 <= C_b < np.inf and 0 <= C_W < np.inf)
    else:
        assert np.isfinite(net.C_W).all()
        assert (np.asarray(net.C_b) >= 0).all()


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=3))
def test_inputs_give_a_kernel_or_an_error(x):
    """Thousands of inputs: a positive diagonal, or an ArgumentError that names `x`."""
    values = np.asarray(x, dtype=float)
    if np.isfinite(values).all() and (values**2).sum(axis=1).min() > 0:
        assert (np.diagonal(NET.first_kernel(x)) > 0).all()
    else:
        with pytest.raises(fw.ArgumentError, match="`x`"):
            NET.first_kernel(x)
