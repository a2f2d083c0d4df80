"""The vertex of residual networks as printed, against networks: nothing here uses the library."""

import numpy as np

GAMMA = 0.5**0.5


def vertex_of_networks(n, layers, networks, random):
    """n Cov(z_i^2, z_j^2), i and j different, in ReLU networks with C_W = 1, gamma^2 = 1/2, K = 1; and its standard error."""
    z = random.standard_normal((networks, n))
    for _ in range(layers - 1):
        metric = np.mean(np.maximum(z, 0) ** 2, axis=1, keepdims=True)
        seen = metric + GAMMA**2 * z**2 - 1  # the mean of the next z^2 given this layer, about its limit
        z = np.sqrt(metric) * random.standard_normal((networks, n)) + GAMMA * z
    total = seen.sum(axis=1)
    products = (total**2 - (seen**2).sum(axis=1)) / (n * (n - 1))
    return n * (products.mean() - seen.mean() ** 2), n * products.std() / networks**0.5


def test_residual_vertex_keeps_a_tower_of_cumulants():
    """PDLT (B.24)-(B.26): V' = 9/4 + V for ReLU at gamma^2 = 1/2, so 4.5 in layer 3; networks have 5.48."""
    random = np.random.default_rng(5)
    (narrow, its_error), (wide, error) = (vertex_of_networks(n, 3, 60_000, random) for n in (64, 128))
    extrapolated, error = 2 * wide - narrow, np.hypot(2 * error, its_error)
    printed = 2 * (1.5 - 0.25 + 4 * 0.5 * 0.5)
    # Layers 1 and 2 also act together: 2 C_W^2 [c(gamma) - 2 gamma^2 g'^2], c = Cov(relu^2, relu^2), g' = 1/2.
    psi = np.arccos(GAMMA)
    c = (3 * np.sin(psi) * GAMMA + (np.pi - psi) * (1 + 2 * GAMMA**2)) / (2 * np.pi) - 0.25
    complete = printed + 2 * (c - 2 * GAMMA**2 / 4)
    assert complete - 5.4775 < 5e-5
    assert abs(extrapolated - complete) < 4 * error
    assert abs(extrapolated - printed) > 6 * error


def test_linear_networks_have_no_tower():
    """sigma^2 = z^2: the printed recursion is exact at leading order, V = 2(1 - gamma^4)(l - 1)."""
    n, random = 64, np.random.default_rng(6)
    z = random.standard_normal((40_000, n))
    C_W = 1 - GAMMA**2
    metric = C_W * np.mean(z**2, axis=1, keepdims=True)
    seen = metric + GAMMA**2 * z**2 - 1
    total = seen.sum(axis=1)
    products = (total**2 - (seen**2).sum(axis=1)) / (n * (n - 1))
    assert abs(n * products.mean() - 2 * (1 - GAMMA**4)) < 4.5 * n * products.std() / 200
