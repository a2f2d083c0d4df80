"""The activations known by name: all those of PDLT chapters 2 and 5, and others people use."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax.scipy.special import erf

from .._arrays import Array
from .activation import Activation
from .closed_pairs import erf_pair, gelu_pair
from .families import ClosedPair, ExponentialSum, Step, exponential, leaky_relu, monomial, scale_invariant


def _gelu(z: Array) -> Array:
    return z * (1 + erf(z / math.sqrt(2))) / 2


def _gelu_tanh(z: Array) -> Array:
    return z * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2


_BUILT_IN = [
    scale_invariant(1.0, 1.0, "linear"),
    scale_invariant(1.0, 0.0, "relu"),
    leaky_relu(),
    scale_invariant(1.0, -1.0, "abs"),
    Step(lambda z: jnp.where(z >= 0, 1.0, 0.0), (0.0,), name="perceptron", formula="1 (z ≥ 0), 0 (z < 0)"),
    Activation(jax.nn.sigmoid, name="sigmoid", formula="1/(1 + e^-z)"),
    Activation(lambda z: jnp.tanh(z / 2) / 2, name="centered_sigmoid", formula="1/(1 + e^-z) - 1/2"),
    Activation(jnp.tanh, name="tanh", formula="tanh z"),
    ExponentialSum(jnp.sin, name="sin", formula="sin z", coefficients=(-0.5j, 0.5j), rates=(1j, -1j)),
    Activation(jax.nn.softplus, name="softplus", formula="log(1 + e^z)"),
    Activation(lambda z: jax.nn.softplus(z) - math.log(2), name="centered_softplus", formula="log(1 + e^z) - log 2"),
    Activation(lambda z: z * jax.nn.sigmoid(z), name="swish", formula="z/(1 + e^-z)"),
    ClosedPair(_gelu, name="gelu", formula="z [1 + erf(z/√2)]/2", pair=gelu_pair),
    ClosedPair(erf, name="erf", formula="erf z", pair=erf_pair),
    Activation(jnp.arctan, name="arctan", formula="arctan z"),
    Activation(lambda z: z / (1 + jnp.abs(z)), (0.0,), name="softsign", formula="z/(1 + |z|)"),
    monomial(2),
    monomial(3),
    exponential(),
    ExponentialSum(jnp.expm1, name="expm1", formula="e^z - 1", coefficients=(1.0, -1.0), rates=(1.0, 0.0)),
    Activation(jax.nn.elu, (0.0,), name="elu", formula="max(z, 0) + min(e^z-1, 0)"),
    Activation(jax.nn.selu, (0.0,), name="selu", formula="1.05 z (z>0), 1.76(e^z-1)"),
    Activation(_gelu_tanh, name="gelu_tanh", formula="gelu with tanh for erf"),
    Activation(lambda z: z * jnp.tanh(jax.nn.softplus(z)), name="mish", formula="z tanh log(1 + e^z)"),
    Activation(lambda z: jnp.where(z > 0, z**2, 0.0), (0.0,), name="relu2", formula="max(z, 0)^2"),
    Activation(lambda z: jnp.clip(z, 0.0, 6.0), (0.0, 6.0), name="relu6", formula="min(max(z, 0), 6)"),
    Activation(lambda z: jnp.clip(z, -1.0, 1.0), (-1.0, 1.0), name="hardtanh", formula="min(max(z, -1), 1)"),
    Activation(
        lambda z: z * jnp.clip(z + 3, 0, 6) / 6, (-3.0, 3.0), name="hardswish", formula="z min(max(z+3, 0), 6)/6"
    ),
    Activation(lambda z: z - jnp.clip(z, -0.5, 0.5), (-0.5, 0.5), name="softshrink", formula="z - min(max(z, -½), ½)"),
]


def registered(name: str) -> Activation:
    """The activation of that name, by which it is pickled and saved."""
    return ACTIVATIONS[name]


ACTIVATIONS: dict[str, Activation] = {
    activation.name: replace(activation, maker=(registered, (activation.name,))) for activation in _BUILT_IN
}
"""By name, as every verb takes them; `finitewidth activations` lists them with their classes and critical points."""
ACTIVATIONS["silu"] = ACTIVATIONS["swish"]
