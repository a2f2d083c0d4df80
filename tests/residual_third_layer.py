r"""The mean tangent kernel of a residual network's third layer to order $1/n$, by conditioning on the second: no Stein, no recursion.

Neurons of layer 1 are independent, of covariance $K$. Given them, $z^{(2)}_i = w + \gamma z_i$ with $w \sim N(0, \hat G)$ and, given $w$
too, weights are Gaussian with means $\frac{C_W}n\sigma_j\hat G^{-1}w$: so everything is an explicit function of averages over neurons,
expanded by differences.
"""

import numpy as np

_NODES, _STEP = 18, 2e-3


def _gauss(covariance):
    """Nodes (m, 2) and weights of a pair of Gaussian variables."""
    u, w = np.polynomial.hermite_e.hermegauss(_NODES)
    w = w / w.sum()
    grid = np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1).reshape(-1, 2)
    return grid @ np.linalg.cholesky(covariance).T, np.outer(w, w).ravel()


def corrections(sigma, slope, K, theta, gamma, C_b, C_W, lambda_b, lambda_W):
    r"""$(G^{\{1\}}_{12}, H^{\{1\}}_{12})$ of layer 3, from the first layer's kernel and $\Theta_{12}$, with settings of layers 2 and 3."""
    z, weights = _gauss(K)
    s, d = sigma(z), slope(z)
    own = np.stack([s[:, 0] ** 2, s[:, 0] * s[:, 1], s[:, 1] ** 2, d[:, 0] * d[:, 1]])  # of each neuron
    mean = own @ weights
    covariance = (own * weights) @ own.T - np.outer(mean, mean)

    def given(averages):
        """Averages over w, by neuron (first axis): of sigma sigma, and of slopes times the shared part of H."""
        G = C_b[0] + C_W[0] * averages[[[0, 1], [1, 2]]]
        w, rule = _gauss(G)
        z2 = w[None] + gamma * z[:, None]
        f, p = sigma(z2).prod(axis=-1), slope(z2).prod(axis=-1)
        shared = lambda_b[0] + lambda_W[0] * averages[1] + theta * (C_W[0] * averages[3] + gamma**2)
        return np.stack([f @ rule, p @ rule * shared]), (p, w, rule, np.linalg.inv(G))

    p, w, rule, inverse = given(mean)[1]
    steps = _STEP * np.eye(4)
    up, down = (np.stack([given(mean + sign * step)[0] for step in steps]) for sign in (1, -1))
    change = np.einsum("akz,az,z->k", (up - down) / (2 * _STEP), own - mean[:, None], weights)
    for a in range(4):
        for b in range(4):
            corners = [
                sign * other * (given(mean + sign * steps[a] + other * steps[b])[0] @ weights)
                for sign in (1, -1)
                for other in (1, -1)
            ]
            change = change + sum(corners) / (4 * _STEP**2) * covariance[a, b] / 2
    seen = w @ inverse
    Q = np.einsum("za,zb,z->ab", s, s, weights * own[3])
    twice = np.einsum("wa,ab,wb->w", seen, Q, seen) - np.trace(inverse @ Q)
    once = np.einsum("za,wa->zw", s, seen) * d.sum(axis=1)[:, None]
    own_weights = weights @ (p * (C_W[0] ** 2 * twice + gamma * C_W[0] * once)) @ rule
    return C_W[1] * change[0], lambda_W[1] * change[0] + C_W[1] * (change[1] + theta * own_weights)
