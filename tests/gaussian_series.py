r"""Gaussian averages of two variables as power series in their covariance: NumPy alone, by reweighting a grid.

A series in $\delta = (\delta_{11}, \delta_{12}, \delta_{22})$, a small change of the covariance, is an array whose first axis runs
over `EXPONENTS`; other axes are carried along. No function is differentiated and nothing is integrated by parts.
"""

import itertools

import numpy as np

ORDER = 4
EXPONENTS = [powers for powers in itertools.product(range(ORDER + 1), repeat=3) if sum(powers) <= ORDER]
INDEX = {powers: i for i, powers in enumerate(EXPONENTS)}
_PRODUCTS = np.array(
    sorted(
        (INDEX[total], i, j)
        for (i, a), (j, b) in itertools.product(enumerate(EXPONENTS), repeat=2)
        if (total := tuple(np.add(a, b).tolist())) in INDEX
    )
)
_STARTS = np.flatnonzero(np.diff(_PRODUCTS[:, 0], prepend=-1))
_STEP, _REACH = 0.2, 10.0


def number(value):
    """A series without terms in the covariance."""
    value = np.asarray(value, dtype=float)
    return np.concatenate([value[None], np.zeros((len(EXPONENTS) - 1, *value.shape))])


def variables():
    r"""$\delta_{11}, \delta_{12}, \delta_{22}$ themselves."""
    return np.eye(len(EXPONENTS))[[INDEX[powers] for powers in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]]


def times(a, b):
    """The product of two series, cut off at `ORDER`."""
    return np.add.reduceat(a[_PRODUCTS[:, 1]] * b[_PRODUCTS[:, 2]], _STARTS, axis=0)


def power_series(coefficients, small):
    r"""$\sum_kc_k\,s^k$ of a series $s$ without a constant term."""
    total, power = 0.0, number(np.ones(small.shape[1:]))
    for coefficient in coefficients[: ORDER + 1]:
        total, power = total + coefficient * power, times(power, small)
    return total


def substitute(series, three):
    r"""`series` at $\delta$ = `three` other series without constant terms."""
    monomials = {(0, 0, 0): number(1.0)}
    for powers in sorted(EXPONENTS, key=sum)[1:]:
        which = next(i for i, power in enumerate(powers) if power)
        lower = tuple(power - (i == which) for i, power in enumerate(powers))
        monomials[powers] = times(monomials[lower], three[which])
    return np.tensordot([monomials[powers] for powers in EXPONENTS], series, axes=(0, 0))


def reweighted_grid(K):
    r"""Points $z$, shape (points, 2), and a series of weights $w(\delta)$, shape (terms, points), such that
    $\sum_qw_q(\delta)F(z_q) = \langle F\rangle_{K+\delta}$.

    The weights are the Gaussian density of covariance $K$ on an even grid times the ratio of two densities,
    $\exp(-\tfrac12z^{\mathsf T}[(K+\delta)^{-1} - K^{-1}]z)\,\det(1 + K^{-1}\delta)^{-1/2}$.
    """
    axis = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    u = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(-(u**2).sum(axis=1) / 2) * _STEP**2 / (2 * np.pi)
    z = u @ np.linalg.cholesky(K).T
    inverse = np.linalg.inv(K)
    d11, d12, d22 = variables()
    change = np.moveaxis(np.array([[d11, d12], [d12, d22]]), -1, 0)
    relative = inverse @ change  # K^-1 delta
    term, difference = number(inverse), number(np.zeros((2, 2)))
    for _ in range(ORDER):
        term = -sum(times(relative[:, :, [k]], term[:, [k], :]) for k in range(2))
        difference = difference + term
    exponent = -np.einsum("qa,kab,qb->kq", z, difference, z) / 2
    trace = relative[:, 0, 0] + relative[:, 1, 1]
    determinant = times(relative[:, 0, 0], relative[:, 1, 1]) - times(relative[:, 0, 1], relative[:, 1, 0])
    logarithm = power_series([0, 1, -1 / 2, 1 / 3, -1 / 4], trace + determinant)
    ratio = power_series([1, 1, 1 / 2, 1 / 6, 1 / 24], exponent - logarithm[:, None] / 2)
    return z, density * ratio
