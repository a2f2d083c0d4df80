"""The scale of residual blocks: measured on blocks, and checked on what they do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw

Z = np.random.default_rng(1).normal(size=(6, 64))


def leaky_block(key, z):
    """Three layers of ReLU, and a part of the input itself: R and z are correlated."""
    out = z
    for one in jax.random.split(key, 3):
        out = jax.nn.relu(out) @ jax.random.normal(one, (64, 64)) * (2 / 64) ** 0.5
    return out + 0.3 * z


@pytest.mark.parametrize("gamma", [0.7, -0.4, 0.0])
def test_blocks_keep_their_size(gamma):
    """PDLT (B.44)-(B.45): over the initialisations measured, the mean square after the block is that before."""
    found = fw.advice.tune_block(leaky_block, Z, gamma, initialisations=4, seed=3)
    outs = [np.asarray(leaky_block(key, jnp.asarray(Z))) for key in jax.random.split(jax.random.key(3), 4)]

    def after(xi, of):
        return np.mean([np.mean(of(xi * out + gamma * Z) ** 2) for out in outs])

    assert after(found.xi, np.asarray) == pytest.approx(np.mean(Z**2), rel=1e-5)
    assert found.xi_of_differences is not None

    def differences(z):
        return np.diff(z, axis=0)

    assert after(found.xi_of_differences, differences) == pytest.approx(np.mean(differences(Z) ** 2), rel=1e-5)
    assert found.xi > 0
    assert 0 < found.standard_error < 0.2 * found.xi


def test_one_layer_is_the_critical_line():
    """A block W sigma(z) of ReLU with C_W = 2 on Gaussian z: xi^2 = 1 - gamma^2, PDLT (B.20)."""

    def block(key, z):
        return jax.nn.relu(z) @ jax.random.normal(key, (64, 64)) * (2 / 64) ** 0.5

    found = fw.advice.tune_block(block, Z, 0.6, initialisations=32)
    assert abs(found.xi - 0.8) < 5 * found.standard_error + 0.8 * 3 * (2 / Z.size) ** 0.5


def test_errors():
    """What cannot be preserved is said."""
    with pytest.raises(fw.DomainError, match="G_RR"):
        fw.advice.preserving_scale(1.0, 0.0, 0.0, 0.5)
    with pytest.raises(fw.DomainError, match="gamma"):
        fw.advice.preserving_scale(1.0, 1.0, 0.0, 1.5)
    with pytest.raises(fw.DomainError, match="G_Rz"):
        fw.advice.preserving_scale(1.0, 1.0, 2.0, 0.5)
    with pytest.raises(fw.ShapeError, match="block"):
        fw.advice.tune_block(lambda key, z: z[:, :3], Z, 0.5)
    with pytest.raises(fw.ShapeError, match="`z`"):
        fw.advice.tune_block(leaky_block, Z[0], 0.5)
