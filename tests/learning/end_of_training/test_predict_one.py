"""One network trained on paper against the same network, really trained: what theory misses falls as 1/n^2."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import finitewidth as fw
from finitewidth.learning.end_of_training.leaps import KINDS
from finitewidth.realised.parameters import Parameters

MIX = fw.Activation(
    lambda z: jnp.sin(z) + 0.3 * z**2 * jnp.exp(-0.2 * z**2), name="mix", formula="neither odd nor even"
)
X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
TRAIN, TEST = X[:2], X[2:]
Y = np.array([[0.8, -0.5], [-0.4, 1.0]])
WIDTHS, SEEDS = (64, 512), range(8)


def network(width):
    return fw.MLP(MIX, (3, width, 2), C_b=0.1, C_W=1.2, lambda_b=0.4, lambda_W=0.7)


RATE = 0.8 / np.linalg.eigvalsh(fw.frozen_ntk(network(8), TRAIN))[-1]


def in_numpy(net, params, y):
    """Weights, biases, and a function for outputs, gradient of the loss times the rates, and tangent kernel: written out by hand."""
    x, widths = X, net.widths

    def sigma(z):
        bump = np.exp(-0.2 * z**2)
        return np.sin(z) + 0.3 * z**2 * bump, np.cos(z) + 0.3 * bump * (2 * z - 0.4 * z**3)

    def forward(theta):
        W1, b1, W2, b2 = theta
        z = x @ W1.T + b1
        s, slope = sigma(z)
        return s @ W2.T + b2, s, slope

    def velocity(theta):
        W2 = theta[2]
        out, s, slope = forward(theta)
        e = (out - np.concatenate([y, out[2:]])) * np.array([[1.0], [1.0], [0.0]])
        d = (e @ W2) * slope
        return [-0.7 / widths[0] * d.T @ x, -0.4 * d.sum(0), -0.7 / widths[1] * e.T @ s, -0.4 * e.sum(0)]

    return (
        [*map(np.asarray, (params.weights[0], params.biases[0], params.weights[1], params.biases[1]))],
        forward,
        velocity,
    )


def kernel_of(net, theta):
    return fw.ntk(net, Parameters((theta[0], theta[2]), (theta[1], theta[3])), X)[-1]


def descended(net, params, steps, y):
    theta, forward, velocity = in_numpy(net, params, y)
    for _ in range(steps):
        theta = [old + RATE * change for old, change in zip(theta, velocity(theta), strict=True)]
    return forward(theta)[0], kernel_of(net, theta)


def flowed(net, params, time, y):
    theta, forward, velocity = in_numpy(net, params, y)
    cuts, shapes = np.cumsum([part.size for part in theta])[:-1], [part.shape for part in theta]

    def unpacked(flat):
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def slope(_, flat):
        return np.concatenate([part.ravel() for part in velocity(unpacked(flat))])

    start = np.concatenate([part.ravel() for part in theta])
    end = unpacked(solve_ivp(slope, (0, time), start, rtol=1e-9, atol=1e-10).y[:, -1])
    return forward(end)[0], kernel_of(net, end)


CASES = {
    "six steps": (
        {"algorithm": "gradient_descent", "rate": RATE, "steps": 6},
        lambda net, params, y: descended(net, params, 6, y),
    ),
    "flow": ({"time": 4.0}, lambda net, params, y: flowed(net, params, 4.0, y)),
}


def missed_by(net, params, y, how, trained):
    """Of outputs and tangent kernel of a network that was really trained: what theory misses, and what a frozen kernel does."""
    z, kernel = trained
    found = fw.predict_one(net, params, TRAIN, y, TEST, **how)
    differences = z - found.outputs, z - found.free, kernel - found.trained_kernel, kernel - found.kernel
    return [np.linalg.norm(difference) for difference in differences]


def exponent(narrow, wide):
    """Of 1/n, from the logarithms of what single networks miss at either of `WIDTHS`, with its standard error."""
    value = (np.mean(narrow, axis=0) - np.mean(wide, axis=0)) / np.log(WIDTHS[1] / WIDTHS[0])
    spread = [np.std(each, axis=0, ddof=1) / np.sqrt(len(SEEDS)) for each in (narrow, wide)]
    return value, np.hypot(*spread) / np.log(WIDTHS[1] / WIDTHS[0])


@pytest.mark.parametrize("case", CASES)
def test_theory_misses_less_and_less_of_a_network_that_is_really_trained(case):
    """PDLT (∞.84)-(∞.124): outputs on training and test inputs, and the tangent kernel, at a moment of training. A frozen kernel
    misses what is of first order in differentials, 1/n, theory what is of second order, 1/n^2. All networks have the same errors to learn;
    even so single ones scatter, and exponents have errors."""
    how, trained = CASES[case]
    missed = []
    for width in WIDTHS:
        net, logarithms = network(width), []
        for seed in SEEDS:
            params = fw.draw_parameters(net, seed)
            y = np.asarray(fw.realised.apply(net, params, TRAIN)[-1]) + Y
            logarithms.append(np.log(missed_by(net, params, y, how, trained(net, params, y))))
        missed.append(logarithms)
    found, error = exponent(*missed)
    for value, bar, expected in zip(found, error, (2, 1, 2, 1), strict=True):
        assert abs(value - expected) < 4.5 * bar


def test_theory_misses_the_next_power_of_the_errors_that_are_learned():
    """Of one network, whose targets are its first outputs and something small: a frozen kernel misses the square of that in outputs and its
    first power in the kernel, PDLT (∞.117)-(∞.119) one power more, the one in which differentials meet twice."""
    net = network(WIDTHS[0])
    params, steps = fw.draw_parameters(net, 0), 6
    how = {"algorithm": "gradient_descent", "rate": RATE, "steps": steps}
    first = np.asarray(fw.realised.apply(net, params, TRAIN)[-1])
    missed = []
    for size in (0.02, 0.01):
        y = first + size * Y
        missed.append(missed_by(net, params, y, how, descended(net, params, steps, y)))
    np.testing.assert_allclose(np.divide(*missed), [8, 4, 4, 2], rtol=0.05)


def test_the_end_of_training_fits_all_targets_whatever_the_algorithm():
    """PDLT (∞.141), (∞.79), and the kernel form PDLT (∞.155)-(∞.159)."""
    net = network(32)
    params = fw.draw_parameters(net, 5)
    late = fw.predict_one(net, params, TRAIN, Y, TEST, "gradient_descent", rate=RATE, steps=4000)
    for algorithm in ({"algorithm": "gradient_descent", "rate": RATE}, {}, {"algorithm": "two_step"}):
        found = fw.predict_one(net, params, TRAIN, Y, TEST, **algorithm)
        np.testing.assert_allclose(found.outputs[:2], Y, atol=1e-11)
        kernel, sharp = (np.swapaxes(each[:, :2], 1, 2).reshape(6, 4) for each in (found.kernel, found.sharp_kernel))
        v = np.linalg.solve(kernel[:4], (found.start[:2] - Y).ravel())
        tau = -(sharp - kernel) @ v
        passed_on = tau - kernel @ np.linalg.solve(kernel[:4], tau[:4])
        np.testing.assert_allclose(passed_on, found.interaction.ravel(), atol=1e-11)
        if "rate" in algorithm:
            np.testing.assert_allclose(found.outputs, late.outputs, atol=1e-9)
            np.testing.assert_allclose(found.trained_kernel, late.trained_kernel, atol=1e-9)


def test_leaps_leave_what_theory_says():
    """PDLT (∞.61)-(∞.80): residuals of steps that are really made, and the two-step solution. A leap by the kernel of infinite width misses
    by the fluctuation of kernels, $n^{-1/2}$; one by the network's own by what that changes, $1/n$; what corrects for this, and theory, by
    the next order: $1/n^2$ for all that is made of the network's own kernel."""
    left = {kind: [] for kind in (*KINDS, "predicted", "two steps")}
    for width in WIDTHS:
        net, squares = network(width), {kind: [] for kind in left}
        for seed in SEEDS:
            params = fw.draw_parameters(net, seed)
            for kind in KINDS:
                made = fw.learning.leap(net, params, TRAIN, Y, kind)
                after = fw.realised.apply(net, made.params, TRAIN)[-1] - Y
                squares[kind].append(np.sum(after**2))
                if kind == "infinite_width":
                    squares["predicted"].append(np.sum((after - made.residual) ** 2))
                if kind == "generalised":
                    again = fw.learning.leap(net, made.params, TRAIN, Y)
                    theory = fw.predict_one(net, params, TRAIN, Y, TEST, "two_step")
                    outputs = fw.realised.apply(net, again.params, X)[-1]
                    squares["two steps"].append(np.sum((outputs - theory.outputs) ** 2))
        for kind, values in squares.items():
            left[kind].append(np.log(values) / 2)
    orders = {"infinite_width": 0.5, "generalised": 1, "tuned": 2, "predicted": 2, "two steps": 2}
    for kind, expected in orders.items():
        found, error = exponent(*left[kind])
        assert abs(found - expected) < 4.5 * error, kind


