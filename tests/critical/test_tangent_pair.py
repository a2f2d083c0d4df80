"""Two nearby inputs and their tangent kernel: the expansion against exact kernels of two inputs, and depth."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError, ShapeError
from finitewidth.critical import gamma_components, tangent_pair_flow

X_0, DIRECTION = np.array([0.6, -0.3, 0.9]), np.array([0.5, 0.8, -0.2])
RATES = {"lambda_b": [0.3, 0.5, 0.2, 0.4], "lambda_W": [0.7, 0.6, 0.9, 1.1]}


def components(net, x_0, delta):
    """Of the exact kernels of two inputs, with the midpoint's kernel taken off."""
    inputs = np.stack([x_0 + delta / 2, x_0 - delta / 2, x_0])
    found = []
    for matrix in (fw.kernel(net, inputs), fw.frozen_ntk(net, inputs)):
        parts = gamma_components(matrix[:2, :2])
        found.append([matrix[2, 2], float(parts.K_1), float(parts.K_2), float(parts.K_0) - matrix[2, 2]])
    return np.array(found)


def expanded(net, x_0, delta):
    flow = tangent_pair_flow(net, x_0, delta)
    of_kernel = (flow.kernel.K_00, flow.kernel.delta_K_1, flow.kernel.deltadelta_K_2, flow.kernel.deltadelta_K_0)
    of_tangent = (flow.Theta_00, flow.delta_Theta_1, flow.deltadelta_Theta_2, flow.deltadelta_Theta_0)
    return np.array([[part[-1] for part in parts] for parts in (of_kernel, of_tangent)])


@pytest.mark.parametrize("activation", ["tanh", "gelu"])
@pytest.mark.parametrize("perpendicular", [False, True])
def test_all_components_to_their_order(activation, perpendicular):
    """PDLT (10.58)-(10.61), (10.66)-(10.70): exact at zero, and off by two orders of the difference more than each component is."""
    net = fw.MLP(activation, (3, 9, 9, 9, 1), C_b=[0.1, 0.2, 0.1, 0.3], C_W=[1.2, 1.4, 1.1, 1.3], **RATES)
    direction = DIRECTION - perpendicular * X_0 * (X_0 @ DIRECTION) / (X_0 @ X_0)
    gaps = []
    for scale in (0.2, 0.1):
        exact, series = (of(net, X_0, scale * direction) for of in (components, expanded))
        np.testing.assert_allclose(series[:, 0], exact[:, 0], rtol=1e-11)
        gaps.append(np.abs(series - exact)[:, 1:])
    if perpendicular:
        assert (
            gaps[1][:, 0] < 1e-2 * np.abs(exact[:, 2])
        ).all()  # beyond second order, as the first vanishes with x_0 . delta x
    else:
        np.testing.assert_allclose(gaps[0][:, 0] / gaps[1][:, 0], 8, rtol=0.1)
    np.testing.assert_allclose(gaps[0][:, 1:] / gaps[1][:, 1:], 16, rtol=0.15)


def test_robustness_and_variance_of_one_training_input():
    """PDLT (10.62)-(10.65): against predictions from exact kernels; deviations are of the third order."""
    net = fw.MLP("tanh", (3, 9, 9, 1), C_b=0.1, C_W=1.3, lambda_b=0.4, lambda_W=0.8)
    gaps = []
    for scale in (0.1, 0.05):
        plus, minus = (X_0 + sign * scale * DIRECTION / 2 for sign in (1, -1))
        exact = fw.predict(net, plus[None], np.ones(1), minus[None])
        flow = tangent_pair_flow(net, X_0, scale * DIRECTION)
        gaps.append([exact.mean.item() - 1 - flow.robustness[-1], exact.variance.item() - flow.variance[-1]])
    assert (np.abs(gaps[1]) < [2e-6, 2e-6]).all()
    assert (np.log2(np.abs(np.array(gaps[0]) / gaps[1])) > 2.8).all()


def test_what_is_refused():
    net = fw.MLP("tanh", (3, 9, 1))
    with pytest.raises(ShapeError, match="two vectors of length 3"):
        tangent_pair_flow(net, X_0[:2], DIRECTION)
    with pytest.raises(DomainError, match="`x_0`"):
        tangent_pair_flow(net, 0 * X_0, DIRECTION)
    with pytest.raises(DomainError, match="has a corner"):
        tangent_pair_flow(net.replace(activation="relu"), X_0, DIRECTION)
