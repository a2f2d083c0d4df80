"""Couplings of the effective action against exact first-order quadrature and radial integrals."""

import numpy as np
import pytest

from finitewidth._errors import DomainError, ShapeError
from finitewidth.expansion.running_couplings import (
    effective_action,
    marginalise_neurons,
    metric_from_couplings,
    quadratic_coupling,
    quartic_coupling,
    running_metric,
    vertex_from_couplings,
)
from finitewidth.gaussian.actions import EvenAction
from finitewidth.gaussian.nearly_gaussian import density_correction
from metric_laws import hermite_grid, random_metric_law

EYE = np.eye(2)


def random_couplings(seed):
    K, _, v, _ = random_metric_law(seed, samples=2)
    return np.linalg.inv(K), np.asarray(quartic_coupling(K, v))


def test_two_and_four_point_functions_of_the_action():
    """PDLT (4.44)-(4.48), PDLT (4.107): first order in v, two samples and two neurons, exact quadrature."""
    g, quartic = random_couplings(0)
    lowered = np.linalg.inv(g)
    points, weights = hermite_grid(np.kron(EYE, lowered), 6)
    z = points.reshape(-1, 2, 2)
    perturbation = np.asarray(effective_action(z, g, quartic) - effective_action(z, g, 0 * quartic))
    weights = weights * (1 - perturbation + weights @ perturbation)
    G = np.einsum("p,pia,pjb->iajb", weights, z, z)
    expected = np.asarray(metric_from_couplings(g, quartic, neurons=2))
    np.testing.assert_allclose(G, np.einsum("ij,ab->iajb", EYE, expected), atol=1e-13)

    four = np.einsum("p,pia,pjb,pkc,pld->iajbkcld", weights, z, z, z, z)
    # The disconnected part to first order: G G = g g + g dG + dG g.
    dG = expected - lowered
    product = sum(np.einsum("ab,cd->abcd", x, y) for x, y in ((lowered, lowered), (lowered, dG), (dG, lowered)))
    pair = product + np.asarray(vertex_from_couplings(g, quartic))
    deltas = np.einsum("ij,kl->ijkl", EYE, EYE)
    exact = sum(
        np.einsum(f"{i},{s}->iajbkcld", deltas, pair) for i, s in (("ijkl", "abcd"), ("ikjl", "acbd"), ("iljk", "adbc"))
    )
    np.testing.assert_allclose(four, exact, atol=1e-13)


