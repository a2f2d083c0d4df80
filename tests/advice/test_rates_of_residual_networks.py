"""Rates of Adam for residual networks: MLPs at gamma = 0, refusals, and real updates by sign."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion import tangent_contributions


def test_without_skips_they_are_those_of_an_mlp():
    """The average over paths against that over one layer."""
    net = fw.tune(fw.ResidualMLP("tanh", 32, 5, 0.0, inputs=3, outputs=2))
    mlp = fw.tune(fw.MLP("tanh", net.widths))
    one, other = (fw.learning_rates(each, "adam", 0.1) for each in (net, mlp))
    np.testing.assert_allclose(one.weight, other.weight, rtol=0.005)
    np.testing.assert_allclose(one.bias, other.bias, rtol=0.005)


def test_linear_networks_need_no_paths():
    """All slopes are one: gradients are Gaussian, and rates those of an MLP with the same chain of factors, which skips leave at one."""
    net = fw.tune(fw.ResidualMLP("linear", 32, 5, 0.8, inputs=3, outputs=2))
    mlp = fw.tune(fw.MLP("linear", net.widths))
    one, other = (fw.learning_rates(each, "adam", 0.1) for each in (net, mlp))
    np.testing.assert_allclose(one.weight, other.weight, rtol=1e-12)


def test_two_relu_layers_by_hand():
    """Slopes of a path are steps: Q = 2 (1 - g^2) s_1 + 2 g^2 s_2, both steps up with probability 1/4 + arcsin(g)/2 pi."""
    gamma = 0.8
    net = fw.tune(fw.ResidualMLP("relu", 32, 3, gamma, inputs=3, outputs=2))
    ratio = fw.learning_rates(fw.tune(fw.MLP("relu", net.widths)), "adam").bias / fw.learning_rates(net, "adam").bias
    a, b = 2 * (1 - gamma**2), 2 * gamma**2
    both = 0.25 + np.arcsin(gamma) / (2 * np.pi)
    expected = both * (a + b) ** 0.5 + (0.5 - both) * (a**0.5 + b**0.5)
    np.testing.assert_allclose(ratio, [expected * 2**0.5, 1, 1], rtol=0.01)


def test_refusals():
    with pytest.raises(fw.DomainError, match="readout"):
        fw.learning_rates(fw.ResidualMLP("relu", 8, 3, 0.5), "adam")
    with pytest.raises(fw.DomainError, match="norm"):
        fw.learning_rates(fw.ResidualMLP("relu", 8, 3, 0.5, inputs=2, outputs=1, norm="rms"), "adam")


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_sign_updates_move_outputs_as_said(activation):
    r"""PDLT (8.13): moved by signs, each group changes outputs by $\eta$ times its part of $\Theta$."""
    x = np.array([0.7, -1.1, 0.4])
    net = fw.tune(fw.ResidualMLP(activation, 400, 6, 0.8, inputs=3, outputs=2))
    rates, split = fw.learning_rates(net, "adam", 0.1, x[None]), tangent_contributions(net, x[None])
    expected = 0.1 * np.stack([split.weight[:, 0, 0], split.bias[:, 0, 0]], axis=1)

    def outputs(theta):
        z = jnp.asarray(x)
        for layer, (W, b) in enumerate(theta):
            new = W @ (z if layer == 0 else net.activation(z)) + b
            z = new + float(net.gamma) * z if net.has_skip[layer] else new
        return z

    @jax.jit
    def moved(theta, y):
        error = outputs(theta) - y
        gradient = jax.grad(lambda t: jnp.sum(outputs(t) * error))(theta)
        found = []
        for layer in range(net.depth):
            for group, rate in enumerate((rates.weight[layer], rates.bias[layer])):
                steps = [[jnp.zeros_like(part) for part in parts] for parts in theta]
                steps[layer][group] = -rate * jnp.sign(gradient[layer][group])
                change = jax.jvp(outputs, (theta,), ([tuple(parts) for parts in steps],))[1]
                found.append(-jnp.sum(change * error) / jnp.sqrt(jnp.sum(error**2) * error.size))
        return jnp.stack(found).reshape(net.depth, 2)

    ratios = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        theta = [
            (random.normal(size=(m, n)) * (C_W / n) ** 0.5, random.normal(size=m) * C_b**0.5)
            for n, m, C_W, C_b in zip(net.widths[:-1], net.widths[1:], net.C_W, net.C_b, strict=True)
        ]
        y = 100 * random.normal(size=2)  # errors of all directions
        ratios.append(np.asarray(moved([tuple(map(jnp.asarray, parts)) for parts in theta], y)) / expected)
    error = np.std(ratios, axis=0) / 60**0.5
    # fluctuations are of relative size L/n
    assert (abs(np.mean(ratios, axis=0) - 1) < 4.5 * error + 0.05).all()
