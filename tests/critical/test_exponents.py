"""Theory as theory: depth exponents predicted by `criticality`, fitted from long flows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.activations import Activation
from finitewidth.critical import criticality
from finitewidth.gaussian.pairs import pair_moment

pytestmark = pytest.mark.optimised

DEEP, DEEPER = 10_000, 40_000  # log corrections are of relative order log(l)/l

CASES = {
    "tanh": "tanh",
    "sin": "sin",
    "softsign": "softsign",
    "elu": Activation(jax.nn.elu, (0.0,), name="elu"),
    "not odd": lambda z: jnp.sin(z) + (1 - jnp.cos(z)) / 2,
    "fine-tuned": lambda z: z - z**5 / 20,
}


@pytest.mark.parametrize("name", CASES)
def test_fitted_exponents(name, verdict, long_flow):
    r"""PDLT (5.92)-(5.99), (5.126)-(5.131), (5.134): powers of $K$, $\delta K_{[1]}$, $\delta\delta K_{[2]}$, $V$, $G^{\{1\}}$."""
    found = verdict(CASES[name])
    predicted = found.exponents
    flow = long_flow(CASES[name], 0.3, DEEPER, found.point.C_b, found.point.C_W)
    layers = np.array([DEEP, DEEPER]) - 1

    def exponent(values):
        first, last = np.abs(np.asarray(values)[layers])
        return -np.log(last / first) / np.log(DEEPER / DEEP)

    def product(chi):
        return np.exp(np.concatenate([[0.0], np.cumsum(np.log(np.asarray(chi)))[:-1]]))

    fitted = {
        "p_0": exponent(flow.K),
        "p_parallel": exponent(product(flow.chi_parallel)),
        "p_perp": exponent(product(flow.chi_perp)),
        "p_V": exponent(flow.V),
        "p_1": exponent(flow.G1),
    }
    for quantity, value in fitted.items():
        assert abs(value - getattr(predicted, quantity)) < 3e-3, quantity
    np.testing.assert_allclose(flow.V[-1] / (DEEPER * flow.K[-1] ** 2), predicted.nu, rtol=3e-3)


def test_universal_laws(verdict):
    r"""PDLT (5.129): $p_V - 2p_0 = -1$, and $p_1 - p_0 = -1$ where $G^{\{1\}}$ has a power, in the first two classes."""
    for name in ("relu", "linear", "tanh", "softsign", "erf"):
        exponents = verdict(name).exponents
        assert exponents.p_V - 2 * exponents.p_0 == pytest.approx(-1)
        assert exponents.p_1 is None or exponents.p_1 - exponents.p_0 == pytest.approx(-1)


@pytest.mark.measured
def test_angle_with_a_corner_at_vanishing_kernel():
    r"""PDLT (5.166): SELU, with a corner at zero, has $\psi \to 3/\rho\ell$ and $K \sim \ell^{-2}$: $p_\psi = 1$, $p_\perp = 4$."""
    selu = Activation(jax.nn.selu, (0.0,), name="selu")
    found = criticality(selu)
    assert (found.exponents.p_0, found.exponents.p_psi, found.exponents.p_perp) == (2, 1, 4)
    right, left = 1.0507009873554805, 1.0507009873554805 * 1.6732632423543772
    rho = (right - left) ** 2 / (np.pi * (right**2 + left**2))

    def layer(state, _):
        K, cosine = state
        same, other = (pair_moment(selu, 0, 0, K, c, K) for c in (K, K * cosine))
        return (found.point.C_W * same, other / same), (K, jnp.arccos(cosine))

    start = (jnp.asarray(1.0), jnp.cos(1.0))
    K, psi = (np.asarray(part) for part in jax.jit(lambda: jax.lax.scan(layer, start, length=800)[1])())
    # 1/psi = rho/3 (l + 3/2 log l): the logarithm adds 1.5/600 to the slope
    np.testing.assert_allclose((1 / psi[799] - 1 / psi[399]) / 400, rho / 3 * (1 + 1.5 / 600), rtol=5e-3)
    np.testing.assert_allclose(np.log(K[399] / K[799]) / np.log(2), 2, rtol=5e-3)  # up to log(l)/l
