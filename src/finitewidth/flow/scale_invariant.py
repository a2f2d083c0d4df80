r"""One input through a scale-invariant network: exact at every width and depth.

Because $\sigma(\lambda z) = \lambda\,\sigma(z)$ for $\lambda > 0$, the random kernel of one input obeys

$$\widehat G^{(\ell+1)} = C_b + C_W\,\widehat G^{(\ell)}\,y_\ell,\qquad
  y_\ell = \frac1{n_\ell}\sum_{j=1}^{n_\ell}\sigma(u_j)^2,\quad u_j \sim N(0, 1)\ \text{independent},$$

so every moment of it closes on itself and, without biases, it is a product of independent factors. For the linear
activation $y$ is $\chi^2_n/n$ and this is PDLT chapter 3.
"""

import functools
import math
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, polygamma
from jaxtyping import Array, Float

from .._errors import ArgumentError, BlowUpError, DomainError, ShapeError
from .._precision import in_float64
from .._validation import as_count, as_covariance, as_floats, as_seed, is_concrete
from ..activations.families import ScaleInvariant
from ..gaussian.wick import double_factorial
from ..networks import MLP, as_mlp
from ..networks.every_layer import every_layer

Result = TypeVar("Result")

_HIGHEST_ORDER = 20  # of a moment: forty-point functions; far beyond, numbers of graphs leave the floats


class SingleInputFlow(eqx.Module):
    r"""What `single_input_flow` returns: each sample's own kernel, exactly. Layer $\ell$ is at index $\ell - 1$."""

    moments: Float[Array, "order L N"]
    r"""$G_{2m}^{(\ell)} = E[(\widehat G^{(\ell)})^m]$ at index $m - 1$, so that $E[z^{2m}] = (2m-1)!!\,G_{2m}$."""
    v: Float[Array, "L N"]
    r"""$V/n_{\ell-1} = \mathrm{Var}\,\widehat G^{(\ell)} = G_4 - G_2^2$, computed without that subtraction."""
    widths: tuple[int, ...] = eqx.field(static=True)

    @property
    def G(self) -> Float[Array, "L N"]:
        r"""The mean $G^{(\ell)} = G_2^{(\ell)}$."""
        return self.moments[0]

    @property
    @in_float64
    def V(self) -> Float[Array, "L N"]:
        r"""The four-point vertex $V^{(\ell)} = n_{\ell-1}\,\mathrm{Var}\,\widehat G^{(\ell)}$, PDLT (4.76)."""
        return jnp.asarray(self.widths[:-1])[:, None] * self.v


@in_float64
def single_input_flow(net: MLP, x: Any = None, *, kernel: Any = None, order: int = 2) -> SingleInputFlow:
    r"""Moments of the kernel of each sample by itself, exact for any slopes, widths, $C_b$ and $C_W$.

    $$G_{2m}^{(\ell+1)} = \sum_{k=0}^m \binom mk C_b^{m-k}\,C_W^k\,E[y_\ell^k]\,G_{2k}^{(\ell)}$$

    which for $C_b = 0$ is $G_{2m}^{(\ell+1)} = c_{2m}(n_\ell)\,C_W^m\,G_{2m}^{(\ell)}$, PDLT (3.45), from
    $G_{2m}^{(1)} = (G_2^{(1)})^m$; linear, $m = 1, 2, 3$: PDLT (3.14), PDLT (3.24), PDLT (3.42). At criticality
    $V^{(\ell)}/(n K^2) = (1 + \nu/n)^{\ell-1} - 1$ with $\nu = 3A_4/A_2^2 - 1$, to first order PDLT (5.120).

    **Arguments:**

    - `net`: a network with a scale-invariant activation.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or $K^{(1)}$, of which only the diagonal is used.
    - `order`: the largest $m$.
    """
    activation = require_scale_invariant(net)
    start = jnp.diagonal(starting_kernel(net, x, kernel))
    widths = jnp.asarray(net.hidden_widths, dtype=start.dtype)
    factors = _factor_moments(activation, widths, _as_order(order, "order"))
    spread = (3 * activation.A4 - activation.A2**2) / widths
    moments, v = _iterate(net.C_b[1:], net.C_W[1:], factors, spread, start)
    return finite(SingleInputFlow(moments, v, net.widths))


