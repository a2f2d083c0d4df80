"""Between and beyond two training inputs: exact predictions, their expansion, deep linear networks."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError, ShapeError
from finitewidth.learning import line_series, predict_along_line

NET = fw.MLP("tanh", (3, 9, 9, 1), C_b=0.1, C_W=1.2, lambda_b=0.3, lambda_W=0.7)
X_0, DIRECTION = np.array([0.6, -0.3, 0.9]), np.array([0.5, 0.8, -0.2])
SIDEWAYS = DIRECTION - X_0 * (X_0 @ DIRECTION) / (X_0 @ X_0)
S = np.array([0.3, 0.5, 1.6])


def ends(direction, scale):
    return X_0 + scale * direction / 2, X_0 - scale * direction / 2


def test_deep_linear_networks_draw_straight_lines():
    """PDLT (10.96)-(10.104): every network does, so that nothing is left to vary; and their tangent kernel keeps one angle."""
    net = fw.MLP("linear", (3, 9, 9, 2), C_W=1.0)
    found = predict_along_line(net, X_0, DIRECTION, [1.0, 2.0], [-1.0, 0.5], S)
    np.testing.assert_allclose(found.mean, found.straight, atol=1e-12)
    np.testing.assert_allclose(found.standard_deviation, 0, atol=1e-7)
    np.testing.assert_allclose(found.weights, np.stack([S, 1 - S], axis=1), atol=1e-12)
    flow = fw.critical.tangent_angle_flow("linear", 0.7, 50, K_d=2.0, lambda_b=0.3, lambda_W=0.7)
    expected = (0.3 + 0.7 * 2.0 * np.cos(0.7)) / (0.3 + 0.7 * 2.0)
    np.testing.assert_allclose(flow.correlation, expected, rtol=1e-13)


def test_predictions_are_the_posterior_on_three_inputs():
    """PDLT (10.99)-(10.109)."""
    plus, minus = ends(DIRECTION, 1.0)
    found = predict_along_line(NET, plus, minus, 1.3, -0.4, S)
    expected = fw.predict(NET, np.stack([plus, minus]), [1.3, -0.4], S[:, None] * plus + (1 - S[:, None]) * minus)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.standard_deviation[:, None], expected.standard_deviation, rtol=1e-12)
    np.testing.assert_allclose(found.weights @ [1.3, -0.4], expected.mean[:, 0], rtol=1e-11)


@pytest.mark.parametrize("direction", [DIRECTION, SIDEWAYS])
def test_the_expansion_to_its_order(direction):
    """PDLT (10.110)-(10.117) corrected: $p'$ and $q'$ approach those of exact weights, whose relative rest falls as the square of the
    difference; the printed forms are off by a factor of four."""
    rests = []
    for scale in (0.2, 0.1):
        plus, minus = ends(direction, scale)
        weights = predict_along_line(NET, plus, minus, 0.0, 0.0, S).weights
        exact = np.stack([weights.sum(axis=1) - 1, weights[:, 0] - weights[:, 1] - (2 * S - 1)])
        series = np.stack(line_series(NET, plus, minus).curvature(S))
        rests.append(np.abs(series - exact))
        assert (rests[-1] < 0.06 * np.abs(exact) + 1e-4 * scale).all()
        np.testing.assert_allclose(line_series(NET, plus, minus).weights(S).sum(axis=1) - 1, series[0], rtol=1e-10)
    ratio = rests[0][0] / rests[1][0]
    np.testing.assert_allclose(ratio, 16, rtol=0.1)


def test_the_first_coefficients_are_those_of_the_pair():
    r"""PDLT (10.110): $t_1 = \frac12\delta\Theta_{[1]}$, $t_2 = \frac12\delta\delta\Theta_{[0]}$, $s_2 = \delta\delta\Theta_{[2]}$."""
    series = line_series(NET, *ends(DIRECTION, 0.1))
    pair = fw.critical.tangent_pair_flow(NET, X_0, 0.1 * DIRECTION)
    found = [series.Theta_00, series.t_1, series.t_2, series.s_2]
    expected = [
        pair.Theta_00[-1],
        pair.delta_Theta_1[-1] / 2,
        pair.deltadelta_Theta_0[-1] / 2,
        pair.deltadelta_Theta_2[-1],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_equal_norms_bend_by_a_quarter_of_what_is_printed():
    r"""PDLT (10.114): halfway between inputs of equal norm
    $m - \frac12(y_++y_-) \to -\frac14\frac{\delta\delta\Theta_{[0]}}{\Theta_{00}}(y_++y_-)$, where the printed coefficient is one."""
    plus, minus = ends(SIDEWAYS, 0.05)
    found = predict_along_line(NET, plus, minus, 1.0, 0.5, 0.5)
    pair = fw.critical.tangent_pair_flow(NET, X_0, plus - minus)
    bend = (found.mean - found.straight).item() / 1.5
    assert bend == pytest.approx(-pair.deltadelta_Theta_0[-1] / pair.Theta_00[-1] / 4, rel=2e-3)


def test_the_variance_is_of_fourth_order():
    """PDLT (10.116) says less than the truth: the variance of predictions falls as the fourth power of the difference."""
    variances = [
        predict_along_line(NET, *ends(DIRECTION, d), 0.0, 0.0, 0.5).standard_deviation[0] ** 2 for d in (0.2, 0.1)
    ]
    assert np.log2(variances[0] / variances[1]) == pytest.approx(4, abs=0.05)


def test_bad_arguments():
    with pytest.raises(ShapeError, match="two vectors of length 3"):
        predict_along_line(NET, X_0[:2], X_0, 0.0, 0.0, 0.5)
    with pytest.raises(DomainError, match="`x_minus`"):
        predict_along_line(NET, X_0, X_0, 0.0, 0.0, 0.5)
    with pytest.raises(ShapeError, match="`s`"):
        predict_along_line(NET, X_0, DIRECTION, 0.0, 0.0, [[0.5]])
    with pytest.raises(DomainError, match="opposite"):
        line_series(NET, X_0, -X_0)
