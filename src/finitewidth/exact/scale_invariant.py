r"""One input through a scale-invariant network: exact at every width and depth.

Because $\sigma(\lambda z) = \lambda\,\sigma(z)$ for $\lambda > 0$, the random kernel of one input obeys

$$\widehat G^{(\ell+1)} = C_b + C_W\,\widehat G^{(\ell)}\,y_\ell,\qquad
  y_\ell = \frac1{n_\ell}\sum_{j=1}^{n_\ell}\sigma(u_j)^2,\quad u_j \sim N(0, 1)\ \text{independent},$$

so every moment of it closes on itself and, without biases, it is a product of independent factors. For the linear
activation $y$ is $\chi^2_n/n$ and this is PDLT chapter 3.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, polygamma
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._random import key_of
from .._result import Result
from .._table import Table, index_columns
from .._validation import as_count, as_seed, is_concrete
from ..activations.families import ScaleInvariant
from ..gaussian.wick import double_factorial
from ..kernels.every_layer import every_layer
from ..kernels.start import first_kernel
from ..networks import MLP, as_mlp
from .moment_ratios import as_order


class ScaleInvariantFlow(Result, eqx.Module):
    r"""What `scale_invariant_flow` returns: each sample's own kernel, exactly. Layer $\ell$ is at index $\ell - 1$."""

    moments: Float[Array, "order L N"]
    r"""$G_{2m}^{(\ell)} = E[(\widehat G^{(\ell)})^m]$ at index $m - 1$, so that $E[z^{2m}] = (2m-1)!!\,G_{2m}$."""
    v: Float[Array, "L N"]
    r"""$V/n_{\ell-1} = \mathrm{Var}\,\widehat G^{(\ell)} = G_4 - G_2^2$, computed without that subtraction."""
    widths: tuple[int, ...] = eqx.field(static=True)

    def table(self) -> Table:
        """One row for each layer and sample."""
        names = [f"G_{2 * m + 2}" for m in range(len(self.moments))]
        moments = {name: np.ravel(moment) for name, moment in zip(names, self.moments, strict=True)}
        places = index_columns(("layer", "sample"), self.v.shape)
        return Table({"widths": self.widths}, {**places, **moments, "v": np.ravel(self.v)})

    @property
    def G(self) -> Float[Array, "L N"]:
        r"""The mean $G^{(\ell)} = G_2^{(\ell)}$."""
        return self.moments[0]

    @property
    @entry()
    def V(self) -> Float[Array, "L N"]:
        r"""The four-point vertex $V^{(\ell)} = n_{\ell-1}\,\mathrm{Var}\,\widehat G^{(\ell)}$, PDLT (4.76)."""
        return jnp.asarray(self.widths[:-1])[:, None] * self.v


@entry(remedy="reduce the depth, the order, or C_W")
def scale_invariant_flow(net: MLP, x: Any = None, *, kernel: Any = None, order: int = 2) -> ScaleInvariantFlow:
    r"""Moments of the kernel of each sample by itself, exact for any slopes, widths, $C_b$ and $C_W$.

    $$G_{2m}^{(\ell+1)} = \sum_{k=0}^m \binom mk C_b^{m-k}\,C_W^k\,E[y_\ell^k]\,G_{2k}^{(\ell)}$$

    which for $C_b = 0$ is $G_{2m}^{(\ell+1)} = c_{2m}(n_\ell)\,C_W^m\,G_{2m}^{(\ell)}$, PDLT (3.45), from
    $G_{2m}^{(1)} = (G_2^{(1)})^m$; linear, $m = 1, 2, 3$: PDLT (3.14), PDLT (3.24), PDLT (3.42). At criticality
    $V^{(\ell)}/(n K^2) = (1 + \nu/n)^{\ell-1} - 1$ with $\nu = 3A_4/A_2^2 - 1$, to first order PDLT (5.120).

    **Arguments:**

    - `net`: a network with a scale-invariant activation.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or $K^{(1)}$, of which only the diagonal is used.
    - `order`: the largest $m$.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.exact.scale_invariant_flow(net, [[1.0, 0.5]]).V.ravel().round(6).tolist()
        [0.0, 7.8125, 20.507812]
    """
    activation = require_scale_invariant(net)
    start = diagonal(first_kernel(net, x, kernel))
    widths = jnp.asarray(net.hidden_widths, dtype=start.dtype)
    factors = _factor_moments(activation, widths, as_order(order, "order"))
    spread = (3 * activation.A4 - activation.A2**2) / widths
    moments, v = _iterate(net.C_b[1:], net.C_W[1:], factors, spread, start)
    return ScaleInvariantFlow(moments, v, net.widths)


