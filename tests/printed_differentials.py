r"""The flow of P, Q, R, S, T, U with inverse kernels and sums over samples as the book prints them, in loops, for the activation sin.

Averages are sums over signs: $\langle\prod_k\cos(z_k + \varphi_k)\rangle = 2^{-m}\sum_s\cos(s\cdot\varphi)\,e^{-s^TKs/2}$.
Where the book errs the corrected formula stands here; `docs/errata.md` says where.
"""

import itertools
from typing import NamedTuple

import numpy as np


class Averages:
    """Averages over one neuron of covariance K, of products of derivatives of sin: `mean((order, sample), ...)`."""

    def __init__(self, K: np.ndarray):
        self.K, self.inverse, self.known = K, np.linalg.inv(K), {}

    def mean(self, *factors: tuple[int, int], times: int | None = None) -> float:
        """With `times` also the preactivation of that sample as a factor."""
        key = (tuple(sorted(factors)), times)
        if key not in self.known:
            total = 0.0
            for signs in itertools.product((-1, 1), repeat=len(factors)):
                s, phase = np.zeros(len(self.K)), 0.0
                for sign, (order, sample) in zip(signs, factors, strict=True):
                    s[sample] += sign
                    phase += sign * (order - 1) * np.pi / 2  # sin^(k)(z) = cos(z + (k-1) pi/2)
                wave = np.exp(1j * phase - s @ self.K @ s / 2)
                total += (wave * (1 if times is None else 1j * (self.K @ s)[times])).real
            self.known[key] = total / 2 ** len(factors)
        return self.known[key]

    def dual(self, *factors: tuple[int, int]) -> np.ndarray:
        r"""$\sum_\beta\langle z_\beta\cdots\rangle K^{\beta\gamma}$ for every $\gamma$."""
        return self.inverse @ [self.mean(*factors, times=sample) for sample in range(len(self.K))]


class Printed(NamedTuple):
    K: np.ndarray
    H: np.ndarray
    F: np.ndarray
    B: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    S: np.ndarray
    T: np.ndarray
    U: np.ndarray


def first(K1: np.ndarray, H1: np.ndarray) -> Printed:
    zero = np.zeros((len(K1),) * 4)
    return Printed(K1, H1, *[zero] * 8)


