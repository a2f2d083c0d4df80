"""The tangent kernel's theory against real networks: the remainder falls with width, and nothing else is left."""

import numpy as np
import pytest

import finitewidth as fw

HYPERPARAMETERS = {
    "C_b": (0.3, 0.1, 0.2, 0.05, 0.1),
    "lambda_b": (0.5, 0.7, 0.2, 0.9, 0.4),
    "lambda_W": (1.1, 0.6, 1.4, 0.8, 1.0),
}
CASES = {
    # Activation, inputs, C_W, hidden widths.
    "tanh": (2, (1.3, 1.7, 1.4, 1.2, 1.3), (12, 18, 10, 14)),
    "relu": (2, (1.3, 2.2, 1.8, 1.9), (20, 28, 16)),
    "gelu": (2, (1.3, 2.2, 1.8, 1.9), (16, 24, 12)),
    "sin": (4, (1.3, 1.2, 1.4), (12, 18)),
}


def network(name, scale):
    _, C_W, hidden = CASES[name]
    layers = len(hidden) + 1
    others = {key: values[:layers] for key, values in HYPERPARAMETERS.items()}
    return fw.MLP(name, (3, *(scale * n for n in hidden), 1), C_W=C_W, **others)


@pytest.mark.measured
@pytest.mark.parametrize("name", CASES)
def test_remainder_falls_as_the_inverse_width(name):
    """PDLT (8.67), (8.82), (9.3): A, B, D, F and the mean of all layers, unequal widths, rates that differ by layer.

    The remainders are of order 1/n (1/n^2 for the mean): extrapolated away from widths n and 2n, no deviation beyond 4.5
    standard errors is left among a few hundred numbers, of which some tens are independent.
    """
    x = np.random.default_rng(0).normal(size=(CASES[name][0], 3))
    found = {}
    for scale in (1, 2):
        net = network(name, scale)
        theory = fw.flow(net, x, through="ntk")
        measured = fw.simulate(net, x, networks=10_000, seed=scale, method="dense", through="ntk")
        assert measured.tangent.layers == tuple(range(1, net.depth + 1))
        found[scale] = theory, measured
    for field, gain in (("H", 4), ("A", 2), ("B", 2), ("D", 2), ("F", 2)):
        deviation, error = {}, {}
        for scale, (theory, measured) in found.items():
            deviation[scale] = (getattr(measured, field).mean - getattr(theory, field))[1:]
            error[scale] = getattr(measured, field).standard_error[1:]
        extrapolated = (gain * deviation[2] - deviation[1]) / (gain - 1)
        noise = np.hypot(gain * error[2], error[1]) / (gain - 1)
        worst = np.abs(extrapolated / noise).max()
        assert worst < 4.5, (field, worst)
    raw = np.abs(deviation[1] / error[1])[1:].max()
    assert raw > 4  # of F at the smaller width: the remainder is there to be seen


@pytest.mark.measured
def test_every_pattern_of_neurons():
    """PDLT (8.82), (8.67): lazily drawn networks, their output neurons paired in all ways, at a width that needs no
    extrapolation of the mean: A, B, D, F of the last layer within 4.5 standard errors and the next order."""
    net = fw.MLP("tanh", (3, 200, 150, 2), C_b=0.1, C_W=1.4, lambda_b=0.5)
    x = np.random.default_rng(1).normal(size=(2, 3))
    theory = fw.flow(net, x, through="ntk")
    measured = fw.simulate(net, x, networks=20_000, seed=3, method="lazy", through="ntk")
    assert measured.tangent.layers == (3,)
    for field in ("A", "B", "D", "F"):
        expected, of = getattr(theory, field)[-1], getattr(measured, field)
        next_order = 0.05 * np.abs(expected).max()  # about ten over the width
        assert (np.abs(of.mean[0] - expected) < 4.5 * of.standard_error[0] + next_order).all(), field
