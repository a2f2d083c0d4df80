r"""The six-point vertex and the second corrections from the exact moments of a mean over $n$ neurons.

Given the metric of a layer, that of the next is the mean of $n$ independent terms, whose moments are sums over partitions:
$E[\bar y_1\cdots\bar y_k] = \sum_{\rm partitions}n^{-k}\,n(n-1)\cdots\prod_{\rm blocks}E[\prod_{i\in{\rm block}}y_i]$. Carried back from
the last layer to the first, one layer after another, they give the moments of the metric at any width: the numbers here come
from that alone, with neither cumulants nor derivatives of cumulants.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from finitewidth import MLP, flow
from finitewidth.activations import monomial
from gaussian_series import EXPONENTS, number, reweighted_grid, times

PAIRS = ((0, 0), (0, 1), (1, 1))
RATIOS = (1.0, 0.75, 1.25)  # widths of the hidden layers, in units of n
N = 40
C_B, C_W = (0.2, 0.1, 0.15, 0.05), (1.0, 1.6, 1.4, 1.5)
K1 = np.array([[1.0, 0.3], [0.3, 0.6]])
IN_1_OVER_N = 3  # terms that are kept: 1, 1/n, 1/n^2


def partitions(items):
    """All partitions of a list into blocks."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [first, *block], *smaller[i + 1 :]]


def moments_of_a_mean(means, ratio):
    r"""$E[\delta'^{\rm powers}]$ given $\delta$, for all powers: shape (monomials, terms in 1/n, monomials of $\delta$).

    `means(block)` is $E[\prod y]$ over one neuron, a series in $\delta$.
    """
    found = np.zeros((len(EXPONENTS), IN_1_OVER_N, len(EXPONENTS)))
    for i, powers in enumerate(EXPONENTS):
        factors = [pair for pair, power in enumerate(powers) for _ in range(power)]
        for blocks in partitions(factors):
            # n (n-1) ... (n-m+1) / n^k as a polynomial in 1/n, for n = ratio * N.
            in_n = np.polynomial.Polynomial([0, 1 / ratio]) ** (len(factors) - len(blocks))
            for merged in range(len(blocks)):
                in_n = in_n * np.polynomial.Polynomial([1, -merged / ratio])
            coefficients = np.resize(np.append(in_n.coef, np.zeros(IN_1_OVER_N)), IN_1_OVER_N)
            product = functools.reduce(times, [means(tuple(sorted(block))) for block in blocks], number(1.0))
            found[i] += np.outer(coefficients, product)
    return found


def layer(function, K, c_w, ratio):
    r"""$\langle\sigma\sigma\rangle_K$ on `PAIRS`, and the moments of the next metric about $C_W$ times it, given $K + \delta$."""
    z, weights = reweighted_grid(K)
    s = function(z)
    products = np.stack([s[:, a] * s[:, b] for a, b in PAIRS])
    average = products @ weights[0]
    y = c_w * (products - average[:, None])
    return average, moments_of_a_mean(functools.cache(lambda block: weights @ np.prod(y[list(block)], axis=0)), ratio)


def moments_of_each_layer(function):
    """For layers 2, 3, ...: the moments of its metric about its kernel, given the metric of the layer before."""
    K, found = K1, []
    for c_b, c_w, ratio in zip(C_B[1:], C_W[1:], RATIOS, strict=True):
        average, moments = layer(function, K, c_w, ratio)
        K = (c_b + c_w * average)[[[0, 1], [1, 2]]]
        found.append(moments)
    return found


def moments_of_the_last(layers):
    """Moments of the last of `layers` about its kernel, for each monomial: a polynomial in 1/n."""
    observable = np.zeros((len(EXPONENTS), IN_1_OVER_N, len(EXPONENTS)))
    observable[:, 0] = np.eye(len(EXPONENTS))
    for moments in reversed(layers):
        earlier = np.zeros_like(observable)
        for i, j in itertools.product(range(IN_1_OVER_N), repeat=2):
            if i + j < IN_1_OVER_N:
                earlier[:, i + j] += observable[:, i] @ moments[:, j]
        observable = earlier
    return {powers: np.polynomial.Polynomial(observable[i, :, 0]) for i, powers in enumerate(EXPONENTS)}


def cumulants(moments):
    """Mean, covariance and third cumulant on pairs, as polynomials in 1/n."""

    def m(*pairs):
        return moments[tuple(np.bincount(pairs, minlength=3).tolist())]

    mean = {(a,): m(a) for a in range(3)}
    covariance = {(a, b): m(a, b) - m(a) * m(b) for a, b in itertools.product(range(3), repeat=2)}
    third = {
        (a, b, c): m(a, b, c) - m(a) * m(b, c) - m(b) * m(a, c) - m(c) * m(a, b) + 2 * m(a) * m(b) * m(c)
        for a, b, c in itertools.product(range(3), repeat=3)
    }
    return mean, covariance, third


def coefficient(table, order):
    size = len(next(iter(table)))
    found = np.zeros((3,) * size)
    for index, polynomial in table.items():
        found[index] = (*polynomial.coef, 0.0, 0.0, 0.0)[order] / N**order
    return found


def on_pairs(matrix):
    return np.array([matrix[pair] for pair in PAIRS])


@pytest.fixture(scope="module")
def two_inputs():
    net = MLP("sin", (2, *(int(N * ratio) for ratio in RATIOS), 1), C_b=C_B, C_W=C_W)
    return flow(net, kernel=K1, next_order=True)


