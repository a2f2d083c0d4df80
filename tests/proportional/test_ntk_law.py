"""The law of the tangent kernel: closed forms, and networks."""

import numpy as np
import pytest
from scipy import integrate

import finitewidth as fw
from feature_laws import PHI, shaped, shifted_tanh
from finitewidth.proportional.features.tangent_moments import linear_tangent_moments

LINEAR = fw.ShapedMLP(fw.shaped.shaped_relu(0.0, 0.0))


@pytest.mark.parametrize(("T", "known"), [(0.3, 1.5269), (0.6, 2.4256), (0.75, 3.094)])
def test_second_moment_of_one_input(T, known):
    found = linear_tangent_moments(np.array([[1.0]]), T).second.item()
    closed = np.exp(2 * T) * (1 / 3 + 4 / (3 * T**2) * (T / 3 - (1 - np.exp(-3 * T)) / 9))
    assert found == pytest.approx(closed, rel=1e-13)
    assert found == pytest.approx(known, abs=6e-5 if T < 0.7 else 6e-4)


def test_second_moments_of_several_inputs_by_quadrature():
    T, second = 0.4, linear_tangent_moments(PHI, 0.4).second

    def integrand(t, s, x, mean):
        below = mean * np.exp(2 * s) + (x - mean) * np.exp(-s)
        return below * (np.exp(2 * (t - s)) + 2 * np.exp(s - t)) / 3 * np.exp(2 * (T - t))

    for a, b, c, d in ((0, 1, 0, 1), (0, 0, 1, 1), (0, 0, 0, 1)):
        x = PHI[a, b] * PHI[c, d]
        mean = (x + PHI[a, c] * PHI[b, d] + PHI[a, d] * PHI[b, c]) / 3
        value, _ = integrate.dblquad(integrand, 0, T, lambda s: s, T, args=(x, mean))
        assert second[a, b, c, d] == pytest.approx(2 / T**2 * value, rel=1e-9)


def test_linear_networks():
    """Off the diagonal, too: samples of the limit, and networks of width 100 whose second moments are lower by a per cent or two."""
    law = fw.ntk_law(LINEAR, PHI, 0.2, paths=8000, steps=16)
    assert np.abs((law.mean - law.exact_mean) / law.mean_error).max() < 4.5
    assert np.abs((law.second_moment - law.exact_second_moment) / law.second_moment_error).max() < 4.5
    nets = fw.simulate(LINEAR.at(100, 20), PHI, 4000, 1, through="features", save=1).NTK
    errors = (nets**2).std(axis=0) / np.sqrt(len(nets))
    assert (
        np.abs(np.mean(nets**2, axis=0) - law.exact_second_moment) < 4.5 * errors + 0.03 * law.exact_second_moment
    ).all()


def test_what_is_known_in_closed_form():
    kinked, smooth = (fw.ntk_law(block, PHI, 0.2, paths=8, steps=10) for block in (shaped(), shifted_tanh()))
    assert np.isfinite(kinked.exact_mean).tolist() == [[True, False], [False, True]]
    assert np.isnan(smooth.exact_second_moment).all()
    assert np.isfinite(fw.ntk_law(LINEAR, PHI, 0.2, paths=8, steps=10).exact_second_moment).all()
    assert "exact_second_moment" in kinked.to_dataframe()


@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_residual_branches(ratio):
    r"""The depth time of the kernel's fluctuations is $\kappa T$, $\kappa = \gamma^2[2 - \gamma^2(1 - n/n_h)]$."""
    block = fw.ShapedResNet(0.7, 1.0, -1.0, hidden_ratio=ratio)
    law = fw.ntk_law(block, PHI, 0.3, paths=6000, steps=16)
    for a in range(2):
        assert abs(law.mean[a, a] - PHI[a, a]) < 4.5 * law.mean_error[a, a]
        assert abs(law.second_moment[a, a] - law.exact_second_moment[a, a]) < 4.5 * law.second_moment_error[a, a]
