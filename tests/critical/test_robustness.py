"""Robustness of deep critical networks: laws of depth against the recursion."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError
from finitewidth.critical import robustness_asymptotics, tangent_pair_flow

L = 4000
LAYERS = np.arange(1, L + 1.0)


def bent(z):
    return jnp.tanh(z) + 0.4 * jnp.tanh(z) ** 2


def deep(activation, lambda_b, lambda_W):
    """Two inputs of equal norm through the layers, with the measured coefficient of their distance, delta^2."""
    net = fw.MLP(activation, (2, *[1] * L), C_W=1.0, lambda_b=lambda_b, lambda_W=lambda_W)
    flow = tangent_pair_flow(net, np.array([1.2, 0.0]), np.array([0.0, 0.1]))
    return flow, float(flow.kernel.deltadelta_K_2[-1])


@pytest.mark.parametrize("activation", ["tanh", "sin", bent])
def test_rates_of_the_equivalence_principle(activation):
    r"""PDLT (10.71)-(10.78): $\Theta_{00}$ and robustness at depth 4000, to what corrections of order $\log L/L$ leave; tanh at $-2\delta^2
    \tilde\lambda_W/(\tilde\lambda_b+\tilde\lambda_W/2)$."""
    p = robustness_asymptotics(activation, L).p_perp
    flow, spread = deep(activation, 0.5 * LAYERS**-p * L ** (p - 1), (L / LAYERS) ** (p - 1))
    theory = robustness_asymptotics(activation, L, spread * L**p, lambda_b=0.5, lambda_W=1.0)
    assert flow.Theta_00[-1] == pytest.approx(float(theory.Theta_00), rel=0.02)
    assert flow.robustness[-1] == pytest.approx(float(theory.robustness), rel=0.02)
    if activation == "tanh":
        assert float(theory.robustness) == pytest.approx(-2 * spread * L / (0.5 + 0.5))
        assert p == 1
    if activation is bent:
        assert p == pytest.approx(1.36 / 1.52)


@pytest.mark.parametrize(("activation", "value"), [("tanh", 1.5), ("sin", 1.25)])
def test_uniform_rates_as_corrected(activation, value):
    r"""PDLT (10.79)-(10.81): $\delta\delta\Theta_{[2]}/\delta^2$ tends to 1.5 and 1.25 for these rates, where the printed law says 1."""
    flow, spread = deep(activation, 0.5, 1.0)
    theory = robustness_asymptotics(activation, L, spread * L, lambda_b=0.5, lambda_W=1.0, uniform=True)
    assert float(theory.deltadelta_Theta_2) / (spread * L) == pytest.approx(value)
    assert flow.deltadelta_Theta_2[-1] / (spread * L) == pytest.approx(value, rel=0.01)
    assert flow.robustness[-1] == pytest.approx(float(theory.robustness), rel=0.02)


def test_uniform_rates_of_activations_that_are_not_odd():
    r"""Beyond the book: robustness does not fall with depth but tends to $-\delta^2\frac{\sigma_2^2}{\sigma_1^2}L^{1-p_\perp}$."""
    flow, spread = deep(bent, 0.5, 1.0)
    theory = robustness_asymptotics(bent, L, spread * L ** (1.36 / 1.52), lambda_b=0.5, lambda_W=1.0, uniform=True)
    assert flow.robustness[-1] == pytest.approx(float(theory.robustness), rel=0.03)


def test_what_is_refused():
    for activation in ("relu", "gelu", "sigmoid"):
        with pytest.raises(DomainError, match="K\\* = 0"):
            robustness_asymptotics(activation, 10)
    with pytest.raises(DomainError, match="`lambda_b`"):
        robustness_asymptotics("tanh", 10, lambda_b=0.0, uniform=True)
