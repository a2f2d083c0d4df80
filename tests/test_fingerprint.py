"""Two problems have one fingerprint only if they are the same: a checkpoint of one must never be taken for the other's."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._fingerprint import fingerprint
from finitewidth.networks import MLP, Network

NET = MLP("tanh", (3, 8, 4, 1), C_b=0.1, C_W=[1.0, 1.5, 1.2], lambda_b=0.5, lambda_W=[1.0, 0.7, 0.2])


def test_the_same_network_twice():
    """Made anew, with its numbers as NumPy's or JAX's arrays, and however they were given."""
    again = MLP(
        "tanh", [3, 8, 4, 1], C_b=[0.1] * 3, C_W=np.array([1.0, 1.5, 1.2]), lambda_b=0.5, lambda_W=[1, 0.7, 0.2]
    )
    assert fingerprint(NET) == fingerprint(again)
    assert fingerprint(NET) == fingerprint(jax.tree.map(jnp.asarray, NET))


@pytest.mark.parametrize(
    "change",
    [
        {"activation": "gelu"},
        {"widths": (3, 8, 4, 2)},
        {"widths": (3, 4, 8, 1)},
        {"C_b": 0.1 + 1e-12},
        {"C_W": [1.0, 1.2, 1.5]},
        {"lambda_b": 0.0},
        {"lambda_W": [1.0, 0.7, 0.3]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_of_a_network_counts(change):
    """By as little as rounding allows."""
    assert fingerprint(NET.replace(**change)) != fingerprint(NET)


def test_no_field_is_left_out():
    """The changes above cover all fields there are; a new one must join them."""
    assert {field.name for field in dataclasses.fields(NET)} == {
        "activation",
        "widths",
        "C_b",
        "C_W",
        "lambda_b",
        "lambda_W",
    }


def test_every_field_of_a_block_counts():
    """Blocks at a width and a depth are networks like any other."""
    block = fw.shaped.ShapedMLP(fw.shaped.shaped_relu(0.3))
    net = block.at(width=16, depth=4)
    assert fingerprint(net) == fingerprint(fw.shaped.ShapedMLP(fw.shaped.shaped_relu(0.3)).at(width=16, depth=4))
    others = [block.at(width=16, depth=5), block.at(width=8, depth=4)]
    others.append(fw.shaped.ShapedMLP(fw.shaped.shaped_relu(0.4)).at(width=16, depth=4))
    assert len({fingerprint(each) for each in (net, *others)}) == 4


def test_functions_count_by_their_values():
    """Two lambdas of one formula are equal, whatever they are called; two formulas are not."""
    first, second = (fw.Activation(lambda z: jnp.sin(z) + 0.1 * z, name=name) for name in ("one", "other"))
    assert first != second
    nets = [NET.replace(activation=activation) for activation in (first, second)]
    assert fingerprint(nets[0]) == fingerprint(nets[1])
    third = fw.Activation(lambda z: jnp.sin(z) + 0.1001 * z, name="one")
    assert fingerprint(NET.replace(activation=third)) != fingerprint(nets[0])
    assert fingerprint(fw.activations.leaky_relu(0.1)) != fingerprint(fw.activations.leaky_relu(0.2))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), (2, 1)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((0,), (None,)),
        (("1",), (1,)),
        (("ab",), (b"ab",)),
        (("ab", "c"), ("a", "bc")),
        (((1, 2), 3), (1, (2, 3))),
        (((),), ()),
        ((np.zeros(2),), (np.zeros((2, 1)),)),
        ((np.zeros(2),), (np.zeros(2, np.float32),)),
        ((np.array([1.0, 2.0]),), (np.array([2.0, 1.0]),)),
        ((np.zeros((2, 3)),), (np.zeros((3, 2)),)),
        (({"a": 1},), ({"b": 1},)),
        (({"a": 1, "b": 2},), ({"a": 2, "b": 1},)),
    ],
)
def test_order_types_and_grouping_matter(one, other):
    """Nothing is run together with its neighbour."""
    assert fingerprint(*one) != fingerprint(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        (np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T.copy()),
        (np.arange(3.0), jnp.arange(3.0)),
    ],
    ids=["order of keys", "list or tuple", "order in memory", "NumPy or JAX"],
)
def test_what_does_not_matter(one, other):
    """How the same thing is held."""
    assert fingerprint(one) == fingerprint(other)


class Plain(Network):
    """A kind of network that somebody adds."""

    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    @property
    def depth_over_width(self):
        return self.depth / self.width


class Gated(Plain):
    """The same, with one hyperparameter more."""

    gate: float = 0.5


def test_a_new_field_of_a_subclass_counts():
    """Nobody lists fields by name, so nobody can forget one; and two kinds with the same fields differ."""
    assert fingerprint(Gated(8, 2)) == fingerprint(Gated(8, 2, 0.5))
    assert fingerprint(Gated(8, 2)) != fingerprint(Gated(8, 2, 0.6))
    assert fingerprint(Plain(8, 2)) != fingerprint(Gated(8, 2))


def test_what_has_no_fingerprint_is_refused():
    """Rather than taken for equal."""
    with pytest.raises(TypeError, match="no fingerprint of a object: give it `fingerprint_values`"):
        fingerprint(NET, object())
