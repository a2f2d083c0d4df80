"""The tangent kernel of residual networks, one input: MLPs at gamma = 0, linear networks by hand, networks."""

import numpy as np
import pytest

import finitewidth as fw

NET = fw.ResidualMLP(
    "tanh", 24, 4, 0.8, C_b=0.1, C_W=[1.5, 0.8, 0.9, 0.8], lambda_b=0.7, lambda_W=[1.0, 0.8, 1.2, 0.9], inputs=1
)
X = [[0.8]]
FIELDS = ("V", "G1", "Theta", "H1", "A", "B", "D", "F")


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_without_skip_it_is_the_recursion(activation):
    """gamma = 0: all of PDLT (8.63)-(8.97), by the code of MLPs."""
    net = NET.replace(gamma=0.0, activation=activation)
    mlp = fw.MLP(activation, net.widths, net.C_b, net.C_W, net.lambda_b, net.lambda_W)
    one, other = fw.flow(mlp, X, through="ntk"), fw.flow(net, X, through="ntk")
    for name in FIELDS:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-12, err_msg=name)


def test_groups_agree_with_each_other():
    """V and G1 are those of the vertex alone, and Theta that of infinite width."""
    whole, vertex = fw.flow(NET, X, through="ntk"), fw.flow(NET, X)
    np.testing.assert_allclose(whole.V, vertex.V, rtol=1e-9)
    np.testing.assert_allclose(whole.G1, vertex.G1, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(whole.Theta[-1], fw.frozen_ntk(NET, X), rtol=1e-12)


def test_two_linear_layers_by_hand():
    """z' = W z + gamma z of a linear network, whose H is known: H'_ij = (lambda_b + lambda_W |z|^2/n) d_ij + Theta [J J^T]_ij.

    By Wick's theorem, with Theta = Theta^(1), C = C_W, z of variance K: B = C^2 Theta^2 + 2 gamma^2 C Theta^2,
    A = 2 lambda_W^2 K^2, D = 2 lambda_W C K^2 + 2 gamma^2 lambda_W K^2, F = K Theta [C^2 + 2 gamma^2 C].
    """
    gamma, C, rate = 0.6, 0.7, 0.9
    net = fw.ResidualMLP("linear", 8, 4, gamma, C_W=C, lambda_W=rate, inputs=1)
    theory = fw.flow(net, [[1.3]], through="ntk")
    K, Theta = theory.K[0].item(), theory.Theta[0].item()
    layer = {name: getattr(theory, name)[1].item() for name in ("A", "B", "D", "F", "H1")}
    assert layer["B"] == pytest.approx(C**2 * Theta**2 + 2 * gamma**2 * C * Theta**2)
    assert layer["A"] == pytest.approx(2 * rate**2 * K**2)
    assert layer["D"] == pytest.approx(2 * rate * C * K**2 + 2 * gamma**2 * rate * K**2)
    assert layer["F"] == pytest.approx(K * Theta * (C**2 + 2 * gamma**2 * C))
    assert layer["H1"] == pytest.approx(0, abs=1e-12)


def test_against_networks():
    """Dense weights: the first fluctuating layer, which has no corrections, within errors; those after it up to 1/n."""
    theory, measured = (
        fw.flow(NET, X, through="ntk"),
        fw.simulate(NET, X, networks=3000, seed=1, through="ntk"),
    )
    for name in ("V", "H1", "A", "B", "D", "F"):
        expected, found = np.asarray(getattr(theory, name)), getattr(measured, name)
        deviation = (found.mean - expected).reshape(4)
        error = found.standard_error.reshape(4)
        assert abs(deviation[1]) < 4.5 * error[1], name
        slack = (0.5 if name == "A" else 0.06) * np.abs(expected).reshape(4)  # 1/n of A, itself small, is a third of it
        assert (abs(deviation) <= 4.5 * error + slack).all(), name


def test_lazy_weights_are_refused():
    """Tangent kernels of residual networks are measured with dense weights."""
    with pytest.raises(fw.ArgumentError, match="method"):
        fw.simulate(NET, X, networks=4, through="ntk", method="lazy")


@pytest.mark.measured
@pytest.mark.parametrize(("activation", "gamma"), [("tanh", 0.8), ("relu", -0.6)])
def test_networks_extrapolated_in_width(activation, gamma):
    """Widths 32 and 96, extrapolated linearly in 1/n: every field of every layer."""
    net = NET.replace(activation=activation, gamma=gamma)
    theory = fw.flow(net, X, through="ntk")
    narrow, wide = (
        fw.simulate(net.replace(width=n), X, networks=count, seed=1, through="ntk")
        for n, count in ((32, 16_000), (96, 8000))
    )
    for name in ("V", "G1", "H1", "A", "B", "D", "F"):
        one, other = getattr(narrow, name), getattr(wide, name)
        extrapolated = 1.5 * other.mean - 0.5 * one.mean
        error = np.hypot(1.5 * other.standard_error, 0.5 * one.standard_error)
        deviation = (extrapolated - getattr(theory, name)).ravel()[1:] / error.ravel()[1:]
        assert np.abs(deviation).max() < 4.5, (name, deviation)