@pytest.fixture(scope="module")
def moments():
    return moments_of_each_layer(np.sin)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_two_inputs_and_a_sine(two_inputs, moments, depth):
    """PDLT (4.59), (4.104), (4.105): mean, covariance and third cumulant of the metric through order 1/n^2, to ten digits."""
    mean, covariance, third = cumulants(moments_of_the_last(moments[: depth - 1]))
    n, index = two_inputs.previous_widths[depth - 1], depth - 1
    v, v_next = (
        np.array([[tensor[a][b] for b in PAIRS] for a in PAIRS])
        for tensor in (two_inputs.V[index] / n, two_inputs.V1[index] / n**2)
    )
    expected = {
        "G1": (on_pairs(two_inputs.G1[index]) / n, coefficient(mean, 1)),
        "G2": (on_pairs(two_inputs.G2[index]) / n**2, coefficient(mean, 2)),
        "V": (v, coefficient(covariance, 1)),
        "V1": (v_next, coefficient(covariance, 2)),
        "U": (two_inputs.six_point[index] / n**2, coefficient(third, 2)),
    }
    for name, (found, exact) in expected.items():
        scale = np.abs(exact).max()
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * scale + 1e-16, err_msg=name)
    assert np.abs(coefficient(third, 1)).max() < 1e-15
    assert depth == 2 or np.abs(expected["V1"][1]).max() > 1e-6


def times_polynomial(p, q):
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return product


def add_polynomials(p, q):
    return [a + b for a, b in itertools.zip_longest(p, q, fillvalue=Fraction(0))]


def mean_of_powers(highest, c_b, c_w, n):
    r"""$E[\hat G'^k]$ for $k$ up to `highest`, given $\hat G = x$, as polynomials in $x$: $\hat G' = C_b + \frac{C_W}n\sum z_j^6$.

    With $a_m = E[(C_Wz^6/n)^m]/m!$ the generating function is $(\sum_ma_mt^m)^n$, whose coefficients follow from
    $k\,c_k = \sum_{i\ge1}(ni - k + i)\,a_ic_{k-i}$.
    """
    a = [
        [Fraction(0)] * (3 * m) + [Fraction(math.prod(range(1, 6 * m, 2))) * (c_w / n) ** m / math.factorial(m)]
        for m in range(highest + 1)
    ]  # E[z^6m] = (6m-1)!! x^3m
    c = [[Fraction(1)]]
    for k in range(1, highest + 1):
        total = [Fraction(0)]
        for i in range(1, k + 1):
            term = times_polynomial(a[i], c[k - i])
            total = add_polynomials(total, [Fraction(n * i - k + i, k) * part for part in term])
        c.append(total)
    central = [[math.factorial(k) * part for part in c[k]] for k in range(highest + 1)]
    powers = []
    for k in range(highest + 1):
        total = [Fraction(0)]
        for j in range(k + 1):
            total = add_polynomials(total, [math.comb(k, j) * c_b ** (k - j) * part for part in central[j]])
        powers.append(total)
    return powers


def exact_moment(power, K, layers):
    r"""$E[(\hat G^{(L)})^{\rm power}]$ of a network with activation $z^3$ and `layers` $= (C_b, C_W, n)$: an exact fraction."""
    polynomial = [Fraction(0)] * power + [Fraction(1)]
    for c_b, c_w, n in reversed(layers):
        powers = mean_of_powers(len(polynomial) - 1, c_b, c_w, n)
        total = [Fraction(0)]
        for weight, of in zip(polynomial, powers, strict=True):
            total = add_polynomials(total, [weight * part for part in of])
        polynomial = total
    return sum(weight * K**k for k, weight in enumerate(polynomial))


def expansion(function, n=10**30):
    r"""The coefficients of $1, 1/n, 1/n^2$ of a function of $1/n$: a parabola through fractions at three huge $n$."""
    one, two, three = (function(k * n) for k in (1, 2, 3))
    constant = (one - 8 * two + 9 * three) / 2
    linear = n * (-5 * one + 32 * two - 27 * three) / 2
    square = n**2 * (3 * one - 12 * two + 9 * three)
    return [float(each) for each in (constant, linear, square)]


def test_a_cubic_network_as_exact_fractions():
    """PDLT (4.104), (4.105): mean and second moment of the metric of a network with real, finite width, without rounding."""
    c_b, c_w, widths = Fraction(1, 4), Fraction(1, 20), (4000, 3000, 5000)
    net = MLP(monomial(3), (1, *widths, 1), C_b=float(c_b), C_W=float(c_w))
    theory = flow(net, kernel=[[1.0]], next_order=True)
    for depth in (2, 3, 4):

        def moment(power, n, depth=depth):
            return exact_moment(power, Fraction(1), [(c_b, c_w, n * width) for width in widths[: depth - 1]])

        width = theory.previous_widths[depth - 1]
        found = {name: getattr(theory, name)[depth - 1].item() for name in ("K", "G1", "G2", "V", "V1")}
        expected = dict(zip(("K", "G1", "G2"), expansion(lambda n: moment(1, n)), strict=True))
        if depth < 4:  # the second moment of layer 4 is a polynomial of degree 54
            expected |= dict(zip(("V", "V1"), expansion(lambda n: moment(2, n) - moment(1, n) ** 2)[1:], strict=True))
        for name, exact in expected.items():
            unit = {"K": 1, "G1": width, "V": width, "G2": width**2, "V1": width**2}[name]
            assert found[name] == pytest.approx(unit * exact, rel=1e-9, abs=1e-13), (name, depth)