@compiled_in_haste(light=5000)
def _iterate(
    C_b: Float[Array, " steps"],
    C_W: Float[Array, " steps"],
    factors: Float[Array, "steps powers"],
    spread: Float[Array, " steps"],
    start: Float[Array, " N"],
) -> tuple[Float[Array, "order L N"], Float[Array, "L N"]]:
    order = factors.shape[1] - 1
    powers = np.arange(order + 1)
    binomials = jnp.asarray([[float(math.comb(m, k)) for k in powers] for m in powers])
    lower = np.maximum(powers[:, None] - powers, 0)

    def step(state: tuple[Array, Array], hyper: tuple[Array, ...]) -> tuple[Array, Array]:
        moments, v = state
        b, w, factor, spread = hyper
        transfer = binomials * power_table(b, order)[lower] * power_table(w, order) * factor
        # total variance: what this layer adds, and what it passes on
        return transfer @ moments, w**2 * (spread * (moments[1] ** 2 + v) + factor[1] ** 2 * v)

    first = start ** powers[:, None], jnp.zeros_like(start)
    moments, v = every_layer(step, first, (C_b, C_W, factors, spread))
    return jnp.moveaxis(moments, 1, 0)[1:], v


def _factor_moments(
    activation: ScaleInvariant, widths: Float[Array, " steps"], order: int
) -> Float[Array, "steps powers"]:
    r"""$E[y^k]$ for $k = 0..$`order`: $k!$ times the coefficients of the $n$-th power of the generating function of one
    neuron, $\sum_k (2k-1)!!\,A_{2k}\,(t/n)^k/k!$ with $A_{2k} = (a_+^{2k} + a_-^{2k})/2$.

    J. C. P. Miller's recurrence for the power of a series gives them for any width in `order`$^2$ operations.
    """
    neuron = [1.0]
    for k in range(1, order + 1):
        slopes = (activation.a_plus ** (2 * k) + activation.a_minus ** (2 * k)) / 2
        neuron.append(double_factorial(k) / math.factorial(k) * slopes)
    series: list[Array] = [jnp.ones_like(widths)]
    for k in range(1, order + 1):
        terms = [(i * (widths + 1) - k) * neuron[i] / widths**i * series[k - i] for i in range(1, k + 1)]
        series.append(sum(terms, jnp.zeros_like(widths)) / k)
    return jnp.stack([float(math.factorial(k)) * series[k] for k in range(order + 1)], axis=1)


@entry(remedy="reduce the depth, the order, or C_W")
def sample_scale_invariant(
    net: MLP, x: Any = None, *, kernel: Any = None, networks: int, seed: int = 0
) -> Float[Array, "networks L"]:
    r"""Draws of $(\widehat G^{(1)}, \dots, \widehat G^{(L)})$ for one input, exact in law, at a cost without $n$.

    $n y$ is $a_+^2\chi^2_p + a_-^2\chi^2_{n-p}$ with $p \sim \mathrm{Binomial}(n, \tfrac12)$ neurons on the right of
    the kink; for the linear activation it is $a^2\chi^2_n$.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.exact.sample_scale_invariant(net, [[1.0, 0.5]], networks=4).shape
        (4, 3)
    """
    activation = require_scale_invariant(net)
    start = first_kernel(net, x, kernel)
    if start.shape != (1, 1):
        raise ShapeError("x", f"{len(start)} samples", "one sample: this is the law of a single input")
    shape = (as_count(networks, "networks"),)
    widths = jnp.asarray(net.hidden_widths, dtype=start.dtype)
    keys = jax.random.split(key_of(as_seed(seed)), len(widths))
    return _sample(activation, shape, start[0, 0], (net.C_b[1:], net.C_W[1:], widths, keys))


