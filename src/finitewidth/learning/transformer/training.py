"""Training a language model, with a record of what attention does meanwhile."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..._errors import ArgumentError, BlowUpError, DomainError
from ..._random import key_of
from ..._validation import as_count, as_number, as_seed
from .layers import layers_of
from .model import LanguageModel, Shaping
from .schedules import Schedule
from .text import Text, pieces

_STEPS_AT_ONCE = 50


class Training(eqx.Module):
    """A trained model, and its loss and attention entropy at every step."""

    model: LanguageModel
    loss: Float[np.ndarray, " steps"]
    """In nats per token, on the batch before the step."""
    entropy: Float[np.ndarray, "steps depth"]
    r"""Of each layer's attention, in nats: the mean over rows of $\log m_\alpha$ if attention is uniform, zero if it has collapsed."""


def next_token_loss(model: LanguageModel, tokens: Int[Array, "B m"]) -> tuple[Array, Float[Array, " depth"]]:
    """Cross-entropy of every token given those before it, and the attention entropies."""
    logits, entropy = jax.vmap(model.logits_and_entropy)(tokens[:, :-1])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return jnp.mean(losses), jnp.mean(entropy, axis=0)


def train(
    model: LanguageModel,
    text: Text,
    steps: int,
    rate: float,
    batch: int = 16,
    warmup: int = 100,
    seed: int = 0,
    schedule: Schedule | None = None,
    learn_shaping: bool = False,
) -> Training:
    """Adam on next-token prediction.

    **Arguments:**

    - `model`: a causal one, with a vocabulary for all of the text's alphabet. Others would see what they are to predict.
    - `rate`, `warmup`: the learning rate, reached linearly in `warmup` steps.
    - `schedule`: of the shaping, such as `recover()`; by default it stays as it is.
    - `learn_shaping`: *Learn* (Shaped Transformer App. D): the shaping is a parameter like any other.

    `BlowUpError` if the loss stops being a number.
    """
    _check(model, text, learn_shaping)
    steps, batch, warmup = as_count(steps, "steps"), as_count(batch, "batch"), as_count(warmup, "warmup")
    rate = as_number(rate, "rate", low=0.0)
    how = _How(
        jnp.asarray(text.tokens), key_of(as_seed(seed)), jnp.asarray(rate), model.shaping, batch, warmup, schedule,
        learn_shaping,
    )  # fmt: skip
    carry = (model, how.optimiser.init(eqx.filter(model, eqx.is_inexact_array)))
    losses, entropies = [], []
    for first in range(0, steps, _STEPS_AT_ONCE):
        carry, (loss, entropy) = _advance(carry, jnp.arange(first, min(first + _STEPS_AT_ONCE, steps)), how)
        if not bool(jnp.isfinite(loss).all()):
            at = first + int(np.argmin(np.isfinite(np.asarray(loss))))
            raise BlowUpError(f"The loss is not a number at step {at}: lower the rate ({rate:g}) or gamma.")
        losses.append(loss)
        entropies.append(entropy)
    trained = how.shaped_at(carry[0], jnp.asarray(steps))
    return Training(trained, np.concatenate(losses), np.concatenate(entropies))


class _How(eqx.Module):
    """How a model is trained. Texts, seeds and rates are data: models of one shape share a compiled program."""

    tokens: Int[Array, " length"]
    key: Key[Array, ""]
    rate: Float[Array, ""]
    start: Shaping
    batch: int = eqx.field(static=True)
    warmup: int = eqx.field(static=True)
    schedule: Schedule | None = eqx.field(static=True)
    learn_shaping: bool = eqx.field(static=True)

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(optax.linear_schedule(0.0, self.rate, self.warmup))

    def shaped_at(self, model: LanguageModel, step: Array) -> LanguageModel:
        """With the shaping of this step."""
        shaping = model.shaping if self.learn_shaping else self.start
        shaping = shaping if self.schedule is None else shaping.scaled(self.schedule(step))
        return eqx.tree_at(lambda m: m.shaping, model, shaping)


@eqx.filter_jit
def _advance(
    carry: tuple[LanguageModel, optax.OptState], steps: Int[Array, " steps"], how: _How
) -> tuple[tuple[LanguageModel, optax.OptState], tuple[Array, Array]]:
    """The model after some steps, and losses and entropies on the way."""

    def one_step(carry: tuple[LanguageModel, optax.OptState], step: Array):
        model, state = carry
        tokens = pieces(how.tokens, jax.random.fold_in(how.key, step), how.batch, model.length + 1)

        def loss_of(model: LanguageModel) -> tuple[Array, Array]:
            return next_token_loss(how.shaped_at(model, step), tokens)

        (loss, entropy), gradient = eqx.filter_value_and_grad(loss_of, has_aux=True)(model)
        updates, state = how.optimiser.update(gradient, state)
        return (eqx.apply_updates(model, updates), state), (loss, entropy)

    return jax.lax.scan(one_step, carry, steps)


def _check(model: LanguageModel, text: Text, learn_shaping: bool) -> None:
    if not isinstance(model, LanguageModel):
        raise ArgumentError("model", type(model).__name__, "a LanguageModel")
    if not isinstance(text, Text):
        raise ArgumentError("text", type(text).__name__, "a Text, such as Text.of(string)")
    if not model.is_causal:
        raise ArgumentError(
            "model", "one in which every token sees all", "a causal one: it shall predict the next token"
        )
    if learn_shaping and layers_of(model.net, model.length).normalised is not None:
        raise ArgumentError("learn_shaping", "True for a model with layer normalisation", "a shaped model, or False")
    needed = max(len(text.alphabet), int(np.max(text.tokens)) + 1)
    if model.vocabulary < needed:
        got = f"a model with a vocabulary of {model.vocabulary}"
        raise DomainError("vocabulary", got, f"at least {needed}, the size of the text's alphabet")
    text.check_length(model.length + 1)
