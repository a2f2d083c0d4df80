"""Shaped networks as MLPs: the same tangent kernel, and rates that transfer across sizes of one depth over width."""

import numpy as np
import pytest

import finitewidth as fw

BLOCK = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
Y = np.array([[1.0], [-1.0], [1.0], [-1.0]])


def inputs():
    x = np.random.default_rng(0).normal(size=(4, 4))
    return 2 * x / np.linalg.norm(x, axis=1, keepdims=True)


def test_the_limit_of_wide_networks():
    """At infinite width the kernel is that of the shaped activation, layer by layer, in closed form."""
    activation = BLOCK.activation
    net = BLOCK.as_mlp(50, 3, inputs=2)
    x = np.sqrt(2) * np.array([[1.0, 0.0], [0.6, 0.8]])
    rho, theta = 0.6, 0.6
    for _ in range(3):
        slope = float(activation.kernel_slope(rho, 50))
        rho = float(activation.kernel(rho, 50))
        theta = rho + slope * theta
    found = np.asarray(fw.frozen_ntk(net, x))
    np.testing.assert_allclose(found[0, 1], theta, rtol=1e-9)
    np.testing.assert_allclose(np.diag(found), 4.0, rtol=1e-9)


@pytest.mark.measured
def test_learning_curves_collapse():
    """At rate eta_0/(d+1) two sizes lose alike after every step; at one rate for both, they do not."""
    x = inputs()

    def losses(width, depth, rate):
        return fw.train(BLOCK.as_mlp(width, depth, 4), x, Y, x[:1], networks=400, rate=rate, steps=8, seed=1).loss

    small, large = losses(32, 8, 0.2 / 9), losses(64, 16, 0.2 / 17)
    apart = (small.mean - large.mean)[2:] / np.hypot(small.standard_error, large.standard_error)[2:]
    assert np.abs(apart).max() < 5
    same_rate = losses(64, 16, 0.2 / 9)
    apart = (small.mean - same_rate.mean)[2:] / np.hypot(small.standard_error, same_rate.standard_error)[2:]
    assert apart[-1] > 5
