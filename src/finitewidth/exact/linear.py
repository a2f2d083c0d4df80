r"""Deep linear networks, PDLT chapter 3: exact at every width and depth, for any inputs, with biases.

Given the kernels $\widehat G^{(\ell)}$ the $n_\ell$ neurons $z_j$ are Gaussian and the next kernels are

$$\widehat G^{(\ell+1)}_{ab} = C_b + \frac{C_W}{n_\ell}\sum_j z_{j;a}z_{j;b},$$

so Wick's theorem turns moments of $\widehat G^{(\ell+1)}$ into moments of $\widehat G^{(\ell)}$ of the same or lower
degree: a closed linear recursion at every order. A slope $a$ of the activation multiplies $C_W$ by $a^2$ after the
first layer.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import DomainError
from .._memory import check_four_samples
from .._result import Result
from .._validation import as_number
from ..kernels.every_layer import every_layer
from ..kernels.start import first_kernel
from ..networks import MLP, Layer
from .scale_invariant import require_scale_invariant


class DeepLinear(Result, eqx.Module):
    r"""What `deep_linear` returns, exactly. Layer $\ell$ is at index $\ell - 1$."""

    axes = ("layer",)

    G: Float[Array, "L N N"]
    r"""$G^{(\ell)}_{ab} = E[\widehat G_{ab}] = E[z_{i;a}z_{i;b}]$; it is also the kernel $K$, and $G^{\{1\}} = 0$."""
    v: Float[Array, "L N N N N"]
    r"""$V/n_{\ell-1}$: the covariance of $\widehat G_{ab}$ and $\widehat G_{cd}$, and of $z_{j;a}z_{j;b}$ and
    $z_{k;c}z_{k;d}$ for two neurons $j \neq k$; for one input $G_4 - G_2^2$, PDLT (3.28)-(3.30)."""
    widths: tuple[int, ...] = eqx.field(static=True)

    @property
    @entry()
    def V(self) -> Float[Array, "L N N N N"]:
        r"""The four-point vertex $V^{(\ell)}_{(ab)(cd)} = n_{\ell-1}\,\mathrm{Cov}(\widehat G_{ab}, \widehat G_{cd})$,
        PDLT (4.76)."""
        return self.v * jnp.asarray(self.widths[:-1])[:, None, None, None, None]

    @property
    @entry()
    def second_moments(self) -> Float[Array, "L N N N N"]:
        r"""$E[\widehat G_{ab}\widehat G_{cd}]$; for one input $G_4$, PDLT (3.22)-(3.25)."""
        return jax.vmap(_second_moments)(self.G, self.v)

    @property
    @entry()
    def layer_average_covariance(self) -> Float[Array, "L N N N N"]:
        r"""Covariance of the layer averages $\mathcal O^{(\ell)}_{ab} = \frac1{n_\ell}\sum_j z_{j;a}z_{j;b}$; for one
        input $\frac2{n_\ell}G_4 + G_4 - G_2^2$, PDLT (3.31)-(3.33)."""
        inverse_widths = 1 / np.asarray(self.widths[1:], dtype=float)
        return self.v + inverse_widths[:, None, None, None, None] * jax.vmap(_crossed)(self.G, self.v)


@entry(remedy="reduce the depth, the order, or C_W")
def deep_linear(net: MLP, x: Any = None, *, kernel: Any = None) -> DeepLinear:
    r"""Mean and covariance of the kernels of a linear network, exact for all widths, $C_b^{(\ell)}$ and $C_W^{(\ell)}$.

    $$G' = C_b + C_W G,\qquad \mathrm{Cov}'_{(12)(34)} = C_W^2\Big\{\mathrm{Cov}_{(12)(34)} +
      \frac1{n_\ell}E\big[\widehat G_{13}\widehat G_{24} + \widehat G_{14}\widehat G_{23}\big]\Big\}$$

    (law of total covariance; the bias shifts $\widehat G$ and drops out of its covariance), from
    $G^{(1)} = C_b + C_W G^{(0)}$ with $G^{(0)}_{ab} = x_a\cdot x_b/n_0$ and no covariance. The mean is
    PDLT (3.9)-(3.15) with biases; for one input the second moment is PDLT (3.24).

    **Arguments:**

    - `net`: a network with a linear activation.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or $K^{(1)}$.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> fw.exact.deep_linear(net, [[1.0, 0.5]]).V.ravel().round(6).tolist()
        [0.0, 0.78125, 1.757812]
    """
    start = first_kernel(net, x, kernel)
    check_four_samples(4.0, net.depth, len(start), "kernel" if x is None else "x")
    G, v = _iterate(linear_layers(net), start)
    return DeepLinear(G, v, net.widths)


@compiled_in_haste(light=5000)
def _iterate(layers: Layer, start: Float[Array, "N N"]) -> tuple[Array, Array]:
    def step(state: tuple[Array, Array], layer: Layer) -> tuple[Array, Array]:
        G, v = state
        return layer.kernel(G), layer.covariance(_crossed(G, v), v)

    return every_layer(step, (start, jnp.zeros(start.shape * 2, start.dtype)), layers)


def _second_moments(G: Float[Array, "N N"], v: Float[Array, "N N N N"]) -> Float[Array, "N N N N"]:
    return jnp.einsum("ab,cd->abcd", G, G) + v


def _crossed(G: Float[Array, "N N"], v: Float[Array, "N N N N"]) -> Float[Array, "N N N N"]:
    r"""$E[\widehat G_{13}\widehat G_{24} + \widehat G_{14}\widehat G_{23}]$: what one layer of neurons adds to a covariance."""
    moments = _second_moments(G, v)
    return jnp.einsum("acbd->abcd", moments) + jnp.einsum("adbc->abcd", moments)


def linear_layers(net: MLP) -> Layer:
    r"""The steps from layer 1 to 2, ..., from $L-1$ to $L$: a slope $a$ multiplies $C_W$ by $a^2$."""
    activation = require_scale_invariant(net)
    if activation.a_plus != activation.a_minus:
        raise DomainError("net", f"the activation {activation.name}", "a linear one")
    return net.replace(C_W=activation.A2 * net.C_W).layers[1:]


class _LinearPhase(NamedTuple):
    name: str
    """`"vanishing"`, `"critical"` or `"exploding"`."""
    fixed_point: float
    """The limit of $G^{(\\ell)}/G^{(1)}$: 0, 1 or infinity."""
    depth_scale: float
    """The number of layers over which the kernel changes by a factor e; infinite at criticality."""


class LinearPhase(Result, _LinearPhase):
    """What depth does to the kernel of a linear network without biases."""


@entry()
def linear_phase(C_W: float, slope: float = 1.0) -> LinearPhase:
    r"""The phase of $G^{(\ell+1)} = C_W a^2\,G^{(\ell)}$, PDLT (3.14)-(3.16): critical at $C_W a^2 = 1$ only.

    Examples:
        >>> fw.exact.linear_phase(1.5).name
        'exploding'
    """
    factor = as_number(C_W, "C_W", low=0) * as_number(slope, "slope") ** 2
    if math.isclose(factor, 1.0, rel_tol=1e-12):  # C_W = 1/a^2 is seldom exact in floating point
        return LinearPhase("critical", 1.0, math.inf)
    depth_scale = 1 / abs(math.log(factor)) if factor > 0 else 0.0
    return LinearPhase("exploding", math.inf, depth_scale) if factor > 1 else LinearPhase("vanishing", 0.0, depth_scale)
