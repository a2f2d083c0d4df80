"""Nearly-kernel predictions against quadratic models that are really fitted, with all their weights."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import finitewidth as fw

RANDOM = np.random.default_rng(2)
TRAIN, TEST, FEATURES = 3, 2, 8
PHI = RANDOM.normal(size=(TRAIN + TEST, FEATURES)) / np.sqrt(FEATURES)
LEFT, _, RIGHT = np.linalg.svd(PHI[:TRAIN], full_matrices=False)
PHI[:TRAIN] = (
    LEFT @ np.diag(np.sqrt([1.6, 0.9, 0.5])) @ RIGHT
)  # well conditioned, so that a few hundred steps are the end
PSI = RANDOM.normal(size=(TRAIN + TEST, FEATURES, FEATURES)) / FEATURES
PSI = PSI + np.swapaxes(PSI, 1, 2)
Y = RANDOM.normal(size=(TRAIN, 2))
STEEPEST = float(np.linalg.eigvalsh(PHI[:TRAIN] @ PHI[:TRAIN].T)[-1])


def model(epsilon, part=slice(None)):
    return fw.learning.QuadraticModel(PHI[part], PSI[part], epsilon)


def gradient(W, epsilon):
    return model(epsilon, slice(TRAIN)).gradient(W, Y)


def descended(epsilon, rate, steps):
    W, train = np.zeros((2, FEATURES)), model(epsilon, slice(TRAIN))
    for _ in range(steps):
        W = W - rate * train.gradient(W, Y)
    return W


def flowed(epsilon, time):
    train, start = model(epsilon, slice(TRAIN)), np.zeros(2 * FEATURES)

    def slope(_, W):
        return -train.gradient(W.reshape(2, -1), Y).ravel()

    return solve_ivp(slope, (0, time), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1].reshape(2, -1)


def with_ridge(epsilon, a):
    """Where the gradient of the loss and of the ridge, or of Lagrange's function of the least norm, is zero."""
    train = model(epsilon, slice(TRAIN))
    if a:
        start = fw.learning.fit_linear_model(PHI[:TRAIN], Y, a).ravel()
        found = fsolve(lambda W: gradient(W.reshape(2, -1), epsilon).ravel() + 2 * a * W, start, xtol=1e-13)
        return found.reshape(2, -1)
    start = fw.learning.fit_linear_model(PHI[:TRAIN], Y)
    multipliers = np.linalg.solve(PHI[:TRAIN] @ PHI[:TRAIN].T, Y)

    def stationary(both):
        W, m = both[: 2 * FEATURES].reshape(2, -1), both[2 * FEATURES :].reshape(TRAIN, 2)
        pulled = np.einsum("aij,ai->ij", train.effective_features(W), m)
        return np.concatenate([(W - pulled).ravel(), (train.outputs(W) - Y).ravel()])

    return fsolve(stationary, np.concatenate([start.ravel(), multipliers.ravel()]), xtol=1e-13)[: 2 * FEATURES].reshape(
        2, -1
    )


def as_trained_kernel(epsilon):
    quadratic = model(epsilon)
    kernels = fw.nearly_kernel(quadratic.kernel, quadratic.meta_kernel, Y).trained_kernel
    return np.stack([fw.learning.kernel_regression(k, Y[:, i])[:, 0] for i, k in enumerate(kernels)], axis=1)


