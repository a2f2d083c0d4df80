r"""One input through a scale-invariant network: the exact statistics of its tangent kernel at every width and depth.

The sign of a preactivation of such a network is independent of everything else, because
$\sigma(z)^2$, $\sigma'(z)^2$ and the tangent kernel see it only through $a_\pm$. The second moments of
$(\widehat G, \widehat H)$ therefore close on themselves without an expansion in $1/n$, and the means are those of infinite
width, $E[\widehat G] = K$ and $E[\widehat H_{ij}] = \delta_{ij}\Theta$. The large-$n$ limit is PDLT (9.45)-(9.48).
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from .._entry import entry
from .._result import Result
from .._table import Table, index_columns
from ..kernels.every_layer import every_layer
from ..kernels.start import first_kernel
from ..networks import MLP, Layer
from .scale_invariant import require_scale_invariant


class _Moments(NamedTuple):
    """Means, and covariances with their widths absorbed: what `ExactTangentFlow` multiplies by the width."""

    K: Float[Array, "*L N"]
    theta: Float[Array, "*L N"]
    v: Float[Array, "*L N"]
    d: Float[Array, "*L N"]
    f: Float[Array, "*L N"]
    b: Float[Array, "*L N"]
    a: Float[Array, "*L N"]


class ExactTangentFlow(Result, eqx.Module):
    r"""What `exact_tangent_flow` returns: each sample by itself, layer $\ell$ at index $\ell-1$, exact at finite width.

    With $n = n_{\ell-1}$: $\mathrm{Cov}[\widehat H_{ii}, \widehat H_{jj}] = A/n$, $E[\widehat H_{ij}^2] = B/n$,
    $\mathrm{Cov}[z_i^2, \widehat H_{jj}] = D/n$ and $E[z_iz_j\widehat H_{ij}] = F/n$ for $i \ne j$, PDLT (8.67), PDLT (8.82).
    """

    moments: _Moments
    net: MLP

    def table(self) -> Table:
        """One row for each layer and sample."""
        names = ("K", "Theta", "V", "D", "F", "B", "A")
        columns = {name: np.ravel(getattr(self, name)) for name in names}
        return Table({"net": self.net}, index_columns(("layer", "sample"), self.K.shape) | columns)

    @property
    def K(self) -> Float[Array, "L N"]:
        r"""The mean metric, which is the kernel of infinite width."""
        return self.moments.K

    @property
    def Theta(self) -> Float[Array, "L N"]:
        r"""The mean tangent kernel, which is the frozen one of infinite width, PDLT (9.6)."""
        return self.moments.theta

    @property
    def V(self) -> Float[Array, "L N"]:
        r"""$n_{\ell-1}\mathrm{Var}\,\widehat G$."""
        return self._in_units_of_width(self.moments.v)

    @property
    def D(self) -> Float[Array, "L N"]:
        r"""$n_{\ell-1}\mathrm{Cov}[z_i^2, \widehat H_{jj}]$."""
        return self._in_units_of_width(self.moments.d)

    @property
    def F(self) -> Float[Array, "L N"]:
        r"""$n_{\ell-1}E[z_iz_j\widehat H_{ij}]$."""
        return self._in_units_of_width(self.moments.f)

    @property
    def B(self) -> Float[Array, "L N"]:
        r"""$n_{\ell-1}E[\widehat H_{ij}^2]$."""
        return self._in_units_of_width(self.moments.b)

    @property
    def A(self) -> Float[Array, "L N"]:
        r"""$n_{\ell-1}\mathrm{Cov}[\widehat H_{ii}, \widehat H_{jj}]$."""
        return self._in_units_of_width(self.moments.a)

    def _in_units_of_width(self, moment: Float[Array, "L N"]) -> Float[Array, "L N"]:
        return moment * np.asarray(self.net.widths[:-1], dtype=float)[:, None]


@entry(remedy="reduce the depth, the order, or C_W")
def exact_tangent_flow(net: MLP, x: Any = None, *, kernel: Any = None) -> ExactTangentFlow:
    r"""Means and covariances of metric and tangent kernel of each input by itself, exact at finite width.

    For scale-invariant activations, with any widths, $C_b$, $C_W$ and rates per layer. The expansion in $1/n$ of
    `flow(net, x, through="ntk")` is its limit, so this measures how large the orders left out there are.

    **Arguments:**

    - `net`: a network with a scale-invariant activation.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or $K^{(1)}$, of which only the diagonal is used.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.exact.exact_tangent_flow(net, [[1.0, 0.5]]).Theta.ravel().tolist()
        [1.625, 3.25, 4.875]
    """
    activation = require_scale_invariant(net)
    K1 = diagonal(first_kernel(net, x, kernel))
    overlap = net.overlap_behind(K1[:, None, None])[:, 0, 0] if x is None else diagonal(net.overlap(x))
    first = _Moments(K1, net.first_tangent_kernel(overlap), *[jnp.zeros_like(K1)] * 5)
    moments = _iterate(jnp.asarray([activation.A2, activation.A4]), net.layers[1:], first)
    return ExactTangentFlow(moments, net)


@compiled_in_haste(light=5000)
def _iterate(slopes: Float[Array, "2"], layers: Layer, first: _Moments) -> _Moments:
    return every_layer(partial(_next, slopes), first, layers)


def _next(slopes: Float[Array, "2"], state: _Moments, layer: Layer) -> _Moments:
    r"""One layer. With $\widehat g = \frac1n\sum_j\sigma_j^2$, $\widehat p = \frac1n\sum_j\sigma_j'^2\widehat H_{jj}$ and
    the moments $E[z_j^2\widehat H_{jj}] = K\Theta + d + 2f$, $E[\widehat H_{jj}^2] = \Theta^2 + a + 2b$ of one neuron,

    $$\mathrm{Var}\,\widehat g = \tfrac{3A_4-A_2^2}n(K^2+v) + A_2^2v,\qquad
      \mathrm{Cov}[\widehat g, \widehat p] = \tfrac1n\big[(A_4-A_2^2)K\Theta + A_4(d+2f)\big] + \tfrac{n-1}nA_2^2d,$$

    $$\mathrm{Var}\,\widehat p = \tfrac1n\big[(A_4-A_2^2)\Theta^2 + A_4(a+2b)\big] + \tfrac{n-1}nA_2^2a,$$

    and then $v' = C_W^2\mathrm{Var}\,\widehat g$, $d' = C_W\mathrm{Cov}[\widehat g, \lambda_W\widehat g + C_W\widehat p]$, PDLT (8.68),
    and $a' = \mathrm{Var}[\lambda_W\widehat g + C_W\widehat p]$, PDLT (8.90); $f'$ and $b'$ from PDLT (8.69), (8.83).
    """
    A2, A4 = slopes
    K, theta, v, d, f, b, a = state
    C_W, lambda_W, inverse_width = layer.C_W, layer.lambda_W, layer.inverse_width
    others = (1 - inverse_width) * A2**2
    one_mixed, one_tangent = d + 2 * f, a + 2 * b
    values = inverse_width * (3 * A4 - A2**2) * (K**2 + v) + A2**2 * v
    mixed = inverse_width * ((A4 - A2**2) * K * theta + A4 * one_mixed) + others * d
    tangents = inverse_width * ((A4 - A2**2) * theta**2 + A4 * one_tangent) + others * a
    return _Moments(
        K=layer.kernel(A2 * K),
        theta=layer.tangent_kernel(A2 * K, A2, theta),
        v=C_W**2 * values,
        d=C_W * (lambda_W * values + C_W * mixed),
        f=C_W**2 * (inverse_width * A4 * (K * theta + one_mixed) + others * f),
        b=C_W**2 * (inverse_width * A4 * (theta**2 + one_tangent) + others * b),
        a=lambda_W**2 * values + 2 * lambda_W * C_W * mixed + C_W**2 * tangents,
    )
