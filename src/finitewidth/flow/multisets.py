r"""Averages of products of activations and slopes over repeated samples, one integral for each that differs.

$\langle\sigma_{\alpha_1}\cdots\sigma_{\alpha_m}\sigma'_{\beta_1}\cdots\sigma'_{\beta_k}\rangle_K$ depends on which samples occur
how often, not on their order, and is an integral over the distinct samples only.
"""

import functools
import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..activations import Activation
from ..gaussian.hermite import HermiteRule
from ..gaussian.powers import Exponents, power_average

_BATCH = 32  # covariances integrated at once: grids of a few megabytes


@dataclass(frozen=True)
class Multisets:
    """All multisets of `values` samples for $\\sigma$ and `slopes` samples for $\\sigma'$, by pattern of repetition:
    (exponents, rows of the distinct samples that carry them)."""

    patterns: tuple[tuple[Exponents, Int[np.ndarray, "M distinct"]], ...]
    samples: int
    values: int
    slopes: int

    def positions(self, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        """Where each row of sample indices, those of activations before those of slopes, stands among all of them."""
        place = np.zeros(self.samples ** (self.values + self.slopes), dtype=int)
        rows = np.concatenate([self._spelled_out(exponents, distinct) for exponents, distinct in self.patterns])
        place[self._code(rows)] = np.arange(len(rows))
        return place[self._code(indices)]

    def _spelled_out(self, exponents: Exponents, distinct: Int[np.ndarray, "M d"]) -> Int[np.ndarray, "M size"]:
        powers = np.asarray(exponents)
        return np.concatenate([np.repeat(distinct, powers[:, kind], axis=1) for kind in (0, 1)], axis=1)

    def _code(self, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        groups = np.split(indices, [self.values], axis=-1)
        ordered = np.concatenate([np.sort(group, axis=-1) for group in groups], axis=-1)
        return ordered @ self.samples ** np.arange(self.values + self.slopes)


@functools.lru_cache(maxsize=64)
def multisets(samples: int, values: int, slopes: int = 0) -> Multisets:
    """All multisets of `values` and of `slopes` out of `samples` samples."""
    patterns: dict[Exponents, list[list[int]]] = {}
    choices = (itertools.combinations_with_replacement(range(samples), size) for size in (values, slopes))
    for of_values, of_slopes in itertools.product(*choices):
        powers = {s: (of_values.count(s), of_slopes.count(s)) for s in {*of_values, *of_slopes}}
        distinct = sorted(powers, key=lambda s: (-sum(powers[s]), -powers[s][0], s))
        patterns.setdefault(tuple(powers[s] for s in distinct), []).append(distinct)
    listed = tuple((exponents, np.asarray(rows)) for exponents, rows in patterns.items())
    return Multisets(listed, samples, values, slopes)


def multiset_averages(
    activation: Activation, K: Float[Array, "N N"], chosen: Multisets, rule: HermiteRule | None
) -> Float[Array, " M"]:
    r"""$\langle\sigma_{\alpha_1}\cdots\sigma'_{\beta_1}\cdots\rangle_K$ for every multiset."""
    values = []
    for exponents, rows in chosen.patterns:

        def average(distinct: Array, exponents: Exponents = exponents) -> Array:
            return power_average(activation, exponents, K[distinct[:, None], distinct], rule)

        # Whole batches only: a remainder of its own would be compiled a second time.
        batch = min(_BATCH, len(rows))
        padded = np.resize(rows, (-(-len(rows) // batch) * batch, len(exponents)))
        averages = jax.lax.map(jax.vmap(average), jnp.asarray(padded.reshape(-1, batch, len(exponents))))
        values.append(averages.reshape(-1)[: len(rows)])
    return jnp.concatenate(values)
