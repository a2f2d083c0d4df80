"""The flow against the numbers computed independently with the printed recursions, inverse kernels and all."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.flow import flow
from finitewidth.flow.recursion import iterate
from finitewidth.gaussian.hermite import HermiteRule
from finitewidth.networks import MLP, layer_parameters

KERNEL = [[1.0, 0.3], [0.3, 0.5]]

# The row for sigmoid is right to 6e-10 only: its inputs become all but parallel, where the printed recursions
# cancel. `test_two_quadratures_agree_where_the_row_does_not` settles the further digits.
SHEET_ERROR = {"sigmoid": 6e-10}
ROWS = [line.split() for line in Path(__file__).with_name("golden_values.txt").read_text().splitlines()[1:]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_golden_values(row):
    """PDLT (4.114), (4.115), (4.118), (4.119), (4.120): K, V and G1 of two inputs with unequal widths."""
    name, layer, *numbers = row
    expected = np.asarray(numbers, dtype=float)
    theory = flow(MLP(name, (3, 40, 30, 50, 1), C_b=0.1, C_W=1.5), kernel=KERNEL)
    index, packed = int(layer) - 1, np.triu_indices(3)
    pairs = theory.pairs
    V = pairs.pack(pairs.pack(theory.V[index]).T).T
    found = np.concatenate([pairs.pack(theory.K[index]), V[packed], pairs.pack(theory.G1[index])])
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=SHEET_ERROR.get(name, 1.01e-10) * max(1.0, np.abs(expected).max())
    )


def test_two_quadratures_agree_where_the_row_does_not():
    """Sigmoid at layer 4, by Hermite modes throughout instead of a grid of points: 12 digits of V and G1."""
    net = MLP("sigmoid", (3, 40, 30, 50, 1), C_b=0.1, C_W=1.5)
    theory = flow(net, kernel=KERNEL)
    modes = HermiteRule(128, 321)
    _, vertex, correction = iterate(
        net.activation,
        layer_parameters(net),
        jnp.array([1.0, 0.3, 0.5]),
        theory.pairs,
        modes,
        HermiteRule(96, 161, 10.0),
    )
    np.testing.assert_allclose(theory.vertex, vertex, rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(theory.correction, correction, rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(theory.correction[3, 0] * 50, -0.0023213968842, rtol=1e-10)