@compiled_in_haste(static_argnums=(0, 1))
def _sample(
    activation: ScaleInvariant, shape: tuple[int], start: Float[Array, ""], layers: tuple[Array, ...]
) -> Float[Array, "networks L"]:
    right, left = activation.a_plus**2, activation.a_minus**2

    def step(kernel: Array, hyper: tuple[Array, ...]) -> Array:
        b, w, n, key = hyper
        if right == left:
            total = right * jax.random.chisquare(key, n, shape)
        else:
            split, first, second = jax.random.split(key, 3)
            positive = jax.random.binomial(split, n, 0.5, shape, dtype=kernel.dtype)
            total = right * _chi_square(first, positive, shape) + left * _chi_square(second, n - positive, shape)
        return b + w * kernel * total / n

    return every_layer(step, jnp.full(shape, start), layers).T


def _chi_square(key: Array, freedom: Array, shape: tuple[int]) -> Float[Array, " networks"]:
    r"""$\chi^2$ variables; zero for zero degrees of freedom."""
    return jnp.where(freedom > 0, jax.random.chisquare(key, jnp.maximum(freedom, 1), shape), 0.0)


@entry(remedy="reduce the depth, the order, or C_W")
def log_kernel_statistics(net: MLP) -> tuple[Float[Array, " L"], Float[Array, " L"]]:
    r"""Mean and variance of $\ln(\widehat G^{(\ell)}/G^{(\ell)})$, exactly: $\sum_{s<\ell}[\psi(\tfrac{n_s}2) -
    \ln\tfrac{n_s}2]$ and $\sum_{s<\ell}\psi_1(\tfrac{n_s}2)$.

    They tend to $-r$ and $2r$, whence the log-normal law behind PDLT (3.55). For networks with $|a_+| = |a_-|$ and
    without biases after the first layer; otherwise $\widehat G$ may vanish (ReLU) or is not a product.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> mean, variance = fw.exact.log_kernel_statistics(net)
        >>> variance.round(6).tolist()
        [0.0, 0.283823, 0.567646]
    """
    activation = require_scale_invariant(net)
    if abs(activation.a_plus) != abs(activation.a_minus):
        raise DomainError("net", f"the activation {activation.name}", "slopes of equal size, such as linear")
    if is_concrete(net.C_b) and bool((np.asarray(net.C_b[1:]) != 0).any()):
        raise DomainError("net", "biases after the first layer", "C_b = 0 there")
    half = jnp.asarray([width / 2 for width in net.hidden_widths], dtype=net.C_W.dtype)
    sums = [jnp.cumsum(one) for one in (digamma(half) - jnp.log(half), polygamma(1, half))]
    mean, variance = (jnp.concatenate([jnp.zeros(1), one]) for one in sums)
    return mean, variance


def require_scale_invariant(net: MLP) -> ScaleInvariant:
    """The network's activation, refused unless it is scale-invariant."""
    activation = as_mlp(net).activation
    if not isinstance(activation, ScaleInvariant):
        raise DomainError("net", f"the activation {activation.name}", "a scale-invariant one: linear, relu, ...")
    return activation


def power_table(base: Float[Array, ""], highest: int) -> Float[Array, " powers"]:
    """$1, b, b^2, \\dots$ by multiplication, so that the gradient at $b = 0$ is right."""
    return jnp.stack([base**k for k in range(highest + 1)])
