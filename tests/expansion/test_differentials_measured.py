"""P, Q, R, S, T, U against networks of three layers and an activation that is neither odd nor even: what is left falls as 1/n."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion import differential_flow

X = np.array([[1.0, 0.5], [-0.3, 0.8]])
RATES = {"C_b": (0.1, 0.2, 0.05), "C_W": (1.5, 1.3, 0.9), "lambda_b": (0.5, 0.4, 0.3), "lambda_W": (1.0, 0.8, 0.6)}
WIDTHS, NETWORKS = (8, 16, 32), (40_000, 40_000, 20_000)


def mixed(z):
    return jnp.sin(z) + 0.3 * z**2 * jnp.exp(-0.2 * z**2)


def slope(measured, theory):
    """Regression of all measured entries on theory, and its standard error at most, as if all entries erred together."""
    found, error, expected = measured.mean[-1].ravel(), measured.standard_error[-1].ravel(), theory.ravel()
    return found @ expected / (expected @ expected), np.abs(error * expected).sum() / (expected @ expected)


@pytest.mark.measured
def test_slopes_tend_to_one_as_one_over_n():
    """PDLT (11.49), (11.52), (∞.177)-(∞.181): deviations times width are the same at all widths, and vanish as it grows."""
    slopes = {name: [] for name in "PQRSTU"}
    for n, networks in zip(WIDTHS, NETWORKS, strict=True):
        net = fw.MLP(mixed, (2, n, 5 * n // 4, 2), **RATES)
        measured = fw.simulate(net, X, networks=networks, seed=n, through="ddntk")
        theory = fw.flow(net, X, through="ddntk")
        for name, found in slopes.items():
            found.append(slope(getattr(measured, name), getattr(theory, name)[-1]))
    inverse = 1 / np.array(WIDTHS)
    for name, found in slopes.items():
        values, errors = np.array(found).T
        # A line in 1/n through all three, and one more power for what the narrowest leaves.
        design = np.stack([np.ones(3), inverse], axis=1) / errors[:, None]
        line, *_ = np.linalg.lstsq(design, values / errors, rcond=None)
        at_infinity = np.sqrt(np.linalg.inv(design.T @ design)[0, 0])
        curvature = (abs(line[1]) * inverse[0]) ** 2
        assert abs(line[0] - 1) < 4 * at_infinity + curvature, name
        assert abs(values[-1] - 1) < 4 * errors[-1] + 0.5 * abs(values[0] - 1), name


@pytest.mark.measured
@pytest.mark.parametrize(("apart", "error"), [(1.0, 1e-8), (0.014, 1e-7)], ids=["at random", "nearly the same"])
def test_many_inputs_on_coarser_grids(apart, error, monkeypatch):
    """Tensors of eight inputs, whose averages over three and four samples are taken on coarser grids, against those of four of them at a
    time, which have grids for eleven digits: as right as `coarse_rule` promises. With `apart` small three inputs are alike to
    correlations of 0.9999."""
    monkeypatch.setattr(differential_flow, "_MOST_WORK", 0.0)
    x = np.random.default_rng(0).normal(size=(8, 20))
    if apart < 1:
        x[1], x[2] = x[0] + apart * x[1], x[0] + apart * x[2]
    net = fw.MLP("tanh", (20, 100, 100, 1), C_b=0.1, C_W=1.2)
    whole = fw.flow(net, x, through="ddntk")
    for four in ([0, 1, 2, 3], [4, 2, 7, 5]):
        part = fw.flow(net, x[four], through="ddntk")
        for name in "ABDFPQRSTU":
            found, exact = getattr(whole, name), getattr(part, name)
            block = found[(slice(None), *np.ix_(four, four, four, four))]
            np.testing.assert_allclose(block, exact, rtol=0, atol=error * np.abs(exact).max(), err_msg=name)