@pytest.mark.parametrize(("order", "factor"), [(1, 4), (2, 8), (3, 16)])
def test_networks_as_models_of_their_own_features(order, factor):
    """PDLT (11.143)-(11.153): what the linear, quadratic and cubic model miss falls with the next power of the displacement."""
    net = network(16)
    params, step = fw.draw_parameters(net, 1), fw.draw_parameters(net, 2)
    missed = []
    for size in (0.02, 0.01):
        shift = Parameters(tuple(size * W for W in step.weights), tuple(size * b for b in step.biases))
        moved = Parameters(
            tuple(W + d for W, d in zip(params.weights, shift.weights, strict=True)),
            tuple(b + d for b, d in zip(params.biases, shift.biases, strict=True)),
        )
        exact = fw.realised.apply(net, moved, X)[-1]
        missed.append(np.abs(exact - fw.learning.taylor_outputs(net, params, shift, X, order)).max())
    assert missed[0] / missed[1] == pytest.approx(factor, rel=0.1)


def test_bad_input_is_named():
    net = network(8)
    params = fw.draw_parameters(net, 0)
    for argument, call in {
        "algorithm": lambda: fw.predict_one(net, params, TRAIN, Y, TEST, "newton"),
        "rate": lambda: fw.predict_one(net, params, TRAIN, Y, TEST, "gradient_descent", rate=50.0),
        "y_train": lambda: fw.predict_one(net, params, TRAIN, Y[:1], TEST),
        "x_train": lambda: fw.predict_one(net, params, X[[0, 0]], Y, TEST),
        "kind": lambda: fw.learning.leap(net, params, TRAIN, Y, "giant"),
        "order": lambda: fw.learning.taylor_outputs(net, params, params, X, 4),
    }.items():
        with pytest.raises(fw.ArgumentError) as error:
            call()
        assert error.value.argument == argument
