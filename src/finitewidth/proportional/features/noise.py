"""Noise that keeps matrices positive."""

import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ...gaussian.root import covariance_root
from ...networks.shaped.block import symmetric_normal
from ..exponential_step import geodesic
from ..matrix_exponential import matrix_exponential, product


def shaken(V: Float[Array, "p p"], Z: Float[Array, "p p"], variance: Array) -> Float[Array, "p p"]:
    r"""$V + \sqrt v\,\Sigma_{\rm lin}(V)^{1/2}\xi$ along a geodesic of the positive cone: mean $V$, to second order in $v$."""
    factor = product(covariance_root(V), matrix_exponential(geodesic(symmetric_normal(Z), variance) / 2))
    return product(factor, jnp.swapaxes(factor, 0, 1))
