"""Ensembles of trained networks: lazy ones have the law of dense ones, and wide ones that of the kernel prediction."""

import jax
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.training.dense import train_dense
from finitewidth.learning.training.lazy import train_lazy
from finitewidth.learning.training.plan import plan_training

pytestmark = pytest.mark.measured

RANDOM = np.random.default_rng(0)
X, Y, SEEN = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 2)), RANDOM.normal(size=(2, 3))
P = np.exp(Y) / np.exp(Y).sum(axis=1, keepdims=True)
BATCHES = fw.learning.kernel.schedule.shuffled_batches(4, 2, 8, 0)


@pytest.mark.parametrize(
    ("width", "loss", "batch", "rate"),
    [
        (8, "mse", None, 0.1),
        (24, "mse", BATCHES, 0.1),
        (24, "cross_entropy", None, 0.4),
        (8, "cross_entropy", BATCHES, 0.4),
    ],
)
def test_lazy_networks_have_the_law_of_dense_ones(width, loss, batch, rate):
    """Loss after every step, mean and covariance after three numbers of steps, of networks so narrow that training moves their
    kernels by half: in standard errors of both. At width 8 all directions are soon asked, at width 24 never."""
    net = fw.MLP("tanh", (3, width, width, width, 2), C_b=0.1, C_W=1.5, lambda_b=0.5)
    how = {"rate": rate, "steps": 8, "loss": loss, "batch": batch, "record": [3]}
    y = {"mse": Y, "cross_entropy": P}[loss]
    dense = fw.train(net, X, y, SEEN, networks=6000, **how)
    lazy = fw.train(net, X, y, SEEN, networks=300, seed=1, method="lazy", **how)
    assert lazy.lazy_weights.worst_overlap < 1e-13
    for one, other in (
        (dense.loss, lazy.loss),
        (dense.trajectory.mean, lazy.trajectory.mean),
        (dense.trajectory.covariance, lazy.trajectory.covariance),
    ):
        error = np.hypot(one.standard_error, other.standard_error)
        np.testing.assert_array_less(np.abs(one.mean - other.mean), 4.5 * error)
    assert dense.loss.mean[-1] < 0.7 * dense.loss.mean[0] or loss == "cross_entropy"


STEPS = 40


def deviations(width, networks, method="dense"):
    """Trained outputs less those of a network of infinite width with the same first outputs, at [network, point]."""
    net = fw.MLP("tanh", (3, width, width, 1), C_b=0.1, C_W=1.5)
    y, points = Y[:, :1], np.concatenate([X, SEEN])
    plan, _ = plan_training(net, X, y, points, None, STEPS, "mse", None, 0, None)
    if method == "dense":
        lane = 64
        found = [np.asarray(train_dense(plan, 0, first, lane).outputs) for first in range(0, networks, lane)]
    else:
        found = [train_lazy(plan, 0, number).outputs for number in range(networks)]
    first, last = np.concatenate(found)[..., 0].transpose(1, 0, 2)
    theta = np.asarray(fw.frozen_ntk(net, points))
    limit = first.T
    for _ in range(STEPS):
        limit = limit - plan.rate * theta[:, :4] @ (limit[:4] - y)
    return last - limit.T


def test_trained_networks_approach_the_kernel_prediction():
    """PDLT (10.39): outputs fluctuate about those of the frozen kernel by a variance of order 1/n, from 128 to 20,000 neurons.

    The spread of a network's square is about its size, so that the logarithms of the three means have errors of 0.09, 0.14 and 0.42."""
    found = [deviations(128, 256), deviations(512, 64), deviations(20_000, 8, "lazy")]
    narrow, middle, wide = (np.log(np.mean(each**2)) for each in found)
    np.testing.assert_allclose((middle - narrow) / np.log(512 / 128), -1, atol=4 * 0.17 / np.log(4))
    np.testing.assert_allclose((wide - narrow) / np.log(20_000 / 128), -1, atol=4 * 0.43 / np.log(20_000 / 128))


def test_means_of_trained_networks_approach_the_kernel_prediction():
    """PDLT (10.40): the mean deviates by $a/n + b/n^2$; so $n$ times it, at widths 64, 128 and 256, lies on a line in 1/n, which does
    not lead to zero."""
    found = []
    for width, networks in ((64, 8192), (128, 8192), (256, 8192)):
        scaled = width * deviations(width, networks)
        found.append((scaled.mean(axis=0), scaled.std(axis=0) / np.sqrt(networks)))
    (narrow, middle, wide), (of_narrow, of_middle, of_wide) = zip(*found, strict=True)
    error = np.sqrt(of_narrow**2 + (3 * of_middle) ** 2 + (2 * of_wide) ** 2)
    np.testing.assert_array_less(np.abs(narrow - 3 * middle + 2 * wide), 4 * error)
    limit, error = 2 * wide - middle, np.hypot(2 * of_wide, of_middle)
    assert (np.abs(limit) > 5 * error).any()


def test_hundred_thousand_neurons_a_layer():
    """Four layers, eight points, a hundred steps: it learns as its kernel does, in memory of order width times questions."""
    width, samples = 100_000, 8
    net = fw.MLP("tanh", (4, width, width, width, 1), C_b=0.1, C_W=1.5)
    random = np.random.default_rng(0)
    x, y = random.normal(size=(samples, 4)), random.normal(size=(samples, 1))
    plan, _ = plan_training(net, x, y, x, None, 100, "mse", None, 0, [50])
    outcome = train_lazy(plan, 0, 0)
    theta = np.asarray(fw.frozen_ntk(net, x))
    limit, losses = np.asarray(outcome.outputs)[0, 0], []
    for _ in range(101):
        losses.append(np.sum((limit - y) ** 2) / 2)
        limit = limit - plan.rate * theta @ (limit - y)
    np.testing.assert_allclose(outcome.losses[0], losses, rtol=0.05)
    assert outcome.worst_overlap[0] < 1e-13
    assert outcome.directions[0] < samples * 2 * 100 / 2  # most questions repeat, to rounding
    jax.clear_caches()
