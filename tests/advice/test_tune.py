"""Tuning: each class gets its critical point, and a refusal says why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError, DomainError
from finitewidth.activations import leaky_relu
from finitewidth.advice import NotTunableError, tune
from finitewidth.critical import criticality, susceptibilities
from finitewidth.expansion import flow, tangent_contributions
from finitewidth.kernels import frozen_ntk
from finitewidth.networks import MLP, ResidualMLP

WIDTHS = (3, 64, 32, 32, 1)


@pytest.mark.parametrize(
    ("activation", "C_b", "C_W"),
    [
        ("relu", 0.0, 2.0),
        (leaky_relu(0.1), 0.0, 2 / 1.01),
        ("tanh", 0.0, 1.0),
        ("softsign", 0.0, 1.0),
        ("gelu", 0.17292239, 1.98305826),
        (lambda z: z * jnp.exp(-(z**2)), 0.0, 1.0),
        (lambda z: jnp.sign(z) * jax.nn.relu(jnp.abs(z) - 0.5), 0.3205388852, 1.620548352),
        (lambda z: jax.nn.relu(z - 1), 0.5251352762, 6.302974375),
        (lambda z: 1e-10 * jnp.tanh(z), 0.0, 1e20),
    ],
)
def test_every_layer_becomes_critical(activation, C_b, C_W):
    """PDLT (5.67), (5.90), (5.101), (5.105): whatever the layers had before."""
    net = MLP(activation, WIDTHS, C_b=[0.1, 0.2, 0.3, 0.4], C_W=[1, 2, 3, 4])
    tuned = tune(net)
    np.testing.assert_allclose(tuned.C_b, [C_b] * 4, atol=5e-9)
    np.testing.assert_allclose(tuned.C_W, [C_W] * 4, rtol=3e-9)
    assert (tuned.widths, tuned.activation) == (net.widths, net.activation)
    assert net.C_W[3] == 4  # the network given is not changed


def test_first_layer_recipe_of_half_stable_networks():
    r"""PDLT (5.71)-(5.72): inputs normalised as the documentation says start at $K^\star$, where both $\chi$ are one."""
    net = tune(MLP("gelu", WIDTHS))
    K_star = criticality("gelu").point.K_star
    x = np.array([[1.0, -2.0, 0.5]])
    x = x * np.sqrt(3 * (K_star - float(net.C_b[0])) / float(net.C_W[0])) / np.linalg.norm(x)
    K = float(net.first_kernel(x)[0, 0])
    np.testing.assert_allclose(K, K_star, rtol=1e-13)
    at = susceptibilities("gelu", K, net.C_W[1])
    np.testing.assert_allclose([at.chi_parallel, at.chi_perp], 1, rtol=1e-12)


def test_renormalised():
    r"""PDLT (5.138)-(5.142): $C_W^{(\ell)} = 1 + \frac2{3n_{\ell-1}}$ after the first layer."""
    tuned = tune(MLP("tanh", WIDTHS), renormalised=True)
    np.testing.assert_allclose(tuned.C_W, [1, 1 + 2 / (3 * 64), 1 + 2 / (3 * 32), 1 + 2 / (3 * 32)], rtol=1e-13)
    np.testing.assert_allclose(tune(MLP("relu", WIDTHS), renormalised=True).C_W, 2.0)
    with pytest.raises(ArgumentError, match="half-stable"):
        tune(MLP("gelu", WIDTHS), renormalised=True)


@pytest.mark.parametrize(
    ("activation", "reason"),
    [
        ("sigmoid", "would need C_b = -4 < 0"),
        ("softplus", "does not cross 1"),
        ("perceptron", "chi_perp is infinite"),
        ("z^2", "slope vanishes"),
        ("exp", "between 0.5 and 0.5"),
        ("centered_softplus", "K* = 0 repels"),
        (lambda z: jax.nn.relu(z + 1), "C_b < 0 would be needed"),
        (lambda z: 0 * z + 2, "the activation is constant"),
        (lambda z: jnp.sign(z) * jnp.sqrt(jnp.abs(z)), "so steep at z = 0"),
    ],
)
def test_refusals_say_why(activation, reason):
    """PDLT (5.73)-(5.81): no critical point, or only one that repels."""
    with pytest.raises(NotTunableError, match="cannot be tuned") as caught:
        tune(MLP(activation, WIDTHS))
    assert reason in caught.value.reason
    assert caught.value.argument == "activation"


def test_residual_networks():
    """PDLT (B.20)-(B.21) where there is a way around, the MLP's point where there is none; the kernel stays, and all layers learn alike."""
    for gamma in (0.5, -0.9):
        net = tune(ResidualMLP("relu", width=8, depth=5, gamma=gamma, inputs=2, outputs=1))
        np.testing.assert_allclose(net.C_W, [2.0, *[2 * (1 - gamma**2)] * 3, 2.0])
        np.testing.assert_allclose(flow(net, [[1.0, 0.3]], through="kernel").K, 1.09, rtol=1e-13)
        parts = tangent_contributions(net, [[1.0, 0.3]])
        np.testing.assert_allclose(parts.bias.ravel(), 0.2)
        np.testing.assert_allclose(parts.weight.ravel(), 0.2 * 1.09 / 2)
        np.testing.assert_allclose(parts.total, frozen_ntk(net, [[1.0, 0.3]]))
    with pytest.raises(DomainError, match="gamma"):
        tune(ResidualMLP("relu", width=8, depth=5, gamma=1.0))
    with pytest.raises(DomainError, match="gamma"):
        tune(ResidualMLP("relu", width=8, depth=5, gamma=0.5), renormalised=True)


def test_renormalised_residual_networks():
    r"""$C_W(1 + \frac{2(1+\gamma^2)}{3n})$: the mean metric of a wide network follows the kernel, which without it falls behind by
    $\frac{1+\gamma^2}{3(-a_1)n}$; $a_1 = -1$ for the sine."""
    gamma, n, x = 0.6, 10**6, [[1.0]]
    net = ResidualMLP("sin", width=n, depth=40, gamma=gamma, inputs=1, outputs=1)
    bare, renormalised = tune(net), tune(net, renormalised=True)
    factor = 1 + 2 * (1 + gamma**2) / (3 * n)
    np.testing.assert_allclose(renormalised.C_W, [1.0, *[(1 - gamma**2) * factor] * 38, factor], rtol=1e-13)
    before, after = flow(bare, x), flow(renormalised, x)
    layer = np.arange(1, 41)
    behind, mended = (layer * n * (each.G - before.K).ravel() for each in (before, after))
    slopes = [(each[38] - each[28]) / 10 for each in (behind, mended)]  # what falls as 1/l adds a constant
    assert slopes[0] == pytest.approx(-(1 + gamma**2) / 3, rel=0.04)
    assert abs(slopes[1]) < 0.04 * (1 + gamma**2) / 3
