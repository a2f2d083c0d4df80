"""Residual networks of one layer, and activations whose kinks their averages over several inputs cannot hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw

X = np.array([[1.0, 0.5], [0.2, -1.0]])


def hinge(z):
    return jnp.where(z > 0.5, z, 0.5 * z + 0.25)


@pytest.mark.parametrize(
    ("activation", "depth", "through", "which"),
    [
        (hinge, 3, "vertex", "whose slope jumps"),
        (hinge, 2, "ntk", "whose slope jumps"),
        ("elu", 3, "ntk", "whose second derivative jumps"),
    ],
)
def test_kinks_of_several_inputs_are_refused_at_the_door(monkeypatch, activation, depth, through, which):
    """Before anything is compiled."""
    for place in ("recursion", "persistent_tangent"):
        monkeypatch.setattr(f"finitewidth.expansion.{place}.choose_pair_rule", None)
    net = fw.ResidualMLP(activation, width=8, depth=depth, gamma=0.5, C_b=0.1)
    with pytest.raises(fw.DomainError, match=f"`net`: got 2 inputs to a residual network of .*, {which}"):
        fw.flow(net, X, through=through)


def traced(activation, depth, inputs, through):
    """Without compiling, which takes far longer."""
    net = fw.ResidualMLP(activation, width=8, depth=depth, gamma=0.5, C_b=0.1)
    return jax.eval_shape(lambda K: fw.flow(net, kernel=K, through=through).V, jnp.eye(inputs))


@pytest.mark.measured
@pytest.mark.parametrize(
    ("activation", "depth", "inputs", "through"),
    [("elu", 3, 2, "vertex"), (hinge, 2, 2, "vertex"), (hinge, 3, 1, "ntk"), (abs, 3, 2, "ntk")],
    ids=["ELU's vertex", "one layer that persists", "one input", "two half-lines"],
)
def test_what_is_not_refused(activation, depth, inputs, through):
    assert traced(activation, depth, inputs, through).shape == (depth, *[inputs] * 4)


@pytest.mark.measured
@pytest.mark.parametrize(("activation", "through"), [(hinge, "vertex"), ("elu", "ntk")])
def test_no_more_is_refused_than_has_to_be(monkeypatch, activation, through):
    """Beyond the door the averages themselves refuse it."""
    for place in ("persistent", "persistent_tangent"):
        monkeypatch.setattr(f"finitewidth.expansion.{place}.refuse_kinks", lambda *_, **__: None)
    with pytest.raises(fw.DomainError, match="across a kink"):
        traced(activation, 3, 2, through)


@pytest.mark.parametrize("outputs", [None, 3])
def test_one_layer_is_gaussian(outputs):
    """PDLT (4.4): the first layer has no skip; its metric is its kernel in every network, and nothing fluctuates."""
    net = fw.ResidualMLP("relu", width=5, depth=1, gamma=0.5, C_b=0.1, C_W=1.5, lambda_W=0.7, outputs=outputs)
    theory = fw.flow(net, X, through="ntk")
    overlap = X @ X.T / 2
    np.testing.assert_allclose(theory.K, [0.1 + 1.5 * overlap], rtol=1e-14)
    np.testing.assert_allclose(theory.Theta, [1 + 0.7 * overlap], rtol=1e-14)
    for name in ("G1", "V", "H1", "A", "B", "D", "F"):
        assert not np.asarray(getattr(theory, name)).any()
    assert theory.net.reading(X) == net.reading(X)
    assert fw.flow(net, X).G.shape == (1, 2, 2)
