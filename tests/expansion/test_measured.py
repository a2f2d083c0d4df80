"""Theory against networks: deviations in standard errors, and the remainder falling with width."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw


def mexican(z):
    """A callable nobody has seen."""
    return z * jnp.exp(-(z**2))


CASES = {
    "tanh": ("tanh", 1.3, 0.05, (12, 8, 16, 12)),
    "gelu": ("gelu", 1.9, 0.1, (16, 12, 20, 16)),
    "relu": ("relu", 1.8, 0.05, (24, 20, 32, 24)),
    "unseen": (mexican, 3.0, 0.2, (12, 8, 16, 12)),
}


def deviations(theory, measured):
    """Deviation over standard error of V and of the mean metric, layers 2 and up, and the errors."""
    V = (measured.V.mean - theory.V)[1:], measured.V.standard_error[1:]
    G = (measured.G.mean - theory.G)[1:], measured.G.standard_error[1:]
    return V, G


@pytest.mark.measured
@pytest.mark.parametrize("case", CASES)
def test_remainder_falls_as_the_inverse_width(case):
    """PDLT (4.104), (4.105): three inputs, five layers, unequal widths, at widths s and 4 s.

    The remainder of V is O(1/n): extrapolating it away from two widths leaves no deviation beyond 4 standard errors.
    """
    activation, C_W, C_b, base = CASES[case]
    x = np.random.default_rng(11).normal(size=(3, 4))
    found = {}
    for scale, networks in ((4, 40_000), (16, 40_000)):
        net = fw.MLP(activation, (4, *(scale * n for n in base), 1), C_b=C_b, C_W=C_W)
        theory = fw.flow(net, x)
        measured = fw.simulate(net, x, networks=networks, seed=scale)
        found[scale] = deviations(theory, measured)
    for quantity in range(2):
        (small, small_error), (large, large_error) = found[4][quantity], found[16][quantity]
        power = 1 if quantity == 0 else 2  # V has a remainder of order 1/n, the mean metric one of order 1/n^2
        gain = 4.0**power
        extrapolated = (gain * large - small) / (gain - 1)
        error = np.hypot(gain * large_error, small_error) / (gain - 1)
        worst = np.abs(extrapolated / error)
        # About 4 * 21 independent numbers: the largest of that many normals is below 4 with probability 0.995.
        assert worst.max() < 4.5, (quantity, worst.max())
