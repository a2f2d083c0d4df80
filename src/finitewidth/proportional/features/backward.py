r"""Backward kernels along a path of the covariance: $G$, $Q$, and the field $\omega$ that generates $Q$ and what features feel of it.

One step is one layer of width $1/\Delta$. With $w$ the gradients at the post-activations,
$\omega^{(\alpha\gamma),b} = \langle D^\alpha h^\gamma - \varphi^\gamma, w^b\rangle$ has mean
$\Delta\sum_\delta\mathsf t^{\alpha\gamma\delta}(\Phi^{-1}Q)^{\delta b}$ and covariance $\Delta\,\lambda\otimes G$, and
$Q_k^{\alpha b} = Q_{k+1}^{\alpha b} + \omega^{(\beta\alpha),b}$, where $\beta$ is the input of $b$. The vectors $D^\alpha w^b$ meet
features in $P^{\alpha b} = Q_{k+1}^{\cdot b} + \omega^{(\alpha\cdot),b}$, and their Gram matrix is
$k^{\alpha\beta}\,W^{bb'} + \kappa\Delta\,P^{\alpha b}\Phi^{-1}P^{\beta b'}$ with the kernel $k$ of the slopes and $W$ the noisy $G$.
Gradients of different inputs part by no more than their $Q$ if the activation is odd, so that it is the new $Q$ which must stand there.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from ..._arrays import Array
from ...gaussian.inverse import generalised_inverse
from .coefficients import Coefficients
from .noise import shaken


class Layers(NamedTuple):
    """What the backward pass leaves behind, step by step in forward order, for velocities to meet again."""

    omega: Float[Array, "steps m m p"]
    W: Float[Array, "steps p p"]


class Backward(NamedTuple):
    """A path of the backward kernels on the whole grid."""

    G: Float[Array, "points p p"]
    Q: Float[Array, "points m p"]
    layers: Layers


class BackwardDraws(NamedTuple):
    """Standard normals of every step."""

    bends: Float[Array, "steps bent p"]
    values: Float[Array, "steps p p"]


def input_of(inputs: int, directions: int) -> np.ndarray:
    """The input of each backward index, outputs of one input side by side."""
    return np.arange(directions) // (directions // inputs)


def backward(
    of: Coefficients,
    Phi: Float[Array, "points m m"],
    f: Float[Array, "m k"],
    drawn: BackwardDraws,
    steps: Float[Array, " steps"],
) -> Backward:
    r"""From $G_T = \mathbf 1\mathbf 1^{\mathsf T}\otimes I$ and $Q_T = f$ to depth zero, given the covariance at every depth."""
    m, outputs = f.shape
    last = jnp.kron(jnp.ones((m, m)), jnp.eye(outputs)), jnp.tile(f, (1, m))
    own = input_of(m, m * outputs)
    every = np.arange(m * outputs)

    def advance(state: tuple[Array, Array], layer: tuple[Array, Array, BackwardDraws, Array]) -> tuple[tuple, tuple]:
        G, Q = state
        Phi, above, z, step = layer
        inverse, rank = generalised_inverse(above)
        solved = inverse @ Q
        t = of.bends.value_drift(of.bends.moments(Phi), Phi)
        mean = of.weight * step * jnp.einsum("acd,dp->acp", t, solved)
        bent = of.bends.against_values(of.bends.draw(z.bends, Phi, G))
        omega = mean + jnp.sqrt(of.weight * step) * bent
        W = jnp.exp(-of.noise * rank * step) * shaken(G, z.values, of.noise * step)
        kernel = of.bends.slope_kernel(Phi, of.weight * step)[own[:, None], own]
        Q = Q + omega[own, :, every].T
        G = kernel * W + of.noise * step * Q.T @ inverse @ Q
        return ((G + G.T) / 2, Q), (G, Q, Layers(omega, W))

    _, (G, Q, layers) = lax.scan(advance, last, (Phi[:-1], Phi[1:], drawn, steps), reverse=True)
    return Backward(jnp.concatenate([G, last[0][None]]), jnp.concatenate([Q, last[1][None]]), layers)


def tangent_kernel(Phi: Float[Array, "points m m"], G: Float[Array, "points p p"]) -> Float[Array, "p p"]:
    r"""$\overline\Theta = \tfrac1T\int_0^TG_t\circ\Phi_t\,dt$ by the trapezoid rule."""
    own = input_of(Phi.shape[1], G.shape[1])
    product = Phi[:, own[:, None], own] * G
    return (jnp.sum(product, axis=0) - (product[0] + product[-1]) / 2) / (len(Phi) - 1)
