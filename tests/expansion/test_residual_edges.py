"""Residual networks of one layer, and activations whose kinks their averages over several inputs cannot hold."""

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


@pytest.mark.measured
def test_what_is_not_refused():
    """A continuous slope is enough for the vertex; one layer with a skip has no two depths; one input is always possible."""
    for activation, depth, x in (("elu", 3, X), (hinge, 2, X), (hinge, 3, X[:1])):
        net = fw.ResidualMLP(activation, width=8, depth=depth, gamma=0.5, C_b=0.1)
        assert np.isfinite(fw.flow(net, x).V).all()
    assert np.isfinite(fw.flow(net, X[:1], through="ntk").H1).all()


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
