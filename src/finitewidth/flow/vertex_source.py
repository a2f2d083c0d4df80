r"""The covariance that one layer adds, $c_{(12)(34)} = \mathrm{Cov}_K(\sigma_1\sigma_2, \sigma_3\sigma_4)$, PDLT (4.40).

The average $\langle\sigma_1\sigma_2\sigma_3\sigma_4\rangle$ depends on which samples occur how often, not on how they are
paired, so there is one integral per multiset of four samples, over the distinct ones only.
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
from ..gaussian.powers import power_average
from .pairs import PairIndex

_BATCH = 32  # covariances integrated at once: grids of a few megabytes


@dataclass(frozen=True)
class Multisets:
    """All multisets of `size` out of N samples, by pattern: (powers, rows of the distinct samples that carry them)."""

    patterns: tuple[tuple[tuple[int, ...], Int[np.ndarray, "M distinct"]], ...]
    size: int
    samples: int

    def positions(self, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        """Where the multiset of each row of sample indices stands among all of them."""
        place = np.zeros(self.samples**self.size, dtype=int)
        rows = np.concatenate([np.repeat(distinct, powers, axis=1) for powers, distinct in self.patterns])
        place[self._code(rows)] = np.arange(len(rows))
        return place[self._code(indices)]

    def _code(self, indices: Int[np.ndarray, "*batch size"]) -> Int[np.ndarray, "*batch"]:
        return np.sort(indices, axis=-1) @ self.samples ** np.arange(self.size)


@functools.lru_cache(maxsize=64)
def multisets(samples: int, size: int) -> Multisets:
    """All multisets of `size` out of `samples` samples."""
    patterns: dict[tuple[int, ...], list[list[int]]] = {}
    for chosen in itertools.combinations_with_replacement(range(samples), size):
        distinct = sorted(set(chosen), key=lambda s: (-chosen.count(s), s))
        patterns.setdefault(tuple(chosen.count(s) for s in distinct), []).append(distinct)
    return Multisets(tuple((powers, np.asarray(rows)) for powers, rows in patterns.items()), size, samples)


def multiset_averages(
    activation: Activation, K: Float[Array, "N N"], chosen: Multisets, rule: HermiteRule | None
) -> Float[Array, " M"]:
    r"""$\langle\sigma_{\alpha_1}\cdots\sigma_{\alpha_m}\rangle_K$ for every multiset of samples."""
    values = []
    for powers, rows in chosen.patterns:

        def average(distinct: Array, powers: tuple[int, ...] = powers) -> Array:
            return power_average(activation, powers, K[distinct[:, None], distinct], rule)

        # Whole batches only: a remainder of its own would be compiled a second time.
        batch = min(_BATCH, len(rows))
        padded = np.resize(rows, (-(-len(rows) // batch) * batch, len(powers)))
        averages = jax.lax.map(jax.vmap(average), jnp.asarray(padded.reshape(-1, batch, len(powers))))
        values.append(averages.reshape(-1)[: len(rows)])
    return jnp.concatenate(values)


def vertex_source(
    activation: Activation,
    K: Float[Array, " P"],
    second: Float[Array, " P"],
    pairs: PairIndex,
    rule: HermiteRule | None,
) -> Float[Array, "P P"]:
    r"""$\mathrm{Cov}_K(\sigma_a\sigma_b, \sigma_c\sigma_d)$ for all pairs of pairs, given `second` $= \langle\sigma_a\sigma_b\rangle$."""
    four = multisets(len(pairs.of), 4)
    indices = np.stack(np.broadcast_arrays(pairs.a[:, None], pairs.b[:, None], pairs.a, pairs.b), axis=-1)
    averages = multiset_averages(activation, pairs.unpack(K), four, rule)
    return averages[four.positions(indices)] - second[:, None] * second
