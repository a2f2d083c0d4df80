r"""What all networks with a backward pass share: how a matrix that was asked forward answers backward, and what an output sees."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ...gaussian.inverse import generalised_inverse
from ...results.feature_law import FeatureFields


def owners(p: int, m: int) -> Int[np.ndarray, " p"]:
    """The input that each of the p outputs belongs to, those of one input side by side."""
    return np.arange(p) // (p // m)


def answered(
    known: Float[Array, "m p"],
    asked: Float[Array, "m k"],
    gram: Float[Array, "m m"],
    zeta: Float[Array, "p k"],
    c: Array | float,
) -> Float[Array, "p k"]:
    r"""$\sqrt{c/k}\,W^{\mathsf T}u$ given $\sqrt{c/k}\,W\varphi$: $\tfrac ck\varphi\Phi^-Q + \sqrt{c/k}\,P_\varphi^\perp\zeta$, with
    $Q = \langle\sqrt{c/k}W\varphi, u\rangle$ `known`."""
    k = asked.shape[1]
    along = c / k * known.T - (c / k) ** 1.5 * zeta @ asked.T
    return along @ generalised_inverse(gram)[0] @ asked + jnp.sqrt(c / k) * zeta


def at_outputs(f: Float[Array, "m k"]) -> tuple[Float[Array, "p p"], Float[Array, "m p"]]:
    r"""$G$ and $Q$ of the outputs themselves, where every backward pass begins: $\delta_{ij}$ and $f_i$, whatever the inputs."""
    m, outputs = f.shape
    return jnp.kron(jnp.ones((m, m)), jnp.eye(outputs)), jnp.tile(f, (1, m))


def own_gradients(at_layers: Float[Array, "p depth m n"]) -> Float[Array, "depth p n"]:
    """Gradients of the outputs by neurons, of which only those of an output's own input do not vanish."""
    p, _, m, _ = at_layers.shape
    return at_layers[np.arange(p), :, owners(p, m)].swapaxes(0, 1)


def gram_of_jacobian(per_output: tuple[Float[Array, "p ..."], ...]) -> Float[Array, "p p"]:
    """Products of the gradients of all outputs by all weights."""
    jacobian = jnp.concatenate([part.reshape(len(part), -1) for part in jax.tree.leaves(per_output)], axis=1)
    return jacobian @ jacobian.T


def with_outputs(
    G: Float[Array, "depth p p"], Q: Float[Array, "depth m p"], f: Float[Array, "m k"]
) -> tuple[Float[Array, "points p p"], Float[Array, "points m p"]]:
    """Those of the outputs after those of the layers."""
    last_G, last_Q = at_outputs(f)
    return jnp.concatenate([G, last_G[None]]), jnp.concatenate([Q, last_Q[None]])


def features_at(
    saved: Int[Array, " times"],
    Phi: Float[Array, "points m m"],
    G: Float[Array, "points p p"],
    Q: Float[Array, "points m p"],
    f: Float[Array, "m k"],
    NTK: Float[Array, "p p"],
) -> FeatureFields:
    """Both passes at the depths that are kept; a network whose covariances overflow anywhere has stopped."""
    return FeatureFields(Phi[saved], G[saved], Q[saved], f.reshape(-1), NTK, ~jnp.isfinite(Phi).all())
