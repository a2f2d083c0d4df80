r"""Forward and backward pass of residual networks, without their matrices and with them.

$x_{\ell+1} = \lambda x_\ell + \gamma F_\ell$ with $h = W^{\rm pre}x/\sqrt n$ and $F = \sqrt{c/n_h}\,W^{\rm post}\varphi(h)$, read out by
$f = W^{\rm out}x_d/\sqrt n$. Every matrix is asked twice: forward, and backward given the answer forward, as in the chain of an MLP.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in, split
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ...gaussian.root import covariance_root
from ...results.feature_law import FeatureFields
from ..normals import standard_normals
from .neuron import Neuron
from .passes import answered, at_outputs, features_at, gram_of_jacobian, own_gradients, owners, with_outputs


class Branch(eqx.Module):
    """What a residual block is at one width."""

    neuron: Neuron
    gamma: Float[Array, ""]
    units: int = eqx.field(static=True)

    @property
    def skip(self) -> Array:
        r"""$\lambda$."""
        return jnp.sqrt(1 - self.gamma**2)


class Passed(NamedTuple):
    """What the forward pass leaves behind at every block."""

    x: Float[Array, "depth m n"]
    h: Float[Array, "depth m units"]
    F: Float[Array, "depth m n"]


def chain_residual(
    branch: Branch,
    V0: Float[Array, "m m"],
    saved: Int[Array, " times"],
    key: Key[Array, ""],
    width: int,
    depth: int,
    outputs: int,
) -> FeatureFields:
    """One network; directions are as random as its matrices, so that inputs may point anywhere."""
    m, keys = len(V0), split(key, 4)
    last, passed = _forward(branch, _stream(V0, width), keys[0], depth)
    end = last @ last.T / width
    f = covariance_root(end) @ standard_normals(keys[1], (m, outputs), V0.dtype)
    zeta = jnp.tile(standard_normals(keys[2], (outputs, width), V0.dtype), (m, 1))
    u = answered(at_outputs(f)[1], last, end, zeta, 1.0)
    G, Q, both = _backward(branch, passed, u, keys[3])
    V = jnp.concatenate([passed.x, last[None]])
    V = V @ V.swapaxes(1, 2) / width
    return features_at(saved, V, *with_outputs(G, Q, f), f, jnp.sum(both, axis=0) / (2 * depth))


def _stream(V0: Float[Array, "m m"], width: int) -> Float[Array, "m n"]:
    root = covariance_root(V0)
    return jnp.sqrt(width) * jnp.pad(root, ((0, 0), (0, width - len(V0))))


def _forward(branch: Branch, x: Float[Array, "m n"], key: Key[Array, ""], depth: int) -> tuple[Array, Passed]:
    (m, n), units, neuron = x.shape, branch.units, branch.neuron

    def block(x: Array, number: Array) -> tuple[Array, Passed]:
        z = standard_normals(fold_in(key, number), (m, units + n), x.dtype)
        h = covariance_root(x @ x.T / n) @ z[:, :units]
        phi = neuron.value(h)
        F = covariance_root(neuron.normalisation / units * phi @ phi.T) @ z[:, units:]
        return branch.skip * x + branch.gamma * F, Passed(x, h, F)

    return lax.scan(block, x, jnp.arange(depth))


def _backward(
    branch: Branch, passed: Passed, u: Float[Array, "p n"], key: Key[Array, ""]
) -> tuple[Float[Array, "depth p p"], Float[Array, "depth m p"], Float[Array, "depth p p"]]:
    r"""$G$ and $Q$ at every block's input, and what its two matrices bring to the tangent kernel, over $\gamma^2$."""
    (m, n), units, neuron = passed.x.shape[1:], branch.units, branch.neuron
    p = len(u)
    own = owners(p, m)
    pairs = own[:, None], own

    def block(u: Array, seen: tuple[Passed, Array]) -> tuple[Array, tuple[Array, Array, Array]]:
        (x, h, F), number = seen
        z = standard_normals(fold_in(key, number), (p, units + n), x.dtype)
        phi = neuron.value(h)
        Phi, V, above = neuron.normalisation / units * phi @ phi.T, x @ x.T / n, u @ u.T
        w = answered(F @ u.T, phi, Phi, covariance_root(above) @ z[:, :units], neuron.normalisation)
        a = neuron.slope(h)[own] * w
        inside = a @ a.T
        through = answered(h @ a.T, x, V, covariance_root(inside) @ z[:, units:], 1.0)
        u = branch.skip * u + branch.gamma * through
        return u, (u @ u.T, x @ u.T, Phi[pairs] * above + V[pairs] * inside)

    _, found = lax.scan(block, u, (passed, jnp.arange(len(passed.x))), reverse=True)
    return found


def dense_residual(
    branch: Branch,
    V0: Float[Array, "m m"],
    saved: Int[Array, " times"],
    key: Key[Array, ""],
    width: int,
    depth: int,
    outputs: int,
) -> FeatureFields:
    """One network with all its matrices, by automatic differentiation."""
    m, p, units, neuron = len(V0), len(V0) * outputs, branch.units, branch.neuron
    keys = split(key, 3)
    weights = tuple(
        standard_normals(k, s, V0.dtype)
        for k, s in zip(keys, ((depth, units, width), (depth, width, units)), strict=False)
    )
    out = standard_normals(keys[2], (outputs, width), V0.dtype)

    def network(weights: tuple[Array, Array], shifts: Array) -> tuple[Array, Array]:
        def block(x: Array, seen: tuple[tuple[Array, Array], Array]) -> tuple[Array, Array]:
            (pre, post), shift = seen
            x = x + shift
            phi = neuron.value(x @ pre.T / jnp.sqrt(width))
            return branch.skip * x + branch.gamma * jnp.sqrt(neuron.normalisation / units) * phi @ post.T, x

        last, x = lax.scan(block, _stream(V0, width), (weights, shifts))
        return last @ out.T / jnp.sqrt(width), jnp.concatenate([x, last[None]])

    f, back, x = jax.vjp(network, weights, jnp.zeros((depth, m, width), V0.dtype), has_aux=True)
    per_output, at_x = jax.vmap(back)(jnp.eye(p).reshape(p, m, outputs))
    u = own_gradients(at_x)
    V = x @ x.swapaxes(1, 2) / width
    G, Q = with_outputs(u @ u.swapaxes(1, 2), x[:-1] @ u.swapaxes(1, 2), f)
    NTK = gram_of_jacobian(per_output) / (2 * depth * branch.gamma**2)
    return features_at(saved, V, G, Q, f, NTK)
