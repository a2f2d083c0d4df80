"""Scale-invariant networks at any width, exactly."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._precision import in_float64
from .._validation import as_count, as_number
from ..activations import Activation
from .finite_angle import as_scale_invariant


@partial(jax.jit, static_argnums=0)
def _moments(depth: int, growth: Array, C_b: Array, K1: Array) -> tuple[Array, Array]:
    def layer(state: tuple[Array, Array], _: None):
        mean, square = state
        after = (C_b + mean, C_b**2 + 2 * C_b * mean + growth * square)
        return after, state

    return jax.lax.scan(layer, (K1, K1**2), length=depth)[1]


@in_float64
def exact_metric_variance(
    activation: str | Activation, K1: float, depth: int, width: int, C_b: float = 0.0
) -> Float[Array, " L"]:
    r"""$n\,\mathrm{Var}(\widehat G^{(\ell)})$, the vertex $V$ to all orders in $1/n$, at $C_W = 1/A_2$.

    The stochastic metric $\widehat G' = C_b + \frac{C_W}n\sum_j\sigma(z_j)^2$ has
    $E\,\widehat G' = C_b + E\,\widehat G$ and $E\,\widehat G'^2 = C_b^2 + 2C_bE\,\widehat G + (1+\frac\nu
    n)E\,\widehat G^2$ with $\nu = 3A_4/A_2^2-1$. For $C_b = 0$ this is $nK^2\big[(1+\frac\nu
    n)^{\ell-1}-1\big]$, which begins with PDLT (5.120).
    """
    sigma = as_scale_invariant(activation)
    n = as_count(width, "width")
    start = as_number(K1, "K1", low=np.finfo(float).tiny)
    nu = 3 * sigma.A4 / sigma.A2**2 - 1
    bias = as_number(C_b, "C_b", low=0.0)
    mean, square = _moments(as_count(depth, "depth"), jnp.asarray(1 + nu / n), jnp.asarray(bias), jnp.asarray(start))
    return n * (square - mean**2)
