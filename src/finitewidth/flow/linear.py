r"""Deep linear networks, PDLT chapter 3: exact at every width and depth, for any inputs, with biases.

Given the kernels $\widehat G^{(\ell)}$ the $n_\ell$ neurons $z_j$ are Gaussian and the next kernels are

$$\widehat G^{(\ell+1)}_{ab} = C_b + \frac{C_W}{n_\ell}\sum_j z_{j;a}z_{j;b},$$

so Wick's theorem turns moments of $\widehat G^{(\ell+1)}$ into moments of $\widehat G^{(\ell)}$ of the same or lower
degree: a closed linear recursion at every order. A slope $a$ of the activation multiplies $C_W$ by $a^2$ after the
first layer.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import DomainError, ShapeError
from .._precision import in_float64
from .._validation import as_count, as_number
from ..gaussian.wick import pairings
from ..networks import MLP
from ..networks.every_layer import every_layer
from .scale_invariant import finite, power_table, require_scale_invariant, starting_kernel

Site = tuple[int, int]
"""A neuron and a sample."""

PairSet = tuple[tuple[int, int], ...]
_LARGEST_CORRELATOR = 8  # points: 764 sets of pairs, and factorially more beyond


class DeepLinear(eqx.Module):
    r"""What `deep_linear` returns, exactly. Layer $\ell$ is at index $\ell - 1$."""

    G: Float[Array, "L N N"]
    r"""$G^{(\ell)}_{ab} = E[\widehat G_{ab}] = E[z_{i;a}z_{i;b}]$; it is also the kernel $K$, and $G^{\{1\}} = 0$."""
    v: Float[Array, "L N N N N"]
    r"""$V/n_{\ell-1}$: the covariance of $\widehat G_{ab}$ and $\widehat G_{cd}$, and of $z_{j;a}z_{j;b}$ and
    $z_{k;c}z_{k;d}$ for two neurons $j \neq k$; for one input $G_4 - G_2^2$, PDLT (3.28)-(3.30)."""
    widths: tuple[int, ...] = eqx.field(static=True)

    @property
    @in_float64
    def V(self) -> Float[Array, "L N N N N"]:
        r"""The four-point vertex $V^{(\ell)}_{(ab)(cd)} = n_{\ell-1}\,\mathrm{Cov}(\widehat G_{ab}, \widehat G_{cd})$,
        PDLT (4.76)."""
        return self.v * jnp.asarray(self.widths[:-1])[:, None, None, None, None]

    @property
    @in_float64
    def second_moments(self) -> Float[Array, "L N N N N"]:
        r"""$E[\widehat G_{ab}\widehat G_{cd}]$; for one input $G_4$, PDLT (3.22)-(3.25)."""
        return jax.vmap(_second_moments)(self.G, self.v)

    @property
    @in_float64
    def layer_average_covariance(self) -> Float[Array, "L N N N N"]:
        r"""Covariance of the layer averages $\mathcal O^{(\ell)}_{ab} = \frac1{n_\ell}\sum_j z_{j;a}z_{j;b}$; for one
        input $\frac2{n_\ell}G_4 + G_4 - G_2^2$, PDLT (3.31)-(3.33)."""
        inverse = 1 / jnp.asarray(self.widths[1:], dtype=self.G.dtype)
        return jax.vmap(_average_covariance)(self.G, self.v, inverse)


@in_float64
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
    """
    start = starting_kernel(net, x, kernel)
    G, v = _iterate(_layers(net), start)
    return finite(DeepLinear(G, v, net.widths))


@jax.jit
def _iterate(layers: tuple[Array, ...], start: Float[Array, "N N"]) -> tuple[Array, Array]:
    def step(state: tuple[Array, Array], hyper: tuple[Array, ...]) -> tuple[Array, Array]:
        b, w, inverse_width = hyper
        return b + w * state[0], w**2 * _average_covariance(*state, inverse_width)

    return every_layer(step, (start, jnp.zeros(start.shape * 2, start.dtype)), layers)


def _second_moments(G: Float[Array, "N N"], v: Float[Array, "N N N N"]) -> Float[Array, "N N N N"]:
    return jnp.einsum("ab,cd->abcd", G, G) + v


def _average_covariance(
    G: Float[Array, "N N"], v: Float[Array, "N N N N"], inverse_width: Float[Array, ""]
) -> Float[Array, "N N N N"]:
    moments = _second_moments(G, v)
    crossed = jnp.einsum("acbd->abcd", moments) + jnp.einsum("adbc->abcd", moments)
    return v + inverse_width * crossed


