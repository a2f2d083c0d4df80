"""Learning rates: the equivalence principle, its translation for optimisers, and real steps of both."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError, ShapeError
from finitewidth.activations import Activation
from finitewidth.advice import equivalence_rates, learning_rates, standard_rates, tune
from finitewidth.critical import criticality
from finitewidth.expansion.tangent_layers import tangent_contributions
from finitewidth.kernels import frozen_ntk
from finitewidth.learning import gradient_step
from finitewidth.learning.losses import squared_error
from finitewidth.networks import MLP
from finitewidth.realised.parameters import draw_parameters, preactivations
from finitewidth.realised.tangent_kernel import ntk


def deep(activation, depth, **settings):
    return MLP(activation, (1, *[1] * (depth - 1), 1), **settings)


def test_powers_of_each_class():
    """PDLT (9.94)-(9.96)."""
    layer = np.arange(1, 9)
    for name in ("relu", "gelu"):
        np.testing.assert_allclose(equivalence_rates(deep(name, 8)), 1 / 8, rtol=1e-12)
    bias, weight = equivalence_rates(deep("tanh", 8))
    np.testing.assert_allclose(bias, 1 / layer, rtol=1e-9)
    np.testing.assert_allclose(weight, 1, rtol=1e-9)
    shift = np.arctanh(0.4)
    bias, weight = equivalence_rates(deep(lambda z: jnp.tanh(z + shift) - 0.4, 8))
    p = 0.4 / 0.56
    np.testing.assert_allclose(bias, layer**-p * 8 ** (p - 1), rtol=1e-9)
    np.testing.assert_allclose(weight, (8 / layer) ** (p - 1), rtol=1e-9)


@pytest.mark.parametrize(("depth", "theta"), [(16, 1.522), (64, 1.489)])
def test_equal_shares_in_a_deep_tanh_network(depth, theta):
    r"""PDLT (9.95)-(9.96): with $\lambda_b = 1/\ell$ the tangent kernel tends to $\frac32$ and all layers contribute."""
    found = tangent_contributions(tune(deep("tanh", depth)), [[1.0]])
    assert float(found.total[0, 0]) == pytest.approx(theta, abs=5.1e-4)
    if depth == 64:
        np.testing.assert_allclose(64 * found.bias[[0, 31, 63], 0, 0], [0.727, 0.980, 1.000], atol=5.1e-4)
        np.testing.assert_allclose(64 * found.weight[[0, 31, 63], 0, 0], [0.727, 0.520, 0.518], atol=5.1e-4)


@pytest.mark.parametrize(
    "activation",
    ["gelu", "softsign", Activation(jax.nn.elu, (0.0,), name="elu")],
    ids=["gelu", "softsign", "elu"],
)
def test_no_layer_is_left_behind(activation):
    """PDLT (9.94)-(9.95) carried to half-stable and kinked activations: shares are of one order, and their sum of none."""
    totals = []
    for depth in (100, 200):
        net = tune(deep(activation, depth))
        first = 0.5 if float(net.C_b[0]) == 0 else criticality(activation).point.K_star
        found = tangent_contributions(net, kernel=[[first]])
        for group in (found.bias[:, 0, 0], found.weight[:, 0, 0]):
            late = group[depth // 10 :]
            assert late.max() / late.min() < 1.5
        totals.append(float(found.total[0, 0]))
    assert totals[1] == pytest.approx(totals[0], rel=0.05)


def test_normalised_by_the_inputs():
    """PDLT (9.28): off criticality too, 2L equal shares of one."""
    net = MLP("tanh", (3, 8, 8, 8, 1), C_b=0.2, C_W=1.4)
    x = np.random.default_rng(0).normal(size=(4, 3))
    bias, weight = equivalence_rates(net, x)
    found = tangent_contributions(net.replace(lambda_b=bias, lambda_W=weight), x)
    for group in (found.bias, found.weight):
        np.testing.assert_allclose(group.diagonal(axis1=1, axis2=2).mean(axis=1), 1 / 8, rtol=1e-12)


def test_standard_gradient_descent():
    """PDLT (8.6), (8.12): one rate for all parameters is autodiff's own kernel, and grows with width."""
    net = standard_rates(MLP("tanh", (3, 6, 5, 2), C_b=0.3, C_W=1.2))
    x, params = np.random.default_rng(0).normal(size=(2, 3)), draw_parameters(net, 1)
    jacobian = jax.jacobian(lambda theta: preactivations(net, theta, jnp.asarray(x))[-1])(params)
    expected = sum(
        np.einsum("aip,bjp->abij", *[np.asarray(leaf).reshape(2, 2, -1)] * 2) for leaf in jax.tree.leaves(jacobian)
    )
    np.testing.assert_allclose(ntk(net, params, x)[-1], expected, rtol=1e-11)
    np.testing.assert_array_equal(learning_rates(net, rate=0.1).weight, 0.1)
    wide = [tangent_contributions(standard_rates(MLP("tanh", (3, n, n, 1))), x) for n in (10_000, 20_000)]
    assert wide[1].total[0, 0] / wide[0].total[0, 0] == pytest.approx(2, rel=5e-3)


