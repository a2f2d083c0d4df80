"""The description of a residual network, and its kernel at infinite width."""

import jax
import numpy as np
import pytest

import finitewidth as fw


def net(**changes):
    return fw.ResidualMLP(**({"activation": "tanh", "width": 8, "depth": 4, "gamma": 0.6, "inputs": 2} | changes))


def test_shape():
    """Depth counts all layers; a readout is asked for by its outputs."""
    plain, read = net(), net(outputs=3)
    assert plain.widths == (2, 8, 8, 8, 8)
    assert read.widths == (2, 8, 8, 8, 3)
    np.testing.assert_array_equal(plain.layers.skip, [0, 0.6, 0.6, 0.6])
    np.testing.assert_array_equal(read.layers.skip, [0, 0.6, 0.6, 0])
    assert net(inputs=None).widths == (8, 8, 8, 8, 8)
    assert plain.depth_over_width == pytest.approx(3 / 8)
    assert "gamma=0.6" in repr(plain)
    assert "outputs=3" in repr(read)


def test_is_a_network_like_others(tmp_path):
    """Pytree, replacement, saving."""
    assert len(jax.tree.leaves(net())) == 5
    np.testing.assert_array_equal(net().replace(C_W=2.0).C_W, [2.0] * 4)
    path = tmp_path / "net.fw"
    fw.save(net(gamma=-0.3, outputs=2), path)
    assert repr(fw.load(path)) == repr(net(gamma=-0.3, outputs=2))


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"width": 0}, "width"),
        ({"depth": 0}, "depth"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": [0.1, 0.2]}, "gamma"),
        ({"gamma": "strong"}, "gamma"),
        ({"inputs": 0}, "inputs"),
        ({"outputs": -1}, "outputs"),
        ({"C_W": [1.0, 1.0]}, "C_W"),
    ],
)
def test_bad_arguments_are_named(change, argument):
    """Every error is a ValueError that names its argument."""
    with pytest.raises(ValueError, match=f"`{argument}`"):
        net(**change)


def test_kernel_is_the_recursion():
    """PDLT (B.11): K' = C_b + C_W <sigma sigma> + gamma^2 K, by quadrature on a grid of NumPy's; the readout has no skip."""
    x = np.array([[1.0, 0.3], [-0.4, 0.8]])
    network = net(C_b=[0.1, 0.2, 0.0, 0.3], C_W=[1.5, 0.7, 0.9, 1.2], outputs=1)
    u = np.linspace(-8, 8, 401)
    weights = np.exp(-(u**2) / 2)
    weights /= weights.sum()
    K = 0.1 + 1.5 * x @ x.T / 2
    expected = [K]
    for C_b, C_W, gamma in ((0.2, 0.7, 0.6), (0.0, 0.9, 0.6), (0.3, 1.2, 0.0)):
        root = np.linalg.cholesky(K)
        one = np.tanh(root[0, 0] * u[:, None] + 0 * u)
        two = np.tanh(root[1, 0] * u[:, None] + root[1, 1] * u)
        signals = np.stack([one, two])
        average = np.einsum("aij,bij,i,j->ab", signals, signals, weights, weights)
        K = C_b + C_W * average + gamma**2 * K
        expected.append(K)
    np.testing.assert_allclose(fw.flow(network, x, through="kernel").K, expected, rtol=1e-10)
    np.testing.assert_allclose(fw.kernel(network, x), expected[-1], rtol=1e-10)
    np.testing.assert_allclose(fw.flow(network, kernel=expected[0], through="kernel").K, expected, rtol=1e-10)


def test_without_skip_it_is_an_mlp():
    """At gamma = 0 kernel and tangent kernel are those of an MLP."""
    x = np.array([[1.0, 0.3], [-0.4, 0.8]])
    mlp = fw.MLP("tanh", (2, 8, 8, 8, 8), C_b=0.1, lambda_b=0.5)
    one = net(gamma=0.0, C_b=0.1, lambda_b=0.5)
    np.testing.assert_allclose(fw.kernel(one, x), fw.kernel(mlp, x), rtol=1e-14)
    np.testing.assert_allclose(fw.frozen_ntk(one, x), fw.frozen_ntk(mlp, x), rtol=1e-14)


def test_critical_line_keeps_the_kernel():
    """PDLT (B.20): C_W = (1 - gamma^2)/A_2 keeps every kernel of ReLU, whatever gamma."""
    for gamma in (0.9, -0.5):
        network = fw.ResidualMLP("relu", 8, 30, gamma, C_W=2 * (1 - gamma**2))
        np.testing.assert_allclose(fw.flow(network, kernel=[[1.7]], through="kernel").K, 1.7, rtol=1e-13)


def test_gradients_in_gamma():
    """Differentiable in gamma: dK/dgamma of two ReLU layers is 2 gamma K."""
    with jax.enable_x64(True):
        slope = jax.grad(
            lambda g: fw.kernel(fw.ResidualMLP("relu", 8, 2, g, C_W=[2.0, 1.0], inputs=1), np.ones((1, 1)))[0, 0]
        )(0.7)
    assert slope == pytest.approx(2 * 0.7 * 2.0)


@pytest.mark.parametrize("verb", [fw.draw_parameters, fw.exact.deep_linear, fw.ntk_samples])
def test_verbs_that_do_not_know_it_refuse(verb):
    """Nothing takes a residual network for one without skips."""
    with pytest.raises(fw.ArgumentError, match="an MLP"):
        verb(net(), np.ones((1, 2)))


def test_features_that_were_left_open_are_those_of_the_inputs():
    x = np.array([[1.0, 0.5, -0.2], [0.3, -1.0, 0.7]])
    left_open = fw.ResidualMLP("relu", width=64, depth=3, gamma=0.7, C_W=1.0)
    given = left_open.replace(inputs=3)
    theory, measured = fw.flow(left_open, x), fw.simulate(left_open, x, networks=400)
    np.testing.assert_array_equal(theory.V, fw.flow(given, x).V)
    assert theory.net.widths == measured.net.widths == (3, 64, 64, 64)
    np.testing.assert_allclose(fw.kernel(left_open, x), fw.kernel(given, x))
    np.testing.assert_array_equal(fw.learning_rates(left_open, x=x).weight, fw.learning_rates(given, x=x).weight)
    with pytest.raises(fw.ShapeError, match="3 features"):
        fw.flow(left_open.replace(inputs=4), x)
