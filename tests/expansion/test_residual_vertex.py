"""Vertex and mean metric of residual networks: closed forms, known values, networks."""

import numpy as np
import pytest

import finitewidth as fw

DEPTH = 8


def relu(gamma, **changes):
    net = fw.ResidualMLP("relu", width=64, depth=DEPTH, gamma=gamma, C_W=2 * (1 - gamma**2), inputs=1)
    return net.replace(**changes)


def test_known_values_of_relu():
    """gamma^2 = 1/2, K = 1: V and G1 in layers 2, 3, 5, 8, where PDLT (B.26) would have V = 2.25 (l - 1) and G1 = 0."""
    theory = fw.flow(relu(0.5**0.5), kernel=[[1.0]])
    V, G1 = theory.V.ravel(), theory.G1.ravel()
    np.testing.assert_allclose(V[[1, 2, 4, 7]], [2.25, 5.4775, 13.7190, 28.3476], atol=6e-5)
    np.testing.assert_allclose(G1[[2, 4, 7]], [0.2046, 1.0284, 2.8172], atol=6e-5)
    np.testing.assert_allclose(theory.G.ravel(), 1 + G1 / 64)


@pytest.mark.parametrize("gamma", [0.9, 0.3, -0.7])
def test_relu_at_any_gamma(gamma):
    """The sums over depths at constant kernel, by polar coordinates: V through c(rho), G1 through d(rho)."""
    depths = np.arange(1, DEPTH + 1)
    psi = np.arccos(np.clip(gamma ** np.abs(depths[:, None] - depths), -1, 1))
    sine, cosine = np.sin(psi), np.cos(psi)
    c = (3 * sine * cosine + (np.pi - psi) * (1 + 2 * cosine**2)) / (2 * np.pi) - 0.25
    d = 2 * (np.pi - psi + sine * cosine) / (2 * np.pi) - 0.5
    C_W, K = 2 * (1 - gamma**2), 1.7
    V = [C_W**2 * c[:t, :t].sum() + 4 * gamma**2 * (1 - gamma ** (2 * t)) for t in range(DEPTH)]
    layers = [C_W**2 / 2 * d[t, :t].sum() for t in range(DEPTH - 1)]
    theory = fw.flow(relu(gamma), kernel=[[K]])
    np.testing.assert_allclose(theory.V.ravel(), K**2 * np.array(V), rtol=1e-9)
    np.testing.assert_allclose(theory.G1.ravel(), K * np.append(0.0, np.cumsum(layers)), rtol=1e-9, atol=1e-12)


def test_growth_is_nu():
    """V per layer tends to nu(gamma) K^2: for a weak skip, already at layer 8."""
    V = fw.flow(relu(0.2), kernel=[[1.0]]).V.ravel()
    assert V[-1] - V[-2] == pytest.approx(fw.critical.residual_nu("relu", 0.2), abs=1e-4)


def test_known_values_of_tanh():
    """gamma^2 = 1/2, K = 1, layer 8, where PDLT (B.26) would have V = 0.1038 and its G1 -0.1040."""
    gamma = 0.5**0.5
    net = fw.ResidualMLP("tanh", width=64, depth=DEPTH, gamma=gamma, C_W=0.5)
    theory = fw.flow(net, kernel=[[1.0]])
    assert theory.V[-1, 0, 0, 0, 0] == pytest.approx(0.1059, abs=6e-5)
    assert theory.G1[-1, 0, 0] == pytest.approx(-0.1161, abs=6e-5)


@pytest.fixture(scope="module")
def of_two_inputs():
    """A network with biases and a readout, and what theory says of it."""
    net = fw.ResidualMLP("tanh", 32, 4, 0.8, C_b=0.1, C_W=[1.5, 0.8, 1.2, 1.1], inputs=2, outputs=1)
    x = np.array([[1.0, 0.4], [-0.3, 0.9]])
    return net, x, fw.flow(net, x)


