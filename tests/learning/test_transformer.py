"""The language model: what it is at initialisation, what shaping does to it, and that it trains."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.transformer import (
    LanguageModel,
    Text,
    TransformerSettings,
    entropy_at_initialisation,
    gradient_norms,
    python_manual,
    recover,
    train,
)

SMALL = TransformerSettings(vocabulary=8, length=12, width=16, depth=3, heads=2, gamma=0.3)
TEXT = Text.of("abcdefgh" * 40)


def model(settings=SMALL, seed=0):
    return LanguageModel(settings, jax.random.key(seed))


@pytest.mark.parametrize("kind", ["shaped", "pre_ln", "post_ln"])
def test_causal_models_do_not_see_the_future(kind):
    """A later token changes no earlier logits, and does change its own."""
    settings = TransformerSettings(vocabulary=8, length=12, width=16, depth=3, heads=2, kind=kind)
    tokens = jnp.arange(10) % 8
    before, after = (model(settings)(t) for t in (tokens, tokens.at[-1].set(0)))
    np.testing.assert_allclose(after[:-1], before[:-1], rtol=1e-12, atol=1e-12)
    assert np.abs(after[-1] - before[-1]).max() > 1e-3


def test_entropy_at_initialisation():
    """Mean attention entropy of the first shaped layer, to first order in 1/n, within 4 standard errors."""
    settings = TransformerSettings(vocabulary=16, length=16, width=256, depth=1, heads=8, tau0=0.5, causal=False)
    tokens = jnp.arange(16)

    def deficit(key):
        drawn = LanguageModel(settings, key)
        x = drawn.embedding[tokens] + drawn.positions
        expected = jnp.mean(entropy_at_initialisation(x @ x.T / 256, 256, 0.5))
        return jnp.log(16.0) - drawn.passed(tokens)[1][0], jnp.log(16.0) - expected

    measured, expected = jax.lax.map(deficit, jax.random.split(jax.random.key(1), 60))
    ratio = np.asarray(measured / expected)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(60) + 1 / 256


def test_covariance_hardly_moves_through_a_shaped_model():
    """Norms of tokens keep their scale through 40 shaped layers; a Pre-LN stream grows with depth."""
    tokens = jnp.arange(8)
    shaped = TransformerSettings(vocabulary=8, length=8, width=64, depth=40, heads=4, gamma=0.2)
    pre_ln = TransformerSettings(vocabulary=8, length=8, width=64, depth=40, heads=4, kind="pre_ln")
    ends = [np.diagonal(model(settings).passed(tokens)[2][-1]).mean() for settings in (shaped, pre_ln)]
    assert 0.5 < ends[0] < 2
    assert ends[1] > 20


def test_without_shaping_a_plain_transformer_remains():
    """Attention is the softmax itself and the activation ReLU when the schedule of Recover has run out."""
    plain = eqx.tree_at(lambda m: m.shaping, model(), model().shaping.scaled(recover(100)(jnp.asarray(100))))
    tokens = jnp.arange(6)
    stream = plain.embedding[tokens] + plain.positions[:6]
    sees = np.tri(6, dtype=bool)
    for layer in range(3):
        block = jax.tree.map(lambda leaf, at=layer: leaf[at], plain.blocks)
        heads = []
        for h in range(2):
            q, k, v = ((stream @ w)[:, 8 * h : 8 * (h + 1)] for w in (block.query, block.key, block.value))
            heads.append(jax.nn.softmax(jnp.where(sees, q @ k.T / np.sqrt(8), -1e30), axis=1) @ v)
        stream = block.skip[0] * stream + block.branch[0] * jnp.concatenate(heads, axis=1)
        stream = block.skip[1] * stream + block.branch[1] * np.sqrt(2) * jax.nn.relu(stream @ block.into) @ block.out_of
    np.testing.assert_allclose(plain(tokens), stream @ plain.unembedding, rtol=1e-8, atol=1e-10)


def test_gradients_by_depth():
    """Gradients of a shaped model are alike in all layers; those of Post-LN are not."""
    tokens = TEXT.batch(jax.random.key(3), 4, 13)
    spread = {}
    for kind in ("shaped", "post_ln"):
        settings = TransformerSettings(vocabulary=8, length=12, width=32, depth=24, heads=2, kind=kind)
        norms = gradient_norms(model(settings), tokens)["value"]
        assert norms.shape == (24,)
        spread[kind] = norms.max() / norms.min()
    assert spread["shaped"] < 3 < spread["post_ln"]


@pytest.mark.slow
def test_training_learns_the_alphabet():
    """A cyclic text is predicted after a few hundred steps, with each way to treat the shaping."""
    start = model()
    settings = {"steps": 150, "rate": 5e-3, "batch": 8, "warmup": 20}
    recovered = train(start, TEXT, schedule=recover(100), **settings)
    learned = train(start, TEXT, learn_shaping=True, **settings)
    for run in (recovered, learned):
        assert run.loss[0] > 1.5
        assert run.loss[-10:].mean() < 0.3
        assert run.entropy.shape == (150, 3)
    assert not recovered.model.shaping.identity.any()
    assert np.abs(learned.model.shaping.identity - 1).max() > 1e-3


def test_divergence_is_reported():
    """A loss that is no number ends the run with a clear message."""
    with pytest.raises(fw.BlowUpError, match="lower the rate"):
        train(model(), TEXT, steps=100, rate=1e30, batch=2, warmup=1)


def test_the_manual():
    """Python's own help texts: a large text of few characters."""
    text = python_manual()
    assert len(text.tokens) > 300_000
    assert "for" in "".join(text.alphabet[t] for t in text.tokens[:20_000])
    assert text.batch(jax.random.key(0), 3, 20).shape == (3, 20)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"heads": 3}, "heads"),
        ({"gamma": 1.0}, "gamma"),
        ({"tau0": 0.0}, "tau0"),
        ({"kind": "preln"}, "kind"),
        ({"depth": 0}, "depth"),
        ({"causal": "yes"}, "causal"),
    ],
)
def test_bad_settings(change, argument):
    """Each refused with the name of the argument."""
    with pytest.raises(fw.ArgumentError, match=argument):
        TransformerSettings(**{"vocabulary": 8, "width": 16} | change)


