"""Functions of a parameter pytree in plain JAX, for `empirical_ntk.py` and its peer alike."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

OUTPUTS = 10


def _draw(shapes: dict, seed: int = 0) -> dict:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=s) / np.sqrt(max(1, np.prod(s[:-1]))) * (len(s) > 1) for name, s in shapes.items()}


def mlp(params: dict, x: jax.Array) -> jax.Array:
    """128 features, three hidden layers of 512."""
    for layer in range(3):
        x = jax.nn.relu(x @ params[f"W{layer}"] + params[f"b{layer}"])
    return x @ params["W3"] + params["b3"]


def conv(params: dict, x: jax.Array) -> jax.Array:
    """Images of 16 x 16 x 3, three convolutions of 32 channels, an average, a dense readout."""
    for layer in range(3):
        x = lax.conv_general_dilated(x, params[f"W{layer}"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + params[f"b{layer}"])
    return x.mean(axis=(1, 2)) @ params["W3"] + params["b3"]


def attention(params: dict, x: jax.Array) -> jax.Array:
    """16 tokens of 64 features, two blocks of attention and a hidden layer each, an average, a dense readout."""
    for layer in range(2):
        q, k, v = (x @ params[f"{name}{layer}"] for name in "QKV")
        weights = jax.nn.softmax(jnp.einsum("ntd,nsd->nts", q, k) / 8.0)
        x = x + jnp.einsum("nts,nsd->ntd", weights, v) @ params[f"O{layer}"]
        x = x + jax.nn.gelu(x @ params[f"U{layer}"] + params[f"u{layer}"]) @ params[f"D{layer}"]
    return x.mean(axis=1) @ params["W"] + params["b"]


def case(name: str, samples: int) -> tuple:
    """The function, its parameters and inputs, as NumPy arrays."""
    if name == "mlp":
        widths = (128, 512, 512, 512, OUTPUTS)
        shapes = {f"W{i}": widths[i : i + 2] for i in range(4)} | {f"b{i}": widths[i + 1 : i + 2] for i in range(4)}
        function, x_shape = mlp, (samples, 128)
    elif name == "conv":
        shapes = {f"W{i}": (3, 3, 32 if i else 3, 32) for i in range(3)} | {f"b{i}": (32,) for i in range(3)}
        shapes |= {"W3": (32, OUTPUTS), "b3": (OUTPUTS,)}
        function, x_shape = conv, (samples, 16, 16, 3)
    else:
        shapes = {f"{name}{i}": (64, 64) for name in "QKVO" for i in range(2)}
        shapes |= {f"U{i}": (64, 128) for i in range(2)} | {f"u{i}": (128,) for i in range(2)}
        shapes |= {f"D{i}": (128, 64) for i in range(2)} | {"W": (64, OUTPUTS), "b": (OUTPUTS,)}
        function, x_shape = attention, (samples, 16, 64)
    return function, _draw(shapes), np.random.default_rng(1).normal(size=x_shape)