def _layers(net: MLP) -> tuple[Float[Array, " steps"], Float[Array, " steps"], Float[Array, " steps"]]:
    r"""$C_b$, $a^2C_W$ and $1/n$ of the steps from layer 1 to 2, ..., from $L-1$ to $L$."""
    activation = require_scale_invariant(net)
    if activation.a_plus != activation.a_minus:
        raise DomainError("net", f"the activation {activation.name}", "a linear one")
    inverse = jnp.asarray([1 / width for width in net.hidden_widths], dtype=net.C_W.dtype)
    return net.C_b[1:], activation.A2 * net.C_W[1:], inverse


@in_float64
def linear_correlator(net: MLP, sites: Sequence[Site], x: Any = None, *, kernel: Any = None) -> Float[Array, " L"]:
    r"""$E[z_{i_1;a_1}\cdots z_{i_{2m};a_{2m}}]$ at every layer, exactly.

    $$E[z_{i_1;a_1}\cdots z_{i_{2m};a_{2m}}] = \sum_{\rm pairings}\delta\cdots\delta\,
      E\big[\widehat G_{a_{k_1}a_{k_2}}\cdots\widehat G_{a_{k_{2m-1}}a_{k_{2m}}}\big]$$

    which for one input is PDLT (3.44); four points: PDLT (3.22)-(3.25), six: PDLT (3.36)-(3.43). Odd ones vanish.

    **Arguments:**

    - `sites`: up to eight pairs (neuron $i$, sample $a$); neurons are only compared with one another.
    - `net`, and `x` or `kernel`: as for `deep_linear`.
    """
    history, partners = _pair_moments(net, sites, x, kernel)
    return finite(_gather(history, partners).sum(axis=1))


