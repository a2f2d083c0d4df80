"""The network itself, with all its matrices, and automatic differentiation: slow, and the measure of the chain."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.random import split
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ...gaussian.inverse import generalised_inverse
from ...gaussian.root import covariance_root
from ...results.feature_law import FeatureFields
from ..normals import standard_normals
from .neuron import Neuron
from .passes import features_at, gram_of_jacobian, own_gradients, with_outputs


def dense_features(
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
    """One network with inputs of m features, $x x^T/m$ = V0."""
    m, p, c = len(V0), len(V0) * outputs, neuron.normalisation
    x = jnp.sqrt(m) * covariance_root(V0)
    shapes = (width, m), (depth - 1, width, width), (outputs, width)
    weights = tuple(standard_normals(k, s, V0.dtype) for k, s in zip(split(key, 3), shapes, strict=True))

    def network(weights: tuple, at_h: Array, at_phi: Array) -> tuple[Array, tuple[Array, Array]]:
        """Outputs, and all layers, each of which may be shifted."""
        first, hidden, last = weights

        def layer(phi: Array, seen: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            W, shift_h, shift_phi = seen
            h = jnp.sqrt(c / width) * phi @ W.T + shift_h
            phi = neuron.value(h) + shift_phi
            return phi, (h, phi)

        h1 = x @ first.T / jnp.sqrt(m) + at_h[0]
        phi1 = neuron.value(h1) + at_phi[0]
        end, (h, phi) = lax.scan(layer, phi1, (hidden, at_h[1:], at_phi[1:]))
        return jnp.sqrt(c / width) * end @ last.T, (jnp.concatenate([h1[None], h]), jnp.concatenate([phi1[None], phi]))

    still = jnp.zeros((depth, m, width), V0.dtype)
    f, back, (h, phi) = jax.vjp(network, weights, still, still, has_aux=True)
    one = jnp.eye(p).reshape(p, m, outputs)
    per_output, at_h, at_phi = jax.vmap(back)(one)
    u, w = own_gradients(at_h), own_gradients(at_phi)
    post = c / width * phi @ phi.swapaxes(1, 2)
    Phi = jnp.concatenate([V0[None], post])
    G, Q = with_outputs(u @ u.swapaxes(1, 2), h @ u.swapaxes(1, 2), f)
    found = features_at(saved, Phi, G, Q, f, gram_of_jacobian(per_output) / (depth + 1))
    if targets is None:
        return found

    (flow, _, _) = back((rate * (targets - found.f)).reshape(m, outputs))
    flow = jax.tree.map(lambda part: part / (depth + 1), flow)
    _, moved = jax.jvp(lambda weights: network(weights, still, still), (weights,), (flow,))
    f_dot, (h_dot, phi_dot) = moved
    inverse = jax.vmap(lambda matrix: generalised_inverse(matrix)[0])(post)
    C = c / width * phi_dot @ phi.swapaxes(1, 2) @ inverse
    K = c / width * phi_dot @ phi_dot.swapaxes(1, 2) - C @ post @ C.swapaxes(1, 2)
    before = jnp.concatenate([h_dot @ u.swapaxes(1, 2), jnp.tile(f_dot, (1, m))[None]])
    after = jnp.concatenate([jnp.zeros((1, m, p)), phi_dot @ w.swapaxes(1, 2)])
    share = jnp.arange(depth + 1)[:, None, None] / depth
    S = after + share * (before - after)
    nothing = jnp.zeros((1, m, m))
    C, K = jnp.concatenate([nothing, C]), jnp.concatenate([nothing, K])
    return found._replace(S=S[saved], C=C[saved], K=K[saved], f_dot=f_dot.reshape(p))