def test_two_inputs_against_networks(of_two_inputs):
    """V, G and G1 of two inputs, with biases and a readout."""
    net, x, theory = of_two_inputs
    measured = fw.simulate(net, x, networks=6000, seed=2)
    compared = fw.compare(theory, measured)
    assert np.abs(compared.deviation).max() < 5, compared.worst


def test_without_skip_it_is_the_recursion(of_two_inputs):
    """gamma = 0: PDLT (4.119) and PDLT (4.115), by the code of MLPs."""
    net, x, _ = of_two_inputs
    mlp = fw.MLP("tanh", net.widths, C_b=net.C_b, C_W=net.C_W)
    one, other = fw.flow(mlp, x), fw.flow(net.replace(gamma=0.0), x)
    np.testing.assert_allclose(other.V, one.V, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(other.G1, one.G1, rtol=1e-10, atol=1e-13)


def test_a_pair_holds_what_each_input_has(of_two_inputs):
    """Entries of one input do not know the other."""
    net, x, theory = of_two_inputs
    alone = fw.flow(net, x[:1])
    np.testing.assert_allclose(theory.V[:, 0, 0, 0, 0], alone.V.ravel(), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(theory.G1[:, 0, 0], alone.G1.ravel(), rtol=1e-9, atol=1e-13)


def test_next_order_is_refused():
    """There is none of residual networks."""
    with pytest.raises(fw.DomainError, match="next_order"):
        fw.flow(relu(0.5), kernel=[[1.0]], next_order=True)


@pytest.mark.measured
def test_two_inputs_of_relu():
    """Layer 3 in closed form: V(++)(--) = c(r1) + c(r2) + 2 c(gamma r1) + 2 gamma^4 r1^2 + 2 gamma^2 r2^2."""
    gamma = 0.5**0.5
    net = fw.ResidualMLP("relu", 64, 3, gamma, C_W=1.0)
    theory = fw.flow(net, kernel=[[1.0, 0.5], [0.5, 1.0]])

    def c(r):
        psi = np.arccos(r)
        return (3 * np.sin(psi) * r + (np.pi - psi) * (1 + 2 * r**2)) / (2 * np.pi) - 0.25

    r1, psi = 0.5, np.pi / 3
    r2 = (np.sin(psi) + (np.pi - psi) * r1) / (2 * np.pi) + gamma**2 * r1
    expected = c(r1) + c(r2) + 2 * c(gamma * r1) + 2 * gamma**4 * r1**2 + 2 * gamma**2 * r2**2
    assert theory.V[2, 0, 0, 1, 1] == pytest.approx(expected, rel=1e-10)
    measured = fw.simulate(
        net.replace(width=256, inputs=2), np.linalg.cholesky(theory.K[0]) * 2**0.5, networks=40_000, seed=4
    )
    deviation = (measured.V.mean - theory.V)[2] / measured.V.standard_error[2]
    assert np.abs(deviation).max() < 5.5  # 1/n of V is a third of its error here
    assert (abs((measured.G1.mean - theory.G1)[2]) < 4.5 * measured.G1.standard_error[2]).all()


@pytest.mark.measured
@pytest.mark.parametrize(("gamma", "layer"), [(0.5**0.5, 8), (0.5**0.5, 12), (-(0.5**0.5), 8)])
def test_deep_relu_networks_extrapolated_in_width(gamma, layer):
    """Networks of two widths, extrapolated linearly in 1/n, agree with the complete vertex and not with PDLT (B.26)."""
    net = fw.ResidualMLP("relu", 256, layer, gamma, C_W=[2.0] + [1.0] * (layer - 1), inputs=1)
    x = [[0.5**0.5]]
    complete, printed = fw.flow(net, x).V[-1, 0, 0, 0, 0], 2.25 * (layer - 1)
    wide, narrow = (fw.simulate(net.replace(width=n), x, networks=60_000, seed=7).V for n in (512, 256))
    extrapolated = 2 * wide.mean[-1].item() - narrow.mean[-1].item()
    error = np.hypot(2 * wide.standard_error[-1].item(), narrow.standard_error[-1].item())
    assert abs(extrapolated - complete) < 4 * error
    assert abs(extrapolated - printed) > 10 * error
