r"""What one instant of training does to features, forward in depth along given paths of $\Phi$, $G$, $Q$ (lecture 19, every dot filled in).

With $\mathcal E = (S - CQ)\,G^{-1}$ and all zero at depth zero,

$$\begin{aligned}
dS^{\alpha\beta} &= \tfrac1T\sum_\mu\Phi^{\alpha\mu}\delta^\mu G^{\mu\beta}dt
  + \sum_\gamma\mathcal E^{\alpha\gamma}G^{\gamma\beta}\mathsf e^{\gamma;\alpha\beta}dt
  + \sum_\gamma C^{\alpha\gamma}d^-\Xi^{\gamma;\alpha\beta} + dN_S^{\alpha\beta},\\
dC &= [\mathcal EQ^{\mathsf T} + \mathcal T]\,\Phi^{-1}dt + dN_C,\qquad
dK = \bigl[\mathcal EG\mathcal E^{\mathsf T} + (\mathsf g - r_\Phi - r_G)\circ K + \mathcal L\bigr]dt + dN_K,
\end{aligned}$$

$\mathcal T^{\alpha\beta} = \sum_\gamma C^{\alpha\gamma}\mathsf t^{\alpha\gamma\beta}$,
$\mathcal L^{\alpha\beta} = \sum_{\gamma\delta}C^{\alpha\gamma}C^{\beta\delta}\lambda^{\alpha\gamma,\beta\delta}$,
$d\langle N_S\rangle = K^{\alpha\alpha'}G^{\beta\beta'}\varepsilon\,dt$, $d\langle N_C\rangle = K\otimes\Phi^{-1}dt$ and
$d\langle N_K\rangle = \Sigma_{\rm lin}(K)\,dt$. The increments
$\Xi^{\gamma;\alpha\beta} = \omega^{(\alpha\gamma),\beta} - \omega^{(\beta\gamma),\beta}$ are those of the backward pass: $C$ depends on
them, so that they must not be drawn anew.

A step conditions one layer of width $1/\Delta$ on both its passes. The vectors $D^\alpha w^b$ have the Gram matrix
$J = k\,W + \Delta\,P\Phi^{-1}P$ of the backward pass, $\langle\dot h^\alpha, u^b\rangle = S^{\alpha b}$ is known, and
$\langle\dot h^\alpha, D^\alpha w^b\rangle$ follows: beside what lies along $h$, its mean is $(S - CQ)\,G^-H_\alpha$, $H_\alpha$ the rows of
$J$ that belong to $u$, and its noise what $J$ leaves beyond $u$; $S^{\alpha\alpha}$ itself is only passed on. At the end, where $G$ has
rank one, this is a Brownian bridge that ends in the sum rule $S_T^{\alpha\beta} = \dot f^\alpha$. Gradients of odd activations part so
slowly there that $\mathcal E$ grows as $(T - t)^{-3/2}$: what $\mathcal E$ brings to $S$ must be what it brings to $CQ$, step by step, or
velocities explode.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from ..._arrays import Array, diagonal
from ...gaussian.inverse import generalised_inverse, regression
from ...gaussian.root import covariance_root, pivoted_root
from .backward import Backward, input_of
from .coefficients import Coefficients
from .noise import shaken

_ROUNDING = 1e-12  # of a variance, below which nothing is left


class Velocities(NamedTuple):
    """Paths on the whole grid."""

    S: Float[Array, "points m p"]
    C: Float[Array, "points m m"]
    K: Float[Array, "points m m"]


class VelocityDraws(NamedTuple):
    """Standard normals of every step."""

    S: Float[Array, "steps mp"]
    C: Float[Array, "steps m m"]
    K: Float[Array, "steps m m"]


def velocities(
    of: Coefficients,
    Phi: Float[Array, "points m m"],
    back: Backward,
    delta: Float[Array, " p"],
    drawn: VelocityDraws,
    steps: Float[Array, " steps"],
) -> Velocities:
    r"""With $\delta = -\eta_0\,\partial_f\ell$ for each backward index."""
    m, p = back.Q.shape[1:]
    own = input_of(m, p)
    to_own, itself = own * p + np.arange(p), own == np.arange(m)[:, None]
    kicks = jnp.einsum("kam,km,kmb->kab", Phi[:, :, own], jnp.broadcast_to(delta, (len(Phi), p)), back.G)
    kicks = kicks / (2 * (len(Phi) - 1))  # halves: one before and one after each step

    def advance(state: Velocities, layer: tuple) -> tuple[Velocities, Velocities]:
        S, C, K = state
        Phi, above, Q, Q_above, (omega, W), before, after, z, step = layer
        Phi_inverse, features = generalised_inverse(above)
        kernel = of.bends.slope_kernel(Phi, step)
        P = Q_above[None] + omega
        J = kernel[:, None, :, None] * W[None, :, None, :] + step * jnp.einsum("agb,gh,chd->abcd", P, Phi_inverse, P)
        on_gradients = regression(J.reshape(m * p, m * p), to_own)

        S = S + before
        beyond = S - C @ Q
        E = beyond @ on_gradients.inverse
        along = jnp.einsum("ag,agb->ab", C, P)
        across = jnp.einsum("ag,gab->ab", beyond, on_gradients.coefficients.reshape(p, m, p))
        anew = _left_over(on_gradients.left, diagonal(J.reshape(m * p, m * p)), K, z.S)
        new_S = jnp.where(itself, S, across + along + anew) + after

        M = of.bends.moments(Phi)
        T = jnp.einsum("ac,acb->ab", C, of.bends.value_drift(M, Phi))
        N_C = jnp.sqrt(step) * covariance_root(K) @ z.C @ covariance_root(Phi_inverse).T
        new_C = C + step * (E @ Q.T + T) @ Phi_inverse + N_C
        L = jnp.einsum("ac,bd,acbd->ab", C, C, of.bends.value_covariance(M))
        kept = jnp.exp(-step * (features + on_gradients.rank)) * kernel * shaken(K, z.K, step)
        new_K = kept + step * (beyond @ E.T + L)
        new = Velocities(new_S, new_C, (new_K + new_K.T) / 2)
        return new, new

    zero = Velocities(jnp.zeros((m, p)), jnp.zeros((m, m)), jnp.zeros((m, m)))
    layers = (Phi[:-1], Phi[1:], back.Q[:-1], back.Q[1:], back.layers, kicks[:-1], kicks[1:], drawn, steps)
    _, found = lax.scan(advance, zero, layers)
    return Velocities(*(jnp.concatenate([first[None], rest]) for first, rest in zip(zero, found, strict=True)))


def _left_over(
    left: Float[Array, "mp mp"], variances: Float[Array, " mp"], K: Float[Array, "m m"], z: Float[Array, " mp"]
) -> Float[Array, "m p"]:
    r"""$N_S$: velocities orthogonal to features, seen by $D^\alpha w^b$ beyond the $u$ to which they are orthogonal as well. Its covariance
    is $K^{\alpha\alpha'}(J - H^{\mathsf T}G^-H)$."""
    m = len(K)
    p = len(z) // m
    flat = (K[:, None, :, None] * left.reshape(m, p, m, p)).reshape(m * p, m * p)
    there_is = diagonal(left) > _ROUNDING * variances
    root = pivoted_root(jnp.where(there_is[:, None] & there_is, flat, 0.0))
    return (root @ z).reshape(m, p)
