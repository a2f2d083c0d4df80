"""How fast paths are taken to be."""

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.networks.shaped import ShapedAttention, ShapedMLP, shaped_smooth
from finitewidth.proportional.step_size import fastest_rate

V = np.array([[1.2, 0.3, -0.2], [0.3, 0.7, 0.1], [-0.2, 0.1, 2.0]])


def test_attention_is_as_fast_as_its_drift_and_four_times_its_mixing():
    r"""$b - CV - VC^{\mathsf T}$ is what mixing adds: the rate of a norm counts it four times, as a variance of its logarithm."""
    block = ShapedAttention(0.7, 0.5)
    C, b = (np.asarray(part) for part in (block.generator(jnp.asarray(V)), block.drift_inside(jnp.asarray(V))))
    still = np.asarray(block.generator(jnp.zeros((3, 3))))
    F = np.linalg.cholesky(V)
    mixing = np.diagonal(b - C @ V - V @ C.T)
    assert (mixing > 0.05).all()
    along = (np.linalg.norm(C @ F, axis=1) + np.linalg.norm((C - still) @ F, axis=1)) / np.linalg.norm(F, axis=1)
    expected = (along + 4 * mixing / np.diagonal(V)).max()
    moving = jnp.ones(3, dtype=bool)
    assert float(fastest_rate(block, jnp.asarray(V), moving)) == pytest.approx(expected, rel=1e-12)


def test_tokens_that_stand_still_do_not_count():
    """They are not followed, nor seen."""
    block = ShapedMLP(shaped_smooth("gelu"))
    all_of_them, two = (
        float(fastest_rate(block, jnp.asarray(V), jnp.asarray(moving))) for moving in ([True] * 3, [True, True, False])
    )
    alone = float(fastest_rate(block, jnp.asarray(V[:2, :2]), jnp.ones(2, dtype=bool)))
    assert two == pytest.approx(alone, rel=1e-12)
    assert all_of_them > two
