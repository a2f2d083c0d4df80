"""One path of all fields: features forward, gradients backward, velocities forward again."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.random import fold_in, normal, split
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ...gaussian.root import covariance_root
from ...results.feature_law import FeatureFields
from .backward import BackwardDraws, backward, tangent_kernel
from .coefficients import Coefficients
from .forward import forward
from .velocities import VelocityDraws, velocities


class Training(eqx.Module):
    r"""Gradient flow of $\tfrac12(f - y)^2$ at rate $\eta_0/d$."""

    targets: Float[Array, " p"]
    rate: Float[Array, ""]


@compiled_in_haste(static_argnames=("steps", "outputs", "lane"))
def feature_paths(
    of: Coefficients,
    V0: Float[Array, "m m"],
    time: Float[Array, ""] | float,
    training: Training | None,
    saved: Int[Array, " times"],
    key: Key[Array, ""],
    first: Int[Array, ""] | int,
    steps: int,
    outputs: int,
    lane: int,
) -> FeatureFields:
    """Paths number `first`, `first + 1`, ..., so many as `lane`, at the steps in `saved`."""
    m, p, step = len(V0), len(V0) * outputs, jnp.asarray(time) / steps

    def path(index: Array) -> FeatureFields:
        keys = split(fold_in(key, index), 7)
        Phi, taken = forward(of, V0, normal(keys[0], (steps, m, m)), step)
        f = covariance_root(Phi[-1]) @ normal(keys[1], (m, outputs))
        draws = BackwardDraws(normal(keys[2], (steps, m * m + 1, p)), normal(keys[3], (steps, p, p)))
        back = backward(of, Phi, f, draws, taken)
        found = FeatureFields(
            Phi[saved], back.G[saved], back.Q[saved], f.reshape(p), tangent_kernel(Phi, back.G), taken[-1] == 0
        )
        if training is None:
            return found
        delta = training.rate * (training.targets - found.f)
        anew = VelocityDraws(
            *(normal(k, (steps, *s)) for k, s in zip(keys[4:], ((m * p,), (m, m), (m, m)), strict=True))
        )
        S, C, K = velocities(of, Phi, back, delta, anew, taken)
        return found._replace(S=S[saved], C=C[saved], K=K[saved], f_dot=found.NTK @ delta)

    return jax.vmap(path)(first + jnp.arange(lane))
