"""Twenty activations that are kinked, jump, are steep or grow fast: as formulas of `jnp` or `np`, and where they change."""

from collections.abc import Callable
from typing import Any

CROSSING = 1.8954942670339809  # where z/2 meets sin z
HARD: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "|z - 1.3| sin z": (lambda z, n: n.abs(z - 1.3) * n.sin(z), [1.3]),
    "clip(z, -.4, 2)": (lambda z, n: n.clip(z, -0.4, 2.0), [-0.4, 2.0]),
    "z where z > .5": (lambda z, n: n.where(z > 0.5, z, 0.0), [0.5]),
    "tanh 60 z": (lambda z, n: n.tanh(60 * z), [0.0]),
    "softplus 8 z": (lambda z, n: n.logaddexp(0.0, 8 * z), [0.0]),
    "exp .3 z": (lambda z, n: n.exp(0.3 * z), [0.0]),
    "relu(z)^3": (lambda z, n: n.maximum(z, 0.0) ** 3, [0.0]),
    "sawtooth": (
        lambda z, n: n.where(z < -1, z + 2, n.where(z < 0.3, -z, n.where(z < 1.2, z - 0.6, 1.8 - z))),
        [-1.0, 0.3, 1.2],
    ),
    "sign(z) log(1 + |z|)": (lambda z, n: n.sign(z) * n.log1p(n.abs(z)), [0.0]),
    "max(z/2, sin z)": (lambda z, n: n.maximum(z / 2, n.sin(z)), [-CROSSING, 0.0, CROSSING]),
    "ramp of .01": (lambda z, n: n.maximum(z, 0.0) - n.maximum(z - 0.01, 0.0), [0.0, 0.01]),
    "arctan 40 (z - .8)": (lambda z, n: n.arctan(40 * (z - 0.8)), [0.8]),
    "cos(z) e^-|z|": (lambda z, n: n.cos(z) * n.exp(-n.abs(z)), [0.0]),
    "sign(z) e^(z^2/10)": (lambda z, n: n.sign(z) * n.exp(0.1 * z**2), [0.0]),
    "steps and a sine": (
        lambda z, n: 0.3 * n.where(z > -1.5, 1.0, 0.0) + n.where(z > 0.25, 1.0, 0.0) * n.sin(z),
        [-1.5, 0.25],
    ),
    "min(e^z, 3)": (lambda z, n: n.minimum(n.exp(z), 3.0), [1.0986122886681098]),
    "relu and a small step": (lambda z, n: n.maximum(z, 0.0) + 1e-3 * n.where(z > 0.9, 1.0, 0.0), [0.0, 0.9]),
    "z and a bump": (lambda z, n: z + n.exp(-(((z - 0.5) / 0.03) ** 2)), [0.5]),
    "max(z, -z^2)": (lambda z, n: n.maximum(z, -(z**2)), [-1.0, 0.0]),
    "z^5": (lambda z, n: z**5, [0.0]),
    "z/sqrt|z|": (lambda z, n: n.sign(z) * n.sqrt(n.abs(z)), [0.0]),
    "sin 50 z": (lambda z, n: n.sin(50 * z), [0.0]),
    "sqrt(max(z, 0))": (lambda z, n: n.sqrt(n.maximum(z, 0.0)), [0.0]),
}
JUMP = {"z where z > .5", "sign(z) e^(z^2/10)", "steps and a sine", "relu and a small step"}
