"""The activation of a network at one width, with its slopes and scales as data where that is possible."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ...activations import Activation
from ...networks.shaped import ShapedActivation, ShapedReLU


class Neuron(eqx.Module):
    r"""$\varphi_s$ and its normalisation $c$."""

    normalisation: Float[Array, ""]

    @abstractmethod
    def value(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$\varphi_s(h)$."""

    @abstractmethod
    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$\varphi_s'(h)$."""


class KinkedNeuron(Neuron):
    """A leaky ReLU: one program for all slopes."""

    right: Float[Array, ""]
    left: Float[Array, ""]

    def value(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$s_\pm h$."""
        return self.slope(h) * h

    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$s_\pm$."""
        return jnp.where(h > 0, self.right, self.left)


class SmoothNeuron(Neuron):
    """Any other activation."""

    activation: Activation = eqx.field(static=True)

    def value(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$S\phi(h/S)$."""
        return self.activation(h)

    def slope(self, h: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""$\phi'(h/S)$."""
        return jax.jvp(self.activation, (h,), (jnp.ones_like(h),))[1]


def neuron_of(activation: ShapedActivation, width: int) -> Neuron:
    """A shaped activation at a width, refused where nothing passes."""
    usable, normalisation = activation.usable_at(width), jnp.asarray(activation.normalisation(width))
    if isinstance(activation, ShapedReLU):
        right, left = activation.slopes(width)
        return KinkedNeuron(normalisation, jnp.asarray(right), jnp.asarray(left))
    return SmoothNeuron(normalisation, usable)
