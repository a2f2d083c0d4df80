r"""What becomes of two opposite tokens under shaped attention with H heads: networks of finite width, their matrices written out, and the
closed form of the limit. Nothing here uses the library.

In the limit their $v = V^{11}$ obeys

$$dv = \frac{\gamma^2}{\tau_0^2}v^3dt + \sqrt{2\gamma^2(2-\gamma^2)}\,v\,dB + \frac{2\gamma^2}{\tau_0\sqrt H}v^2dB',$$

whose scale function has the density $s(u) = \big(1 + \frac{2\gamma^2u^2}{H(2-\gamma^2)\tau_0^2}\big)^{-H/4\gamma^2}$. It can be
integrated to infinity, and paths explode, if and only if $\gamma^2 < H/2$.
"""

import math

import numpy as np
import pytest
from scipy import integrate


def scale(low, high, heads, gamma2, tau0=1.0):
    """The integral of s from low to high."""
    curvature = 2 * gamma2 / (heads * (2 - gamma2) * tau0**2)
    return integrate.quad(lambda u: (1 + curvature * u * u) ** (-heads / (4 * gamma2)), low, high)[0]


def ever(heads, gamma2, start=1.0):
    """How often a path explodes at last, from the scale function; else it falls to zero."""
    return scale(0, start, heads, gamma2) / scale(0, math.inf, heads, gamma2) if 2 * gamma2 < heads else 0.0


def layer(x, heads, gamma, tau0, keys, random):
    """One layer of shaped attention for many networks, x at [network, token, channel]: every matrix drawn, every softmax taken."""
    networks, tokens, n = x.shape
    new = []
    for _ in range(heads):
        queries, keyed = (x @ (random.standard_normal((networks, n, keys)) / math.sqrt(n)) for _ in range(2))
        logits = queries @ keyed.swapaxes(1, 2) / (tau0 * math.sqrt(n * keys))
        softmax = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
        values = x @ (random.standard_normal((networks, n, n // heads)) / math.sqrt(n))
        new.append((np.eye(tokens) + softmax - 1 / tokens) @ values)
    return math.sqrt(1 - gamma**2) * x + gamma * np.concatenate(new, axis=2)


@pytest.mark.parametrize(("heads", "gamma2", "tau0", "v"), [(1, 0.8, 1.0, 1.5), (4, 0.8, 1.0, 1.5), (1, 0.3, 0.5, 1.0)])
def test_one_layer_of_attention_has_the_noise_of_its_heads(heads, gamma2, tau0, v):
    r"""Variance of $v$, times $n$: $2\gamma^2(2-\gamma^2)v^2 + \frac{4\gamma^4}{H\tau_0^2}v^4$; mean: $\gamma^2v^3/\tau_0^2$."""
    n, networks, random = 64, 1500, np.random.default_rng(0)
    x = random.standard_normal((networks, 1, n))
    x *= math.sqrt(n * v) / np.linalg.norm(x, axis=2, keepdims=True)
    moved = (layer(np.concatenate([x, -x], axis=1), heads, math.sqrt(gamma2), tau0, 4, random)[:, 0] ** 2).mean(
        axis=1
    ) - v
    noise = 2 * gamma2 * (2 - gamma2) * v**2 + 4 * gamma2**2 * v**4 / (heads * tau0**2)
    squares = n * (moved - moved.mean()) ** 2
    # what 1/n leaves out, and queries and keys of four channels, change the variance by some per cent
    assert squares.mean() == pytest.approx(noise, abs=4 * squares.std() / math.sqrt(networks) + 0.05 * noise)
    assert n * moved.mean() == pytest.approx(gamma2 * v**3 / tau0**2, abs=4 * n * moved.std() / math.sqrt(networks))


def reached(width, heads, gamma2, low, high, networks, depth=None):
    """The fraction of networks whose v, one at first, comes to `high` before it falls to `low`, within a depth if one is given.

    Exact in law but for Gaussian logits, those of many keys: the channels of a head see a Gaussian, so that only its norm counts.
    """
    random = np.random.default_rng(1)
    norms, found, layers = np.full((networks, heads), 1 / heads), 0, 0
    while len(norms) and layers != depth:
        v = norms.sum(axis=1, keepdims=True)
        branch = math.sqrt(gamma2) * (1 + np.tanh(v * random.standard_normal(norms.shape) / math.sqrt(width)))
        along = np.sqrt((1 - gamma2) * norms) + branch * np.sqrt(v / width) * random.standard_normal(norms.shape)
        norms = along**2 + branch**2 * v / width * random.chisquare(width / heads - 1, norms.shape)
        v, layers = norms.sum(axis=1), layers + 1
        found += np.sum(v >= high)
        norms = norms[(low < v) & (v < high)]
    return found / networks


@pytest.mark.parametrize(("heads", "gamma2"), [(1, 0.3), (1, 0.8), (2, 0.8), (4, 0.8)])
def test_networks_come_as_high_as_the_scale_function_says(heads, gamma2):
    """For gamma^2 on both sides of H/2, at width 1024. A walk in steps goes 0.5826 of a step beyond a barrier."""
    low, high, width, networks = 0.25, 8.0, 1024, 2000
    found = reached(width, heads, gamma2, low, high, networks)
    steps = [
        0.5826 * math.sqrt((2 * gamma2 * (2 - gamma2) + 4 * gamma2**2 * v**2 / heads) / width) for v in (low, high)
    ]
    bottom, top = low * math.exp(-steps[0]), high * math.exp(steps[1])
    expected = scale(bottom, 1, heads, gamma2) / scale(bottom, top, heads, gamma2)
    assert abs(found - expected) < 4 * math.sqrt(expected * (1 - expected) / networks)
    one_head = scale(bottom, 1, 1, gamma2) / scale(bottom, top, 1, gamma2)
    assert heads == 1 or abs(found - one_head) > 6 * math.sqrt(one_head / networks)


def test_the_limit_of_attention_explodes_below_half_the_number_of_heads():
    r"""With two heads or more for every $\gamma < 1$; and as $\gamma \to 0$ as often as $\mathrm{erf}(v/2\tau_0)$, whatever the heads."""
    for heads, gamma2, explodes in (
        (1, 0.49, True),
        (1, 0.51, False),
        (2, 0.99, True),
        (3, 1.0, True),
        (2, 1.0, False),
    ):
        tail = [scale(10.0**k, 10.0 ** (k + 1), heads, gamma2) for k in (5, 6, 7)]
        assert (tail[2] < tail[1] < tail[0]) == explodes
    for heads in (1, 8):
        assert ever(heads, 1e-6) == pytest.approx(math.erf(0.5), abs=1e-5)
    assert ever(1, 0.3) == pytest.approx(0.2591, abs=5e-5)
    assert ever(4, 0.8) == pytest.approx(0.4270, abs=5e-5)


def test_a_smaller_branch_delays_an_explosion_and_does_not_prevent_it():
    """By depth over width one fewer and fewer of the networks have come to eight times their size; at last they would be more and more."""
    networks, weights = 2000, (0.2, 0.1, 0.05)
    by_then = np.array([reached(256, 1, gamma2, 0.0, 8.0, networks, depth=256) for gamma2 in weights])
    assert (-np.diff(by_then) > 4 * np.sqrt(by_then[:-1] / networks)).all()
    np.testing.assert_allclose(by_then, [0.104, 0.025, 0.002], atol=6e-4)  # as on the page
    assert [round(ever(1, gamma2), 2) for gamma2 in weights] == [0.36, 0.45, 0.49]
