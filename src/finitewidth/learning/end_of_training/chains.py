r"""Sums over ordered moments of training, of which every projector is made, without differences of nearly equal numbers.

Errors decay along eigendirections of the tangent kernel, by $\mu = 1-\eta h$ at every step of gradient descent. A *chain* of rates
$r_0, \dots, r_k$ is the sum over all ways to spend $T$ steps: $k$ of them on moving on, the others on waiting at rates $r_i$,

$$C_T[r_0,\dots,r_k] = \eta^k\sum_{i_0+\dots+i_k=T-k}\prod_j(1-\eta r_j)^{i_j},$$

and for gradient flow, $\eta\to0$ at $\eta T = t$, the divided difference of $e^{-rt}$ but for its sign. Both are the corner of a power,
or the exponential, of the matrix with $1-\eta r_i$ (or $-r_i$) on its diagonal and $\eta$ (or 1) above it. Nothing in it is negative
as long as $\eta r \le 1$. With $r_k = 0$,
$C_\infty = \prod_{j<k}r_j^{-1}$.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_TERMS = 24  # of the exponential series, for matrices of norm at most two

Matrix = list[list[Any]]
"""Upper triangular, its entries arrays of shapes that broadcast; below the diagonal nothing."""


@dataclass(frozen=True)
class Pace:
    r"""How far training goes: $\eta$, zero for gradient flow, and the time $\eta T$, infinite at the end of training."""

    rate: float = 0.0
    time: float = math.inf

    @property
    def steps(self) -> int:
        """How many steps of gradient descent the time is."""
        return round(self.time / self.rate)

    def together(self, *rates: Any) -> Any:
        r"""The rate at which a product of errors decays: $1-\eta r = \prod_j(1-\eta r_j)$, for flow $r = \sum_jr_j$."""
        total = rates[0]
        for each in rates[1:]:
            total = total + each - self.rate * total * each
        return total

    def left(self, rate: Any) -> Any:
        r"""$\mu = 1-\eta r$."""
        return 1 - self.rate * rate

    def chain(self, *rates: Any, after: Any = None) -> Any:
        r"""$C[r_0,\dots,r_{k-1},0]$, and with `after` $C[r_0,\dots,r_{k-1},0,r_{\rm after}]$."""
        if math.isinf(self.time):
            every = rates if after is None else (*rates, after)
            return math.prod((1 / np.asarray(rate) for rate in every), start=np.asarray(1.0))
        nodes = [*rates, 0.0] if after is None else [*rates, 0.0, after]
        return _power(nodes, self.rate, self.steps) if self.rate > 0 else _exponential(nodes, self.time)


def _power(rates: Sequence[Any], eta: float, steps: int) -> Any:
    """The corner of the matrix to the power of `steps`, by squaring. Diagonals are known, so that rounding does not double each time."""
    factors = [1 - eta * np.asarray(rate) for rate in rates]
    square, reached = _bidiagonal(factors), 1
    power: Matrix = _identity(len(rates))
    done = 0
    while True:
        if steps & reached:
            done += reached
            power = _product(power, square, [factor**done for factor in factors])
        if done == steps:  # of few steps the corner may be a bare number, zero or one, whatever the rates
            shape = np.broadcast_shapes(*(np.shape(factor) for factor in factors))
            return np.broadcast_to(eta ** (len(rates) - 1) * power[0][-1], shape)
        reached *= 2
        square = _product(square, square, [factor**reached for factor in factors])


def _exponential(rates: Sequence[Any], time: float) -> Any:
    r"""The corner of the exponential: the series of a matrix without negative entries, squared until the time is reached."""
    largest = max(float(np.max(rate)) for rate in rates)
    squarings = max(0, math.ceil(math.log2(max(time * largest, 1.0))))
    unit = time / 2**squarings
    matrix = _bidiagonal([unit * (largest - np.asarray(rate)) for rate in rates])
    term, series = matrix, matrix
    for order in range(2, _TERMS):
        term = _scaled(_product(term, matrix), 1 / order)
        series = _plus(series, term)
    power = _with_diagonal(_scaled(series, math.exp(-unit * largest)), [np.exp(-unit * np.asarray(r)) for r in rates])
    for squaring in range(1, squarings + 1):
        power = _product(power, power, [np.exp(-(2.0**squaring) * unit * np.asarray(rate)) for rate in rates])
    return unit ** (len(rates) - 1) * power[0][-1]


def _bidiagonal(diagonal: Sequence[Any]) -> Matrix:
    size = len(diagonal)
    return [[diagonal[i] if i == j else 1.0 if j == i + 1 else 0.0 for j in range(size)] for i in range(size)]


def _identity(size: int) -> Matrix:
    return [[float(i == j) for j in range(size)] for i in range(size)]


def _product(first: Matrix, second: Matrix, diagonal: Sequence[Any] | None = None) -> Matrix:
    """The product, with its diagonal as it is known."""
    size = len(first)
    found = [
        [sum(first[i][k] * second[k][j] for k in range(i, j + 1)) if j >= i else 0.0 for j in range(size)]
        for i in range(size)
    ]
    return found if diagonal is None else _with_diagonal(found, diagonal)


def _with_diagonal(matrix: Matrix, diagonal: Sequence[Any]) -> Matrix:
    return [[diagonal[i] if i == j else entry for j, entry in enumerate(row)] for i, row in enumerate(matrix)]


def _plus(first: Matrix, second: Matrix) -> Matrix:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(first, second, strict=True)]


def _scaled(matrix: Matrix, factor: float) -> Matrix:
    return [[factor * entry for entry in row] for row in matrix]
