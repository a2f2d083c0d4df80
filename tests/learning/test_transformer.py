"""The language model: what it is at initialisation, what shaping does to it, and that it trains."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.transformer import (
    LanguageModel,
    Text,
    entropy_at_initialisation,
    gradient_norms,
    python_manual,
    recover,
    train,
)
from finitewidth.learning.transformer.training import next_token_loss
from finitewidth.networks.shaped import LayerNormTransformer, ShapedAttention, ShapedResNet, ShapedTransformer

TEXT = Text.of("abcdefgh" * 40)


def block(kind="shaped", gamma=0.2, tau0=1.0, heads=2, mask="causal", **options):
    """A shaped block, or one with layer normalisation, with four hidden units for each unit of width."""
    if kind != "shaped":
        return LayerNormTransformer(kind, heads=heads, mask=mask, hidden_ratio=4)
    attention = ShapedAttention(gamma, tau0, heads, mask, **options)
    return ShapedTransformer(attention, ShapedResNet(gamma, hidden_ratio=4))


SMALL = block(gamma=0.3).at(16, 3)


def model(net=SMALL, vocabulary=8, length=12, seed=0):
    return LanguageModel(net, vocabulary, length, jax.random.key(seed))


@pytest.mark.parametrize("kind", ["shaped", "pre", "post"])
def test_causal_models_do_not_see_the_future(kind):
    """A later token changes no earlier logits, and does change its own."""
    tokens = jnp.arange(10) % 8
    before, after = (model(block(kind).at(16, 3))(t) for t in (tokens, tokens.at[-1].set(0)))
    np.testing.assert_allclose(after[:-1], before[:-1], rtol=1e-12, atol=1e-12)
    assert np.abs(after[-1] - before[-1]).max() > 1e-3


def test_entropy_at_initialisation():
    """Mean attention entropy of the first shaped layer, to first order in 1/n, within 4 standard errors."""
    net = block(tau0=0.5, heads=8, mask=None).at(256, 1)
    tokens = jnp.arange(16)

    def deficit(key):
        drawn = LanguageModel(net, 16, 16, key)
        x = drawn.embedding[tokens] + drawn.positions
        expected = jnp.mean(entropy_at_initialisation(x @ x.T / 256, 256, 0.5))
        return jnp.log(16.0) - drawn.passed(tokens)[1][0], jnp.log(16.0) - expected

    measured, expected = jax.lax.map(deficit, jax.random.split(jax.random.key(1), 60))
    ratio = np.asarray(measured / expected)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(60) + 1 / 256


def test_covariance_hardly_moves_through_a_shaped_model():
    """Norms of tokens keep their scale through 40 shaped layers; a Pre-LN stream grows with depth."""
    tokens = jnp.arange(8)
    nets = [block(kind, heads=4).at(64, 40) for kind in ("shaped", "pre")]
    ends = [np.diagonal(model(net, length=8).passed(tokens)[2][-1]).mean() for net in nets]
    assert 0.5 < ends[0] < 2
    assert ends[1] > 20


def written_out(drawn, kind, tokens, identity, centring, slope):
    """Logits by Shaped Transformer Eq. 9, 11 and 33, head by head, with two heads of eight."""
    norm = lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)  # noqa: E731
    before, after = (norm if kind == position else lambda x: x for position in ("pre", "post"))
    drawn, m = jax.tree.map(np.asarray, drawn), len(tokens)
    x, sees = drawn.embedding[tokens] + drawn.positions[:m], np.tri(m)
    for layer in range(drawn.net.depth):
        w = jax.tree.map(lambda leaf, at=layer: leaf[at], drawn.blocks)
        heads, seen = [], before(x)
        for h in range(2):
            q, k, v = ((seen @ matrix)[:, 8 * h : 8 * (h + 1)] for matrix in (w.query, w.key, w.value))
            p = sees * np.exp(q @ k.T / np.sqrt(8))
            p = p / p.sum(axis=1, keepdims=True)
            heads.append((identity * np.eye(m) + p - centring * sees / sees.sum(axis=1, keepdims=True)) @ v)
        x = after(w.skip[0] * x + w.branch[0] * np.concatenate(heads, axis=1))
        hidden = before(x) @ w.into
        hidden = np.where(hidden > 0, hidden, slope * hidden) * np.sqrt(2 / (1 + slope**2))
        x = after(w.skip[1] * x + w.branch[1] * hidden @ w.out_of)
    return before(x) @ drawn.unembedding


@pytest.mark.parametrize(("kind", "identity", "slope"), [("shaped", 1.0, 0.75), ("pre", 0.0, 0.0), ("post", 0.0, 0.0)])
def test_the_model_written_out(kind, identity, slope):
    r"""Shaped attention and shaped ReLU with $s_- = 1 - n^{-1/2}$, or the plain ones with layer normalisation."""
    drawn, tokens = model(block(kind, gamma=0.3).at(16, 3)), np.arange(10) % 8
    expected = written_out(drawn, kind, tokens, identity, identity, slope)
    np.testing.assert_allclose(drawn(jnp.asarray(tokens)), expected, rtol=1e-10, atol=1e-12)
    weights = {"shaped": (np.sqrt(1 - 0.3**2), 0.3), "pre": (1, 1), "post": (1, 1)}[kind]
    np.testing.assert_allclose(drawn.blocks.skip, np.full((3, 2), weights[0]), rtol=1e-15)
    np.testing.assert_allclose(drawn.blocks.branch, np.full((3, 2), weights[1]), rtol=1e-15)


def test_without_shaping_a_plain_transformer_remains():
    """Attention is the softmax itself and the activation ReLU when the schedule of Recover has run out."""
    plain = eqx.tree_at(lambda m: m.shaping, model(), model().shaping.scaled(recover(100)(jnp.asarray(100))))
    tokens = np.arange(10) % 8
    np.testing.assert_allclose(
        plain(jnp.asarray(tokens)), written_out(plain, "shaped", tokens, 0, 0, 0), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    ("net", "variance"),
    [
        (block(tau0=0.5).at(16, 30), 16**-1.5 / 0.5),
        (block(key_width=4, heads=4).at(16, 30), 16**-1.5),
        (block("pre").at(16, 30), 1 / 16),
        (block("post", heads=4).at(16, 30), 1 / 16),
    ],
)
def test_temperatures_are_in_queries_and_keys(net, variance):
    r"""Their variance is $n^{-3/2}/\tau_0$ in shaped models, $1/n$ in others (Shaped Transformer App. D)."""
    blocks = model(net).blocks
    for matrix in (blocks.query, blocks.key):
        assert abs(np.mean(np.square(matrix)) / variance - 1) < 4 * np.sqrt(2 / matrix.size)


@pytest.mark.measured
def test_gradients_by_depth():
    """Gradients of a shaped model are alike in all layers; those of Post-LN are not."""
    tokens = TEXT.batch(jax.random.key(3), 4, 13)
    spread = {}
    for kind in ("shaped", "post"):
        norms = gradient_norms(model(block(kind).at(32, 24)), tokens)["value"]
        assert norms.shape == (24,)
        spread[kind] = norms.max() / norms.min()
    assert spread["shaped"] < 3 < spread["post"]


@pytest.mark.measured
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


@pytest.fixture(scope="module")
def three_steps():
    return {
        (rate, seed): train(model(), TEXT, steps=3, rate=rate, batch=2, warmup=4, seed=seed)
        for rate, seed in ((0.0, 0), (1e-2, 0), (1e-2, 1))
    }


def test_every_step_sees_a_batch_of_its_own(three_steps):
    """Of the text and the seed: at rate zero the losses are those of the first model on batch after batch."""
    key, start = jax.random.key(0), model()
    batches = [TEXT.batch(jax.random.fold_in(key, step), 2, 13) for step in range(3)]
    expected = [float(next_token_loss(start, tokens)[0]) for tokens in batches]
    np.testing.assert_allclose(three_steps[0.0, 0].loss, expected, rtol=1e-12)
    assert len(set(expected)) == 3
    np.testing.assert_allclose(three_steps[1e-2, 0].loss[:2], expected[:2], rtol=1e-12)  # the first rate is zero
    assert not np.isin(three_steps[1e-2, 1].loss, three_steps[1e-2, 0].loss).any()


def test_the_rate_warms_up(three_steps):
    """Adam's first steps move a weight whose gradient keeps its sign by the rates 0, rate/4 and rate/2 of a warm-up of four."""
    moved = np.abs(three_steps[1e-2, 0].model.unembedding - three_steps[0.0, 0].model.unembedding)
    np.testing.assert_array_equal(three_steps[0.0, 0].model.unembedding, model().unembedding)
    assert moved.max() < 1.01 * (1e-2 / 4 + 1e-2 / 2)
    assert moved.max() > 0.9 * (1e-2 / 4 + 1e-2 / 2)


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
    ("change", "message"),
    [
        ({"net": block()}, "`net`: got ShapedTransformer.*at a width and a depth"),
        ({"net": ShapedAttention(0.2).at(16, 3)}, "`net`.*one attention and one feedforward layer"),
        ({"net": ShapedTransformer(ShapedResNet(0.2), ShapedAttention(0.2)).at(16, 3)}, "`net`.*one attention and one"),
        ({"net": ShapedTransformer(ShapedAttention(0.2), ShapedResNet(0.2, 0.5)).at(16, 3)}, "`net`.*c_plus = 0"),
        ({"net": block(output_projection=True).at(16, 3)}, "`output_projection`"),
        ({"vocabulary": 0}, "`vocabulary`"),
        ({"length": 1.5}, "`length`"),
    ],
)
def test_what_is_no_language_model(change, message):
    """Each refused with the name of the argument."""
    with pytest.raises(fw.ArgumentError, match=message):
        model(**change)


@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        ({"net": block(mask=None).at(16, 3)}, {}, "`model`.*causal"),
        ({"vocabulary": 7}, {}, "`vocabulary`.*at least 8.*alphabet"),
        ({}, {"text": "hello"}, "`text`: got str"),
        ({"net": block("pre").at(16, 3)}, {"learn_shaping": True}, "`learn_shaping`.*layer normalisation"),
    ],
)
def test_what_cannot_be_trained(change, how, message):
    """A model that sees the tokens it shall predict, lacks some of them or has no shaping to learn; a bare string."""
    with pytest.raises(fw.ArgumentError, match=message):
        train(model(**change), **({"text": TEXT, "steps": 1, "rate": 1e-3} | how))


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