def following(o: Printed, r: float, C_b: float, C: float, l_b: float, lam: float) -> Printed:
    """The next layer; r is the width before over the width before that."""
    N, av, H = len(o.K), Averages(o.K), o.H
    m = av.mean
    K, Hn = np.zeros((N, N)), np.zeros((N, N))
    for a, b in itertools.product(range(N), repeat=2):
        K[a, b] = C_b + C * m((0, a), (0, b))
        Hn[a, b] = l_b + lam * m((0, a), (0, b)) + C * m((1, a), (1, b)) * H[a, b]
    F, B, P, Q, R, S, T, U = (np.zeros((N,) * 4) for _ in range(8))
    value_slope = {(a, b): av.dual((0, a), (1, b)) for a in range(N) for b in range(N)}
    bend_slope = {(a, b): av.dual((2, a), (1, b)) for a in range(N) for b in range(N)}
    pull = {(a, b): lam * value_slope[b, a] + C * H[a, b] * bend_slope[a, b] for a in range(N) for b in range(N)}
    for a, b, c, d in itertools.product(range(N), repeat=4):  # samples 1, 2, 3, 4
        F[a, c, b, d] = C**2 * m((0, a), (0, b), (1, c), (1, d)) * H[c, d]  # (8.79)
        F[a, c, b, d] += r * C**2 * value_slope[a, c] @ o.F[:, c, :, d] @ value_slope[b, d]
        B[a, c, b, d] = C**2 * m((1, a), (1, b), (1, c), (1, d)) * H[a, b] * H[c, d]  # (8.89)
        B[a, c, b, d] += r * C**2 * m((1, a), (1, c)) * m((1, b), (1, d)) * o.B[a, c, b, d]
    for a, b, c, d in itertools.product(range(N), repeat=4):  # samples 0, 1, 2, 3
        source = C**2 * m((2, a), (1, b), (1, c), (0, d)) * H[a, b] * H[a, c]
        bent = m((2, a), (0, d)) * (o.P[a, b, c, a] + o.B[a, a, b, c])
        P[a, b, c, d] = source + r * C**2 * m((1, b), (1, c)) * (bent + m((1, a), (1, d)) * o.P[a, b, c, d])  # (11.49)
        bent = m((2, c), (0, d)) * o.Q[a, b, c, c] + m((1, c), (1, d)) * o.Q[a, b, c, d]
        Q[a, b, c, d] = source + lam / C * F[b, a, d, c] + r * C**2 * m((1, a), (1, b)) * bent  # (11.52)
        Q[a, b, c, d] += r * C**2 * H[a, b] * (bend_slope[a, b] @ o.F[:, a, :, c] @ value_slope[d, c])
        R[a, b, c, d] = (  # (inf.177)
            lam * C * m((2, a), (0, b), (1, c), (1, d)) * H[a, c] * H[a, d]
            + C**2 * m((3, a), (1, b), (1, c), (1, d)) * H[a, b] * H[a, c] * H[a, d]
            + r * C * m((1, c), (1, d)) * lam * m((2, a), (0, b)) * (o.B[a, a, c, d] + o.P[a, c, d, a])
            + r * C * m((1, c), (1, d)) * lam * m((1, a), (1, b)) * o.P[a, c, d, b]
            + r * C**2 * m((1, c), (1, d)) * H[a, b] * m((3, a), (1, b)) * (o.B[a, a, c, d] + o.P[a, c, d, a])
            + r * C**2 * m((1, c), (1, d)) * H[a, b] * m((2, a), (2, b)) * o.P[a, c, d, b]
            + r * C**2 * m((1, a), (1, b)) * m((1, c), (1, d)) * o.R[a, b, c, d]
        )
    for a, b, c, d in itertools.product(range(N), repeat=4):  # samples 1, 2, 3, 4
        curved = C**2 * m((2, a), (2, b), (1, c), (1, d)) * H[a, b] * H[a, c] * H[b, d]
        S[a, b, c, d] = (  # (inf.179)
            C * lam * m((1, a), (1, b), (1, c), (1, d)) * H[a, c] * H[b, d]
            + curved
            + r * C * m((1, c), (1, d)) * lam * m((1, a), (1, b)) * o.B[a, b, c, d]
            + r * C**2 * m((1, c), (1, d)) * H[a, b] * m((2, a), (2, b)) * o.B[a, b, c, d]
            + r * C**2 * m((1, a), (1, b)) * m((1, c), (1, d)) * o.S[a, b, c, d]
        )
        T[a, c, d, b] = (  # (inf.180)
            lam**2 * m((1, a), (1, b), (0, c), (0, d)) * H[a, b]
            + C * lam * m((1, a), (2, b), (0, c), (1, d)) * H[a, b] * H[b, d]
            + C * lam * m((2, a), (1, b), (1, c), (0, d)) * H[a, b] * H[a, c]
            + curved
            + r * pull[a, c] @ o.F[:, a, :, b] @ pull[b, d]
            + r * C * (_with_slope(o, av, lam, C, a, b, c, d) + _with_slope(o, av, lam, C, b, a, d, c))
            + r * C**2 * m((1, a), (1, c)) * m((1, b), (1, d)) * o.T[a, c, d, b]
        )
        U[a, d, b, c] = curved + r * C**2 * m((1, a), (1, d)) * m((1, b), (1, c)) * o.U[a, d, b, c]  # (inf.181)
    return Printed(K, Hn, F, B, P, Q, R, S, T, U)


def _with_slope(o: Printed, av: Averages, lam: float, C: float, a: int, b: int, c: int, d: int) -> float:
    m, H = av.mean, o.H
    own = lam * m((2, a), (0, c)) + C * H[a, c] * m((3, a), (1, c))
    other = lam * m((1, a), (1, c)) + C * H[a, c] * m((2, a), (2, c))
    return m((1, b), (1, d)) * (own * o.Q[b, d, a, a] + other * o.Q[b, d, a, c])
