"""`predict` at order 1: printed numbers, what cannot be else, words and refusals."""

import math
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.end_of_training.finite_prediction import UNTRUSTED

X = np.array([[1.0, 0.5], [-0.3, 0.8]])
Y = np.array([[0.7, -0.4]])
C_B, C_W, LAMBDA_B, LAMBDA_W = (0.1, 0.2, 0.05), (1.5, 1.3, 0.9), (0.5, 0.4, 0.3), (1.0, 0.8, 0.6)
WAYS = ({"algorithm": "two_step"}, {}, {"algorithm": "gradient_descent", "rate": 0.3})


def network(activation, *hidden, **changes):
    L = len(hidden) + 1
    return fw.MLP(activation, (2, *hidden, 2), C_B[:L], C_W[:L], LAMBDA_B[:L], LAMBDA_W[:L]).replace(**changes)


def predicted(net, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.ValidityWarning)  # printed numbers are for widths of ten
        return fw.predict(net, X[:1], Y, X[1:], order=1, **how)


@pytest.mark.parametrize(
    ("net", "kernel", "corrections"),
    [
        (network("sin", 10), 0.34412776, (0.01365944, 0.00456454, 0.00800553)),
        (network("tanh", 10, 15), 0.42551488, (0.03631070, 0.01892288, 0.02378377)),
        pytest.param(
            *(network("gelu", 10, 15), 0.39229829, (0.09652402, 0.08764292, 0.09188698)), marks=pytest.mark.measured
        ),
    ],
    ids=["sin", "tanh", "gelu"],
)
def test_printed_corrections(net, kernel, corrections):
    """PDLT (∞.160)-(∞.165), corrected: eight digits by another program, for two steps, flow and descent."""
    for how, expected in zip(WAYS, corrections, strict=True):
        found = predicted(net, **how)
        parts = found.mean_fluctuation + found.mean_dntk + found.mean_ddntk_I + found.mean_ddntk_II
        np.testing.assert_allclose(found.mean_kernel, [[kernel, -4 / 7 * kernel]], atol=6e-9)
        np.testing.assert_allclose(parts, [[expected, -4 / 7 * expected]], atol=6e-9)
        np.testing.assert_allclose(found.mean, found.mean_kernel + parts, atol=1e-15)
        np.testing.assert_allclose(found.mean - found.mean_kernel - found.mean_fluctuation, found.mean_representation)


def neither_odd_nor_even(z):
    return z * jnp.exp(-(z**2) / 4) + 0.3 * z + 0.4 * z**2 * jnp.exp(-(z**2) / 3)


PARTS = ("kernel", "fluctuation", "dntk", "ddntk_I", "ddntk_II")
KERNEL, FLUCTUATION = (0.210083685, 0.198052677), (0.001459663, 0.017105869)
SPELLED_OUT = (
    (
        (KERNEL, FLUCTUATION, (-0.011838334, -0.009059277), (0.015239528, 0.044837979), (0.0, 0.0)),
        ((1.060788145, -0.008702436), (-0.008702436, 1.071279396)),
    ),
    (
        (KERNEL, FLUCTUATION, (-0.005583668, -0.018331528), (0.014381617, 0.07096355), (-0.004617673, -0.051211009)),
        ((1.129575789, -0.023979585), (-0.023979585, 1.175817565)),
    ),
    (
        (KERNEL, FLUCTUATION, (-0.007481433, -0.017359934), (0.013432689, 0.068381489), (-0.000138347, -0.043699648)),
        ((1.11390269, -0.023829523), (-0.023829523, 1.158819959)),
    ),
)


