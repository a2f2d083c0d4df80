r"""One layer of the flow of $P$ and $Q$, the correlations of the tangent kernel's differential with the preactivation, PDLT (11.45).

Width-absorbed, $p = P/n$ and $q = Q/n$, without the book's inverse kernels: by Stein's lemma
$\sum_\beta\langle z_\beta f\rangle K^{\beta\gamma} = \langle\partial_\gamma f\rangle$. With $\langle\cdot\rangle$ over one neuron of
the layer before, samples 0123 and $\theta = \Theta$ before,

$$p'_{0123} = C_W^2\Big[\tfrac1n\langle\sigma''_0\sigma'_1\sigma'_2\sigma_3\rangle\theta_{01}\theta_{02}
  + \langle\sigma'_1\sigma'_2\rangle\{\langle\sigma''_0\sigma_3\rangle(p_{0120} + b_{0012})
  + \langle\sigma'_0\sigma'_3\rangle p_{0123}\}\Big]\quad\text{PDLT (11.49)},$$

$$q'_{0123} = C_W^2\Big[\tfrac1n\langle\sigma''_0\sigma'_1\sigma'_2\sigma_3\rangle\theta_{01}\theta_{02}
  + \langle\sigma'_0\sigma'_1\rangle\{\langle\sigma''_2\sigma_3\rangle q_{0122} + \langle\sigma'_2\sigma'_3\rangle q_{0123}\}
  + \theta_{01}\langle\partial_a(\sigma''_0\sigma'_1)\rangle\langle\partial_b(\sigma'_2\sigma_3)\rangle f_{a0b2}\Big]
  + \tfrac{\lambda_W}{C_W}f'_{1032}\quad\text{PDLT (11.52)}.$$
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from ..kernels.pairs import PairIndex
from ..networks import Layer
from .tangent import PairAverages, TangentState, slide_second, value_times_curvature

Tensor = Float[Array, "N N N N"]


class Differentials(NamedTuple):
    """$P/n$ and $Q/n$, axes 0123."""

    p: Tensor
    q: Tensor


class PairMatrices(NamedTuple):
    """Averages of two factors of one neuron, by sample."""

    slopes: Float[Array, "N N"]
    r"""$\langle\sigma'_a\sigma'_b\rangle$."""
    value_curvature: Float[Array, "N N"]
    r"""$\langle\sigma_a\sigma''_b\rangle$."""
    third_slope: Float[Array, "N N"]
    r"""$\langle\sigma'''_a\sigma'_b\rangle$."""
    curvatures: Float[Array, "N N"]
    r"""$\langle\sigma''_a\sigma''_b\rangle$."""


def pair_matrices(
    averages: PairAverages, pairs: PairIndex, squared_curvature: Float[Array, " N"] | None = None
) -> PairMatrices:
    r"""Read off the averages and their derivatives in the kernel, PDLT (5.53). Of one sample with itself these know the sum
    $\langle\sigma'''\sigma'\rangle + \langle\sigma''\sigma''\rangle$ only, which is finite at kinks and stands in `third_slope`, unless
    `squared_curvature` $= \langle\sigma''\sigma''\rangle$ is given."""
    d_slopes, same = averages.d_slopes, pairs.a == pairs.b
    squares = jnp.zeros(len(pairs.of), d_slopes.dtype) if squared_curvature is None else squared_curvature
    of_one = jnp.where(same, squares[pairs.a], d_slopes[:, 1])
    third = jnp.zeros(pairs.of.shape, d_slopes.dtype)
    third = third.at[pairs.b, pairs.a].set(2 * d_slopes[:, 2])
    third = third.at[pairs.a, pairs.b].set(jnp.where(same, d_slopes[:, 1] - of_one, 2 * d_slopes[:, 0]))
    slopes = pairs.unpack(averages.slopes)
    return PairMatrices(slopes, value_times_curvature(averages, pairs), third, pairs.unpack(of_one))


def new_differentials(
    state: TangentState,
    old: Differentials,
    layer: Layer,
    theta: Float[Array, "N N"],
    two: PairMatrices,
    bent: Tensor,
    crossed: Tensor,
) -> Differentials:
    r"""One layer, with `bent` $= \langle\sigma''_0\sigma'_1\sigma'_2\sigma_3\rangle$ and `crossed` $= f'/C_W^2$ of the new layer."""
    s, w = two.slopes, two.value_curvature.T  # w[a, b] = <sigma''_a sigma_b>
    source = jnp.einsum("abcd,ab,ac->abcd", bent, theta, theta)
    with_own = jnp.einsum("abca->abc", old.p) + jnp.einsum("aabc->abc", state.b)
    p = jnp.einsum("bc,ad,abc->abcd", s, w, with_own) + jnp.einsum("bc,ad,abcd->abcd", s, s, old.p)
    q = jnp.einsum("ab,cd,abcc->abcd", s, w, old.q) + jnp.einsum("ab,cd,abcd->abcd", s, s, old.q)
    moved = slide_second(state.f, s, two.value_curvature)  # <d_b(sigma_3 sigma'_2)> f_{..b2}, axes (a, 0, 3, 2)
    q += jnp.einsum("ab,ab,aadc->abcd", theta, two.third_slope, moved)
    q += jnp.einsum("ab,ab,badc->abcd", theta, two.curvatures, moved)
    own = layer.lambda_W * layer.C_W * jnp.einsum("badc->abcd", crossed)
    return Differentials(layer.covariance(source, p), layer.covariance(source, q) + own)
