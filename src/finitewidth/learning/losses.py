"""Loss functions known by name."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, ShapeError, UnknownNameError

Loss = Callable[[Float[Array, "N n_L"], Float[Array, "N n_L"]], Array]
"""Of outputs and targets, one sample a row, to a number."""


def squared_error(z: Float[Array, "N n_L"], y: Float[Array, "N n_L"]) -> Array:
    r"""$\mathcal L = \frac12\sum_{i,\alpha}(z_{i;\alpha}-y_{i;\alpha})^2$, PDLT (7.2): the error factor is $z - y$, PDLT (7.15)."""
    return jnp.sum((z - y) ** 2) / 2


def cross_entropy(z: Float[Array, "N n_L"], y: Float[Array, "N n_L"]) -> Array:
    r"""$\mathcal L = -\sum_{i,\alpha}y_{i;\alpha}\log\mathrm{softmax}(z_\alpha)_i$ for targets that are probabilities, PDLT (10.36);
    the error factor is $\mathrm{softmax}(z) - y$, PDLT (10.6)."""
    return -jnp.sum(y * jax.nn.log_softmax(z, axis=-1))


LOSSES: dict[str, Loss] = {"mse": squared_error, "cross_entropy": cross_entropy}
"""By name: half the squared error, and the cross-entropy of a softmax, each summed over samples."""


def as_loss(loss: str | Loss) -> Loss:
    """The loss meant by a name, or a callable of outputs and targets."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise UnknownNameError("loss", loss, LOSSES)
        return LOSSES[loss]
    if not callable(loss):
        raise ArgumentError("loss", type(loss).__name__, "a name or a function (outputs, targets) -> number")
    return loss


def checked_loss(loss: Loss, z: Array, y: Array) -> Array:
    """The value of a loss, which must be one number."""
    value = jnp.asarray(loss(z, y))
    if value.shape != ():
        raise ShapeError("loss", f"a function whose value has shape {value.shape}", "a function to one number")
    return value
