r"""Forward pass, backward pass and velocities of a network without its matrices, exact in law at every width.

A Gaussian matrix $W_\ell$ is asked three times: for $W\varphi$, for $W^{\mathsf T}u$, and for $W\dot\varphi$. Given the answers so
far the next is Gaussian:

$$\begin{aligned}
h_{\ell+1} &\sim N(0, \Phi_\ell\otimes I_n),\\
w_\ell &= \tfrac cn\varphi_\ell\Phi_\ell^{-1}Q_{\ell+1} + \sqrt{c/n}\,P^\perp_{\varphi_\ell}\zeta,\qquad
  \zeta \sim N(0, G_{\ell+1}\otimes I_n),\qquad u_\ell = D_\ell w_\ell,\\
\dot h_{\ell+1} &= C_\ell h_{\ell+1} + (S_{\ell+1} - C_\ell Q_{\ell+1})\,G_{\ell+1}^{-1}u_{\ell+1} + P^\perp_{u_{\ell+1}}\xi,\qquad
  \xi \sim N(0, K_\ell\otimes I_n).
\end{aligned}$$

$O(nm^2)$ a layer, where matrices would cost $O(n^2m)$.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.random import fold_in, split
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ...gaussian.inverse import generalised_inverse
from ...gaussian.root import covariance_root
from ...results.feature_law import FeatureFields
from ..normals import standard_normals
from .neuron import Neuron
from .passes import answered, at_outputs, features_at, owners, with_outputs


class Forward(NamedTuple):
    """What the forward pass leaves behind."""

    h: Float[Array, "depth m n"]
    Phi: Float[Array, "points m m"]


class Backward(NamedTuple):
    """What the backward pass leaves behind; `G[l]` and `Q[l]` are those of layer l + 1."""

    w: Float[Array, "depth p n"]
    G: Float[Array, "points p p"]
    Q: Float[Array, "points m p"]


def chain_features(
    neuron: Neuron,
    V0: Float[Array, "m m"],
    targets: Float[Array, " p"] | None,
    rate: Array | float,
    saved: Int[Array, " times"],
    key: Key[Array, ""],
    width: int,
    depth: int,
    outputs: int,
) -> FeatureFields:
    """One network."""
    m, p = len(V0), len(V0) * outputs
    keys = split(key, 4)
    ahead = forward(neuron, V0, keys[0], width, depth)
    f = covariance_root(ahead.Phi[-1]) @ standard_normals(keys[1], (m, outputs), V0.dtype)
    back = backward(neuron, ahead, f, keys[2])
    own = owners(p, m)
    NTK = jnp.sum(ahead.Phi[:, own[:, None], own] * back.G, axis=0) / (depth + 1)
    found = features_at(saved, ahead.Phi, back.G, back.Q, f, NTK)
    if targets is None:
        return found
    delta = rate * (targets - found.f)
    S, C, K, f_dot = velocities(neuron, ahead, back, delta, keys[3])
    return found._replace(S=S[saved], C=C[saved], K=K[saved], f_dot=f_dot)


def forward(neuron: Neuron, V0: Float[Array, "m m"], key: Key[Array, ""], width: int, depth: int) -> Forward:
    """Layer by layer through the covariance."""

    def layer(Phi: Array, number: Array) -> tuple[Array, tuple[Array, Array]]:
        h = covariance_root(Phi) @ standard_normals(fold_in(key, number), (len(V0), width), V0.dtype)
        phi = neuron.value(h)
        Phi = neuron.normalisation / width * phi @ phi.T
        return Phi, (h, Phi)

    _, (h, Phi) = lax.scan(layer, V0, jnp.arange(depth))
    return Forward(h, jnp.concatenate([V0[None], Phi]))


def backward(neuron: Neuron, ahead: Forward, f: Float[Array, "m k"], key: Key[Array, ""]) -> Backward:
    """Given the whole forward pass and the outputs."""
    depth, m, n = ahead.h.shape
    own = owners(f.size, m)

    def layer(state: tuple[Array, Array], seen: tuple[Array, Array, Array]) -> tuple[tuple, tuple]:
        G, Q = state
        h, Phi, number = seen
        zeta = covariance_root(G) @ standard_normals(fold_in(key, number), (len(G), n), G.dtype)
        w = answered(Q, neuron.value(h), Phi, zeta, neuron.normalisation)
        u = neuron.slope(h)[own] * w
        G, Q = u @ u.T, h @ u.T
        return (G, Q), (w, G, Q)

    layers = ahead.h, ahead.Phi[1:], jnp.arange(depth)
    _, (w, G, Q) = lax.scan(layer, at_outputs(f), layers, reverse=True)
    return Backward(w, *with_outputs(G, Q, f))


def velocities(
    neuron: Neuron, ahead: Forward, back: Backward, delta: Float[Array, " p"], key: Key[Array, ""]
) -> tuple[Array, Array, Array, Array]:
    r"""$S$, $C$, $K$ by depth and $\dot f$ under gradient flow at rate $\eta_0/(d + 1)$, given both passes.

    $S$ at depth $\ell$ counts the share $\ell/d$ of what $W_\ell$ brings: it grows from 0 to $\dot f$ as depth does from 0 to $d$."""
    depth, m, n = ahead.h.shape
    p, c = len(delta), neuron.normalisation
    own = owners(p, m)
    kicks = jnp.einsum("lam,m,lmb->lab", ahead.Phi[:, :, own], delta, back.G) / (depth + 1)

    def layer(state: tuple[Array, Array, Array], seen: tuple[Array, ...]) -> tuple[tuple, tuple]:
        S, C, K = state
        h, w, Phi, G, Q, kick, number = seen
        phi, D = neuron.value(h), neuron.slope(h)
        u = D[own] * w
        inverse, _ = generalised_inverse(G)
        xi = covariance_root(K) @ standard_normals(fold_in(key, number), (m, n), K.dtype)
        along = S + kick - C @ Q - xi @ u.T
        moved = D * (C @ h + along @ inverse @ u + xi)
        C = c / n * moved @ phi.T @ generalised_inverse(Phi)[0]
        K = c / n * moved @ moved.T - C @ Phi @ C.T
        S = moved @ w.T
        return (S, C, (K + K.T) / 2), (S, C, (K + K.T) / 2)

    zero = jnp.zeros((m, p)), jnp.zeros((m, m)), jnp.zeros((m, m))
    layers = ahead.h, back.w, ahead.Phi[1:], back.G[:-1], back.Q[:-1], kicks[:-1], jnp.arange(depth)
    (last, _, _), found = lax.scan(layer, zero, layers)
    S, C, K = (jnp.concatenate([first[None], rest]) for first, rest in zip(zero, found, strict=True))
    share = jnp.arange(depth + 1)[:, None, None] / depth
    return S + share * kicks, C, K, (last + kicks[-1])[own, np.arange(p)]
