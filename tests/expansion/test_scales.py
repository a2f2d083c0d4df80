"""Inputs of another scale change numbers, not programs: nothing is compiled anew."""

import contextlib
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.gaussian.accuracy import gram_rule, pair_rule, product_rule

X = np.array([[1.0, 0.5], [0.3, -1.0]])
Y = np.array([[0.5]])
_COMPILED = "/jax/core/compile/backend_compile_duration"


@contextlib.contextmanager
def compiled_programs() -> Iterator[list[str]]:
    """The programs that are compiled, or read from the disk, meanwhile."""
    names: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _COMPILED:
            names.append(str(kwargs.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield names
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


# A function that no other test has: then its rules are chosen here, and what that compiles is compiled in the first call.
OWN = fw.Activation(lambda z: jnp.tanh(0.9 * z), name="own")


def posterior(x):
    return fw.bayes(fw.MLP(OWN, (2, 64, 64, 1), C_W=1.2, C_b=0.1), x[:1], Y, x[1:])


def kinked(x):
    return fw.flow(fw.MLP("hardtanh", (2, 8, 8, 1), C_W=1.2), x, through="kernel")


@pytest.mark.parametrize("call", [posterior, kinked])
def test_scales_of_inputs_share_programs(call):
    with compiled_programs() as names:
        call(X)
    assert any("iterate" in name or "every_kernel" in name for name in names)  # the listener listens
    with compiled_programs() as names:
        for scale in (1e-3, 0.3, 3.0):
            call(scale * X)
    assert names == []


@pytest.mark.parametrize("choose", [gram_rule, lambda f, K: pair_rule(f, K, 4), product_rule])
def test_rules_of_one_structure(choose):
    """What a compiled program depends on, a rule's structure and the shapes of its arrays, is the same over four decades."""
    rules = [choose(fw.ACTIVATIONS["sigmoid"], variance) for variance in (1e-3, 1.0, 3.0, 16.0)]
    structures = {jax.tree.structure(rule) for rule in rules}
    shapes = {tuple(leaf.shape for leaf in jax.tree.leaves(rule)) for rule in rules}
    assert len(structures) == len(shapes) == 1
    used = [int(rule.blocks if choose is gram_rule else rule.tiles) for rule in rules]
    assert used[0] == used[1] < used[2] <= used[3]  # but a larger variance asks for more of it


def test_more_tiles_change_nothing():
    """A rule for larger variances than there are agrees with the one that fits, for three inputs, to rounding."""
    net = fw.MLP("tanh", (4, 64, 1), C_W=1.2)
    x = np.random.default_rng(1).normal(size=(3, 4))
    fitting = fw.flow(net, kernel=0.5 * net.first_kernel(x) / np.max(x**2))
    generous = jax.jit(lambda K: fw.flow(net, kernel=K, traced_variance=4.0))(fitting.K[0])
    np.testing.assert_allclose(generous.V, fitting.V, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(generous.G1, fitting.G1, rtol=1e-11, atol=1e-14)
