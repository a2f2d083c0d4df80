"""The averages of this room as users call them: what cannot be averaged is refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth import gaussian
from finitewidth._errors import ArgumentError

RELU = fw.ACTIVATIONS["relu"]
K = [[1.0, 0.5], [0.5, 2.0]]


def test_lists_and_numbers_do():
    r"""$\langle\sigma\sigma\rangle$ of ReLU at $\rho = 0$ is $\sqrt{K_{aa}K_{bb}}/2\pi$, its square $K/2$; $\langle z^4\rangle = 3K^2$."""
    np.testing.assert_allclose(gaussian.pair_moment(RELU, 0, 0, [1.0, 4.0], 0, 1), [1 / (2 * np.pi), 1 / np.pi])
    np.testing.assert_allclose(gaussian.square_average(RELU, [1, 3]), [0.5, 1.5])
    np.testing.assert_allclose(gaussian.line_average(lambda z: z**4, [1, 2]), [3, 12], rtol=1e-12)
    np.testing.assert_allclose(gaussian.line_average(jnp.abs, 2.0, [0]), 2 / np.sqrt(np.pi), rtol=1e-12)
    np.testing.assert_allclose(gaussian.two_slope_average(1, 1, [[1, 0], [1, 0]], K), 0.5)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: gaussian.pair_moment(jnp.tanh, 0, 0, 1.0, 0.5, 2.0), "`f`"),
        (lambda: gaussian.pair_moment(RELU, -1, 0, 1.0, 0.5, 2.0), "`i`"),
        (lambda: gaussian.pair_moment(RELU, 10**9, 0, 1.0, 0.5, 2.0), "`i`.*at most 32"),
        (lambda: gaussian.pair_moment(RELU, 0, 33, 1.0, 0.5, 2.0), "`j`: got 33"),
        (lambda: gaussian.pair_moment(RELU, 0, 0, -1.0, 0.5, 2.0), "`Kaa`"),
        (lambda: gaussian.pair_moment(RELU, 0, 0, 1.0, 1.5, 2.0), "`Kab`.*beyond"),
        (lambda: gaussian.pair_moment(RELU, 0, 0, [1.0, 1.0], 0.5, [2.0] * 3), "`Kab`.*shapes"),
        (lambda: gaussian.square_average(RELU, "1"), "`K`"),
        (lambda: gaussian.square_average(RELU, 0.0), "`K`.*positive"),
        (lambda: gaussian.line_average(lambda z: "text", 1.0), "`function`"),
        (lambda: gaussian.line_average(jnp.sum, 1.0), "`function`.*keeping the shape"),
        (lambda: gaussian.line_average(jnp.tanh, 1.0, ["a"]), "`kinks`"),
        (lambda: gaussian.two_slope_average(1.0, 0.0, ((1, 1),), K), "`exponents`"),
        (lambda: gaussian.two_slope_average(1.0, 0.0, ((1, 1), (1, -1)), K), "`exponents`"),
        (lambda: gaussian.two_slope_average(1.0, 0.0, ((2, 1), (1, 1)), K), "`exponents`.*sum to 3"),
        (lambda: fw.critical.tangent_averages(RELU, -1.0), "`K`"),
        (lambda: fw.critical.constant_kernel(fw.critical.tangent_source(averages(), 2.0), 0.0, [1.0], 1, 1), "`C_W`"),
        (lambda: fw.critical.tangent_source(averages(), -2.0), "`C_W`"),
    ],
)
def test_what_is_refused(call, argument):
    with pytest.raises(ArgumentError, match=argument):
        call()


def averages():
    return fw.critical.tangent_averages(RELU, 1.0)


def test_functions_may_hold_what_is_traced():
    r"""$E[wK^2]$ with $v$ only is $w(K^2 + v)$, PDLT (4.61): its slope in $w$; and averages that ask for what is not there are refused."""
    metric, vertex, none = [[2.0]], [[[[0.1]]]], [[0.0]]
    slope = jax.jit(jax.grad(lambda w: gaussian.expectation(lambda K: w * K[0, 0] ** 2, metric, vertex, none)))(3.0)
    np.testing.assert_allclose(slope, 4.1, rtol=1e-12)
    for wrong in (lambda K: K[9, 0], lambda K: "text", lambda K: 1 / 0, lambda K: None, 3):
        with pytest.raises(ArgumentError, match="`average`"):
            gaussian.expectation(wrong, metric, vertex, none)