def test_effective_action_is_an_even_action():
    """PDLT (1.71), PDLT (4.44), PDLT (4.80): with mu = (i, a) the quartic coupling is minus the three pairings of v."""
    g, quartic = random_couplings(1)
    deltas = np.einsum("ij,kl->ijkl", EYE, EYE)
    coupling = -sum(
        np.einsum(f"{i},{s}->iajbkcld", deltas, quartic)
        for i, s in (("ijkl", "abcd"), ("ikjl", "acbd"), ("iljk", "adbc"))
    )
    general = EvenAction(np.kron(EYE, np.linalg.inv(g)), [coupling.reshape((4,) * 4)])
    z = np.random.default_rng(2).normal(size=(5, 2, 2))
    np.testing.assert_allclose(effective_action(z, g, quartic), general(z.reshape(5, 4)), rtol=1e-12)
    two_point = np.kron(EYE, metric_from_couplings(g, quartic, neurons=2))
    np.testing.assert_allclose(general.connected(2), two_point, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("neurons", [1, 2, 7])
def test_couplings_and_metric_are_inverse_to_this_order(neurons):
    """PDLT (4.47), PDLT (4.107)-(4.109): there and back leaves K + g1 up to a remainder of second order."""
    K, _, v, g1 = random_metric_law(3, samples=3, size=1e-3)

    def remainder(e):
        g = quadratic_coupling(K, e * v, e * g1, neurons)
        return np.asarray(metric_from_couplings(g, quartic_coupling(K, e * v), neurons) - K - e * g1)

    np.testing.assert_allclose(remainder(1e-2) / remainder(5e-3), 4.0, rtol=0.05)
    inverse_remainder = [
        np.linalg.inv(running_metric(K, e * v, e * g1, neurons)) - quadratic_coupling(K, e * v, e * g1, neurons)
        for e in (1e-2, 5e-3)
    ]
    np.testing.assert_allclose(inverse_remainder[0] / inverse_remainder[1], 4.0, rtol=0.05)


@pytest.mark.parametrize("neurons", [1, 3])
def test_action_and_density_are_the_same_law(neurons):
    """PDLT (4.58)-(4.60), PDLT (4.80)-(4.83), PDLT (4.109): minus the change of the action is the correction."""
    K, _, v, g1 = random_metric_law(4, samples=2)
    z = np.random.default_rng(5).normal(size=(6, neurons, 2))
    g, quartic = quadratic_coupling(K, v, g1, neurons), quartic_coupling(K, v)
    change = effective_action(z, g, quartic) - effective_action(z, np.linalg.inv(K), 0 * quartic)
    constant = density_correction(np.zeros((neurons, 2)), K, v, g1)
    np.testing.assert_allclose(density_correction(z, K, v, g1) - constant, -change, rtol=1e-10, atol=1e-12)


def test_single_input_forms():
    """PDLT (4.100)-(4.103): the printed scalars."""
    G, V, n, m = 1.3, 0.4, 50.0, 3
    K, v, none = np.full((1, 1), G), np.full((1,) * 4, V / n), np.zeros((1, 1))
    np.testing.assert_allclose(running_metric(K, v, none, m).item(), G - (m + 2) / 2 * V / (n * G), rtol=1e-14)
    np.testing.assert_allclose(quartic_coupling(K, v).item(), V / (n * G**4), rtol=1e-13)
    g, quartic = np.full((1, 1), 1.4), np.full((1,) * 4, 0.01)
    np.testing.assert_allclose(metric_from_couplings(g, quartic, m).item(), 1 / 1.4 + 2.5 * 0.01 / 1.4**3, rtol=1e-14)
    np.testing.assert_allclose(marginalise_neurons(g, quartic, 6, 2).item(), 1.4 - 2 * 0.01 / 1.4, rtol=1e-14)
    np.testing.assert_allclose(vertex_from_couplings(g, quartic).item(), 0.01 / 1.4**4, rtol=1e-13)


def radial_averages(v, g=1.4, dropped=4, neurons=6):
    """One sample: <s^2> over 4 neurons at the origin of the others, and E[z^2] of 6 neurons."""
    # Cut where the Gaussian has died out and the quartic term, of either sign, is still small.
    r = np.linspace(0, 8, 4001)
    weight = np.exp(-0.5 * g * r**2 + v / 8 * r**4)
    moments = {d: [(weight * r ** (d - 1 + k)).sum() for k in (0, 2)] for d in (dropped, neurons)}
    return moments[dropped][1] / moments[dropped][0], moments[neurons][1] / moments[neurons][0] / neurons


def test_running_with_the_number_of_neurons():
    """PDLT (4.97)-(4.101): six neurons to two by radial integrals; slopes -1.4286 and 1.4577, approached as v^2."""
    g, unit = np.full((1, 1), 1.4), np.full((1,) * 4, 1.0)
    running = marginalise_neurons(g, unit, 6, 2).item() - 1.4
    metric = metric_from_couplings(g, unit, 6).item() - 1 / 1.4
    np.testing.assert_allclose([running, metric], [-1.4286, 1.4577], atol=5e-5)

    def remainder(v):
        # The coefficient of half the square of the kept neurons in minus the log of their marginal.
        marginal = [1.4 - 0.5 * sign * v * radial_averages(sign * v)[0] for sign in (1, -1)]
        two_point = [radial_averages(sign * v)[1] for sign in (1, -1)]
        slopes = np.array([(x[0] - x[1]) / (2 * v) for x in (marginal, two_point)])
        return slopes - [running, metric]

    np.testing.assert_allclose(remainder(4e-3) / remainder(2e-3), 4.0, rtol=0.05)


def test_running_in_steps_is_running_at_once():
    """PDLT (4.97)-(4.100), PDLT (4.109): dropping neurons one after another, and the couplings of the fewer neurons."""
    K, _, v, g1 = random_metric_law(6, samples=3, size=1e-6)
    quartic = quartic_coupling(K, v)
    many, few = quadratic_coupling(K, v, g1, 8), quadratic_coupling(K, v, g1, 3)
    at_once = marginalise_neurons(many, quartic, 8, 3)
    in_steps = marginalise_neurons(marginalise_neurons(many, quartic, 8, 5), quartic, 5, 3)
    change = np.abs(many - few).max()
    assert change > 1e-6
    np.testing.assert_allclose(at_once, few, atol=1e-4 * change)
    np.testing.assert_allclose(in_steps, few, atol=1e-4 * change)


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda K, v, g: quadratic_coupling(np.ones((2, 2)), v, g, 1), DomainError, "K"),
        (lambda K, v, g: quadratic_coupling(K, v, g, 0), DomainError, "neurons"),
        (lambda K, v, g: running_metric(K, v[..., 0], g, 1), ShapeError, "v"),
        (lambda K, v, g: quartic_coupling(np.ones((2, 2)), v), DomainError, "K"),
        (lambda K, v, g: metric_from_couplings(np.ones((2, 2)), v, 1), DomainError, "g"),
        (lambda K, v, g: vertex_from_couplings(K, v[0]), ShapeError, "v_raised"),
        (lambda K, v, g: marginalise_neurons(K, v, 2, 3), DomainError, "keep"),
        (lambda K, v, g: effective_action(np.zeros(2), K, v), ShapeError, "z"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    K, _, v, g1 = random_metric_law(0, samples=2)
    with pytest.raises(error) as caught:
        call(K, v, g1)
    assert caught.value.argument == argument
