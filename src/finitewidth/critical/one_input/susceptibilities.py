"""How perturbations of the input grow or die in one layer."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, at_hand
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_floats, as_number, is_concrete
from ...activations import Activation, as_activation
from .averages import averages_at
from .trust import check_continuous, check_resolved


class Susceptibilities(Result, eqx.Module):
    r"""Response of one layer at kernel `K`.

    - `chi_parallel` $=\chi_\parallel$: growth of a difference in norm, PDLT (5.50).
    - `chi_perp` $=\chi_\perp$: growth of a difference in direction, PDLT (5.51).
    - `h`: how a difference in norm feeds one in direction, PDLT (5.52).
    - `j`: how the vertex feeds the mean metric, PDLT (5.111).
    """

    K: Float[Array, "*K"]
    chi_parallel: Float[Array, "*K"]
    chi_perp: Float[Array, "*K"]
    h: Float[Array, "*K"]
    j: Float[Array, "*K"]

    @property
    @entry(nan=True)
    def ratio(self) -> Float[Array, "*K"] | float:
        r"""$\mathcal R = \chi_\perp/\chi_\parallel$, which is 1 at criticality whatever $C_W$ is, PDLT (5.73)."""
        return self.chi_perp / self.chi_parallel


def susceptibilities_at(activation: Activation, K: Float[Array, "*K"], C_W: float | Array) -> Susceptibilities:
    r"""The pure function behind `susceptibilities`.

    $$\chi_\parallel = C_W g'(K),\quad \chi_\perp = C_W\langle\sigma'^2\rangle_K,\quad h = \tfrac12\chi_\perp'(K),\quad
      j = 4K^2 C_W g''(K)\qquad\text{PDLT (5.50)-(5.52), (5.111)}$$

    Derivatives of averages replace averages of derivatives: kinked activations have no $\sigma''$.
    """
    K, at = at_hand((K, averages_at(activation, K)))
    return Susceptibilities(K, C_W * at.dg, C_W * at.s, C_W * at.ds / 2, 4 * K**2 * C_W * at.ddg)


@entry()
def susceptibilities(
    activation: str | Activation | Callable[[Array], Array],
    K: Float[Array, "*K"] | float | Any,
    C_W: float | Any = 1.0,
) -> Susceptibilities:
    r"""Susceptibilities $\chi_\parallel, \chi_\perp$ and auxiliary functions $h, j$, PDLT (5.50)-(5.52), (5.111).

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable.
    - `K`: the kernel, one positive number or an array of them.
    - `C_W`: the rescaled weight variance.

    Examples:
        >>> float(fw.susceptibilities("relu", K=1.0, C_W=2.0).chi_perp)
        1.0
    """
    sigma = as_activation(activation)
    variance = as_floats(K, "K")
    if is_concrete(variance) and not bool((np.asarray(variance) > 0).all()):
        raise DomainError("K", f"{np.asarray(variance).min():g}", "positive kernels")
    weight = as_number(C_W, "C_W", low=0.0) if is_concrete(C_W) else C_W
    check_continuous(sigma)
    if is_concrete(variance):
        check_resolved(sigma, variance, "K")
    return susceptibilities_at(sigma, variance, weight)