@jax.jit
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
    series = [jnp.ones_like(widths)]
    for k in range(1, order + 1):
        terms = [(i * (widths + 1) - k) * neuron[i] / widths**i * series[k - i] for i in range(1, k + 1)]
        series.append(sum(terms, jnp.zeros_like(widths)) / k)
    return jnp.stack([float(math.factorial(k)) * series[k] for k in range(order + 1)], axis=1)


@in_float64
def sample_single_input(
    net: MLP, x: Any = None, *, kernel: Any = None, networks: int, seed: int = 0
) -> Float[Array, "networks L"]:
    r"""Draws of $(\widehat G^{(1)}, \dots, \widehat G^{(L)})$ for one input, exact in law, at a cost without $n$.

    $n y$ is $a_+^2\chi^2_p + a_-^2\chi^2_{n-p}$ with $p \sim \mathrm{Binomial}(n, \tfrac12)$ neurons on the right of
    the kink; for the linear activation it is $a^2\chi^2_n$.
    """
    activation = require_scale_invariant(net)
    start = starting_kernel(net, x, kernel)
    if start.shape != (1, 1):
        raise ShapeError("x", f"{len(start)} samples", "one sample: this is the law of a single input")
    shape = (as_count(networks, "networks"),)
    widths = jnp.asarray(net.hidden_widths, dtype=start.dtype)
    keys = jax.random.split(jax.random.key(as_seed(seed)), len(widths))
    return finite(_sample(activation, shape, start[0, 0], (net.C_b[1:], net.C_W[1:], widths, keys)))


@functools.partial(jax.jit, static_argnums=(0, 1))
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


@in_float64
def c_2m(m: int, n: Any) -> Float[Array, "..."]:
    r"""$c_{2m}(n) = \prod_{s=1}^{m-1}(1 + 2s/n)$, elementwise in $n$: PDLT (3.46), PDLT (3.25), PDLT (3.43).

    It is $E[(\chi^2_n/n)^m]$, what one linear layer does to $E[\widehat G^m]/E[\widehat G]^m$.
    """
    widths = _as_positive(n, "n")
    return finite(math.prod((1 + 2 * s / widths for s in range(1, _as_order(m, "m"))), start=jnp.ones_like(widths)))


@in_float64
def moment_ratio(m: int, hidden_widths: Any) -> Float[Array, ""]:
    r"""$G_{2m}^{(L)}/(G_2^{(L)})^m = \prod_{\ell=1}^{L-1} c_{2m}(n_\ell)$ of a linear network, PDLT (3.47).

    Without biases. At equal widths it is $c_{2m}(n)^{L-1}$, PDLT (3.50): one when the width is sent to infinity first,
    infinite when the depth is; the limits do not commute, PDLT (3.48)-(3.51). Between them: `fixed_ratio_moment`.
    """
    return finite(jnp.prod(c_2m(m, hidden_widths)))


@in_float64
def fixed_ratio_moment(m: int, r: Any, nu: Any = 2.0) -> Float[Array, "..."]:
    r"""$G_{2m}^{(L)}/(G_2^{(L)})^m \to e^{m(m-1)r}$ for $n, L \to \infty$ at $r = L/n$, PDLT (3.53)-(3.55).

    `nu` $= 3A_4/A_2^2 - 1$ is 2 for the linear activation and 5 for ReLU: $e^{\nu m(m-1)r/2}$, moments of a log-normal
    variable with $\ln(\widehat G/G)$ of mean $-\nu r/2$ and variance $\nu r$. Not for $m$ so large that $m^2 \sim n$.
    """
    order = _as_order(m, "m")
    return finite(jnp.exp(order * (order - 1) / 2 * _as_positive(nu, "nu") * _as_positive(r, "r")))


