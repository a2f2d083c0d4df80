"""The tangent kernel of one network: the forward and the backward equation against autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError, BlowUpError, ShapeError
from finitewidth.networks import MLP
from finitewidth.realised.parameters import Parameters, apply, draw_parameters
from finitewidth.realised.tangent_kernel import ntk, ntk_contributions

NET = MLP(
    "tanh",
    (3, 7, 5, 5, 4),
    C_b=[0.3, 0.1, 0.2, 0.05],
    C_W=[1.3, 1.7, 1.4, 1.2],
    lambda_b=[0.5, 0.7, 0.2, 0.9],
    lambda_W=[1.1, 0.6, 1.4, 0.8],
)
RNG = np.random.default_rng(3)
X1, X2 = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3))


def written_out(net, params, x):
    """The network, PDLT (2.5), in one line a layer."""
    signal, found = x, []
    for W, b in zip(params.weights, params.biases, strict=True):
        found.append(signal @ W.T + b)
        signal = net.activation(found[-1])
    return found


@jax.jit
def by_autodiff(net, params, x1, x2):
    """The kernels of all layers at once, and their split by layer and group, PDLT (8.5): (parameters' layer, samples, neurons)."""

    def jacobians(x):
        return jax.jacrev(lambda params: jnp.concatenate(written_out(net, params, x), axis=1))(params)

    first, second = jacobians(x1), jacobians(x2)
    biases = [
        rate * jnp.einsum("aip,bkp->abik", a, b)
        for rate, a, b in zip(net.lambda_b, first.biases, second.biases, strict=True)
    ]
    weights = [
        rate / n * jnp.einsum("aipq,bkpq->abik", a, b)
        for rate, n, a, b in zip(net.lambda_W, net.widths[:-1], first.weights, second.weights, strict=True)
    ]
    return jnp.stack(biases), jnp.stack(weights)


def blocks(net):
    """Where each layer's neurons stand among all."""
    ends = np.cumsum(net.widths[1:])
    return [slice(end - n, end) for end, n in zip(ends, net.widths[1:], strict=True)]


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_forward_equation_is_autodiff(activation):
    """Every layer, off-diagonal neurons and two sets of inputs; PDLT (8.5), PDLT (8.12)."""
    net = NET.replace(activation=activation)
    params = draw_parameters(net, 1)
    expected = np.asarray(sum(by_autodiff(net, params, X1, X2)).sum(axis=0))
    for H, block in zip(ntk(net, params, X1, X2), blocks(net), strict=True):
        np.testing.assert_allclose(H, expected[:, :, block, block], rtol=0, atol=1e-13 * np.abs(H).max())
    (last,) = ntk(net, params, X1, X2, layers="last")
    output = expected[:, :, blocks(net)[-1], blocks(net)[-1]]
    np.testing.assert_allclose(last, output, rtol=0, atol=1e-13 * np.abs(output).max())


def test_the_last_layer_of_one_layer_and_of_many_inputs():
    """A network without hidden layers; and inputs whose hidden kernels would take 17 GB."""
    one, wide = MLP("relu", (3, 2), lambda_b=0.5), MLP("relu", (3, 128, 128, 1), C_W=2.0)
    for net in (one, wide):
        params = draw_parameters(net, 1)
        full, (last,) = ntk(net, params, X1), ntk(net, params, X1, layers="last")
        np.testing.assert_allclose(last, full[-1], rtol=0, atol=1e-13 * np.abs(last).max())
    many = np.random.default_rng(0).normal(size=(256, 3))
    assert ntk(wide, draw_parameters(wide, 0), many, layers="last")[-1].shape == (256, 256, 1, 1)
    with pytest.raises(ArgumentError, match="`layers`"):
        ntk(one, draw_parameters(one, 0), X1, layers="first")


def test_backward_equation_is_autodiff():
    """The share of every layer's biases and weights in the output's kernel; PDLT (8.16)-(8.18)."""
    params = draw_parameters(NET, 2)
    found = ntk_contributions(NET, params, X1, X2)
    output = blocks(NET)[-1]
    biases, weights = (np.asarray(part)[..., output, output] for part in by_autodiff(NET, params, X1, X2))
    np.testing.assert_allclose(found.biases, biases, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.weights, weights, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.total, ntk(NET, params, X1, X2)[-1], rtol=0, atol=1e-13)


def test_symmetry():
    r"""$H_{i_1i_2;12} = H_{i_2i_1;21}$ exactly, and $H_{i_1i_2;12} \ne H_{i_2i_1;12}$ from the third layer on, PDLT (8.5)."""
    for layer, H in enumerate(ntk(NET, draw_parameters(NET, 4), X1), start=1):
        np.testing.assert_allclose(H, H.transpose(1, 0, 3, 2), rtol=0, atol=1e-14)
        broken = np.abs(H - H.transpose(0, 1, 3, 2))[0, 1].max()
        assert broken < 1e-15 if layer < 3 else broken > 1e-2


def test_first_layer_is_deterministic():
    r"""$\delta_{i_1i_2}(\lambda_b + \lambda_W x\cdot x'/n_0)$ whatever the parameters, PDLT (8.23)."""
    expected = (0.5 + 1.1 * X1 @ X2.T / 3)[..., None, None] * np.eye(7)
    for seed in (0, 1):
        np.testing.assert_allclose(ntk(NET, draw_parameters(NET, seed), X1, X2)[0], expected, atol=1e-15)


def test_parameters_have_their_law():
    """Variances of biases and weights, PDLT (2.19)-(2.20), in standard errors; a seed is a key."""
    net = MLP("tanh", (40, 300, 300), C_b=[0.3, 0.1], C_W=[1.3, 1.7])
    params = draw_parameters(net, 5)
    for layer in range(2):
        W, b = params.weights[layer], params.biases[layer]
        assert abs((W**2).mean() * W.shape[1] / net.C_W[layer] - 1) < 4 * np.sqrt(2 / W.size)
        assert abs((b**2).mean() / net.C_b[layer] - 1) < 4 * np.sqrt(2 / b.size)
    np.testing.assert_array_equal(params.weights[0], draw_parameters(net, jax.random.key(5)).weights[0])


def test_apply_is_the_network():
    """All preactivations, PDLT (2.5), also under `grad`."""
    params = draw_parameters(NET, 6)
    for found, expected in zip(apply(NET, params, X1), written_out(NET, params, X1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    gradient = jax.grad(lambda params: jnp.sum(apply(NET, params, X1)[-1] ** 2))(params)
    assert gradient.weights[0].shape == (7, 3)


def test_float64_whatever_the_global_setting():
    """The caller's 32-bit mode changes nothing."""
    expected = ntk(NET, draw_parameters(NET, 7), X1)[-1]
    with jax.enable_x64(False):
        np.testing.assert_array_equal(ntk(NET, draw_parameters(NET, 7), X1)[-1], expected)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"net": "tanh"}, ArgumentError, "net"),
        ({"net": NET.replace(activation="perceptron")}, ArgumentError, "jumps"),
        ({"params": [1.0]}, ArgumentError, "params"),
        ({"params": Parameters((), ())}, ShapeError, "params.weights"),
        ({"x1": np.zeros((2, 5))}, ShapeError, "x1"),
        ({"x2": np.zeros(3)}, ShapeError, "x2"),
        ({"x2": [[np.nan, 0.0, 0.0]]}, ArgumentError, "x2"),
    ],
)
@pytest.mark.parametrize("function", [ntk, ntk_contributions])
def test_bad_input_is_named(function, change, error, says):
    """Before any work is done."""
    with pytest.raises(error, match=says):
        function(**({"net": NET, "params": draw_parameters(NET, 0), "x1": X1} | change))


def test_blow_up_is_said():
    """Not a NaN."""
    net = MLP("linear", (3, 4, 4, 4), C_W=1e200)
    with pytest.raises(BlowUpError, match="leaves the finite numbers: lower C_W"):
        ntk(net, draw_parameters(net, 0), X1)