@in_float64
def linear_connected_correlator(
    net: MLP, sites: Sequence[Site], x: Any = None, *, kernel: Any = None
) -> Float[Array, " L"]:
    r"""The connected part of `linear_correlator`: the same sum over pairings, of joint cumulants of the $\widehat G$.

    For one input $(\delta\delta + \delta\delta + \delta\delta)(G_4 - G_2^2)$, PDLT (3.29), and, with fifteen pairings,
    $G_6 - 3G_2G_4 + 2G_2^3$, PDLT (3.57) before its limit.
    """
    history, partners = _pair_moments(net, sites, x, kernel)

    def cumulant(pairs: tuple[int, ...]) -> Float[Array, "L pairings"]:
        total = moment(pairs)
        for size in range(1, len(pairs)):  # of the block that holds the first pair, PDLT (1.56)
            for others in itertools.combinations(pairs[1:], size - 1):
                block = (pairs[0], *others)
                total = total - cumulant(block) * moment(tuple(k for k in pairs if k not in block))
        return total

    def moment(pairs: tuple[int, ...]) -> Float[Array, "L pairings"]:
        return _gather(history, [tuple(pairing[k] for k in pairs) for pairing in partners])

    return finite(cumulant(tuple(range(len(sites) // 2))).sum(axis=1))


class _PairMoments(NamedTuple):
    r"""$E[\prod_{(kj)}\widehat G_{a_ka_j}]$ at every layer, and the column of each set of pairs $(kj)$ of points."""

    values: Float[Array, "L sets"]
    columns: dict[PairSet, int]


def _gather(moments: _PairMoments, sets: Sequence[PairSet]) -> Float[Array, "L sets"]:
    return moments.values[:, np.array([moments.columns[one] for one in sets], dtype=int)]


def _pair_moments(net: MLP, sites: Sequence[Site], x: Any, kernel: Any) -> tuple[_PairMoments, list[PairSet]]:
    """Moments over all sets of disjoint pairs of points, and the pairings of all points that join equal neurons."""
    layers, start = _layers(net), starting_kernel(net, x, kernel)
    if not 1 <= len(sites) <= _LARGEST_CORRELATOR or any(np.shape(site) != (2,) for site in sites):
        raise ShapeError("sites", f"{sites!r}", f"1 to {_LARGEST_CORRELATOR} pairs (neuron, sample)")
    neurons = [as_count(neuron, "sites (neuron)", at_least=0) for neuron, _ in sites]
    samples = [as_count(sample, "sites (sample)", at_least=0) for _, sample in sites]
    if max(samples) >= len(start):
        raise DomainError("sites (sample)", max(samples), f"a sample between 0 and {len(start) - 1}")
    values = _iterate_pair_moments(layers, start[np.ix_(samples, samples)])
    joined = [p for p in pairings(len(sites)) if all(neurons[k] == neurons[j] for k, j in p)]
    return _PairMoments(values, _sets_of_pairs(len(sites))), joined


@jax.jit
def _iterate_pair_moments(layers: tuple[Array, ...], kernel: Float[Array, "points points"]) -> Float[Array, "L sets"]:
    points = len(kernel)
    rows, columns, biases, degree, lost_loops = _wick_structure(points)

    def step(moments: Array, hyper: tuple[Array, ...]) -> Array:
        b, w, inverse_width = (power_table(one, points // 2) for one in hyper)
        terms = b[biases] * w[degree] * inverse_width[lost_loops] * moments[columns]
        return jnp.zeros_like(moments).at[rows].add(terms)

    # the first layer does not fluctuate; sets of fewer pairs are filled up with the entry 1 beyond the kernel
    filler = ((points, points),) * (points // 2)
    filled = [(*one, *filler)[: len(filler)] for one in _sets_of_pairs(points)]
    sets = np.array(filled, dtype=int).reshape(len(filled), len(filler), 2)
    first = jnp.prod(jnp.pad(kernel, (0, 1), constant_values=1.0)[sets[..., 0], sets[..., 1]], axis=1)
    return every_layer(step, first, layers)


@functools.cache
def _wick_structure(points: int) -> tuple[np.ndarray, ...]:
    r"""The recursion of the moments $E[\prod\widehat G]$ over sets of pairs, one column a term.

    Some pairs of the set take their bias, $C_b$; the $d$ others their sum over neurons, of which Wick's theorem makes
    $C_W^d\sum_{\rm pairings} n^{{\rm loops} - d}\,E[\prod\widehat G]$: a free sum over neurons for every loop that the
    old pairs and the new ones close together.
    """
    columns = _sets_of_pairs(points)
    terms = []
    for pairs, row in columns.items():
        for degree in range(len(pairs) + 1):
            for old in itertools.combinations(pairs, degree):
                for new in _pairings_of(tuple(sorted(itertools.chain.from_iterable(old)))):
                    terms.append((row, columns[new], len(pairs) - degree, degree, degree - _loops(old, new)))
    return tuple(np.array(terms).T)


@functools.cache
def _sets_of_pairs(points: int) -> dict[PairSet, int]:
    """All sets of disjoint pairs of points, the empty one included, numbered."""
    subsets = (chosen for size in range(0, points + 1, 2) for chosen in itertools.combinations(range(points), size))
    return {pairs: k for k, pairs in enumerate(itertools.chain.from_iterable(map(_pairings_of, subsets)))}


def _pairings_of(slots: tuple[int, ...]) -> Iterator[PairSet]:
    return (tuple((slots[k], slots[j]) for k, j in pairing) for pairing in pairings(len(slots)))


def _loops(old: PairSet, new: PairSet) -> int:
    """The number of closed loops made of two pairings of the same slots."""
    along, across = ({k: j for pair in pairs for k, j in (pair, pair[::-1])} for pairs in (old, new))
    loops = 0
    while across:
        slot, loops = next(iter(across)), loops + 1
        while slot in across:
            other = across.pop(slot)
            del across[other]
            slot = along[other]
    return loops


class LinearPhase(NamedTuple):
    """What depth does to the kernel of a linear network without biases."""

    name: str
    """`"vanishing"`, `"critical"` or `"exploding"`."""
    fixed_point: float
    """The limit of $G^{(\\ell)}/G^{(1)}$: 0, 1 or infinity."""
    depth_scale: float
    """The number of layers over which the kernel changes by a factor e; infinite at criticality."""


def linear_phase(C_W: float, slope: float = 1.0) -> LinearPhase:
    r"""The phase of $G^{(\ell+1)} = C_W a^2\,G^{(\ell)}$, PDLT (3.14)-(3.16): critical at $C_W a^2 = 1$ only."""
    factor = as_number(C_W, "C_W", low=0) * as_number(slope, "slope") ** 2
    if math.isclose(factor, 1.0, rel_tol=1e-12):  # C_W = 1/a^2 is seldom exact in floating point
        return LinearPhase("critical", 1.0, math.inf)
    depth_scale = 1 / abs(math.log(factor)) if factor > 0 else 0.0
    return LinearPhase("exploding", math.inf, depth_scale) if factor > 1 else LinearPhase("vanishing", 0.0, depth_scale)
