"""The activations known by name: all those of PDLT chapters 2 and 5, and a few more."""

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
]


def registered(name: str) -> Activation:
    """The activation of that name, by which it is pickled and saved."""
    return ACTIVATIONS[name]


ACTIVATIONS: dict[str, Activation] = {
    activation.name: replace(activation, maker=(registered, (activation.name,))) for activation in _BUILT_IN
}
ACTIVATIONS["silu"] = ACTIVATIONS["swish"]
