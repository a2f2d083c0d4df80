"""Correlators with differentials, weights inserted and means of one step: made-up tensors in loops over neurons, draws, closed moments."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError, ShapeError, UnknownNameError
from finitewidth.expansion import (
    differential_correlator,
    mean_second_order_shift,
    mean_tangent_change,
    observable_with_differential,
    one_weight_insertion,
    second_differential_mean,
    three_weight_insertions,
    weight_generating_function,
)
from finitewidth.results import Differential, Flow, Metric, SecondDifferential

OUTPUTS, WIDTH = 3, 7
RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def theory():
    """Of two samples and two layers, with the symmetries of the differentials and no others."""
    net = fw.MLP("tanh", (2, WIDTH, OUTPUTS))
    K = np.array([[[1.0, 0.3], [0.3, 0.8]], [[0.7, 0.2], [0.2, 0.9]]])
    P, Q, R, S, T, U = RANDOM.normal(size=(6, 2, *[2] * 4))
    P, R = P + np.einsum("labcd->lacbd", P), R + np.einsum("labcd->labdc", R)
    S, T, U = S + np.einsum("labcd->lbadc", S), T + np.einsum("labcd->ldcba", T), U + np.einsum("labcd->lcdab", U)
    zero = np.zeros((2, *[2] * 4))
    groups = {
        "differential": Differential(P=P, Q=Q, layers=(1, 2)),
        "second_differential": SecondDifferential(R=R, S=S, T=T, U=U, layers=(1, 2)),
    }
    return Flow(net, K, Metric(G1=0 * K, G=K, V=zero), **groups)


def joint(theory, places, function):
    """A correlator with all its neural indices, samples first, by calling it entry by entry."""
    found = np.zeros((*[2] * places, *[OUTPUTS] * places))
    for samples in itertools.product(range(2), repeat=places):
        for neurons in itertools.product(range(OUTPUTS), repeat=places):
            found[samples + neurons] = function(list(zip(neurons, samples, strict=True)))
    return found


@pytest.fixture(scope="module")
def dHz(theory):
    return joint(theory, 4, lambda sites: differential_correlator(theory, 2, sites))


def test_neural_indices_of_the_differential(theory, dHz):
    """PDLT (11.45) read off neuron by neuron, and its one symmetry."""
    P, Q = theory.P[1] / WIDTH, theory.Q[1] / WIDTH
    np.testing.assert_allclose(dHz[..., 0, 1, 1, 0], P)
    np.testing.assert_allclose(dHz[..., 0, 0, 2, 2], Q)
    np.testing.assert_allclose(dHz[..., 2, 2, 2, 2], P + Q + np.einsum("acbd->abcd", Q))
    np.testing.assert_array_equal(dHz[..., 0, 1, 2, 0], 0)
    np.testing.assert_allclose(dHz, dHz.transpose(0, 2, 1, 3, 4, 6, 5, 7))


def test_neural_indices_of_second_differentials(theory):
    """PDLT (∞.11), (∞.12): total symmetry of the first in its last three places, that of both pairs of the second."""
    first, second = (
        joint(theory, 4, lambda sites, k=k: second_differential_mean(theory, 2, sites, k)) for k in ("I", "II")
    )
    np.testing.assert_allclose(first, first.transpose(0, 2, 3, 1, 4, 6, 7, 5))
    np.testing.assert_allclose(first, first.transpose(0, 2, 1, 3, 4, 6, 5, 7))
    np.testing.assert_allclose(second, second.transpose(1, 0, 3, 2, 5, 4, 7, 6))
    S, T, U = (getattr(theory, name)[1] / WIDTH for name in "STU")
    np.testing.assert_allclose(first[..., 0, 0, 1, 1], theory.R[1] / WIDTH)
    np.testing.assert_allclose(second[..., 0, 0, 1, 1], S)
    np.testing.assert_allclose(np.einsum("abcd->acdb", second[..., 0, 1, 0, 1]), T)
    np.testing.assert_allclose(np.einsum("abcd->adbc", second[..., 0, 1, 1, 0]), U)


def test_mean_change_of_the_tangent_kernel(theory, dHz):
    """PDLT (11.10) with all neurons summed: the mean does not know the targets, and is diagonal in neurons."""
    rate = 0.2
    for train in (None, [1]):
        chosen = range(2) if train is None else train
        summed = sum(dHz[:, :, a, a, :, :, j, j] for a in chosen for j in range(OUTPUTS))
        expected = -rate * (summed + summed.transpose(1, 0, 3, 2))
        found = mean_tangent_change(theory, rate, train=train)
        np.testing.assert_allclose(expected, found[..., None, None] * np.eye(OUTPUTS), atol=1e-13)


def test_mean_output_shift_of_second_order(theory, dHz):
    """PDLT (11.9): half of the differential with two errors, of which one target and one output survive the mean."""
    y, rate = RANDOM.normal(size=(2, OUTPUTS)), 0.3
    expected = -(rate**2) / 2 * (np.einsum("xabaijkj,bk->xi", dHz, y) + np.einsum("xabbijkk,aj->xi", dHz, y))
    np.testing.assert_allclose(mean_second_order_shift(theory, y, rate), expected, atol=1e-13)
    expected = -(rate**2) * np.einsum("xijkj,k->xi", dHz[:, 1, 1, 1], y[1])
    np.testing.assert_allclose(mean_second_order_shift(theory, y[1:], rate, train=[1]), expected, atol=1e-13)


def test_observables(theory):
    r"""PDLT (11.42): $z^3$ gives $3KP$, a product of three neurons' preactivations gives each term once."""
    P, Q, K, n = theory.P[1], theory.Q[1], theory.K[1], WIDTH
    cubed = observable_with_differential(theory, 2, lambda z: z[0, 0] ** 3, ((0, 0), (1, 1), (1, 0)), samples=(1,))
    np.testing.assert_allclose(cubed, 3 * K[1, 1] * P[0, 1, 0, 1] / n, rtol=1e-9)
    slope = observable_with_differential(
        theory, 2, lambda z: jnp.sin(z[0, 0]), ((0, 0), (0, 1), (1, 0)), neurons=2, samples=(1,)
    )
    np.testing.assert_allclose(slope, 0, atol=1e-12)  # the differential sees neuron 1, the observable neuron 0
    of_other = observable_with_differential(
        theory, 2, lambda z: jnp.sin(z[0, 1]), ((0, 0), (0, 1), (1, 0)), neurons=2, samples=(1,)
    )
    np.testing.assert_allclose(of_other, np.exp(-K[1, 1] / 2) * Q[0, 1, 0, 1] / n, rtol=1e-9)
    swapped = observable_with_differential(
        theory, 2, lambda z: z[0, 1], ((0, 0), (1, 1), (0, 0)), neurons=2, samples=(1,)
    )
    np.testing.assert_allclose(swapped, Q[0, 0, 1, 1] / n, rtol=1e-9)


