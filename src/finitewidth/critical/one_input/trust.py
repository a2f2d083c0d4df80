"""Whether the averages of an activation can be believed, decided before they are used."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._errors import BlowUpError, DomainError
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from ...gaussian.derivatives import sampled
from ...gaussian.line import line_rule
from .averages import averages_at
from .kinks import jumps, slope_diverges
from .sampled_averages import believable, sampled_averages

_SMALLEST = 1e-150  # kernels below are zero: the square of their inverse overflows
_AGREEMENT = 1e-6  # between two quadrature rules, beyond which neither is believed


def resolved(activation: Activation, K: Float[Array, "*K"]) -> Bool[np.ndarray, "*K"]:
    """Where the averages can be believed: the rule that serves every function agrees with one made for this one.

    It does not when the activation oscillates or bends on a scale far below one, or when it grows so fast that the Gaussian
    does not suppress it.
    """
    if isinstance(activation, ScaleInvariant):
        return np.ones(K.shape, dtype=bool)
    if isinstance(activation, ExponentialSum):
        return np.asarray(jnp.isfinite(averages_at(activation, K).v))
    kernels = np.asarray(K, dtype=float).reshape(-1)
    at = sampled_averages(activation, kernels)
    z, weights = map(np.asarray, _nodes(kernels, activation.kinks, activation.places))
    values = sampled(activation.value, z.ravel())[:2].reshape(2, *z.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        g, s = np.sum(weights * values**2, axis=-1)
        agree = (np.abs(g - at.g) <= _AGREEMENT * at.g) & (np.abs(s - at.s) <= _AGREEMENT * at.s)
    return (agree & believable(activation, kernels)).reshape(K.shape)


_nodes = compiled_in_haste(light=5000, static_argnums=(1, 2))(line_rule)


def check_resolved(activation: Activation, K: Float[Array, "*K"], argument: str) -> None:
    """`DomainError` naming `argument` where the averages of `activation` cannot be believed."""
    good = resolved(activation, K)
    if not good.all():
        raise DomainError(
            argument,
            f"a kernel of {np.asarray(K)[~good].flat[0]:.4g}, where averages of {activation.name!r} cannot be resolved",
            "kernels at which it neither oscillates nor grows too fast, and every kink declared in `kinks`",
        )


def check_layers(activation: Activation, K: Float[Array, "L *K"], others: Iterable[Array], argument: str) -> None:
    """An error that names the layer at which the kernel `K` vanishes or something overflows; then whether the averages can be
    believed between the smallest and the largest kernel."""
    kernels = np.asarray(K).reshape(len(K), -1)
    finite = np.isfinite([np.asarray(part).reshape(kernels.shape) for part in (K, *others)]).all(axis=0)
    bad = np.flatnonzero(~(finite & (kernels >= _SMALLEST)).all(axis=1))
    if len(bad):
        layer, lowest = int(bad[0]) + 1, kernels[bad[0]].min()
        if lowest < _SMALLEST:
            got = f"values at which the kernel vanishes: it is {lowest:.3g} at layer {layer}"
            raise DomainError("C_b, C_W", got, "a larger C_b or C_W, or fewer layers")
        raise BlowUpError(
            f"the kernel or what is made from it overflows at layer {layer}: choose a smaller C_W or depth"
        )
    check_resolved(activation, np.array([kernels.min(), kernels.max()]), argument)


def infinite_slope(activation: Activation) -> str | None:
    r"""Why $\chi_\perp$ is infinite at every kernel, if it is: a jump, or a slope whose square has no integral."""
    if jumps(activation):
        return "jumps"
    at = slope_diverges(activation)
    return None if at is None else f"is so steep at z = {at:.6g} that <sigma'^2> has no finite value"


def check_continuous(activation: Activation) -> None:
    r"""`DomainError` for an activation that jumps, or is as steep as $\sqrt z$ somewhere: $\chi_\perp = \infty$."""
    why = infinite_slope(activation)
    if why is not None:
        got = f"{activation.name!r}, which {why}: chi_perp is infinite for every kernel"
        raise DomainError("activation", got, "a continuous activation whose squared slope can be averaged")
