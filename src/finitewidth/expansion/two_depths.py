r"""Averages of one neuron at two depths of a residual network, where it persists.

At infinite width a neuron is a Gaussian path, $\mathrm{Cov}(z^{(s)}_\alpha, z^{(t)}_\beta) = \gamma^{t-s}K^{(s)}_{\alpha\beta}$ for
$s \le t$. What is needed of it are products of two factors early and two factors late.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from ..activations import Activation
from ..gaussian.powers import Exponents
from ..gaussian.products import ProductRule
from ..kernels.pairs import PairIndex
from .multisets import Multisets, multiset_averages


@functools.lru_cache(maxsize=64)
def early_and_late(samples: int, slopes: tuple[tuple[int, int], ...] = ((0, 0),)) -> Multisets:
    """Products of two activations early and two late, of samples 0..N-1 and N..2N-1, by how many of the two pairs are of one sample;
    that pair stands first, so that both orders of depths are one pattern. In each entry of `slopes` a one means slopes in place of
    activations, early or late."""
    one = np.arange(samples)[:, None]
    two = np.array(list(itertools.combinations(range(samples), 2)), dtype=int).reshape(-1, 2)
    squares = [np.concatenate([early, late + samples]) for early in one for late in one]
    orders = ((0, samples), (samples, 0))
    mixed = [np.concatenate([a + first, b + second]) for a in one for b in two for first, second in orders]
    products = [np.concatenate([early, late + samples]) for early in two for late in two]
    either = tuple(dict.fromkeys([*slopes, *((late, early) for early, late in slopes)]))

    def patterns(first: int, second: int, wanted: tuple[tuple[int, int], ...]) -> tuple[Exponents, ...]:
        """So many variables of the first pair, so many of the second."""
        return tuple(
            tuple(_shared(slope, size) for slope, size in zip(each, (first, second), strict=True) for _ in range(size))
            for each in wanted
        )

    groups = ((patterns(1, 1, slopes), squares), (patterns(1, 2, either), mixed), (patterns(2, 2, slopes), products))
    return Multisets(tuple((pattern, np.array(choices)) for pattern, choices in groups if choices), 2 * samples)


def _shared(slope: int, variables: int) -> tuple[int, int]:
    """What one of so many variables has of two activations, or of two slopes."""
    factors = 2 // variables
    return (0, factors) if slope else (factors, 0)


def joint_kernel(
    early: Float[Array, "N N"], late: Float[Array, "N N"], between: Float[Array, "N N"]
) -> Float[Array, "2*N 2*N"]:
    r"""The covariance of the same neuron at both depths; `between` is $\gamma^{t-s}K^{(s)}$, early sample first."""
    return jnp.block([[early, between], [between.T, late]])


def covariance_and_slope(
    activation: Activation,
    early: Float[Array, " P"],
    late: Float[Array, " P"],
    memory: Float[Array, ""],
    averages: tuple[Float[Array, " P"], Float[Array, " P"]],
    late_slope: Float[Array, "P P"],
    pairs: PairIndex,
    rule: ProductRule,
) -> tuple[Float[Array, "P P"], Float[Array, "P P P"]]:
    r"""$\Phi_{mp} = \mathrm{Cov}[(\sigma\sigma)_m(z^{(s)}), (\sigma\sigma)_p(z^{(t)})]$, and, along a first axis, its derivative in
    every entry of the late kernel: by Stein's lemma the covariance with half of $(\sigma\sigma)_p$ differentiated twice.

    `averages` are those of $\sigma\sigma$ early and late, `late_slope` the derivative of the late one, entry of the kernel first.
    """
    samples = len(pairs.of)
    chosen = early_and_late(samples)
    indices = np.stack(
        np.broadcast_arrays(pairs.a[:, None], pairs.b[:, None], pairs.a + samples, pairs.b + samples), axis=-1
    )
    where: Int[np.ndarray, "P P"] = chosen.positions((4, 0), indices)

    def products(late: Array) -> Array:
        K = joint_kernel(pairs.unpack(early), pairs.unpack(late), memory * pairs.unpack(early))
        return multiset_averages(activation, K, chosen, rule)[where]

    value, push = jax.linearize(products, late)
    slope = jax.vmap(push)(jnp.eye(len(late), dtype=late.dtype))
    slope = slope - averages[0][:, None] * late_slope[:, None, :]
    return value - averages[0][:, None] * averages[1], slope
