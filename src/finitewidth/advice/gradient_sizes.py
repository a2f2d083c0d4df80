r"""How evenly gradients $J_j = dz^{(L)}/dz^{(\ell)}_j$ are spread over neurons of a layer: $\langle|J|\rangle/\langle J^2\rangle^{1/2}$.

Given its own path, a neuron's $J_j$ is Gaussian: weights of each later layer add $\sigma'$ times a normal variable, and skips pass on
what is there. With $\chi^{(\ell)} = \sum_j\langle J_j^2\rangle$ and $Q_\ell$ the variance of $\sqrt nJ_j$ given the path,

$$Q_\ell = C_W^{(\ell+1)}\chi^{(\ell+1)}\,\sigma'(z^{(\ell)})^2 + \gamma^2Q_{\ell+1},\qquad
  \frac{\langle|J|\rangle}{\langle J^2\rangle^{1/2}} = \sqrt{\tfrac2\pi}\,\frac{\langle Q^{1/2}\rangle}{\langle Q\rangle^{1/2}},$$

which without skips is $\langle|\sigma'|\rangle/\langle\sigma'^2\rangle^{1/2}$ of one layer.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..networks import ResidualMLP

_PATHS = 8192  # drawn: the average is within half a per cent


def evenness(
    net: ResidualMLP, K: Float[np.ndarray, " L"], chain: Float[np.ndarray, " L"]
) -> Float[np.ndarray, " hidden"]:
    r"""$\langle Q^{1/2}\rangle/\langle Q\rangle^{1/2}$ of every hidden layer, for one kernel by layer and $\chi$ = `chain`; an average over
    paths that are drawn, the same ones each time."""
    skip, C_W = np.asarray(net.layers.skip, dtype=float), np.asarray(net.C_W, dtype=float)
    fresh = np.random.default_rng(0).standard_normal((net.depth - 1, _PATHS // 2))
    fresh = np.concatenate([fresh, -fresh], axis=1)
    z = np.zeros_like(fresh)
    for layer in range(net.depth - 1):
        carried = skip[layer] * z[layer - 1] if layer else 0.0
        new = K[layer] - (skip[layer] ** 2 * K[layer - 1] if layer else 0.0)
        z[layer] = carried + np.sqrt(max(new, 0.0)) * fresh[layer]
    slopes = np.asarray(net.activation.derivative(1)(jnp.asarray(z)))
    found, Q = np.zeros(net.depth - 1), np.zeros(_PATHS)
    for layer in reversed(range(net.depth - 1)):
        Q = C_W[layer + 1] * chain[layer + 1] * slopes[layer] ** 2 + skip[layer + 1] ** 2 * Q
        found[layer] = np.mean(np.sqrt(Q)) / np.sqrt(np.mean(Q))
    return found
