"""How a language model is trained: the batches it sees, the rate at which it starts, and what the seed decides."""

import jax
import numpy as np
import pytest

from finitewidth import ShapedAttention, ShapedResNet, ShapedTransformer
from finitewidth.learning.transformer import LanguageModel, Text, train

BLOCK = ShapedTransformer(ShapedAttention(0.2, mask="causal"), ShapedResNet(0.2, hidden_ratio=4))
LONG = Text.of("".join(np.random.default_rng(0).choice(list("abc"), size=3000)))
ONE_BATCH = Text.of("abcacba")  # as long as a sequence and the token after it: there is only one place to begin
RATE = 2**-7  # a power of two, and so exact in single precision, in which Optax counts its steps


@pytest.fixture(scope="module")
def model():
    return LanguageModel(BLOCK.at(width=4, depth=1), vocabulary=3, length=6, key=jax.random.key(1))


def losses_at_rest(model, steps, seed):
    """At a rate of zero the model stays as it is, and a loss tells only of its batch."""
    return train(model, LONG, steps, rate=0.0, batch=4, seed=seed).loss


def test_every_step_has_a_batch_of_its_own_which_the_seed_decides(model):
    """Beyond the steps that are compiled as one, too."""
    many = losses_at_rest(model, 53, seed=0)
    assert len(np.unique(many)) == 53
    np.testing.assert_array_equal(losses_at_rest(model, 3, seed=0), many[:3])
    assert np.intersect1d(losses_at_rest(model, 3, seed=1), many).size == 0


def test_the_rate_is_reached_linearly(model):
    """Twice the rate in twice the steps is the same until the shorter warm-up ends; the first step has a rate of zero."""
    short, long = (
        train(model, ONE_BATCH, steps=8, rate=factor * RATE, batch=2, warmup=factor * 4).loss for factor in (1, 2)
    )
    assert short[1] == short[0]
    assert np.unique(short[1:]).size == 7
    np.testing.assert_allclose(short[:6], long[:6], rtol=1e-12)  # which the rates of steps 0 to 4 decide
    assert (np.abs(short[6:] - long[6:]) > 1e-6).all()
