"""Control variates: the same figures with smaller errors; and with them, corrections of order 1/n of networks that were really trained."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.training.matrices import DenseMatrix
from finitewidth.learning.training.one_network import LearningNetwork
from finitewidth.realised.parameters import Parameters

MIX = fw.Activation(
    lambda z: jnp.sin(z) + 0.3 * z**2 * jnp.exp(-0.2 * z**2), name="mix", formula="neither odd nor even"
)
X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
TRAIN, TEST = X[:2], X[2:]
Y = np.array([[0.8, -0.5], [-0.4, 1.0]])
Y_TEST = np.array([[0.1, 0.6]])
HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.4, "lambda_W": 0.7}
STEPS = 40


def network(*hidden):
    return fw.MLP(MIX, (3, *hidden, 2), **HYPER)


def rate_of(net):
    return 0.8 / float(np.linalg.eigvalsh(fw.frozen_ntk(net, TRAIN))[-1])


def trained(net, networks, **how):
    return fw.train(net, TRAIN, Y, TEST, networks, rate_of(net), STEPS, control=True, **how)


def theory(net):
    return fw.predict(net, TRAIN, Y, TEST, "gradient_descent", rate=rate_of(net), steps=STEPS, order=1)


def deviations(measured, expected):
    return np.abs((measured.mean - expected) / measured.standard_error)


def at_infinite_width(inverse, values, errors):
    """Of a line in 1/n through measured values, with its standard error."""
    lines = np.stack([np.ones(len(inverse)), inverse], axis=1) / errors[:, None]
    covariance = np.linalg.inv(lines.T @ lines)
    return (covariance @ lines.T @ (values / errors))[0], np.sqrt(covariance[0, 0])


def test_the_same_figures_with_smaller_errors():
    """Of the same networks, with stored weights: the two estimates agree within the error of the plain one, and wide networks gain most."""
    gains = []
    for width in (24, 96):
        found = trained(network(width), 256)
        for plain, controlled in ((found.mean, found.controlled.mean), (found.covariance, found.controlled.covariance)):
            assert np.abs((plain.mean - controlled.mean) / plain.standard_error).max() < 4.5
        pairs = (found.mean, found.controlled.mean), (found.covariance, found.controlled.covariance)
        gains.append([np.median(plain.standard_error / controlled.standard_error) for plain, controlled in pairs])
    (of_mean, of_covariance), wider = gains
    assert of_mean > 5
    assert wider[0] > 2 * of_mean
    # What is left of a covariance is of order 1/n, so that four times the width gains four times as much. With the term of first order
    # in the kernel's fluctuation left in, of order one over the root of n, it would gain twice as much.
    assert of_covariance > 4
    assert wider[1] > 2.5 * of_covariance
    assert fw.train(network(24), TRAIN, Y, TEST, 2, steps=1).controlled is None


def test_the_tangent_kernel_that_lazy_networks_are_asked_for():
    """Against the forward equation PDLT (8.12), on the weights that the network holds."""
    net = network(7, 5)
    learner = LearningNetwork(net, np.random.default_rng(1), DenseMatrix)
    params = Parameters(tuple(np.asarray(W.entries) for W in learner.weights), tuple(map(np.asarray, learner.biases)))
    outputs, kernel = learner.tangent_kernel(X)
    np.testing.assert_allclose(outputs, fw.realised.apply(net, params, X)[-1], atol=1e-13)
    np.testing.assert_allclose(kernel, np.transpose(fw.ntk(net, params, X)[-1], (2, 3, 0, 1)), atol=1e-12)


def test_lazy_networks_have_controls_too():
    net = network(300, 300)
    found = trained(net, 3, method="lazy")
    assert found.controlled.mean.standard_error.max() < found.mean.standard_error.max() / 20
    assert np.abs(found.controlled.mean.mean - fw.predict(net, TRAIN, Y, TEST).mean).max() < 0.1


@pytest.mark.parametrize("wrong", [{"batch": 1}, {"loss": "cross_entropy"}, {"control": "yes"}])
def test_what_cannot_be_controlled_is_refused(wrong):
    y = np.full((2, 2), 0.5)
    with pytest.raises(fw.ArgumentError, match="control"):
        fw.train(network(8), TRAIN, y, TEST, 2, steps=2, **{"control": True} | wrong)


@pytest.mark.measured
def test_corrections_of_trained_ensembles():
    """PDLT (∞.160)-(∞.167), (∞.172): n times the shift of mean, covariance with its wiring and test loss, measured with stored weights at
    several widths, of an activation that is neither odd nor even."""
    left, errors, inverse = [], [], []
    for width, networks in ((48, 12_000), (96, 8_000), (192, 6_000)):
        net = network(width)
        found, expected = trained(net, networks).controlled, theory(net)
        pairs = (found.mean, expected.mean), (found.covariance, expected.covariance)
        loss = fw.learning.generalisation_error(found, Y_TEST).total - expected.test_loss(Y_TEST).total
        left.append(np.concatenate([*(width * (m.mean - e).ravel() for m, e in pairs), [width * loss]]))
        # Of the loss at most, as if its terms erred together.
        terms = np.abs(found.mean.mean - Y_TEST) * found.mean.standard_error
        of_loss = terms.sum() + np.einsum("bbii->", found.covariance.standard_error) / 2
        errors.append(np.concatenate([*(width * m.standard_error.ravel() for m, _ in pairs), [width * of_loss]]))
        inverse.append(1 / width)
    # What is left of n times the shift is of order 1/n: a line in 1/n through the three widths meets zero at infinite width.
    for differences, bars in zip(np.transpose(left), np.transpose(errors), strict=True):
        met, error = at_infinite_width(np.array(inverse), differences, bars)
        assert abs(met) < 4.5 * error
        # Where it is resolved it falls with width, four times as wide by more than half.
        if abs(differences[0]) > 6 * bars[0]:
            assert abs(differences[2]) < abs(differences[0]) / 2 + 4.5 * bars[2]
    # The wiring of outputs, which is zero at infinite width, is far above the noise.
    assert 192 * abs(expected.wiring[0, 0, 0, 1]) > 8 * errors[-1][3]


def after_two_steps(width, networks, seed, y):
    """Outputs of networks of one hidden layer on the test input after two leaps, PDLT (∞.71), (∞.77), less those that follow from their
    own first outputs and kernels to first order, whose mean is that of the kernel: written out, network by network along the first axis."""
    random, theta = np.random.default_rng(seed), np.asarray(fw.frozen_ntk(network(8), X))
    C_b, C_W, lambda_b, lambda_W = HYPER.values()
    W1 = np.sqrt(C_W / 3) * random.standard_normal((networks, width, 3))
    W2 = np.sqrt(C_W / width) * random.standard_normal((networks, 2, width))
    b1, b2 = (np.sqrt(C_b) * random.standard_normal((networks, n)) for n in (width, 2))

    def passed():
        z = np.einsum("ax,mnx->man", X, W1) + b1[:, None]
        bump = np.exp(-0.2 * z**2)
        slope = np.cos(z) + 0.3 * bump * (2 * z - 0.4 * z**3)
        signal = np.sin(z) + 0.3 * z**2 * bump
        outputs = np.einsum("man,min->mai", signal, W2) + b2[:, None]
        back = slope[:, :, None] * W2[:, None]  # at [network, sample, output, neuron]
        below = np.einsum("main,mbjn->maibj", back, back, optimize=True)
        gram = lambda_b + lambda_W * X @ X.T / 3
        own = lambda_b + lambda_W * np.einsum("man,mbn->mab", signal, signal) / width
        kernel = gram[:, None, :, None] * below + np.einsum("mab,ij->maibj", own, np.eye(2))
        return signal, back, outputs, kernel.reshape(networks, 6, 6)

    signal, back, outputs, kernel = passed()
    first, error = outputs.reshape(networks, 6), outputs[:, :2].reshape(networks, 4) - y.ravel()
    mean = np.kron(theta, np.eye(2))
    readout = mean[4:, :4] @ np.linalg.inv(mean[:4, :4])
    gain = error @ np.linalg.inv(mean[:4, :4])
    fluctuation = (kernel - mean)[:, :, :4]
    pushed = np.einsum("mpa,ma->mp", fluctuation, gain)
    controlled = first[:, 4:] - error @ readout.T - pushed[:, 4:] + pushed[:, :4] @ readout.T
    for _ in range(2):
        error = outputs[:, :2] - y
        leap = np.linalg.solve(kernel[:, :4, :4], error.reshape(networks, 4, 1)).reshape(networks, 2, 2)
        delta = np.einsum("mai,main->man", leap, back[:, :2])
        W1 -= lambda_W / 3 * np.einsum("man,ax->mnx", delta, TRAIN)
        b1 -= lambda_b * delta.sum(axis=1)
        W2 -= lambda_W / width * np.einsum("mai,man->min", leap, signal[:, :2])
        b2 -= lambda_b * leap.sum(axis=1)
        signal, back, outputs, kernel = passed()
    return outputs[:, 2] - controlled


@pytest.mark.measured
def test_two_steps_and_gradients_end_apart_as_their_projectors_say():
    """PDLT (∞.79), (∞.148), (∞.163)-(∞.165): at infinite width all algorithms end alike. Times n, the shift of the mean is another for two
    steps of second order and for gradients, by algorithm projectors alone; ensembles trained in either way, extrapolated in width, meet the
    one that theory has for them and miss the other's."""
    widths, y = (64, 128, 256), 2 * Y
    descent = {"algorithm": "gradient_descent", "rate": rate_of(network(8)), "steps": STEPS}
    ways = {"two steps": {"algorithm": "two_step"}, "gradients": descent}
    shifts, errors = ({way: [] for way in ways} for _ in range(2))
    for width in widths:
        left = np.concatenate([width * after_two_steps(width, 1000, seed, y) for seed in range(16)])
        shifts["two steps"].append(left.mean(axis=0)[1])
        errors["two steps"].append(left.std(axis=0)[1] / np.sqrt(len(left)))
        net = network(width)
        kernel = fw.predict(net, TRAIN, y, TEST, order=1, **descent).mean_kernel
        found = fw.train(net, TRAIN, y, TEST, 6000, descent["rate"], STEPS, control=True).controlled.mean
        shifts["gradients"].append(width * (found.mean - kernel)[0, 1])
        errors["gradients"].append(width * found.standard_error[0, 1])
    wide = {way: fw.predict(network(10**7), TRAIN, y, TEST, order=1, **how) for way, how in ways.items()}
    theory = {way: 1e7 * float((each.mean - each.mean_kernel)[0, 1]) for way, each in wide.items()}
    for way, other in (("two steps", "gradients"), ("gradients", "two steps")):
        met, error = at_infinite_width(1 / np.array(widths), np.array(shifts[way]), np.array(errors[way]))
        assert abs(met - theory[way]) < 4.5 * error
        assert abs(met - theory[other]) > 4.5 * error


