"""The Transformer itself: embedding, blocks, logits."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import is_concrete
from .settings import TransformerSettings


class Shaping(eqx.Module):
    r"""How far attention and activation are shaped, layer by layer (Shaped Transformer Eq. 33):
    $A = \gamma_1I + {\rm softmax}(Y/\tau) - \gamma_2\tfrac1m\mathbf 1\mathbf 1^{\mathsf T}$ and a slope $s_-$ for negative
    preactivations. With all of them zero a plain Transformer without normalisation layers remains."""

    identity: Float[Array, " depth"]
    centring: Float[Array, " depth"]
    negative_slope: Float[Array, " depth"]

    @classmethod
    def full(cls, settings: TransformerSettings) -> "Shaping":
        r"""At the start: $\gamma_1 = \gamma_2 = 1$ and $s_- = 1 - n^{-1/2}$ (Shaped Transformer App. D)."""
        ones = jnp.ones(settings.depth)
        return cls(ones, ones, ones * (1 - settings.width**-0.5))

    def scaled(self, share: Float[Array, ""] | float) -> "Shaping":
        """All of them times `share`."""
        return jax.tree.map(lambda value: share * value, self)


class Block(eqx.Module):
    """One attention layer and one feedforward layer; all blocks of a model are stacked along a leading axis."""

    query: Float[Array, "*depth n n"]
    key: Float[Array, "*depth n n"]
    value: Float[Array, "*depth n n"]
    into: Float[Array, "*depth n hidden"]
    out_of: Float[Array, "*depth hidden n"]
    skip: Float[Array, "*depth 2"]
    branch: Float[Array, "*depth 2"]


class LanguageModel(eqx.Module):
    """Logits of every token's successor. Calling it costs O(depth) at run time and one block to compile."""

    settings: TransformerSettings = eqx.field(static=True)
    embedding: Float[Array, "vocabulary n"]
    positions: Float[Array, "length n"]
    blocks: Block
    shaping: Shaping
    unembedding: Float[Array, "n vocabulary"]

    def __init__(self, settings: TransformerSettings, key: Key[Array, ""]):
        r"""Gaussian weights of variance one over fan-in. Queries and keys of a shaped model have variance $n^{-3/2}/\tau_0$:
        with the usual temperature $\sqrt{n_k}$ that is $\tau = \tau_0\sqrt{n\,n_k}$ (Shaped Transformer App. D)."""
        self.settings = settings
        n, d, hidden = settings.width, settings.depth, settings.hidden_ratio * settings.width
        keys = iter(jax.random.split(key, 8))

        def normal(shape: tuple[int, ...], variance: float) -> Array:
            return math.sqrt(variance) * jax.random.normal(next(keys), shape)

        shaped = settings.kind == "shaped"
        logits_variance = n**-1.5 / settings.tau0 if shaped else 1 / n
        gamma = settings.gamma if shaped else 1.0
        skip = math.sqrt(1 - gamma**2) if shaped else 1.0
        self.embedding = normal((settings.vocabulary, n), 0.5)
        self.positions = normal((settings.length, n), 0.5)
        self.blocks = Block(
            query=normal((d, n, n), logits_variance),
            key=normal((d, n, n), logits_variance),
            value=normal((d, n, n), 1 / n),
            into=normal((d, n, hidden), 1 / n),
            out_of=normal((d, hidden, n), 1 / hidden),
            skip=jnp.full((d, 2), skip),
            branch=jnp.full((d, 2), gamma),
        )
        self.shaping = Shaping.full(settings)
        self.unembedding = normal((n, settings.vocabulary), 1 / n)

    def __call__(self, tokens: Int[Array, " m"]) -> Float[Array, "m vocabulary"]:
        """Logits, token by token."""
        return self.logits_and_entropy(tokens)[0]

    def logits_and_entropy(
        self, tokens: Int[Array, " m"]
    ) -> tuple[Float[Array, "m vocabulary"], Float[Array, " depth"]]:
        r"""Logits, and each layer's attention entropy $-\sum_\beta p_{\alpha\beta}\log p_{\alpha\beta}$, averaged over rows and heads."""
        stream, entropy, _ = self.passed(tokens)
        if self.settings.kind == "pre_ln":
            stream = normalised(stream)
        return stream @ self.unembedding, entropy

    def passed(self, tokens: Int[Array, " m"]) -> tuple[Array, Float[Array, " depth"], Float[Array, "depth m m"]]:
        r"""The last stream, and of every layer the attention entropy and the covariance $XX^{\mathsf T}/n$ it leaves."""
        check_tokens(tokens, self.settings, dimensions=1, longest=self.settings.length)
        stream = self.embedding[tokens] + self.positions[: len(tokens)]

        def layer(stream: Array, of_layer: tuple[Block, Shaping]) -> tuple[Array, tuple[Array, Array]]:
            stream, entropy = run_block(self.settings, *of_layer, stream)
            return stream, (entropy, stream @ stream.T / stream.shape[1])

        stream, (entropy, covariances) = jax.lax.scan(layer, stream, (self.blocks, self.shaping))
        return stream, entropy, covariances


