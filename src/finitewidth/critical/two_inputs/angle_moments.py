r"""Averages of scale-invariant activations of two inputs at an angle $\psi$: $K_{+-} = \sqrt{K_{++}K_{--}}\cos\psi$.

All are per unit variance; multiply by the powers of $\sqrt{K_{++}}, \sqrt{K_{--}}$ that the activations carry.
"""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._result import Result
from ..._validation import as_floats
from ...activations import ScaleInvariant


@entry()
def corner_strength(activation: ScaleInvariant) -> float:
    r"""$\rho = \frac1\pi\frac{(a_+-a_-)^2}{a_+^2+a_-^2}$, PDLT (5.163); $1/\pi$ for ReLU.

    Examples:
        >>> round(fw.critical.corner_strength(fw.ACTIVATIONS["relu"]), 6)
        0.31831
    """
    a, b = activation.a_plus, activation.a_minus
    return (a - b) ** 2 / (math.pi * (a**2 + b**2))


def quadrant_slope(psi: Float[Array, "*psi"]) -> Float[Array, "*psi"]:
    r"""$\langle1\rangle$ over the quadrant $z_+, z_- > 0$: $\frac{\pi-\psi}{2\pi}$."""
    return (math.pi - psi) / (2 * math.pi)


def quadrant_product(psi: Float[Array, "*psi"] | float) -> Float[Array, "*psi"]:
    r"""$\langle z_+z_-\rangle$ over the quadrant, PDLT (5.158): $\frac1{2\pi}[\sin\psi + (\pi-\psi)\cos\psi]$."""
    return (jnp.sin(psi) + (math.pi - psi) * jnp.cos(psi)) / (2 * math.pi)


def quadrant_square(psi: Float[Array, "*psi"] | float) -> Float[Array, "*psi"]:
    r"""$H = \langle z_+^2\rangle$ over the quadrant: $\frac1{2\pi}[\pi-\psi + \sin\psi\cos\psi]$."""
    return (math.pi - psi + jnp.sin(psi) * jnp.cos(psi)) / (2 * math.pi)


def quadrant_squares(psi: Float[Array, "*psi"] | float) -> Float[Array, "*psi"]:
    r"""$Q = \langle z_+^2z_-^2\rangle$ over the quadrant: $\frac1{2\pi}[3\sin\psi\cos\psi +
    (\pi-\psi)(1+2\cos^2\psi)]$."""
    cosine = jnp.cos(psi)
    return (3 * jnp.sin(psi) * cosine + (math.pi - psi) * (1 + 2 * cosine**2)) / (2 * math.pi)


def quadrant_cube(psi: Float[Array, "*psi"] | float) -> Float[Array, "*psi"]:
    r"""$P = \langle z_+^3z_-\rangle$ over the quadrant: $\frac1{2\pi}[(2+\cos^2\psi)\sin\psi +
    3(\pi-\psi)\cos\psi]$."""
    cosine = jnp.cos(psi)
    return ((2 + cosine**2) * jnp.sin(psi) + 3 * (math.pi - psi) * cosine) / (2 * math.pi)


class AngleMoments(Result, eqx.Module):
    r"""$\langle\sigma_+\sigma_-\rangle$, $\langle\sigma'_+\sigma'_-\rangle$, $\langle\sigma_+^2\sigma_-^2\rangle$ and
    $\langle\sigma_+^3\sigma_-\rangle$."""

    values: Float[Array, "*psi"]
    slopes: Float[Array, "*psi"]
    squares: Float[Array, "*psi"]
    cube: Float[Array, "*psi"]


@entry()
def angle_moments(activation: ScaleInvariant, psi: Float[Array, "*psi"] | float | Any) -> AngleMoments:
    r"""Sums over the four quadrants, of which opposite signs are at the angle $\pi-\psi$. PDLT (5.158)-(5.161):

    $$\langle\sigma_+\sigma_-\rangle = \tfrac1{2\pi}(a_+-a_-)^2(\sin\psi-\psi\cos\psi) + A_2\cos\psi,\qquad
      \langle\sigma'_+\sigma'_-\rangle = A_2 - \tfrac{\psi}{2\pi}(a_+-a_-)^2.$$

    Examples:
        >>> round(float(fw.critical.angle_moments(fw.ACTIVATIONS["relu"], 0.5).values), 6)
        0.445258
    """
    a, b = activation.a_plus, activation.a_minus
    same = as_floats(psi, "psi")
    opposite = math.pi - same
    return AngleMoments(
        (a**2 + b**2) * quadrant_product(same) - 2 * a * b * quadrant_product(opposite),
        (a**2 + b**2) * quadrant_slope(same) + 2 * a * b * quadrant_slope(opposite),
        (a**4 + b**4) * quadrant_squares(same) + 2 * a**2 * b**2 * quadrant_squares(opposite),
        (a**4 + b**4) * quadrant_cube(same) - (a**3 * b + a * b**3) * quadrant_cube(opposite),
    )
