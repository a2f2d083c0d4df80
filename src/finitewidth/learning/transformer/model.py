"""The Transformer itself: embedding, blocks, logits."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import as_count, is_concrete
from ...networks.shaped import BlockNetwork
from ...networks.shaped.sublayers import mixing_matrix, visible_softmax
from .layers import Layers, layers_of


class Shaping(eqx.Module):
    r"""How far attention and activation are shaped, layer by layer (Shaped Transformer Eq. 33):
    $A = \gamma_1I + {\rm softmax}(Y/\tau) - \gamma_2\tfrac1m\mathbf 1\mathbf 1^{\mathsf T}$ and a slope $s_-$ for negative
    preactivations. With all of them zero a plain Transformer remains."""

    identity: Float[Array, " depth"] | Float[Array, ""]
    centring: Float[Array, " depth"] | Float[Array, ""]
    negative_slope: Float[Array, " depth"] | Float[Array, ""]

    @classmethod
    def initial(cls, layers: Layers, depth: int) -> "Shaping":
        r"""At the start: $\gamma_1 = \gamma_2 = 1$ and $s_- = 1 - n^{-1/2}$ in a shaped Transformer (Shaped Transformer App. D),
        all of them zero in one with layer normalisation."""
        ones, branch = jnp.ones(depth), layers.attention
        return cls(ones * branch.identity, ones * branch.centring, ones * layers.negative_slope)

    def scaled(self, share: Float[Array, ""] | float) -> "Shaping":
        """All of them times `share`."""
        return jax.tree.map(lambda value: share * value, self)


class Weights(eqx.Module):
    """What one block learns, an attention and a feedforward layer; those of a model's blocks are stacked along a leading axis."""

    query: Float[Array, "*depth n keys"]
    key: Float[Array, "*depth n keys"]
    value: Float[Array, "*depth n n"]
    into: Float[Array, "*depth n hidden"]
    out_of: Float[Array, "*depth hidden n"]
    skip: Float[Array, "*depth 2"]
    branch: Float[Array, "*depth 2"]


class LanguageModel(eqx.Module):
    """Logits of every token's successor. Calling it costs O(depth) at run time and one block to compile.

    **Arguments:**

    - `net`: a block of one attention and one feedforward layer at a width and a depth, such as
      `ShapedTransformer(ShapedAttention(0.2, mask="causal"), ShapedResNet(0.2, hidden_ratio=4)).at(64, 6)` or
      `LayerNormTransformer("pre", mask="causal").at(64, 6)`.
    - `vocabulary`: how many different tokens there are.
    - `length`: how many tokens a sequence may have.
    - `key`: decides the weights.
    """

    net: BlockNetwork = eqx.field(static=True)
    vocabulary: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    embedding: Float[Array, "vocabulary n"]
    positions: Float[Array, "length n"]
    blocks: Weights
    shaping: Shaping
    unembedding: Float[Array, "n vocabulary"]

    def __init__(self, net: BlockNetwork, vocabulary: int, length: int, key: Key[Array, ""]):
        r"""Gaussian weights of variance one over fan-in. Queries and keys have variance $\sqrt{n_k}/(n\tau)$, so that with the usual
        temperature $\sqrt{n_k}$ logits are those of the block at its temperature $\tau$: $n^{-3/2}/\tau_0$ in a shaped model
        (Shaped Transformer App. D)."""
        if not isinstance(net, BlockNetwork):
            raise ArgumentError(
                "net", type(net).__name__, "a Transformer at a width and a depth, `block.at(width, depth)`"
            )
        self.net = net
        self.vocabulary, self.length = as_count(vocabulary, "vocabulary"), as_count(length, "length")
        layers = layers_of(net, self.length)
        n, d, attention = net.width, net.depth, layers.attention
        keys, hidden = attention.heads * attention.key_width, layers.feedforward.units
        logits_variance = math.sqrt(attention.key_width) / (n * attention.temperature)
        each = iter(jax.random.split(key, 8))

        def normal(shape: tuple[int, ...], variance: Float[Array, ""] | float) -> Array:
            return jnp.sqrt(variance) * jax.random.normal(next(each), shape)

        self.embedding = normal((self.vocabulary, n), 0.5)
        self.positions = normal((self.length, n), 0.5)
        self.blocks = Weights(
            query=normal((d, n, keys), logits_variance),
            key=normal((d, n, keys), logits_variance),
            value=normal((d, n, n), 1 / n),
            into=normal((d, n, hidden), 1 / n),
            out_of=normal((d, hidden, n), 1 / hidden),
            skip=jnp.tile(jnp.stack([layer.skip for layer in layers.residuals]), (d, 1)),
            branch=jnp.tile(jnp.stack([layer.weight for layer in layers.residuals]), (d, 1)),
        )
        self.shaping = Shaping.initial(layers, d)
        self.unembedding = normal((n, self.vocabulary), 1 / n)

    def __call__(self, tokens: Int[Array, " m"]) -> Float[Array, "m vocabulary"]:
        """Logits, token by token."""
        return self.logits_and_entropy(tokens)[0]

    def logits_and_entropy(
        self, tokens: Int[Array, " m"]
    ) -> tuple[Float[Array, "m vocabulary"], Float[Array, " depth"]]:
        r"""Logits, and each layer's attention entropy $-\sum_\beta p_{\alpha\beta}\log p_{\alpha\beta}$, averaged over rows and heads."""
        stream, entropy, _ = self.passed(tokens)
        if layers_of(self.net, len(tokens)).normalised == "pre":
            stream = normalised(stream)
        return stream @ self.unembedding, entropy

    def passed(
        self, tokens: Int[Array, " m"]
    ) -> tuple[Float[Array, "m n"], Float[Array, " depth"], Float[Array, "depth m m"]]:
        r"""The last stream, and of every layer the attention entropy and the covariance $XX^{\mathsf T}/n$ it leaves."""
        check_tokens(tokens, self.vocabulary, dimensions=1, longest=self.length)
        stream = self.embedding[tokens] + self.positions[: len(tokens)]
        layers = layers_of(self.net, len(tokens))

        def block(stream: Array, of_block: tuple[Weights, Shaping]) -> tuple[Array, tuple[Array, Array]]:
            stream, entropy = run_block(layers, *of_block, stream)
            return stream, (entropy, stream @ stream.T / stream.shape[1])

        stream, (entropy, covariances) = jax.lax.scan(block, stream, (self.blocks, self.shaping))
        return stream, entropy, covariances

    @property
    def is_causal(self) -> bool:
        """Whether no token sees a later one."""
        sees = np.asarray(layers_of(self.net, self.length).attention.sees)
        return not np.triu(sees, 1).any()