def check_tokens(tokens: object, settings: TransformerSettings, dimensions: int, longest: int) -> None:
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
        if values.size and not 0 <= values.min() <= values.max() < settings.vocabulary:
            got = f"tokens from {values.min()} to {values.max()}"
            raise DomainError(
                "tokens", got, f"0 to {settings.vocabulary - 1}: the vocabulary has {settings.vocabulary}"
            )


def run_block(
    settings: TransformerSettings, block: Block, shaping: Shaping, stream: Float[Array, "m n"]
) -> tuple[Float[Array, "m n"], Array]:
    """The stream after one block, and the entropy of its attention."""
    shaped, after = settings.kind == "shaped", settings.kind == "post_ln"
    before = normalised if settings.kind == "pre_ln" else lambda x: x
    finish = normalised if after else lambda x: x

    mixed, entropy = attention(settings, block, shaping, before(stream), shaped)
    stream = finish(block.skip[0] * stream + block.branch[0] * mixed)
    slope = shaping.negative_slope if shaped else 0.0
    hidden = before(stream) @ block.into
    hidden = jnp.maximum(hidden, 0) + slope * jnp.minimum(hidden, 0)
    forward = (
        jnp.sqrt(2 / (1 + slope**2)) * hidden @ block.out_of
    )  # keeps the variance of the branch at that of the stream
    return finish(block.skip[1] * stream + block.branch[1] * forward), entropy


def attention(
    settings: TransformerSettings, block: Block, shaping: Shaping, x: Float[Array, "m n"], shaped: bool
) -> tuple[Float[Array, "m n"], Array]:
    """The branch of an attention layer, all heads, and its entropy."""
    m, heads = len(x), settings.heads
    sees = jnp.tri(m, dtype=bool) if settings.causal else jnp.ones((m, m), bool)
    query, key, value = ((x @ weight).reshape(m, heads, -1) for weight in (block.query, block.key, block.value))
    logits = jnp.einsum("ahk,bhk->hab", query, key) / math.sqrt(settings.key_width)
    log_p = jax.nn.log_softmax(jnp.where(sees, logits, -jnp.inf), axis=-1)
    p = jnp.exp(log_p)
    entropy = -jnp.sum(jnp.where(sees, p * jnp.where(sees, log_p, 0.0), 0.0)) / (m * heads)
    if shaped:
        uniform = sees / jnp.sum(sees, axis=1, keepdims=True)
        p = p + shaping.identity * jnp.eye(m) - shaping.centring * uniform
    return jnp.einsum("hab,bhv->ahv", p, value).reshape(m, -1), entropy


def normalised(x: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Each token with mean zero and variance one: a normalisation layer without parameters."""
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True) + 1e-6)
