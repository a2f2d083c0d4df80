r"""Correlators of the preactivations of deep linear networks, PDLT chapter 3, between any neurons and samples.

Wick's theorem makes of a product of random kernels, averaged over a layer of neurons, a sum of such products in the layer
before, one for each way to pair the preactivations: moments over sets of pairs of points close on themselves.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count
from ..gaussian.wick import pairings
from ..kernels.every_layer import every_layer
from ..kernels.start import first_kernel
from ..networks import MLP, Layer
from .linear import linear_layers
from .scale_invariant import power_table

Site = tuple[int, int]
"""A neuron and a sample."""

PairSet = tuple[tuple[int, int], ...]
_LARGEST_CORRELATOR = 8  # points: 764 sets of pairs, and factorially more beyond


@entry(remedy="reduce the depth, the order, or C_W")
def linear_correlator(net: MLP, sites: Sequence[Site], x: Any = None, *, kernel: Any = None) -> Float[Array, " L"]:
    r"""$E[z_{i_1;a_1}\cdots z_{i_{2m};a_{2m}}]$ at every layer, exactly.

    $$E[z_{i_1;a_1}\cdots z_{i_{2m};a_{2m}}] = \sum_{\rm pairings}\delta\cdots\delta\,
      E\big[\widehat G_{a_{k_1}a_{k_2}}\cdots\widehat G_{a_{k_{2m-1}}a_{k_{2m}}}\big]$$

    which for one input is PDLT (3.44); four points: PDLT (3.22)-(3.25), six: PDLT (3.36)-(3.43). Odd ones vanish.

    **Arguments:**

    - `sites`: up to eight pairs (neuron $i$, sample $a$); neurons are only compared with one another.
    - `net`, and `x` or `kernel`: as for `deep_linear`.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> fw.exact.linear_correlator(net, [(0, 0)] * 4, [[1.0, 0.5]]).round(6).tolist()
        [1.171875, 1.464844, 1.831055]
    """
    history, partners = _pair_moments(net, sites, x, kernel)
    return _gather(history, partners).sum(axis=1)


@entry(remedy="reduce the depth, the order, or C_W")
def linear_connected_correlator(
    net: MLP, sites: Sequence[Site], x: Any = None, *, kernel: Any = None
) -> Float[Array, " L"]:
    r"""The connected part of `linear_correlator`: the same sum over pairings, of joint cumulants of the $\widehat G$.

    For one input $(\delta\delta + \delta\delta + \delta\delta)(G_4 - G_2^2)$, PDLT (3.29), and, with fifteen pairings,
    $G_6 - 3G_2G_4 + 2G_2^3$, PDLT (3.57) before its limit.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> fw.exact.linear_connected_correlator(net, [(0, 0)] * 4, [[1.0, 0.5]]).round(6).tolist()
        [0.0, 0.292969, 0.65918]
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

    return cumulant(tuple(range(len(sites) // 2))).sum(axis=1)


class _PairMoments(NamedTuple):
    r"""$E[\prod_{(kj)}\widehat G_{a_ka_j}]$ at every layer, and the column of each set of pairs $(kj)$ of points."""

    values: Float[Array, "L sets"]
    columns: dict[PairSet, int]


def _gather(moments: _PairMoments, sets: Sequence[PairSet]) -> Float[Array, "L sets"]:
    return moments.values[:, np.array([moments.columns[one] for one in sets], dtype=int)]


def _pair_moments(net: MLP, sites: Sequence[Site], x: Any, kernel: Any) -> tuple[_PairMoments, list[PairSet]]:
    """Moments over all sets of disjoint pairs of points, and the pairings of all points that join equal neurons."""
    layers, start = linear_layers(net), first_kernel(net, x, kernel)
    if not 1 <= len(sites) <= _LARGEST_CORRELATOR or any(np.shape(site) != (2,) for site in sites):
        raise ShapeError("sites", f"{sites!r}", f"1 to {_LARGEST_CORRELATOR} pairs (neuron, sample)")
    neurons = [as_count(neuron, f"sites[{i}][0]", at_least=0) for i, (neuron, _) in enumerate(sites)]
    samples = [as_count(sample, f"sites[{i}][1]", at_least=0) for i, (_, sample) in enumerate(sites)]
    if max(samples) >= len(start):
        at = samples.index(max(samples))
        raise DomainError(f"sites[{at}][1]", samples[at], f"a sample between 0 and {len(start) - 1}")
    values = _iterate_pair_moments(layers, start[np.ix_(samples, samples)])
    joined = [p for p in pairings(len(sites)) if all(neurons[k] == neurons[j] for k, j in p)]
    return _PairMoments(values, _sets_of_pairs(len(sites))), joined


@compiled_in_haste(light=5000)
def _iterate_pair_moments(layers: Layer, kernel: Float[Array, "points points"]) -> Float[Array, "L sets"]:
    points = len(kernel)
    rows, columns, biases, degree, lost_loops = _wick_structure(points)

    def step(moments: Array, layer: Layer) -> Array:
        b, w, inverse_width = (power_table(one, points // 2) for one in (layer.C_b, layer.C_W, layer.inverse_width))
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
