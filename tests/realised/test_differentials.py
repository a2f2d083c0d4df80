"""The differentials of one network's tangent kernel: two routes, a Hessian written out, and steps that are really taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError, ShapeError, UnknownNameError

NET = fw.MLP(
    "tanh",
    (3, 4, 5, 2),
    C_b=[0.3, 0.1, 0.2],
    C_W=[1.3, 1.7, 1.4],
    lambda_b=[0.5, 0.7, 0.2],
    lambda_W=[1.1, 0.6, 1.4],
)
X = np.random.default_rng(3).normal(size=(2, 3))
PARAMS = fw.draw_parameters(NET, 1)


@pytest.fixture(scope="module")
def routes():
    return {
        method: (fw.dntk(NET, PARAMS, X, method=method), *fw.ddntk(NET, PARAMS, X, method=method))
        for method in ("autodiff", "forward")
    }


def test_the_two_routes_agree(routes):
    """PDLT (11.24), (∞.174), (∞.175) are automatic differentiation, every entry, with rates that differ from layer to layer."""
    for by_autodiff, forward in zip(routes["autodiff"], routes["forward"], strict=True):
        np.testing.assert_allclose(forward, by_autodiff, rtol=0, atol=2e-14 * np.abs(by_autodiff).max())
        assert np.abs(by_autodiff).max() > 0.5


def test_against_derivatives_written_out(routes):
    """PDLT (11.8), (∞.5), (∞.7): first, second and third derivatives in all 52 parameters, contracted in plain NumPy."""
    flat, unravel = ravel_pytree(PARAMS)

    def outputs(theta):
        signal, params = jnp.asarray(X), unravel(theta)
        for W, b in zip(params.weights[:-1], params.biases[:-1], strict=True):
            signal = jnp.tanh(signal @ W.T + b)
        return signal @ params.weights[-1].T + params.biases[-1]

    shapes = list(zip(NET.widths[1:], NET.widths[:-1], strict=True))
    of_weights = [np.full(n * m, rate / m) for rate, (n, m) in zip(NET.lambda_W, shapes, strict=True)]
    of_biases = [np.full(n, rate) for rate, (n, _) in zip(NET.lambda_b, shapes, strict=True)]
    rates = np.concatenate([*of_weights, *of_biases])
    with jax.enable_x64(True):
        slope, bend, third = (np.asarray(d(jnp.asarray(flat))) for d in _derivatives(outputs))
    v = rates * slope
    dH = np.einsum("aimn,bjm,ckn->abcijk", bend, v, v)
    first = np.einsum("aimno,bjm,ckn,dlo->abcdijkl", third, v, v, v, optimize=True)
    second = np.einsum("aimo,bjno,o,ckm,dln->abcdijkl", bend, bend, rates, v, v, optimize=True)
    for found, expected in zip(routes["autodiff"], (dH, first, second), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def _derivatives(outputs):
    slope = jax.jacfwd(outputs)
    bend = jax.jacfwd(slope)
    return tuple(map(jax.jit, (slope, bend, jax.jacfwd(bend))))


def test_symmetries(routes):
    """PDLT (11.8): the two first derivatives; PDLT (∞.5): all three; PDLT (∞.7): both pairs together."""
    dH, first, second = routes["autodiff"]
    np.testing.assert_allclose(dH, dH.transpose(0, 2, 1, 3, 5, 4), atol=1e-14)
    np.testing.assert_allclose(first, first.transpose(0, 2, 3, 1, 4, 6, 7, 5), atol=1e-13)
    np.testing.assert_allclose(second, second.transpose(1, 0, 3, 2, 5, 4, 7, 6), atol=1e-13)
    assert np.abs(second - second.transpose(1, 0, 2, 3, 5, 4, 6, 7)).max() > 1e-2


def test_steps_that_are_taken():
    """PDLT (11.4), (11.9), (11.10), (∞.4), (∞.6), (∞.9): what is left falls as the fourth, third and second power of the rate."""
    errors = np.array([[0.4, -0.3], [0.2, 0.6]])
    y = fw.realised.apply(NET, PARAMS, X)[-1] - errors
    before = fw.realised.apply(NET, PARAMS, X)[-1], fw.ntk(NET, PARAMS, X)[-1], fw.dntk(NET, PARAMS, X)
    left = []
    for rate in (0.02, 0.01):
        after = fw.gradient_step(NET, PARAMS, X, y, rate)
        changed = fw.realised.apply(NET, after, X)[-1], fw.ntk(NET, after, X)[-1], fw.dntk(NET, after, X)
        step = fw.realised.one_step(NET, PARAMS, X, errors, rate)
        predicted = step.output, step.ntk, step.dntk
        left.append([np.abs(new - old - p).max() for new, old, p in zip(changed, before, predicted, strict=True)])
    np.testing.assert_allclose(np.log2(np.divide(*left)), [4, 3, 2], atol=0.15)


def test_inputs_that_are_not_trained_on():
    """An error factor of zero: the other input's outputs change all the same, by the same step."""
    both = fw.realised.one_step(NET, PARAMS, X, [[0.4, -0.3], [0.0, 0.0]], 0.05)
    alone = fw.realised.one_step(NET, PARAMS, X[:1], [[0.4, -0.3]], 0.05)
    np.testing.assert_allclose(both.output[:1], alone.output, atol=1e-14)
    np.testing.assert_allclose(both.ntk[:1, :1], alone.ntk, atol=1e-14)
    assert np.abs(both.output[1]).min() > 0


def test_one_layer_is_linear():
    """PDLT (11.26): no differential at all."""
    net = fw.MLP("tanh", (3, 2))
    params = fw.draw_parameters(net, 0)
    for method in ("autodiff", "forward"):
        assert not fw.dntk(net, params, X, method=method).any()
        assert not any(each.any() for each in fw.ddntk(net, params, X, method=method))


def test_kinks():
    """The first differential of a ReLU network exists almost everywhere; the second is refused, PDLT (∞.39)-(∞.44)."""
    net = NET.replace(activation="relu")
    routes = [fw.dntk(net, PARAMS, X, method=method) for method in ("autodiff", "forward")]
    np.testing.assert_allclose(*routes, atol=1e-13)
    with pytest.raises(DomainError, match="whose slope jumps"):
        fw.ddntk(net, PARAMS, X)


def test_bad_input_is_named():
    with pytest.raises(UnknownNameError, match=r"`method`.*autodiff, forward"):
        fw.dntk(NET, PARAMS, X, method="backward")
    with pytest.raises(ShapeError, match="`x`"):
        fw.ddntk(NET, PARAMS, X[:, :2])
    with pytest.raises(ArgumentError, match="params"):
        fw.dntk(NET, None, X)
    with pytest.raises(ShapeError, match=r"`errors`.*shape \(2, 2\)"):
        fw.realised.one_step(NET, PARAMS, X, [[1.0]], 0.1)
    wide = fw.MLP("tanh", (3, 4096, 2))
    with pytest.raises(DomainError, match=r"'forward' for 2 samples and a width of 4096.*'autodiff'"):
        fw.dntk(wide, fw.draw_parameters(wide, 0), X, method="forward")