def check_tokens(tokens: object, vocabulary: int, dimensions: int, longest: int) -> None:
    """Refuse what are not sequences of at most `longest` numbers of the vocabulary, as far as can be known now."""
    if not isinstance(tokens, jax.Array | np.ndarray):
        raise ArgumentError("tokens", f"a {type(tokens).__name__}", "an array of integers")
    if tokens.ndim != dimensions or not 0 < tokens.shape[-1] <= longest:
        many = "one sequence" if dimensions == 1 else "sequences"
        raise ShapeError("tokens", f"shape {tokens.shape}", f"{many} of at most {longest} tokens")
    if not jnp.issubdtype(tokens.dtype, jnp.integer):
        raise ArgumentError("tokens", f"{tokens.dtype} entries", "integers")
    if is_concrete(tokens):
        values = np.asarray(tokens)
        if values.size and not 0 <= values.min() <= values.max() < vocabulary:
            got = f"tokens from {values.min()} to {values.max()}"
            raise DomainError("tokens", got, f"0 to {vocabulary - 1}: the vocabulary has {vocabulary}")


def run_block(
    layers: Layers, weights: Weights, shaping: Shaping, stream: Float[Array, "m n"]
) -> tuple[Float[Array, "m n"], Float[Array, ""]]:
    """The stream after one block, and the entropy of its attention."""
    before = normalised if layers.normalised == "pre" else lambda x: x
    finish = normalised if layers.normalised == "post" else lambda x: x

    mixed, entropy = attention(layers, weights, shaping, before(stream))
    stream = finish(weights.skip[0] * stream + weights.branch[0] * mixed)
    slope = shaping.negative_slope
    hidden = before(stream) @ weights.into
    hidden = jnp.maximum(hidden, 0) + slope * jnp.minimum(hidden, 0)
    # The root keeps the variance of the branch at that of the stream.
    forward = jnp.sqrt(2 / (1 + slope**2)) * hidden @ weights.out_of
    return finish(weights.skip[1] * stream + weights.branch[1] * forward), entropy


def attention(
    layers: Layers, weights: Weights, shaping: Shaping, x: Float[Array, "m n"]
) -> tuple[Float[Array, "m n"], Float[Array, ""]]:
    """The branch of an attention layer, all heads, and its entropy."""
    branch, m = layers.attention, len(x)
    query, key, value = ((x @ w).reshape(m, branch.heads, -1) for w in (weights.query, weights.key, weights.value))
    logits = jnp.einsum("ahk,bhk->hab", query, key) / math.sqrt(branch.key_width)
    p = visible_softmax(logits, branch.sees)
    entropy = -jnp.sum(p * jnp.log(jnp.where(p > 0, p, 1.0))) / (m * branch.heads)
    A = mixing_matrix(p, branch.sees, shaping.identity, shaping.centring)
    return jnp.einsum("hab,bhv->ahv", A, value).reshape(m, -1), entropy


def normalised(x: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Each token with mean zero and variance one: a normalisation layer without parameters."""
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True) + 1e-6)