def test_sgd_rates_make_the_tensorial_step():
    """PDLT (8.6): gradients times these rates are `gradient_step`."""
    net = tune(MLP("tanh", (3, 7, 5, 2)))
    random = np.random.default_rng(0)
    x, y, params = random.normal(size=(4, 3)), random.normal(size=(4, 2)), draw_parameters(net, 0)
    rates = learning_rates(net, "sgd", 0.3)
    np.testing.assert_allclose(rates.weight, 0.3 * np.asarray(net.lambda_W) / [3, 7, 5], rtol=1e-14)
    gradient = jax.grad(lambda theta: squared_error(preactivations(net, theta, jnp.asarray(x))[-1], y))(params)
    after = jax.tree.map(lambda p, r, g: p - r * g, params, rates.tree(), gradient)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), after, gradient_step(net, params, x, y, 0.3)
    )


def change_by_group(net, rates, x):
    """Of parameters and targets: how far outputs move towards the targets, per output, when one group moves by the sign of its gradient."""

    def outputs(theta):
        return preactivations(net, theta, x)[-1]

    def moved(theta, y):
        error = outputs(theta) - y
        gradient = jax.grad(lambda t: jnp.sum(outputs(t) * error))(theta)
        steps, still = (
            jax.tree.map(lambda r, g: -r * jnp.sign(g), rates.tree(), gradient),
            jax.tree.map(jnp.zeros_like, theta),
        )
        found = []
        for layer, name in itertools.product(range(net.depth), ("biases", "weights")):
            group = tuple(getattr(steps if i == layer else still, name)[i] for i in range(net.depth))
            direction = dataclasses.replace(still, **{name: group})
            change = jax.jvp(outputs, (theta,), (direction,))[1]
            found.append(-jnp.sum(change * error) / jnp.sqrt(jnp.sum(error**2) * error.size))
        return jnp.stack(found).reshape(net.depth, 2)

    return jax.jit(moved)


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_sign_updates_share_as_gradient_descent_does(activation):
    r"""PDLT (8.13), (9.94)-(9.96): moved by signs, each group changes outputs by $\eta$ times its part of $\Theta$, at any width."""
    x, outputs = np.array([[0.7, -1.1, 0.4]]), 5
    targets = 100 * np.random.default_rng(0).normal(size=(100, 1, outputs))  # errors of all directions
    targets = np.concatenate([targets, targets * [[[1.0, -1.0, 1.0, -1.0, 1.0]]]])
    n = 200
    net = tune(MLP(activation, (3, n, 2 * n, n, outputs)))
    rates, split = learning_rates(net, "adam", 0.1, x), tangent_contributions(net, x)
    expected = 0.1 * np.stack([split.bias[:, 0, 0], split.weight[:, 0, 0]], axis=1)
    change = change_by_group(net, rates, jnp.asarray(x))
    ratios = np.array([change(draw_parameters(net, seed), y) for seed, y in enumerate(targets)]) / expected
    error = ratios.std(axis=0) / len(ratios) ** 0.5
    off = abs(ratios.mean(axis=0) - 1)
    assert (off[-1] < 4 * error[-1]).all()  # the last layer: exact, for any width
    assert (off[:-1] < 4 * error[:-1] + 0.03).all()  # hidden layers: L/n = 0.02


@pytest.mark.parametrize(("outputs", "share"), [(1, 1.0), (2, 8**0.5 / np.pi), (5, 0.838525)])
def test_signs_of_several_outputs(outputs, share):
    r"""$\langle\sum|\epsilon_i|\rangle$ on the unit sphere by hand, $\frac4\pi$ on the circle; and from directions drawn."""
    rates = learning_rates(MLP("linear", (3, outputs)), "adam", 0.1)
    drawn = np.random.default_rng(0).normal(size=(40_000, outputs))
    sums = abs(drawn).sum(axis=1) / np.linalg.norm(drawn, axis=1) / outputs**0.5
    assert abs(sums.mean() - share) <= 4 * sums.std() / 200 + 1e-12
    np.testing.assert_allclose(0.1 / rates.bias, share, rtol=1e-6)


