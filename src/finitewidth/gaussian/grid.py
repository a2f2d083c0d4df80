r"""Averages of smooth functions of a pair on an equispaced grid, $z_a = \sqrt{K_{aa}}\,u$, $z_b$ conditional on $z_a$.

The accuracy does not depend on the correlation, so this rule serves derivatives of activations near coincident inputs,
where a series in Hermite modes converges slowly. It costs a grid per pair: for Gram matrices of many inputs use modes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from .._arrays import Array


@dataclass(frozen=True)
class GridRule:
    """`nodes` equispaced points within `reach` deviations, along each of the two directions."""

    nodes: int
    reach: float = 9.0

    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights for one standard normal variable."""
        u = np.linspace(-self.reach, self.reach, self.nodes)
        return u, (u[1] - u[0]) * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def pair_average(
    f: Callable[[Array], Array], g: Callable[[Array], Array], Kaa: Array, Kab: Array, Kbb: Array, rule: GridRule
) -> Array:
    r"""$\langle f(z_a)g(z_b)\rangle_K$, elementwise over covariances of one shape; singular ones too."""
    u, weights = rule.line()
    mean = (Kab / jnp.sqrt(Kaa))[..., None, None] * u[:, None]
    deviation = jnp.sqrt(jnp.maximum(Kbb - Kab**2 / Kaa, 0.0))[..., None, None]
    smoothed = g(mean + deviation * u) @ weights
    return (f(jnp.sqrt(Kaa)[..., None] * u) * smoothed) @ weights
