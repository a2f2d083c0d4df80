"""The flow against the numbers of golden_values.txt, which make_golden_values.py computes with the printed recursions."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.expansion import flow
from finitewidth.expansion.recursion import iterate
from finitewidth.gaussian.grid import grid_rule
from finitewidth.gaussian.hermite import hermite_rule
from finitewidth.kernels.pairs import pair_index
from finitewidth.networks import MLP

KERNEL = [[1.0, 0.3], [0.3, 0.5]]

ROWS = [line.split() for line in Path(__file__).with_name("golden_values.txt").read_text().splitlines()[1:]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_golden_values(row):
    """PDLT (4.114), (4.115), (4.118), (4.119), (4.120): K, V and G1 of two inputs with unequal widths."""
    name, layer, *numbers = row
    expected = np.asarray(numbers, dtype=float)
    theory = flow(MLP(name, (3, 40, 30, 50, 1), C_b=0.1, C_W=1.5), kernel=KERNEL)
    index, packed = int(layer) - 1, np.triu_indices(3)
    pairs = pair_index(2)
    V = pairs.pack(pairs.pack(theory.V[index]).T).T
    found = np.concatenate([pairs.pack(theory.K[index]), V[packed], pairs.pack(theory.G1[index])])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.01e-10 * max(1.0, np.abs(expected).max()))


@pytest.mark.measured
def test_two_quadratures_agree():
    """Sigmoid at layer 4, its inputs all but parallel, by Hermite modes instead of a grid of points: 12 digits of V and G1."""
    net = MLP("sigmoid", (3, 40, 30, 50, 1), C_b=0.1, C_W=1.5)
    theory = flow(net, kernel=KERNEL)
    modes = hermite_rule(128, 321)
    _, vertex, correction = iterate(
        net.activation,
        net.layers[1:],
        jnp.array([1.0, 0.3, 0.5]),
        pair_index(2),
        modes,
        grid_rule(161, 10.0),
    )
    np.testing.assert_allclose(theory.v, pair_index(2).unpack_twice(vertex), rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(theory.g1, pair_index(2).unpack(correction), rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(theory.G1[3, 0, 0], -0.0023213968842, rtol=1e-10)