@pytest.mark.parametrize(
    ("changed", "text", "message"),
    [
        ({"causal": False}, TEXT, "`model`.*causal"),
        ({"vocabulary": 7}, TEXT, "`vocabulary`.*at least 8.*alphabet"),
        ({}, "hello", "`text`: got str"),
    ],
)
def test_what_cannot_be_trained(changed, text, message):
    """A model that sees the tokens it shall predict, or lacks some of them; a bare string."""
    with pytest.raises(fw.ArgumentError, match=message):
        train(model(dataclasses.replace(SMALL, **changed)), text, steps=1, rate=1e-3)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (np.array([0, 8]), "0 to 7"),
        (np.array([-1, 0]), "0 to 7"),
        ([0, 1], "a list"),
        (np.array([0.0, 1.0]), "integers"),
        (np.arange(13) % 8, "at most 12"),
    ],
)
def test_tokens_that_are_none(tokens, message):
    """Tokens outside the vocabulary, lists, fractions and long sequences are refused by name."""
    with pytest.raises(fw.ArgumentError, match=f"`tokens`.*{message}"):
        model()(tokens)
    if isinstance(tokens, np.ndarray) and len(tokens) == 2:
        with pytest.raises(fw.ArgumentError, match=f"`tokens`.*{message}"):
            gradient_norms(model(), tokens[None])


@pytest.mark.parametrize(("width", "tau0", "argument"), [(0, 1.0, "width"), (64, 0.0, "tau0"), (64, -1.0, "tau0")])
def test_entropy_has_a_domain(width, tau0, argument):
    """No width or temperature of zero."""
    with pytest.raises(fw.DomainError, match=argument):
        entropy_at_initialisation(np.eye(2), width, tau0)