# Targets as large as three make corrections that grow with their third power stand out of a noise that grows with their square.
FEW = {
    "x_train": np.array([[1.0, 0.4], [-0.5, 1.0]]),
    "y_train": np.array([[3.0], [2.0]]),
    "x_test": np.array([[-1.2, 0.1], [-0.8, -0.9]]),
}
FEW_STEPS = 4


def two_hidden_layers(width):
    return fw.MLP(MIX, (2, width, width, 1), **HYPER)


@pytest.mark.measured
def test_shifts_of_lazily_trained_networks_up_to_a_hundred_thousand_neurons():
    """PDLT (∞.160): n times the shift of the mean is seen at every width, by stored weights at 100 and 300 and by weights that are
    never stored from 1000 on. A line in 1/n through all of them meets theory, and so do the widest networks by themselves."""
    rate = 1 / float(np.linalg.eigvalsh(fw.frozen_ntk(two_hidden_layers(8), FEW["x_train"]))[-1])
    how = {"rate": rate, "steps": FEW_STEPS}
    limit = fw.predict(two_hidden_layers(10**8), **FEW, algorithm="gradient_descent", order=1, **how)
    theory = 10**8 * (limit.mean - limit.mean_kernel)[:, 0]
    widths = {
        100: (4000, "dense"),
        300: (2000, "dense"),
        1000: (160, "lazy"),
        10_000: (100, "lazy"),
        100_000: (14, "lazy"),
    }
    shifts, errors = [], []
    for width, (networks, method) in widths.items():
        net = two_hidden_layers(width)
        kernel = fw.predict(net, **FEW, algorithm="gradient_descent", order=1, **how).mean_kernel
        found = fw.train(net, **FEW, networks=networks, method=method, control=True, **how).controlled.mean
        shifts.append(width * (found.mean - kernel)[:, 0])
        errors.append(width * found.standard_error[:, 0])
    shifts, errors = np.array(shifts), np.array(errors)
    assert (np.abs(shifts[:-1]) > 5 * errors[:-1]).all()  # resolved, the widest alone by somewhat less
    assert (np.abs(shifts[3:] - theory) < 4.5 * errors[3:]).all()
    for output in range(2):
        met, error = at_infinite_width(1 / np.array(list(widths)), shifts[:, output], errors[:, output])
        assert abs(met - theory[output]) < 4.5 * error
        assert error < abs(theory[output]) / 20