CASES = {
    "slow": ({"method": "gradient_descent", "rate": 0.3 / STEEPEST}, lambda e: descended(e, 0.3 / STEEPEST, 600)),
    "fast": ({"method": "gradient_descent", "rate": 1.7 / STEEPEST}, lambda e: descended(e, 1.7 / STEEPEST, 300)),
    "stopped": (
        {"method": "gradient_descent", "rate": 0.8 / STEEPEST, "steps": 4},
        lambda e: descended(e, 0.8 / STEEPEST, 4),
    ),
    "flow": ({"method": "gradient_flow"}, lambda e: flowed(e, 80.0)),
    "early": ({"method": "gradient_flow", "time": 1.5}, lambda e: flowed(e, 1.5)),
    "ridge": ({"method": "ridge", "ridge": 0.2}, lambda e: with_ridge(e, 0.2)),
    "least norm": ({"method": "ridge"}, lambda e: with_ridge(e, 0.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_is_of_second_order(case):
    """PDLT (11.133)-(11.138): predictions and effective kernels of models that were really trained, at any moment of training."""
    how, fit = CASES[case]
    left = []
    for epsilon in (2e-3, 1e-3):
        quadratic, W = model(epsilon), fit(epsilon)
        found = fw.nearly_kernel(quadratic.kernel, quadratic.meta_kernel, Y, **how)
        features = quadratic.effective_features(W)
        kernels = np.einsum("aij,bij->iab", features, features)
        left.append(
            [
                np.abs(quadratic.outputs(W)[TRAIN:] - found.mean).max(),
                np.abs(kernels - found.effective_kernel).max(),
                np.abs(found.mean - found.kernel_part).max(),
            ]
        )
    ratios = np.asarray(left[0]) / left[1]
    assert ratios[:2] == pytest.approx([4, 4], abs=0.1)
    assert ratios[2] == pytest.approx(2, abs=1e-6)
    assert left[1][0] < 0.3 * left[1][2]  # the correction says most of what the kernel does not


def test_direct_optimisation_in_both_pictures():
    """PDLT (11.113)-(11.119) is PDLT (11.132); weights as the book writes them, with $M^{-1}$ of all features."""
    quadratic = model(0.3)
    fit = fw.learning.quadratic_regression(quadratic, Y)
    found = fw.nearly_kernel(quadratic.kernel, quadratic.meta_kernel, Y)
    np.testing.assert_allclose(found.mean, fit.mean, rtol=0, atol=1e-13)
    inverse = np.linalg.pinv(PHI[:TRAIN].T @ PHI[:TRAIN])
    np.testing.assert_allclose(fit.W_F, Y.T @ PHI[:TRAIN] @ inverse, atol=1e-12)
    bent = np.einsum("ij,ik,ajk->ia", fit.W_F, fit.W_F, PSI[:TRAIN])
    np.testing.assert_allclose(fit.W_I, -0.15 * bent @ PHI[:TRAIN] @ inverse, atol=1e-12)
    assert not found.algorithm_part.any()
    star = fit.W_F + fit.W_I  # the exact rewriting of the output below PDLT (11.119)
    halves = (quadratic.effective_features(star) + quadratic.phi[:, None]) / 2
    np.testing.assert_allclose(np.einsum("ij,aij->ai", star, halves), quadratic.outputs(star), atol=1e-13)


def test_the_trained_kernel_is_another_member_of_the_family():
    """PDLT (11.140), (11.142): kernel regression with the symmetric kernel differs from PDLT (11.132) at first order."""
    left = []
    for epsilon in (1e-3, 5e-4):
        quadratic = model(epsilon)
        by_kernel, k, mu = as_trained_kernel(epsilon), quadratic.kernel, quadratic.meta_kernel
        found = fw.nearly_kernel(k, mu, Y, "trained_kernel")
        left.append([np.abs(by_kernel - found.mean).max(), np.abs(by_kernel - fw.nearly_kernel(k, mu, Y).mean).max()])
    assert np.divide(*left) == pytest.approx([4, 2], abs=0.05)


def test_quadratic_models_move_as_their_features_say():
    """PDLT (11.105)-(11.110): outputs and effective features after any step, and the gradient of the loss by differences."""
    quadratic, W, step = model(0.7), RANDOM.normal(size=(2, FEATURES)), RANDOM.normal(size=(2, FEATURES))
    features = quadratic.effective_features(W)
    moved = (
        quadratic.outputs(W)
        + np.einsum("ij,aij->ai", step, features)
        + 0.35 * np.einsum("ij,ik,ajk->ai", step, step, PSI)
    )
    np.testing.assert_allclose(quadratic.outputs(W + step), moved, atol=1e-12)
    np.testing.assert_allclose(
        quadratic.effective_features(W + step), features + 0.7 * np.einsum("ik,akj->aij", step, PSI), atol=1e-12
    )
    train = model(0.7, slice(TRAIN))
    difference = (train.loss(W + 1e-5 * step, Y) - train.loss(W - 1e-5 * step, Y)) / 2e-5
    assert difference == pytest.approx(np.sum(train.gradient(W, Y) * step), rel=1e-7)


def test_counts_and_polynomials():
    """PDLT (11.120)-(11.123), (ε.14)-(ε.25)."""
    count = fw.learning.feature_count(9, outputs=4)
    pairs = sum(1 for i in range(10) for j in range(i + 1))
    assert (count.parameters, count.linear_functions, count.quadratic_functions) == (40, 10, 10 + pairs)
    assert fw.learning.couplings_at_order(0, 5, 3, 2) == 36
    assert [fw.learning.couplings_at_order(k, 5) for k in (1, 2)] == [5**4, 5**6]
    x = np.linspace(-1, 1, 8)
    y = 0.5 * x + 0.2 + 0.1 * np.random.default_rng(0).normal(size=8)
    where = np.linspace(-1, 1, 801)
    line, through, more = (fw.learning.polynomial_fit(x, y, degree, where) for degree in (1, 7, 40))
    np.testing.assert_allclose(line.coefficients, np.polyfit(x, y, 1)[::-1], atol=1e-12)
    assert line.turns == 0 < through.turns
    np.testing.assert_allclose((x[:, None] ** np.arange(41)) @ more.coefficients, y, atol=1e-9)
    assert np.linalg.norm(more.coefficients) < np.linalg.norm(through.coefficients)


def test_flat_pieces_of_a_polynomial_are_no_turns():
    """A step too small to be seen in floating point, beside a number far larger, is flat: a line that stands still there does not turn,
    a parabola whose lowest point lies there turns once."""
    x = np.array([-1.0, 0.0, 1.0])
    line = fw.learning.polynomial_fit(x, 1e6 + x, 1, [-1.0, 0.5, 0.5 + 1e-12, 1.0])
    parabola = fw.learning.polynomial_fit(x, 1e6 + x**2, 2, [-1.0, -1e-12, 1e-12, 1.0])
    for fit, turns in ((line, 0), (parabola, 1)):
        assert fit.fitted[1] == fit.fitted[2]
        assert fit.turns == turns
    flat = fw.learning.polynomial_fit(x, np.ones(3), 0, np.linspace(-1, 1, 5))
    assert flat.turns == 0


def bad(**changes):
    quadratic = model(0.1)
    return {"k": quadratic.kernel, "mu": quadratic.meta_kernel, "y": Y} | changes


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (bad(method="newton"), "method"),
        (bad(mu=np.zeros((2, 2, 2))), "mu"),
        (bad(mu=RANDOM.normal(size=(5, 5, 5))), "mu"),
        (bad(y=np.ones(5)), "y"),
        (bad(y=np.ones((0, 2))), "y"),
        (bad(k=np.ones((5, 5))), "k"),
        (bad(ridge=0.1), "ridge"),
        (bad(method="ridge", ridge=-1.0), "ridge"),
        (bad(rate=0.1), "rate"),
        (bad(method="gradient_descent"), "rate"),
        (bad(method="gradient_descent", rate=2.01 / STEEPEST), "rate"),
    ],
)
def test_bad_input_is_named(wrong, argument):
    with pytest.raises(fw.ArgumentError) as error:
        fw.nearly_kernel(**wrong)
    assert error.value.argument == argument


@pytest.mark.parametrize("option", [{"rate": 0.1}, {"steps": 3}, {"time": 2.0}])
@pytest.mark.parametrize("method", ["direct", "ridge", "trained_kernel"])
def test_refusals_name_the_method_that_was_asked_for(method, option):
    """And the kernel that was given, which is no network's."""
    with pytest.raises(fw.ArgumentError, match=f"with method '{method}'") as error:
        fw.nearly_kernel(**bad(method=method, **option))
    assert error.value.argument == next(iter(option))
    for wrong in (bad(k=np.ones((5, 5))), bad(method="gradient_descent", rate=2.01 / STEEPEST)):
        with pytest.raises(fw.DomainError) as error:
            fw.nearly_kernel(**wrong)
        assert "tangent" not in str(error.value)


def test_bad_models_and_counts_are_named():
    for call in (
        lambda: fw.learning.QuadraticModel(PHI, PSI[:, :2]),
        lambda: fw.learning.QuadraticModel(PHI[0], PSI),
        lambda: fw.learning.QuadraticModel(PHI, RANDOM.normal(size=PSI.shape)),
        lambda: fw.learning.quadratic_regression(model(0.1), np.ones(5)),
        lambda: fw.learning.couplings_at_order(0, 3, 4),
        lambda: fw.learning.polynomial_fit([0.0, 1.0], [1.0], 1, [0.0, 1.0]),
        lambda: fw.learning.polynomial_fit([0.0, 1.0], [1.0, 2.0], 1, [1.0, 0.0]),
    ):
        with pytest.raises(fw.ArgumentError):
            call()


def test_random_models_without_64_bits_of_the_caller():
    """As users have JAX: kernels to the last digit, and the prediction that weights give."""
    random = np.random.default_rng(0)
    with jax.enable_x64(False):
        for _ in range(80):
            phi, psi, y = random.normal(size=(5, 8)), random.normal(size=(5, 8, 8)), random.normal(size=(3, 1))
            made = fw.learning.QuadraticModel(phi, psi + psi.swapaxes(1, 2), epsilon=0.01)
            np.testing.assert_array_equal(made.kernel, phi @ phi.T)
            rate = 1 / np.linalg.eigvalsh(phi[:3] @ phi[:3].T)[-1]
            assert fw.nearly_kernel(made.kernel, made.meta_kernel, y, "gradient_descent", rate=rate).mean.shape == (
                2,
                1,
            )
            of_kernels = fw.nearly_kernel(made.kernel, made.meta_kernel, y).mean
            np.testing.assert_allclose(fw.learning.quadratic_regression(made, y).mean, of_kernels, rtol=1e-8)
