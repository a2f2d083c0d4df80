"""Tangent kernels of scale-invariant networks at finite width, exactly."""

import numpy as np
import pytest

from finitewidth._errors import ArgumentError, BlowUpError
from finitewidth.activations import scale_invariant
from finitewidth.exact.scale_invariant import scale_invariant_flow
from finitewidth.exact.tangent import exact_tangent_flow
from finitewidth.expansion import flow
from finitewidth.networks import MLP

FIELDS = ("V", "D", "F", "B", "A")
RATES = dict(C_b=(0.3, 0.1, 0.2, 0.05), lambda_b=(0.5, 0.7, 0.2, 0.9), lambda_W=(1.1, 0.6, 1.4, 0.8))
RELU = MLP("relu", (3, 8, 6, 9, 1), C_W=(1.3, 2.2, 1.8, 1.9), **RATES)
X = np.full((1, 3), np.sqrt(0.55))


def test_values_of_layer_four():
    """PDLT (9.45)-(9.48) without the expansion in 1/n: widths 3-8-6-9, where 1e6 networks agree within their errors."""
    exact = exact_tangent_flow(RELU, X)
    np.testing.assert_allclose(exact.Theta[-1, 0], 4.3150, atol=5e-5)
    values = [getattr(exact, name)[-1, 0] for name in FIELDS]
    np.testing.assert_allclose(values, [34.806, 46.05, 25.27, 44.08, 82.94], atol=5e-3)


def real_networks(net, x, networks, seed):
    """Outputs and tangent kernels of real networks, two outputs each, by the forward equation PDLT (8.12)."""
    random = np.random.default_rng(seed)
    C_b, C_W, lambda_b, lambda_W = (np.asarray(getattr(net, n)) for n in ("C_b", "C_W", "lambda_b", "lambda_W"))
    slopes = net.activation.a_plus, net.activation.a_minus
    signal, H = np.broadcast_to(x, (networks, len(x))), None
    for layer, (fan_in, width) in enumerate(zip(net.widths, net.widths[1:], strict=False)):
        W = random.standard_normal((networks, width, fan_in)) * np.sqrt(C_W[layer] / fan_in)
        added = lambda_b[layer] + lambda_W[layer] * (signal**2).mean(axis=1)
        if H is not None:
            J = W * slope[:, None]
            H = J @ H @ J.swapaxes(1, 2)
        H = (0 if H is None else H) + added[:, None, None] * np.eye(width)
        z = np.einsum("nij,nj->ni", W, signal) + random.standard_normal((networks, width)) * np.sqrt(C_b[layer])
        slope = np.where(z > 0, *slopes)
        signal = slope * z
    return z, H


@pytest.mark.measured
@pytest.mark.parametrize("slopes", [(1.0, 0.0), (1.0, -0.4), (0.8, 0.8)], ids=["relu", "leaky", "linear"])
def test_against_real_narrow_networks(slopes):
    """PDLT (8.67), (8.82): widths 2-4-3-2, no correction left out, so only sampling errors remain."""
    net = MLP(
        scale_invariant(*slopes), (2, 4, 3, 2), C_b=(0.2, 0.1, 0.3), C_W=(1.1, 1.5, 1.3),
        lambda_b=(0.5, 0.7, 0.2), lambda_W=(1.1, 0.6, 1.4),
    )  # fmt: skip
    x = np.array([0.9, -0.5])
    z, H = real_networks(net, x, 400_000, seed=1)
    exact, n = exact_tangent_flow(net, x[None]), net.widths[-2]
    theta = exact.Theta[-1, 0]
    straight, crossed = H[:, 0, 0] - theta, H[:, 0, 1]
    samples = {
        "Theta": (H[:, 0, 0] + H[:, 1, 1]) / 2,
        "A": n * straight * (H[:, 1, 1] - theta),
        "B": n * crossed**2,
        "D": n * (z[:, 1] ** 2 * straight + z[:, 0] ** 2 * (H[:, 1, 1] - theta)) / 2,
        "F": n * z[:, 0] * z[:, 1] * crossed,
    }
    for name, sample in samples.items():
        deviation = sample.mean() - getattr(exact, name)[-1, 0]
        assert abs(deviation) < 4 * sample.std() / np.sqrt(len(sample)), name


@pytest.mark.parametrize("slopes", [(1.0, 0.0), (1.0, 1.0), (1.3, -0.4)], ids=["relu", "linear", "leaky"])
def test_second_layer_agrees_with_the_expansion_and_deeper_ones_tend_to_it(slopes):
    """PDLT (8.30)-(8.39): layer 2 has no further orders; the remainder of layers 3 and 4 falls as 1/n."""
    x, deviations = np.array([[0.3, -1.2, 0.4]]), []
    for n in (50, 100):
        net = MLP(scale_invariant(*slopes), (3, n, 2 * n, n, 1), C_W=(1.3, 1.2, 1.8, 0.9), **RATES)
        exact, leading = exact_tangent_flow(net, x), flow(net, x, through="ntk")
        np.testing.assert_allclose(exact.Theta, leading.Theta[:, 0], rtol=1e-12)
        pairs = [(getattr(exact, name)[:, 0], getattr(leading, name)[:, 0, 0, 0, 0]) for name in FIELDS]
        np.testing.assert_allclose([one[1] for one, _ in pairs], [other[1] for _, other in pairs], rtol=1e-9)
        deviations.append([one[2:] / other[2:] - 1 for one, other in pairs])
    np.testing.assert_allclose(deviations[0], 2 * np.array(deviations[1]), rtol=0.06)


def test_variance_of_the_metric_is_the_known_one():
    """PDLT (3.45): the vertex agrees with the moments of the kernel, several inputs at once."""
    x = np.random.default_rng(0).normal(size=(4, 3))
    exact = exact_tangent_flow(RELU, x)
    np.testing.assert_allclose(exact.V, scale_invariant_flow(RELU, x).V, rtol=1e-12, atol=1e-14)


def test_refusals():
    """Smooth activations do not close; far from criticality depth leaves the floats."""
    with pytest.raises(ArgumentError, match="`kernel`"):
        exact_tangent_flow(MLP("relu", (3, 4, 1), C_b=2.0), kernel=[[1.0]])
    with pytest.raises(ArgumentError, match="scale-invariant"):
        exact_tangent_flow(MLP("tanh", (3, 4, 1)), X)
    with pytest.raises(BlowUpError):
        exact_tangent_flow(MLP("relu", (3, *[10] * 400, 1), C_W=1e3), X)
