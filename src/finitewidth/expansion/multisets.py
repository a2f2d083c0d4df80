r"""Averages of products of activations and their derivatives over repeated samples, one integral for each that differs.

$\langle\sigma_{\alpha_1}\cdots\sigma_{\alpha_m}\sigma'_{\beta_1}\cdots\sigma'_{\beta_k}\cdots\rangle_K$ depends on which samples occur
how often, not on their order, and is an integral over the distinct samples only.
"""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from ..activations import Activation
from ..gaussian.powers import Exponents, power_averages
from ..gaussian.products import ProductRule

_BATCH = 32  # averages taken at once: grids of a few megabytes

Kind = tuple[int, ...]
"""How many activations are multiplied, how many slopes, how many second derivatives ...: as many numbers in all kinds taken together."""


@dataclass(frozen=True)
class Multisets:
    """All multisets of samples for products of the given kinds, by the number of samples that differ: all choices of so many
    samples, and the patterns of exponents that each of them may carry."""

    groups: tuple[tuple[tuple[Exponents, ...], Int[np.ndarray, "_choices _distinct"]], ...]
    samples: int

    def positions(self, kind: Kind, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        """Where the products of samples `indices`, those of activations first, then those of slopes ..., stand among all of a kind."""
        place = np.zeros(self.samples ** sum(kind), dtype=int)
        first = 0
        for patterns, choices in self.groups:
            places = first + np.arange(len(choices) * len(patterns)).reshape(len(choices), -1)
            for exponents, places_of_pattern in zip(np.asarray(patterns), places.T, strict=True):
                if tuple(exponents.sum(axis=0)) == kind:
                    spelled_out = [np.repeat(choices, powers, axis=1) for powers in exponents.T]
                    place[self._code(kind, np.concatenate(spelled_out, axis=1))] = places_of_pattern
            first += places.size
        return place[self._code(kind, indices)]

    def _code(self, kind: Kind, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        groups = np.split(indices, np.cumsum(kind)[:-1], axis=-1)
        ordered = np.concatenate([np.sort(group, axis=-1) for group in groups], axis=-1)
        return ordered @ self.samples ** np.arange(sum(kind))


@functools.lru_cache(maxsize=64)
def multisets(samples: int, kinds: tuple[Kind, ...]) -> Multisets:
    """All multisets of so many activations, slopes ... out of `samples` samples."""
    most = min(samples, max(map(sum, kinds)))
    groups = []
    for distinct in range(1, most + 1):
        patterns = tuple(pattern for kind in kinds for pattern in _patterns(distinct, kind))
        groups.append((patterns, np.array(list(itertools.combinations(range(samples), distinct)))))
    return Multisets(tuple(groups), samples)


def _patterns(distinct: int, kind: Kind) -> list[Exponents]:
    """The ways in which `distinct` samples, each at least once, can share the factors of a product."""
    choices = (itertools.combinations_with_replacement(range(distinct), size) for size in kind)
    shared = [
        tuple(tuple(of_order.count(s) for of_order in each) for s in range(distinct))
        for each in itertools.product(*choices)
    ]
    return [exponents for exponents in shared if all(map(any, exponents))]


def multiset_averages(
    activation: Activation,
    K: Float[Array, "N N"],
    chosen: Multisets,
    rule: ProductRule,
    of_distinct: Mapping[int, ProductRule] | None = None,
) -> Float[Array, " M"]:
    r"""$\langle\sigma_{\alpha_1}\cdots\sigma'_{\beta_1}\cdots\rangle_K$ for every multiset; those of so many distinct
    samples as `of_distinct` names by rules of their own."""
    found, rules = [], of_distinct or {}
    for patterns, choices in chosen.groups:
        own_rule = rules.get(choices.shape[1], rule)

        def averages(
            distinct: Array, patterns: tuple[Exponents, ...] = patterns, own_rule: ProductRule = own_rule
        ) -> Array:
            return power_averages(activation, patterns, K[distinct[:, None], distinct], own_rule)

        # Whole batches only: a remainder of its own would be compiled a second time.
        batch = max(1, min(_BATCH // len(patterns), len(choices)))
        padded = np.resize(choices, (-(-len(choices) // batch) * batch, choices.shape[1]))
        batches = jnp.asarray(padded.reshape(-1, batch, choices.shape[1]))
        of_choices = jax.lax.map(jax.vmap(averages), batches).reshape(len(padded), -1)
        found.append(of_choices[: len(choices)].reshape(-1))
    return jnp.concatenate(found)
