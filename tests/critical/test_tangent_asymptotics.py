"""Deep tangent kernels: closed solutions, exponents, amplitudes and scaling laws against long recursions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.activations import Activation, leaky_relu, scale_invariant
from finitewidth.critical import UniversalityClass
from finitewidth.critical.large_depth.tangent_asymptotics import decay_exponents, tangent_asymptotics
from finitewidth.critical.one_input.tangent_single_input import effective_exponents, tangent_single_input_flow
from finitewidth.critical.two_inputs.tangent_angle import tangent_angle_flow
from finitewidth.expansion.tangent_layers import tangent_contributions
from finitewidth.networks import MLP

TENSORS = ("V", "D", "F", "B", "A")
ALL = ("K", "Theta", *TENSORS)


def shifted_tanh(z):
    """Not odd: tanh z moved to where it has the value 0.4, back at the origin."""
    shift = math.atanh(0.4)
    return jnp.tanh(z + shift) - 0.4


@pytest.mark.parametrize("name", ["relu", "linear", "leaky", "gelu"])
def test_closed_solutions_are_the_recursion(name, verdict):
    """PDLT (9.42)-(9.52) with every term of A, and their extension to half-stable fixed points."""
    activation = scale_invariant(1.2, -0.3) if name == "leaky" else name
    point = verdict(activation).point
    found = tangent_asymptotics(activation, np.arange(1, 31), lambda_b=0.7, lambda_W=1.3)
    exact = tangent_single_input_flow(activation, float(found.K[0]), 30, point.C_b, point.C_W, 0.7, 1.3)
    for quantity in ALL:
        np.testing.assert_allclose(getattr(found, quantity), getattr(exact, quantity), rtol=1e-11, err_msg=quantity)


@pytest.mark.parametrize(
    ("name", "rates", "slopes"),
    [
        ("relu", (0.0, 1.0), (5, 3, 1, 2 / 3, 7 / 3)),
        ("relu", (1.0, 0.0), (5, 1 / 2, 1, 2 / 3, 1 / 3)),
        ("linear", (0.0, 1.0), (2, 1, 1 / 2, 1 / 3, 2 / 3)),
        ("tanh", (0.8, 1.1), (2 / 3, -2 / 9 * 0.8 / 1.35, 1 / 4, 1 / 3, 4 / 27 * (0.8 / 1.35) ** 2)),
        ("sin", (0.8, 1.1), (2 / 3, -2 / 9 * 0.8 / 1.9, 1 / 4, 1 / 3, 4 / 27 * (0.8 / 1.9) ** 2)),
    ],
)
def test_slopes_of_the_dimensionless_couplings(name, rates, slopes):
    """PDLT (9.23)-(9.25): amplitudes of l/n for both classes."""
    found = tangent_asymptotics(name, 1e7, lambda_b=rates[0], lambda_W=rates[1])
    np.testing.assert_allclose(found.slopes, slopes, rtol=1e-9)
    K, theta, layer = found.K, found.Theta, 1e7
    ratios = found.V / K**2, found.D / (K * theta), found.F / (K * theta), found.B / theta**2, found.A / theta**2
    np.testing.assert_allclose(np.array(ratios) / layer, slopes, rtol=1e-6)


@pytest.mark.parametrize("name", ["relu", "tanh", shifted_tanh], ids=["relu", "tanh", "not odd"])
def test_scaling_laws(name):
    """PDLT (9.26)-(9.27), (9.53), (9.72): all relative fluctuations grow as depth over width."""
    e = tangent_asymptotics(name, 10.0).exponents
    laws = e.p_V - 2 * e.p_0, e.p_A - 2 * e.p_Theta, e.p_B - 2 * e.p_Theta
    np.testing.assert_allclose([*laws, e.p_D - e.p_Theta - e.p_0, e.p_F - e.p_Theta - e.p_0], -1, rtol=1e-12)


def approach(activation, rates, K1, layers):
    """The recursion over its leading form at some layers, with the rates of PDLT (9.70)."""
    found = tangent_asymptotics(activation, np.array(layers), lambda_b=rates[0], lambda_W=rates[1])
    p, all_layers = 1 + found.exponents.p_Theta, np.arange(1, max(layers) + 1)
    exact = tangent_single_input_flow(
        activation,
        K1,
        max(layers),
        0.0,
        _critical(activation),
        rates[0] * all_layers**-p,
        rates[1] * all_layers ** (1 - p),
    )
    at = np.array(layers) - 1
    return {name: getattr(exact, name)[at] / np.asarray(getattr(found, name)) for name in ALL}, exact, found


def _critical(activation):
    return {"sin": 1.0, "tanh": 1.0}[activation] if isinstance(activation, str) else 1 / 0.84**2


def test_approach_to_the_asymptotes():
    r"""PDLT (9.65)-(9.86): tanh with $\tilde\lambda = (0.8, 1.1)$ from $K^{(1)} = 0.5$; errors fall as $\log\ell/\ell$."""
    ratios, exact, found = approach("tanh", (0.8, 1.1), 0.5, (100, 1000, 10_000))
    expected = {
        "Theta": (1.0084, 0.9996, 0.9997),
        "F": (1.0005, 0.9986, 0.9995),
        "B": (1.0051, 0.9966, 0.9989),
        "D": (1.0039, 0.9979, 0.9992),
        "A": (0.9781, 0.9915, 0.9977),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(ratios[name], values, atol=5.1e-5, err_msg=name)
    np.testing.assert_allclose(np.array(exact.ratios)[:, -1] / 1e4, found.slopes, rtol=4e-3)
    for name in ("Theta", *TENSORS):
        fitted = effective_exponents(getattr(exact, name)[-2:], first_layer=9999)
        assert abs(fitted[0] - getattr(found.exponents, f"p_{name}")) < 2e-3, name


@pytest.mark.measured
@pytest.mark.parametrize(
    ("activation", "depth", "tolerances"),
    [
        ("tanh", 100_000, dict.fromkeys(ALL, 6e-4)),
        ("sin", 20_000, dict.fromkeys(ALL, 4e-3)),
        (shifted_tanh, 100_000, dict(K=7e-4, V=8e-4, Theta=7e-4, F=1e-3, B=1.4e-3, D=6e-3, A=1.3e-2)),
    ],
    ids=["tanh", "sin", "not odd"],
)
def test_asymptotes_after_a_hundred_thousand_layers(activation, depth, tolerances):
    """PDLT (9.65)-(9.86): one class, three activations; the leading A of one that is not odd is reached late."""
    ratios, _, _ = approach(activation, (0.8, 1.1), 0.5, (depth,))
    for name, tolerance in tolerances.items():
        assert abs(ratios[name][0] - 1) < tolerance, name


def test_half_stable_exponents(verdict):
    r"""At the critical point of GELU $h \ne 0$, so $D \sim \ell^3$ and $A \sim \ell^5$, beyond PDLT (9.26)."""
    found = tangent_asymptotics("gelu", np.array([1e8, 2e8]))
    assert found.slopes is None
    for name in ("Theta", *TENSORS):
        first, last = np.asarray(getattr(found, name))
        assert -np.log2(last / first) == pytest.approx(getattr(found.exponents, f"p_{name}"), abs=1e-4), name
    with pytest.raises(ArgumentError, match="K1"):
        tangent_asymptotics("gelu", 10.0, K1=1.0)


@pytest.mark.optimised
@pytest.mark.parametrize(
    ("activation", "p_0", "p_perp"),
    [
        ("tanh", 1.0, 1.0),
        (shifted_tanh, 1.0, 0.4 / 0.56),
        ("softsign", 2.0, None),
        (Activation(jax.nn.elu, (0.0,), name="elu"), None, None),
        ("relu", 0.0, 0.0),
        (Activation(lambda z: jnp.clip(z, -1, 1), (-1.0, 1.0), name="hard"), 0.0, 0.0),
    ],
    ids=["tanh", "not odd", "softsign", "elu", "relu", "hard tanh"],
)
def test_decay_exponents(activation, p_0, p_perp, verdict, long_flow):
    r"""PDLT (9.68): $K \sim \ell^{-p_0}$ and products of $\chi_\perp$, fitted from long flows."""
    known = verdict(activation)
    sigma = MLP(activation, (1, 1)).activation
    found = decay_exponents(sigma, known.universality_class)
    if p_0 is not None:
        assert found[0] == pytest.approx(p_0, abs=1e-9)
    if p_perp is not None:
        assert found[1] == pytest.approx(p_perp, abs=1e-9)
    if known.universality_class is UniversalityClass.ZERO and found[0] > 0:
        long = long_flow(activation, 0.3, 40_000, known.point.C_b, known.point.C_W)
        product = np.exp(np.cumsum(np.log(np.asarray(long.chi_perp))))
        fitted = [-np.log(values[39_999] / values[9_999]) / np.log(4) for values in (np.asarray(long.K), product)]
        np.testing.assert_allclose(fitted, found, atol=3e-3)


@pytest.mark.parametrize("slope", [0.0, 0.3, -1.0])
def test_two_inputs_of_a_deep_network_share_a_quarter(slope):
    r"""PDLT (8.63), (5.166): $\Theta_{12}/\Theta_{11} \to \frac14$ for every nonlinear member of the class."""
    found = tangent_angle_flow(leaky_relu(slope), 1.0, 100_000)
    rho = (1 - slope) ** 2 / (np.pi * (1 + slope**2))
    assert found.correlation[-1] == pytest.approx(0.25, abs=2e-4)
    assert found.psi[-1] * 1e5 * rho / 3 == pytest.approx(1, abs=5e-4)


def test_two_inputs_agree_with_the_sum_over_layers():
    """PDLT (8.63), (9.28): the same tangent kernel by the formal solution, rates of every layer their own."""
    activation, psi, K = scale_invariant(1.0, 0.2), 1.1, 1.7
    C_W, rates = 1 / activation.A2, dict(lambda_b=[0.5, 0.7, 0.2, 0.9], lambda_W=[1.1, 0.6, 1.4, 0.8])
    net = MLP(activation, (3, 8, 8, 8, 1), C_W=C_W, **rates)
    theory = tangent_contributions(net, kernel=K * np.array([[1, np.cos(psi)], [np.cos(psi), 1]])).total
    found = tangent_angle_flow(activation, psi, 4, K, **rates)
    np.testing.assert_allclose([found.diagonal[-1], found.between[-1]], theory[0], rtol=1e-12)


def test_refusals():
    """What cannot be tuned, is not smooth, or does not learn has no such asymptotics."""
    for arguments, match in (
        (("sigmoid", 10.0), "activation"),
        (("softsign", 10.0), "smooth at zero"),
        (("tanh", 0.0), "layers"),
        (("tanh", 1.0, 1.0, 0.0, 0.0), "lambda_b"),
    ):
        with pytest.raises(ArgumentError, match=match):
            tangent_asymptotics(*arguments)
    with pytest.raises(ArgumentError, match="`psi`: got list; expected one real number"):
        tangent_angle_flow("relu", [1.0, 2.0], 3)
