"""First-order perturbation theory against exact quadrature of the full and of the expanded action."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError, ShapeError
from finitewidth.gaussian.actions import EvenAction, symmetrise
from finitewidth.gaussian.cumulants import moments_from_connected
from metric_laws import hermite_grid

K2 = np.array([[0.7, 0.2], [0.2, 0.5]])


def random_coupling(seed, order, variables=2):
    return np.asarray(symmetrise(jnp.asarray(np.random.default_rng(seed).normal(size=(variables,) * order))))


def one_variable_statistics(epsilon):
    """log Z, E[z^2] and the connected E[z^4] of S = z^2/(2 0.7) + epsilon z^4/24 by a trapezoid rule."""
    z = np.linspace(-12, 12, 6001)
    density = np.exp(-(z**2) / 1.4 - epsilon * z**4 / 24)
    Z = density.sum() * (z[1] - z[0])
    E2, E4 = (density * z**2).sum() / density.sum(), (density * z**4).sum() / density.sum()
    return np.array([Z / math.sqrt(2 * math.pi * 0.7), E2, E4 - 3 * E2**2])


def test_quartic_slopes_of_one_variable():
    """PDLT (1.71)-(1.78): slopes -K^2/8, -K^3/2, -K^4 at K = 0.7, approached linearly in epsilon."""
    action = EvenAction([[0.7]], [np.full((1,) * 4, 1.0)])
    predicted = np.array(
        [
            action.log_normaliser() - 0.5 * math.log(2 * math.pi * 0.7),
            action.connected(2).item() - 0.7,
            action.connected(4).item(),
        ]
    )
    np.testing.assert_allclose(predicted, [-0.06125, -0.1715, -0.2401], rtol=1e-13)
    measured = np.array(
        [(one_variable_statistics(e) - one_variable_statistics(0.0)) / e for e in (0.01, 0.005, 0.0025)]
    )
    np.testing.assert_allclose(measured[1], [-0.06114, -0.17094, -0.23806], atol=6e-6)
    remainder = measured - predicted
    np.testing.assert_allclose(remainder[:-1] / remainder[1:], 2.0, rtol=0.02)


def test_quartic_slopes_of_two_variables():
    """PDLT (1.74), PDLT (1.78): a positive quartic form of two correlated variables, remainder linear in epsilon."""
    directions = np.array([[1.0, 0.4], [-0.3, 0.8], [0.5, 0.5]])
    V = np.einsum("ka,kb,kc,kd->abcd", *[directions] * 4)
    grid = np.linspace(-8, 8, 321)
    z = np.array(list(itertools.product(grid, grid)))

    def correlators(epsilon):
        density = np.exp(-EvenAction(K2, [epsilon * V])(z))
        density = density / density.sum()
        E2 = np.einsum("i,ia,ib->ab", density, z, z)
        return E2[0, 1], density @ (z[:, 0] ** 2 * z[:, 1] ** 2) - E2[0, 0] * E2[1, 1] - 2 * E2[0, 1] ** 2

    def remainder(epsilon):
        action = EvenAction(K2, [epsilon * V])
        first_order = np.array([action.connected(2)[0, 1], action.connected(4)[0, 0, 1, 1]])
        return np.array(correlators(epsilon)) - first_order

    np.testing.assert_allclose(remainder(0.004) / remainder(0.002), 4.0, rtol=0.02)


@pytest.mark.parametrize("indices", [(0, 1), (1, 1), (0, 0, 0, 1), (0, 1, 0, 1), (0, 0, 0, 1, 1, 1)])
def test_moments_to_first_order_for_couplings_of_order_4_6_8(indices):
    """PDLT (1.74)-(1.77), PDLT (1.81): <F> - <F dS> + <F><dS> by a quadrature exact for these polynomials."""
    couplings = [random_coupling(order, order) for order in (4, 6, 8)]
    z, weights = hermite_grid(K2, 8)
    action = EvenAction(K2, couplings)
    perturbation = np.asarray(action(z)) - 0.5 * np.einsum("ia,ab,ib->i", z, np.linalg.inv(K2), z)
    F = z[:, indices].prod(axis=1)
    exact = weights @ F - weights @ (F * perturbation) + (weights @ F) * (weights @ perturbation)
    np.testing.assert_allclose(action.moment(indices), exact, rtol=1e-11)
    np.testing.assert_allclose(
        action.log_normaliser(), EvenAction(K2, []).log_normaliser() - weights @ perturbation, rtol=1e-12
    )


@pytest.mark.measured
def test_moments_are_the_connected_correlators_put_together():
    """PDLT (1.56), PDLT (1.78): the moment map linearised about the Gaussian, all components at once."""
    action = EvenAction(K2, [random_coupling(1, 4), random_coupling(2, 6)])
    gaussian = [jnp.zeros(2), jnp.asarray(K2), *(jnp.zeros((2,) * k) for k in (3, 4, 5, 6))]
    shift = [action.connected(k) - gaussian[k - 1] for k in range(1, 7)]
    moments, change = jax.jvp(moments_from_connected, (gaussian,), (shift,))
    for order in (2, 4, 6):
        direct = [action.moment(index) for index in np.ndindex((2,) * order)]
        np.testing.assert_allclose(np.ravel(moments[order - 1] + change[order - 1]), direct, rtol=1e-11, atol=1e-12)
    assert not np.asarray(action.connected(3)).any()
    assert action.moment((0, 1, 1)) == 0


def test_action_is_the_written_out_sum():
    """PDLT (1.81): every term by hand, batch shape kept."""
    quartic, sextic = random_coupling(5, 4), random_coupling(6, 6)
    z = np.random.default_rng(7).normal(size=(3, 4, 2))
    action = EvenAction(K2, [sextic, quartic])(z)
    assert action.shape == (3, 4)
    point = z[1, 2]
    by_hand = 0.5 * point @ np.linalg.solve(K2, point)
    for tensor in (quartic, sextic):
        terms = [tensor[i] * point[list(i)].prod() for i in np.ndindex(tensor.shape)]
        by_hand += sum(terms) / math.factorial(tensor.ndim)
    np.testing.assert_allclose(action[1, 2], by_hand, rtol=1e-12)


def test_only_the_symmetric_part_of_a_coupling_acts():
    """PDLT (1.71): the mean over all permutations of the axes."""
    tensor = np.random.default_rng(8).normal(size=(2,) * 4)
    mean = np.mean([tensor.transpose(axes) for axes in itertools.permutations(range(4))], axis=0)
    np.testing.assert_allclose(EvenAction(K2, [tensor]).couplings[0], mean, atol=1e-15)
    np.testing.assert_allclose(
        EvenAction(K2, [tensor]).connected(4), EvenAction(K2, [mean]).connected(4), rtol=1e-12, atol=1e-15
    )


def test_derivative_of_the_normaliser_by_the_coupling():
    """PDLT (1.72)-(1.73): d log Z / d s = -<zzzz>/4! at zero coupling, through jit and grad."""
    gradient = jax.jit(jax.grad(lambda s: EvenAction(K2, [s]).log_normaliser()))(jnp.zeros((2,) * 4))
    wick = np.array([EvenAction(K2, []).moment(index) for index in np.ndindex((2,) * 4)]).reshape((2,) * 4)
    np.testing.assert_allclose(gradient, -wick / 24, rtol=1e-12)


def test_sizes_do_not_depend_on_the_basis():
    """PDLT (1.82): z -> M z with the inverse acting on the couplings; for one variable |s| K^m."""
    M = np.array([[2.0, 0.3], [-1.0, 0.5]])
    inverse, quartic = np.linalg.inv(M), random_coupling(9, 4)
    moved = np.einsum("abcd,ae,bf,cg,dh->efgh", quartic, *[inverse] * 4)
    before, after = EvenAction(K2, [quartic]).sizes(), EvenAction(M @ K2 @ M.T, [moved]).sizes()
    np.testing.assert_allclose(before.sizes[4], after.sizes[4], rtol=1e-12)
    one = EvenAction([[0.5]], [np.full((1,) * 4, -0.2), np.full((1,) * 6, 0.3)]).sizes()
    np.testing.assert_allclose([one.sizes[4], one.sizes[6]], [0.2 * 0.5**2, 0.3 * 0.5**3], rtol=1e-14)


@pytest.mark.parametrize(
    ("quartic", "sextic", "nearly_gaussian", "hierarchical"),
    [(0.01, 5e-4, True, True), (0.01, 5e-3, True, False), (0.5, 1.0, False, True), (0.0, 1e-3, True, False)],
)
def test_smallness_and_hierarchy(quartic, sextic, nearly_gaussian, hierarchical):
    """PDLT (1.82)-(1.83): small couplings, and a sextic one of the order of the quartic squared."""
    sizes = EvenAction([[1.0]], [np.full((1,) * 4, quartic), np.full((1,) * 6, sextic)]).sizes()
    assert sizes.nearly_gaussian is nearly_gaussian
    assert sizes.hierarchical is hierarchical


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: EvenAction(np.ones((2, 2)), []), DomainError, "K"),
        (lambda: EvenAction(K2, [np.zeros((2,) * 3)]), ShapeError, "couplings[0]"),
        (lambda: EvenAction(K2, [np.zeros((2, 2))]), ShapeError, "couplings[0]"),
        (lambda: EvenAction(K2, [np.zeros((3,) * 4)]), ShapeError, "couplings[0]"),
        (lambda: EvenAction(K2, [np.zeros((2,) * 4)] * 2), ShapeError, "couplings"),
        (lambda: EvenAction(K2, [np.full((2,) * 4, np.nan)]), DomainError, "couplings[0]"),
        (lambda: EvenAction(K2, [])(np.zeros(3)), ShapeError, "z"),
        (lambda: EvenAction(K2, []).moment((0, 5)), DomainError, "indices"),
        (lambda: EvenAction(K2, []).connected(0), DomainError, "order"),
        (lambda: jax.jit(lambda K: EvenAction(K, []).sizes().sizes)(K2), DomainError, "K"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.argument == argument
