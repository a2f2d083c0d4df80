r"""The differentials of the tangent kernel of one network, forwards layer by layer: PDLT (11.24), (∞.174), (∞.175).

A new preactivation is $z_i = b_i + \sum_pW_{ip}\sigma(z_p)$. Tensors of the layer before have one slot that is differentiated (two in
$\widehat{dd_{II}H}$) and others that belong to first derivatives; what a layer does to these is a product with $J_{ip;\alpha} =
W_{ip}\sigma'_{p;\alpha}$. With $\tilde H$, $\widetilde{dH}$, ... so multiplied in all but the differentiated slots,

$$X_{p j_1j_2;012} = \sigma''_{p;0}\tilde H_{pj_1;01}\tilde H_{pj_2;02} + \sigma'_{p;0}\widetilde{dH}_{pj_1j_2;012}$$

is the second differential of $\sigma(z_p)$; weights add a term wherever one of them is differentiated.
Axes are those of this room: samples first, then neurons.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from ..networks import Layer


class Differentials(NamedTuple):
    r"""$\widehat H$ and its differentials in one layer; `None` where they are not followed."""

    H: Float[Array, "N N n n"]
    dH: Float[Array, "N N N n n n"]
    first: Float[Array, "N N N N n n n n"] | None = None
    r"""$\widehat{dd_IH}$, PDLT (∞.5)."""
    second: Float[Array, "N N N N n n n n"] | None = None
    r"""$\widehat{dd_{II}H}$, PDLT (∞.7)."""


class Signals(NamedTuple):
    r"""$\sigma$, $\sigma'$, $\sigma''$, $\sigma'''$ of the neurons of a layer, one sample a row."""

    value: Float[Array, "N n"]
    slope: Float[Array, "N n"]
    curvature: Float[Array, "N n"]
    third: Float[Array, "N n"]


def first_differentials(H: Float[Array, "N N n n"], to_second: bool) -> Differentials:
    """The first layer is linear in its parameters: PDLT (8.23), (11.26)."""
    samples, width = H.shape[0], H.shape[-1]
    dH = jnp.zeros((*[samples] * 3, *[width] * 3), H.dtype)
    zero = jnp.zeros((*[samples] * 4, *[width] * 4), H.dtype) if to_second else None
    return Differentials(H, dH, zero, zero)


@compiled_in_haste()
def next_differentials(
    old: Differentials, new_H: Float[Array, "N N m m"], W: Float[Array, "m n"], signals: Signals, layer: Layer
) -> Differentials:
    r"""The next layer, whose kernel `new_H` is known, PDLT (8.12), from the layer before."""
    s, s1, s2, _ = signals
    rate, same = layer.lambda_W * layer.inverse_width, jnp.eye(len(W))
    J = jnp.einsum("ip,ap->aip", W, s1)
    H = jnp.einsum("abpq,bjq->abpj", old.H, J)  # the second slot carried on
    half = jnp.einsum("abcpqr,ckr->abcpqk", old.dH, J)  # the third slot carried on
    X = jnp.einsum("ap,abpj,acpk->abcpjk", s2, H, H) + jnp.einsum("ap,abcpqk,bjq->abcpjk", s1, half, J)
    weight = jnp.einsum("ap,bp,acpk->abck", s1, s, H)  # samples 0, 1, 2 and the neuron of 2
    dH = jnp.einsum("ip,abcpjk->abcijk", W, X)
    dH += rate * (jnp.einsum("ij,abck->abcijk", same, weight) + jnp.einsum("ik,acbj->abcijk", same, weight))
    if old.first is None or old.second is None:
        return Differentials(new_H, dH)
    return Differentials(
        new_H,
        dH,
        _next_first(old.first, X, H, half, J, W, signals, rate),
        _next_second(old.second, old.H, H, half, J, W, signals, rate),
    )


def _next_first(
    old: Array, X: Array, H: Array, half: Array, J: Array, W: Array, signals: Signals, rate: Array
) -> Float[Array, "N N N N m m m m"]:
    """PDLT (∞.174)."""
    s, s1, s2, s3 = signals
    d = jnp.einsum("abcpqk,bjq->abcpjk", half, J)
    third = jnp.einsum("ap,abpj,acpk,adpl->abcdpjkl", s3, H, H, H)
    for of_two, of_one in (("abcpjk", "adpl"), ("acdpkl", "abpj"), ("adbplj", "acpk")):
        third += jnp.einsum(f"ap,{of_two},{of_one}->abcdpjkl", s2, d, H)
    third += jnp.einsum("ap,abcdpqrt,bjq,ckr,dlt->abcdpjkl", s1, old, J, J, J, optimize="greedy")
    weight = jnp.einsum("bp,acdpkl->abcdkl", s, X)  # samples 0, 1, 2, 3 and the neurons of 2 and 3
    same = jnp.eye(len(W))
    found = jnp.einsum("ip,abcdpjkl->abcdijkl", W, third)
    for equal, others in (("ij", "abcdkl"), ("ik", "acdblj"), ("il", "adbcjk")):
        found += rate * jnp.einsum(f"{equal},{others}->abcdijkl", same, weight)
    return found


def _next_second(
    old: Array, old_H: Array, H: Array, half: Array, J: Array, W: Array, signals: Signals, rate: Array
) -> Float[Array, "N N N N m m m m"]:
    """PDLT (∞.175)."""
    s, s1, s2, _ = signals
    same = jnp.eye(len(W))
    # Of a second derivative in neuron q of sample b, one slot of which is neuron p of sample a, the other carried on.
    Y = jnp.einsum("bq,baqp,bdql->badqpl", s2, old_H, H) + jnp.einsum("bq,badqpl->badqpl", s1, half)
    one_weight = rate * jnp.einsum("cp,ap,jq,badqpl->abcdjl", s, s1, W, Y, optimize="greedy")
    found = jnp.einsum("ik,abcdjl->abcdijkl", same, one_weight) + jnp.einsum("jl,badcik->abcdijkl", same, one_weight)
    both = rate**2 * jnp.einsum("ap,bq,cp,dq,abpq->abcd", s1, s1, s, s, old_H, optimize="greedy")
    found += jnp.einsum("ik,jl,abcd->abcdijkl", same, same, both)
    found += rate * jnp.einsum("ij,ap,bp,acpk,bdpl->abcdijkl", same, s1, s1, H, H, optimize="greedy")
    inner = jnp.einsum("ap,bq,abcdpqrt,ckr,dlt->abcdpqkl", s1, s1, old, J, J, optimize="greedy")
    inner += jnp.einsum("ap,bq,abpq,acpk,bdql->abcdpqkl", s2, s2, old_H, H, H, optimize="greedy")
    inner += jnp.einsum("ap,bq,bdql,abcpqk->abcdpqkl", s1, s2, H, half, optimize="greedy")
    inner += jnp.einsum("bq,ap,acpk,badqpl->abcdpqkl", s1, s2, H, half, optimize="greedy")
    return found + jnp.einsum("ip,jq,abcdpqkl->abcdijkl", W, W, inner, optimize="greedy")
