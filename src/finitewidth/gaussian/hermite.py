r"""Averages of smooth functions by Mehler's expansion in Hermite polynomials.

For standard normal $u, v$ with correlation $\rho$, $\langle h_k(u) h_l(v)\rangle = \delta_{kl}\rho^k$, so that

$$\langle f(z_a)\,g(z_b)\rangle_K = \sum_k \rho^k f_k(K_{aa})\,g_k(K_{bb}),\qquad
  f_k(K) = \langle f(\sqrt K u)\,h_k(u)\rangle .$$

Each coefficient belongs to one input, so a Gram matrix of $N$ inputs costs $N$ one-dimensional integrals and a polynomial in $\rho$.
The trapezoid rule below is spectrally accurate and, unlike Gauss-Hermite, is not hurt by the complex poles of activations such as tanh.
"""

import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array

ElementwiseFunction = Callable[[Array], Array]

_FEW = 4096  # numbers whose powers are taken at once: a shorter program


class HermiteRule(eqx.Module):
    """How finely to integrate: so many modes, from integrals over equispaced nodes. Made by `hermite_rule`.

    Modes come in blocks, of which a program takes as many as a rule tells it when it runs. So rules of one `block` and tables of one
    shape share a program, whatever the variances that they are meant for: give them to `jit` as ordinary arguments. `parity` is
    that of the function where it is known (0 even, 1 odd): then every second mode vanishes and is left out.
    """

    u: Float[Array, " q"]
    table: Float[Array, "q k"]
    """Weights $w_q h_k(u_q)$."""
    blocks: Int[Array, ""]
    block: int = eqx.field(static=True)
    parity: int | None = eqx.field(static=True, default=None)


@functools.lru_cache(maxsize=256)
def hermite_table(order: int, nodes: int, reach: float = 12.0) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes $u_q$ and weights $w_q h_k(u_q)$, shape (nodes, order), with $h_k = He_k/\sqrt{k!}$."""
    u = np.linspace(-reach, reach, nodes)
    root_density = np.exp(-(u**2) / 4) / (2 * math.pi) ** 0.25
    waves = np.zeros((order, nodes))  # h_k times the root of the density, which never overflows
    waves[0] = root_density
    for k in range(1, order):
        waves[k] = u * waves[k - 1] / math.sqrt(k)
        if k > 1:
            waves[k] -= math.sqrt((k - 1) / k) * waves[k - 2]
    return u, ((u[1] - u[0]) * root_density * waves).T


def hermite_rule(order: int, nodes: int, reach: float = 12.0) -> HermiteRule:
    """The first `order` modes, in one block, from so many `nodes` within `reach` deviations."""
    u, table, blocks = as_data(*hermite_table(order, nodes, reach), np.asarray(1))
    return HermiteRule(u, table, blocks, order)


def as_data(*arrays: np.ndarray) -> tuple[Array, ...]:
    """Arrays of a rule, at hand for every program, in full precision whatever the caller's mode."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return tuple(jax.device_put(array) for array in arrays)  # nothing is compiled for it


def pair_average(
    f: ElementwiseFunction, g: ElementwiseFunction, Kaa: Array, Kab: Array, Kbb: Array, rule: HermiteRule
) -> Array:
    r"""$\langle f(z_a)g(z_b)\rangle_K$, elementwise over covariances that broadcast against each other.

    The sum over modes is a polynomial in $\rho$, by Horner's rule in blocks from the last to the first: for many $\rho$ a handful of
    passes over them however many modes.
    """
    rho = jnp.clip(Kab / jnp.sqrt(Kaa * Kbb), -1.0, 1.0)
    x = rho if rule.parity is None else rho**2
    values = [h(jnp.sqrt(K)[..., None] * rule.u) for h, K in ((f, Kaa), (g, Kbb))]
    start = jnp.zeros(jnp.broadcast_shapes(Kaa.shape, Kab.shape, Kbb.shape), rho.dtype)

    def horner(done: Array, total: Array) -> Array:
        first = (rule.blocks - 1 - done) * rule.block
        weights = jax.lax.dynamic_slice_in_dim(rule.table, first, rule.block, axis=1)
        modes = weights if rule.parity is None else weights[:, rule.parity :: 2]
        f_k, g_k = (of_one @ modes for of_one in values)
        if x.size <= _FEW:
            terms = f_k * g_k * x[..., None] ** np.arange(modes.shape[1])
            return total * x ** modes.shape[1] + jnp.sum(terms, axis=-1)
        for k in reversed(range(modes.shape[1])):
            total = total * x + f_k[..., k] * g_k[..., k]
        return total

    series = jax.lax.fori_loop(0, rule.blocks, horner, start)
    return series if rule.parity is None else rho**rule.parity * series