def test_another_program_spells_out_all_indices():
    """PDLT (∞.160)-(∞.167), corrected, from inputs to predictions: the flow on a product grid in NumPy, derivatives by SymPy, joint indices
    of samples and outputs written out, the printed projectors. Two training inputs of different norms, two outputs, layers that differ."""
    net = fw.MLP(
        *(neither_odd_nor_even, (2, 21, 13, 2), (0.15, 0.05, 0.2), (1.2, 0.8, 1.5)),
        *((0.3, 0.6, 0.2), (0.9, 0.4, 1.1)),
    )
    x, y = np.array([[0.2, -0.3], [1.1, 0.6], [-0.7, 1.4]]), np.array([[0.8, -0.5], [0.3, 0.9]])
    for how, (parts, covariance) in zip((*WAYS[:2], WAYS[2] | {"rate": 0.11}), SPELLED_OUT, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fw.ValidityWarning)
            found = fw.predict(net, x[:2], y, x[2:], order=1, **how)
        for name, expected in zip(PARTS, parts, strict=True):
            np.testing.assert_allclose(getattr(found, f"mean_{name}"), [expected], atol=2e-9)
        np.testing.assert_allclose(found.covariance[0, 0], covariance, atol=2e-9)


def test_very_wide_networks_are_those_of_infinite_width():
    """PDLT (10.40)-(10.41) is the limit, and corrections fall as 1/n; on the way as at the end."""
    for how in ({}, {"time": 1.5}, {"algorithm": "gradient_descent", "rate": 0.3, "steps": 4, "record": [1, 2]}):
        limit = fw.predict(network("tanh", 8, 8), X[:1], Y, X[1:], **how)
        shifts = []
        for n in (10**6, 10**7):
            found = predicted(network("tanh", n, n), **how)
            np.testing.assert_allclose(found.mean_limit, limit.mean, rtol=1e-12)
            np.testing.assert_allclose(found.trajectory.times, limit.trajectory.times)
            np.testing.assert_allclose(found.loss, limit.loss, rtol=1e-4, atol=1e-12)
            shifts.append(
                [found.mean[0, 0] - limit.mean[0, 0], found.covariance[0, 0, 0, 0] - limit.covariance[0, 0, 0, 0]]
            )
            assert found.wiring[0, 0, 0, 1] != 0
        np.testing.assert_allclose(np.divide(*shifts), 10, rtol=1e-3)


def test_the_last_layer_alone_learns_no_representation():
    """PDLT (∞.173): with $\\lambda = 0$ below the last layer there are no differentials."""
    last = {
        "lambda_b": (0.0, 0.0, 0.05),
        "lambda_W": (0.0, 0.0, 0.9),
    }  # as C_b and C_W: the tangent kernel is the metric
    net = network("tanh", 40, 60, **last)
    found = predicted(net)
    assert not found.mean_representation.any()
    believed = fw.bayes(net, X[:1], Y, X[1:])
    np.testing.assert_allclose(found.mean_limit, fw.bayes(net, X[:1], Y, X[1:], order=0).mean, rtol=1e-12)
    # Both are means of the same networks' kernel regressions; Bayes weighs networks by their evidence, training does not.
    assert np.abs(found.mean - believed.mean).max() > 1e-5
    assert predicted(network("tanh", 40, 60)).mean_representation.all()


def test_moments_on_the_way_are_those_of_shorter_trainings():
    net, how = network("tanh", 30, 30), {"algorithm": "gradient_descent", "rate": 0.3}
    way = predicted(net, steps=5, record=[2], **how)
    short = predicted(net, steps=2, **how)
    np.testing.assert_allclose(way.trajectory.mean[1], short.mean, atol=1e-14)
    np.testing.assert_allclose(way.trajectory.covariance[1], short.covariance, atol=1e-14)
    assert way.loss[1] == pytest.approx(short.loss[-1], rel=1e-12)
    assert way.loss[0] > way.loss[1] > way.loss[2] > 0


def test_one_step():
    """What is learned by the mean kernel is $\\eta H_{\\beta a}y_a$, and kernels that differ from network to network have no part."""
    net, eta = network("tanh", 30, 30), 0.3
    found = predicted(net, algorithm="gradient_descent", rate=eta, steps=1)
    theory = fw.flow(net, X, through="ntk")
    np.testing.assert_allclose(found.mean_kernel, eta * theory.H[-1, 1, 0] * Y, rtol=1e-12)
    np.testing.assert_allclose(found.mean_limit, eta * theory.Theta[-1, 1, 0] * Y, rtol=1e-12)
    assert not found.mean_fluctuation.any()
    assert found.mean_dntk.all()