def test_adam_scales_with_fan_in_and_fan_out():
    """Signs of a hidden layer add up to fan-in times the root of its width; those of the output to fan-in."""
    small, large = (learning_rates(tune(MLP("tanh", (4, n, n, n, 3))), "adam") for n in (100, 400))
    np.testing.assert_allclose(small.bias / large.bias, [2, 2, 2, 1], rtol=1e-12)
    np.testing.assert_allclose(small.weight / large.weight, [2, 8, 8, 4], rtol=1e-12)


def test_adam_of_one_layer():
    """Nothing is hidden: a linear model, whose one layer moves an output by its own tangent kernel."""
    rates = learning_rates(MLP("tanh", (3, 2)), "adam", 0.1)
    assert rates.tangent_kernel == 2.0
    share = 8**0.5 / np.pi  # of the sizes of two errors, in their length times the root of two
    np.testing.assert_allclose([rates.bias, rates.weight], [[0.1 / share], [0.1 / 3 / share]], rtol=1e-12)


def test_table_and_groups():
    """What people and optimisers get to see."""
    rates = learning_rates(tune(MLP("tanh", (3, 8, 1))), rate=0.5)
    assert rates.rows() == [(1, 0.5, pytest.approx(0.5 / 3)), (2, 0.25, pytest.approx(0.5 / 8))]
    assert list(rates.as_dict()) == ["layer_1.bias", "layer_1.weight", "layer_2.bias", "layer_2.weight"]
    assert "torch.optim.SGD or optax.sgd, one group a row, at a global rate eta = 0.5" in str(rates)
    by_sign = learning_rates(tune(MLP("tanh", (3, 8, 1))), "adam", rate=0.5)
    adam = str(by_sign)
    assert by_sign.tangent_kernel == pytest.approx(
        float(frozen_ntk(tune(MLP("tanh", (3, 8, 1))), np.ones((1, 3)))[0, 0])
    )
    assert (
        f"step moves an output by about {0.5 * by_sign.tangent_kernel:.3g}, eta = 0.5 times its tangent kernel" in adam
    )
    assert "(s = 0)" in adam
    assert "maximal-update rule (s = 1)" in adam
    assert "0.1667" in str(rates).splitlines()[3]

    class Linear:
        def __init__(self, name, bias=True):
            self.weight, self.bias = f"W{name}", f"b{name}" if bias else None

    groups = rates.parameter_groups([Linear(1), Linear(2, bias=False)])
    assert [group["params"] for group in groups] == [["W1"], ["b1"], ["W2"]]
    assert [group["lr"] for group in groups] == pytest.approx([0.5 / 3, 0.5, 0.5 / 8])
    with pytest.raises(ArgumentError, match="layers"):
        rates.parameter_groups([Linear(1)])


def test_groups_are_of_layers_in_their_order():
    """Weights are (neurons, inputs), as in PyTorch; a layer without a shape is taken at its word."""

    class Linear:
        def __init__(self, *shape):
            self.weight, self.bias = np.ones(shape), np.ones(shape[:1])

    rates = learning_rates(tune(MLP("tanh", (3, 8, 8, 2))), rate=0.5)
    layers = [Linear(8, 3), Linear(8, 8), Linear(2, 8)]
    assert [group["params"][0].shape for group in rates.parameter_groups(layers)[::2]] == [(8, 3), (8, 8), (2, 8)]
    for wrong, found in (
        (layers[::-1], r"\(2, 8\) in layer 1"),
        ([layers[0], layers[2], layers[1]], r"\(2, 8\) in layer 2"),
        ([Linear(8, 3), Linear(8, 8), Linear(8, 2)], r"\(8, 2\) in layer 3"),
        ([Linear(8, 3, 1), *layers[1:]], r"\(8, 3, 1\) in layer 1"),
    ):
        with pytest.raises(ShapeError, match=found) as caught:
            rates.parameter_groups(wrong)
        assert caught.value.argument == "layers"


def test_refusals():
    """Every bad argument is named."""
    net = MLP("tanh", (3, 8, 1))
    with pytest.raises(ArgumentError, match="did you mean 'adam'"):
        learning_rates(net, "adamw")
    with pytest.raises(ArgumentError, match="optimizer"):
        learning_rates(net, ["sgd"])
    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match="rate"):
            learning_rates(net, rate=rate)
    with pytest.raises(ArgumentError, match="`x`"):
        learning_rates(net, "adam", x=np.ones((1, 2)))
    with pytest.raises(ArgumentError, match="no critical point"):
        equivalence_rates(MLP("sigmoid", (3, 8, 1)))