def moments(weights, neurons=2):
    """$E[\\mathcal O\\,W\\cdots]$ from derivatives of the generating function, PDLT (11.33), by differences."""

    def observable(z):
        return jnp.sin(z[0, 0] + 0.3) * jnp.cos(0.7 * z[0, neurons - 1] + 0.4)

    signals, step, shape = [[0.6, -1.1]], 0.02, (neurons, 2)
    total = 0.0
    for signs in itertools.product((-1, 1), repeat=len(weights)):
        source = np.zeros(shape)
        for sign, place in zip(signs, weights, strict=True):
            source[place] += sign * step
        total += np.prod(signs) * float(weight_generating_function(observable, signals, source, C_b=0.2, C_W=1.3))
    return observable, signals, total / (2 * step) ** len(weights)


def test_one_weight_inserted():
    """PDLT (11.34)."""
    for place in ((0, 1), (1, 0)):
        observable, signals, expected = moments([place])
        found = one_weight_insertion(observable, signals, place, neurons=2, C_b=0.2, C_W=1.3)
        np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("places", [((0, 1), (0, 1), (1, 0)), ((0, 0), (0, 1), (1, 1)), ((1, 1), (1, 1), (1, 1))])
def test_three_weights_inserted(places):
    """PDLT (11.35): pairings of equal weights, and the third derivative."""
    observable, signals, expected = moments(places)
    found = three_weight_insertions(observable, signals, places, neurons=2, C_b=0.2, C_W=1.3)
    np.testing.assert_allclose(found, expected, rtol=3e-3)


def test_bad_input_is_named(theory):
    with pytest.raises(UnknownNameError, match="kind"):
        second_differential_mean(theory, 2, [(0, 0)] * 4, "III")
    with pytest.raises(ShapeError, match="sites"):
        differential_correlator(theory, 2, [(0, 0)] * 3)
    with pytest.raises(DomainError, match="train"):
        mean_tangent_change(theory, 0.1, train=[2])
    with pytest.raises(ShapeError, match=r"`y`.*shape \(2, 3\)"):
        mean_second_order_shift(theory, [[1.0]], 0.1)
    with pytest.raises(DomainError, match="`weight`"):
        one_weight_insertion(lambda z: z[0, 0], [[1.0, 2.0]], (0, 2))