def test_targets_of_another_sign_and_other_outputs():
    """The mean is odd in targets, and outputs are alike."""
    net = network("tanh", 30, 30)
    found, turned = predicted(net), fw.predict(net, X[:1], -Y[:, ::-1], X[1:], order=1)
    np.testing.assert_allclose(turned.mean, -found.mean[:, ::-1], atol=1e-14)
    np.testing.assert_allclose(turned.covariance, found.covariance[:, :, ::-1, ::-1], atol=1e-14)


def test_test_loss_is_bias_and_variance():
    """PDLT (10.52), (∞.172)."""
    found, y = predicted(network("tanh", 30, 30)), np.array([[0.3, -0.1]])
    error = found.test_loss(y)
    assert error.bias == pytest.approx(np.sum((found.mean - y) ** 2) / 2)
    assert error.variance == pytest.approx(np.einsum("bbii->", found.covariance) / 2)


def test_warning_on_both_sides_of_its_threshold():
    """Words appear where the small parameter is above the threshold; widths that they advise are on the other side of it."""
    narrow = predicted(network("tanh", 8, 8))
    assert not narrow.trust.holds
    with pytest.warns(fw.ValidityWarning, match="not to be trusted") as told:
        fw.predict(network("tanh", 8, 8), X[:1], Y, X[1:], order=1)
    factor = float(str(told[0].message).partition("Take widths ")[2].split()[0])
    n = math.ceil(8 * factor * 1.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = fw.predict(network("tanh", n, n), X[:1], Y, X[1:], order=1)
    assert 0.5 * UNTRUSTED < wide.trust.small_parameter <= UNTRUSTED
    assert wide.trust.holds
    larger = fw.predict(network("tanh", n, n), X[:1], 0.1 * Y, X[1:], order=1)
    assert larger.trust.push < wide.trust.push  # smaller targets help, until the first outputs are larger than they


def test_targets_of_deep_networks():
    """PDLT (∞.25)-(∞.26)."""
    np.testing.assert_allclose(fw.learning.rescaled_targets([1.0, -2.0], depth=16, p_0=1.0), [0.25, -0.5])
    np.testing.assert_allclose(fw.learning.rescaled_targets([1.0], depth=16, p_0=0.0), [1.0])
    with pytest.raises(fw.ArgumentError):
        fw.learning.rescaled_targets([1.0], depth=0, p_0=1.0)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"order": 2}, "order"),
        ({"algorithm": "newton"}, "algorithm"),
        ({"algorithm": "sgd"}, "algorithm"),
        ({"loss": "cross_entropy"}, "loss"),
        ({"kappa": np.eye(1)}, "kappa"),
        ({"algorithm": "gradient_descent"}, "rate"),
        ({"algorithm": "gradient_descent", "rate": 9.0}, "rate"),
        ({"algorithm": "two_step", "record": [1]}, "record"),
        ({"algorithm": "two_step", "time": 1.0}, "time"),
        ({"x_train": X[[0, 0]], "y_train": Y[[0, 0]]}, "x_train"),
        ({"net": network("relu", 8, 8)}, "activation"),
    ],
)
def test_bad_input_is_named(wrong, argument):
    good = {"net": network("tanh", 30, 30), "x_train": X[:1], "y_train": Y, "x_test": X[1:], "order": 1}
    with pytest.raises(fw.ArgumentError) as error:
        fw.predict(**good | wrong)
    assert error.value.argument == argument


def test_kernels_and_too_many_inputs_are_refused():
    with pytest.raises(fw.ArgumentError, match="order 1"):
        fw.predict(kernel=np.eye(2), y_train=[1.0], order=1)
    many = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.raises(fw.DomainError, match="GB"):
        fw.predict(network("tanh", 30, 30), many, np.zeros((80, 2)), X, order=1)