@in_float64
def fixed_ratio_connected(m: int, r: Any, nu: Any = 2.0) -> Float[Array, "..."]:
    r"""The $m$-th cumulant of $\widehat G/G$ in the same limit: the connected $2m$-point function over $(G_2)^m$.

    With $x = e^{\nu r} - 1$ the $m$-th moment is a sum over all graphs on $m$ points, $(1 + x)^{m(m-1)/2}$, so the
    cumulant is the sum of $x^{\rm edges}$ over the connected ones. $m = 2$: $x = e^{2r} - 1$, PDLT (3.56); $m = 3$:
    $3x^2 + x^3 = e^{6r} - 3e^{2r} + 2$, PDLT (3.57); leading order, trees: $m^{m-2}(\nu r)^{m-1}$. All terms are
    positive, so nothing cancels at small $r$.
    """
    x = jnp.expm1(_as_positive(nu, "nu") * _as_positive(r, "r"))
    counts = _connected_graphs(_as_order(m, "m"))
    return finite(jnp.polyval(jnp.asarray([float(count) for count in reversed(counts)]), x))


@functools.cache
def _connected_graphs(m: int) -> list[int]:
    """The numbers of connected labelled graphs on `m` points, by number of edges: all graphs less those in which the
    component of the first point has only k < m points."""
    edges = m * (m - 1) // 2
    counts = [math.comb(edges, e) for e in range(edges + 1)]
    for k in range(1, m):
        rest = (m - k) * (m - k - 1) // 2
        for i, connected in enumerate(_connected_graphs(k)):
            for j in range(rest + 1):
                counts[i + j] -= math.comb(m - 1, k - 1) * connected * math.comb(rest, j)
    return counts


@in_float64
def log_kernel_statistics(net: MLP) -> tuple[Float[Array, " L"], Float[Array, " L"]]:
    r"""Mean and variance of $\ln(\widehat G^{(\ell)}/G^{(\ell)})$, exactly: $\sum_{s<\ell}[\psi(\tfrac{n_s}2) -
    \ln\tfrac{n_s}2]$ and $\sum_{s<\ell}\psi_1(\tfrac{n_s}2)$.

    They tend to $-r$ and $2r$, whence the log-normal law behind PDLT (3.55). For networks with $|a_+| = |a_-|$ and
    without biases after the first layer; otherwise $\widehat G$ may vanish (ReLU) or is no product.
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


def _as_order(value: Any, argument: str) -> int:
    order = as_count(value, argument)
    if order > _HIGHEST_ORDER:
        raise DomainError(argument, order, f"an order up to {_HIGHEST_ORDER}")
    return order


def _as_positive(value: Any, argument: str) -> Float[Array, "..."]:
    array = as_floats(value, argument)
    if is_concrete(array) and not bool((np.asarray(array) > 0).all()):
        raise DomainError(argument, np.asarray(array).tolist(), "positive numbers")
    return array


def starting_kernel(net: MLP, x: Any, kernel: Any) -> Float[Array, "N N"]:
    """$K^{(1)}$ from the inputs, or as given."""
    if (x is None) == (kernel is None):
        raise ArgumentError("x", f"{'neither' if x is None else 'both'} of x and kernel", "exactly one of them")
    return as_covariance(kernel, "kernel") if x is None else as_mlp(net).first_kernel(x)


def power_table(base: Float[Array, ""], highest: int) -> Float[Array, " powers"]:
    """$1, b, b^2, \\dots$ by multiplication, so that the gradient at $b = 0$ is right."""
    return jnp.stack([base**k for k in range(highest + 1)])


def finite(result: Result) -> Result:
    """`result`, refused if it left the range of floating-point numbers: far from criticality depth does that."""
    for leaf in jax.tree.leaves(result):
        if is_concrete(leaf) and not bool(np.isfinite(np.asarray(leaf)).all()):
            raise BlowUpError("A moment of the kernel exceeds the largest float; reduce depth, order, or C_W.")
    return result
