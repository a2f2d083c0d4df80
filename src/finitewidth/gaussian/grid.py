r"""Averages of smooth functions of a pair on an equispaced grid, $z_a = \sqrt{K_{aa}}\,u$, $z_b$ conditional on $z_a$.

The accuracy does not depend on the correlation, so this rule serves derivatives of activations near coincident inputs,
where a series in Hermite modes converges slowly. It costs a grid per pair: for Gram matrices of many inputs use modes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .function import ElementwiseFunction, with_derivatives


@dataclass(frozen=True)
class GridRule:
    """`nodes` equispaced points within `reach` deviations, along each of the two directions."""

    nodes: int
    reach: float = 9.0

    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights for one standard normal variable."""
        u = np.linspace(-self.reach, self.reach, self.nodes)
        return u, (u[1] - u[0]) * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def pair_averages(
    f: ElementwiseFunction,
    g: ElementwiseFunction,
    orders: Sequence[tuple[int, int]],
    Kaa: Array,
    Kab: Array,
    Kbb: Array,
    rule: GridRule,
) -> Float[Array, "orders *batch"]:
    r"""$\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$ for all `orders` $(i, j)$ at once, elementwise over covariances of one shape;
    singular ones too."""
    u, weights = rule.line()
    i, j = (list(order) for order in zip(*orders, strict=True))
    mean = (Kab / jnp.sqrt(Kaa))[..., None, None] * u[:, None]
    deviation = jnp.sqrt(jnp.maximum(Kbb - Kab**2 / Kaa, 0.0))[..., None, None]
    smoothed = jnp.stack(with_derivatives(g, max(j))(mean + deviation * u)) @ weights
    outer = jnp.stack(with_derivatives(f, max(i))(jnp.sqrt(Kaa)[..., None] * u))
    return (outer[np.array(i)] * smoothed[np.array(j)]) @ weights
