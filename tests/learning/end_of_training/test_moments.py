"""Mean and covariance of trained ensembles, against contractions over joint indices, outputs and samples, written out in full."""

import numpy as np
import pytest

from finitewidth.learning.end_of_training.chains import Pace
from finitewidth.learning.end_of_training.moments import Moments
from finitewidth.learning.end_of_training.projectors import Projectors
from finitewidth.learning.end_of_training.statistics import Statistics

TRAINED, TESTS, OUTPUTS = 2, 2, 3
D = TRAINED + TESTS
RANDOM = np.random.default_rng(8)


def positive(samples):
    root = RANDOM.normal(size=(samples, samples + 3))
    return root @ root.T / (samples + 3)


def symmetric(*orders):
    """A random tensor that is the same in all these orders of its indices, which form a group."""
    tensor = RANDOM.normal(size=(D,) * 4)
    return sum(np.transpose(tensor, order) for order in orders) / len(orders)


SAME = (0, 1, 2, 3)
PAIRS = (SAME, (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2))
TENSORS = {
    "A": symmetric(*PAIRS, *((c, d, a, b) for a, b, c, d in PAIRS)),
    "B": symmetric(SAME, (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)),
    "D": symmetric(*PAIRS),
    "F": symmetric(SAME, (2, 3, 0, 1)),
    "P": symmetric(SAME, (0, 2, 1, 3)),
    "Q": symmetric(SAME),
    "R": symmetric(SAME, (0, 1, 3, 2)),
    "S": symmetric(SAME, (1, 0, 3, 2)),
    "T": symmetric(SAME, (3, 2, 1, 0)),
    "U": symmetric(SAME, (2, 3, 0, 1)),
}
Y = RANDOM.normal(size=(TRAINED, OUTPUTS))
STATISTICS = Statistics(positive(D), positive(D), positive(D), TENSORS, TRAINED)
SEEN, VECTORS = STATISTICS.turned()
RATE = 0.8 / SEEN.values.max()
PACES = {
    "flow": (Pace(), False),
    "descent": (Pace(RATE), False),
    "two_step": (Pace(), True),
    "early": (Pace(0.0, 1.3), False),
    "few steps": (Pace(RATE, 3 * RATE), False),
}


def moments(name):
    pace, direct = PACES[name]
    return Moments(SEEN, Projectors(SEEN.values, TESTS, pace, direct), VECTORS.T @ Y)


def joint(*terms):
    """A tensor over joint indices (sample, output), from pairings of outputs and tensors of samples in the order of the slots."""
    delta = np.eye(OUTPUTS)
    total = 0
    for outputs, samples, tensor in terms:
        total = total + np.einsum(f"{outputs[0]},{outputs[1]},{samples}->aibjckdl", delta, delta, tensor)
    return total.reshape((D * OUTPUTS,) * 4)


def joint_tensors(X):
    r"""PDLT (8.82), (8.67), (11.45), (∞.11), (∞.12), letter by letter: slots a, b, c, d have outputs i, j, k, l."""
    s, t, u = ("ij", "kl"), ("ik", "jl"), ("il", "jk")
    return (
        joint((s, "abcd", X["A"]), (t, "acbd", X["B"]), (u, "adbc", X["B"])),
        joint((s, "abcd", X["D"]), (t, "acbd", X["F"]), (u, "adbc", X["F"])),
        joint((u, "abcd", X["P"]), (s, "abcd", X["Q"]), (t, "acbd", X["Q"])),
        joint((s, "abcd", X["R"]), (t, "acdb", X["R"]), (u, "adbc", X["R"])),
        joint((s, "abcd", X["S"]), (t, "acdb", X["T"]), (u, "adbc", X["U"])),
    )


def by_joint_indices(name):
    """The mean's five parts and the covariance on test inputs, every sum over joint indices."""
    HH, zzH, dHz, ddI, ddII = joint_tensors(SEEN.tensors)
    pace, direct = PACES[name]
    h = np.repeat(SEEN.values, OUTPUTS)
    A = len(h)
    Z = Projectors(
        h, TESTS * OUTPUTS, pace, direct
    )  # of the joint kernel, each eigenvalue as often as there are outputs
    y = (VECTORS.T @ Y).ravel()
    K, G, H = (np.kron(matrix, np.eye(OUTPUTS)) for matrix in (SEEN.K, SEEN.G, SEEN.H))
    W, train = K[:A, :A] + np.outer(y, y), slice(A)
    R = np.concatenate([-H[A:, :A], np.eye(TESTS * OUTPUTS)], axis=1)
    L = np.concatenate([-H[A:, :A] * Z.first()[:, -1], np.eye(TESTS * OUTPUTS)], axis=1)

    def of(tensor, slots):
        return tensor[tuple(slice(None) if letter in "pq" else train for letter in slots)]

    def sums(expression, tensor, *operands):
        slots = expression.split(",")[0]
        return np.einsum(expression, of(tensor, slots), *operands, optimize=True)

    third = np.einsum("a,b,c->abc", y, y, y)
    for one, two, three in ("abc", "bac", "cab"):
        third = third + np.einsum(f"{one},{two}{three}->abc", y, K[:A, :A])
    dd = ((ddI, "apbc", Z.Z_IA()), (ddI, "pabc", Z.Z_IB()), (ddII, "abpc", Z.Z_IIA()), (ddII, "pabc", Z.Z_IIB()))
    d = (("apb", Z.Z_A()), ("pab", Z.Z_B()))
    parts = {
        "kernel": H[A:, :A] @ (Z.first()[:, -1] * y),
        "fluctuation": -R @ sums("paab,abp,b->p", HH, Z.second(), y),
        "dntk": -R
        @ sum(
            sums(f"{s}a,abp,b->p", dHz, projector, y) + sums(f"{s}b,abp,a->p", dHz, projector, y) for s, projector in d
        ),
        "ddntk_I": -R @ sum(sums(f"{s},abcp,abc->p", tensor, projector, third) for tensor, s, projector in dd[:2]),
        "ddntk_II": -R @ sum(sums(f"{s},abcp,abc->p", tensor, projector, third) for tensor, s, projector in dd[2:]),
    }
    X = -sums("qapa,ap->pq", zzH, Z.first()) + sums("paab,abp,bq->pq", HH, Z.second(), K[:A])
    for s, projector in d:
        X = X + sums(f"{s}q,abp,ab->pq", dHz, projector, W)
        X = X + sums(f"{s}a,abp,bq->pq", dHz, projector, K[:A]) + sums(f"{s}b,abp,aq->pq", dHz, projector, K[:A])
    for tensor, s, projector in dd:
        for one, two, three in ("abc", "bac", "cab"):
            X = X + sums(f"{s},abcp,{one}q,{two}{three}->pq", tensor, projector, K[:A], W)
    twice = sums("paqb,ap,bq,ab->pq", HH, Z.first(), Z.first(), W)
    covariance = L @ G @ L.T + R @ X @ L.T + L @ X.T @ R.T + R @ twice @ R.T
    return parts, covariance


@pytest.mark.parametrize("name", PACES)
def test_outputs_are_followed_as_joint_indices_are(name):
    """PDLT (∞.160)-(∞.167), in joint indices: every part of the mean, and the covariance with its wiring."""
    parts, covariance = by_joint_indices(name)
    found = moments(name)
    np.testing.assert_allclose(found.kernel_mean().ravel(), parts.pop("kernel"), atol=1e-13)
    for part, value in found.mean_parts().items():
        scale = np.abs(parts[part]).max()
        np.testing.assert_allclose(value.ravel(), parts[part], rtol=0, atol=2e-13 * max(scale, 1), err_msg=part)
    own, wiring = found.covariance()
    whole = np.einsum("bc,ij->bicj", own, np.eye(OUTPUTS)) + np.einsum("bcij->bicj", wiring)
    np.testing.assert_allclose(
        whole.reshape(covariance.shape), covariance, rtol=0, atol=1e-12 * np.abs(covariance).max()
    )


@pytest.mark.parametrize("name", ["flow", "descent", "two_step"])
def test_the_formulas_of_the_book_with_their_errata(name):
    """PDLT (∞.162)-(∞.165) with the signs and permutations of the errata, index by index."""
    found = moments(name)
    h, y, n_L, X = SEEN.values, VECTORS.T @ Y, OUTPUTS, SEEN.tensors
    Z = {k: getattr(found.projectors, k)()[..., -1] for k in ("Z_A", "Z_B", "Z_IA", "Z_IB", "Z_IIA", "Z_IIB")}
    K, a = SEEN.K[:TRAINED, :TRAINED], slice(TRAINED)
    A, B, P, Q, R, S, T, U = (X[name] for name in "ABPQRSTU")

    def sums(expression, tensor, *operands):
        slots = expression.split(",")[0]
        part = tuple(slice(None) if letter == "p" else a for letter in slots)
        return np.einsum(expression, tensor[part], *operands, optimize=True)

    inverse = np.diag(1 / h)
    fluctuation = -(
        sums("pabc,ab,cd,di->pi", A, inverse, inverse, y)
        + sums("pbac,ab,cd,di->pi", B, inverse, inverse, y)
        + n_L * sums("pcab,ab,cd,di->pi", B, inverse, inverse, y)
    )
    twice_B = 2 * Z["Z_B"]  # Z_B^{1234} + Z_B^{2143}; digits 1, 2 are a, b, and 3, 4 their partners in the eigenbasis
    dntk = -(
        sums("paba,ab,bi->pi", P, twice_B, y)
        + sums("paba,ab,bi->pi", Q, twice_B, y)
        + n_L * sums("pbaa,ab,bi->pi", Q, twice_B, y)
        + n_L * sums("apba,ab,bi->pi", P, Z["Z_A"], y)
        + sums("apba,ab,bi->pi", Q, Z["Z_A"], y)
        + sums("abpa,ab,bi->pi", Q, Z["Z_A"], y)
        + sums("apbb,ab,ai->pi", P, Z["Z_A"], y)
        + n_L * sums("apbb,ab,ai->pi", Q, Z["Z_A"], y)
        + sums("abpb,ab,ai->pi", Q, Z["Z_A"], y)
    )
    squares = y @ y.T + n_L * K

    def third(one, two, three):
        """The errors of three training inputs, the first of which has the output that is asked; at [a, b, c, output]."""
        letters = f"{one}i,{two}{three}->abci"
        rest = np.einsum(f"{two}i,{three}{one}->abci", y, K) + np.einsum(f"{three}i,{one}{two}->abci", y, K)
        return np.einsum(letters, y, squares) + rest

    abc, bca, cab = third(*"abc"), third(*"bca"), third(*"cab")
    I = -(  # noqa: E741
        3 * sums("pabc,abc,abci->pi", R, Z["Z_IB"], abc)
        + sums("apbc,abc,abci->pi", R, Z["Z_IA"], abc)
        + sums("abcp,abc,abci->pi", R, Z["Z_IA"], cab)
        + sums("acpb,abc,abci->pi", R, Z["Z_IA"], bca)
    )
    II = -(
        sums("pabc,abc,abci->pi", S, Z["Z_IIB"], abc)
        + sums("pabc,cab,abci->pi", T, Z["Z_IIB"], abc)
        + sums("pabc,bca,abci->pi", U, Z["Z_IIB"], abc)
        + sums("abpc,abc,abci->pi", S, Z["Z_IIA"], cab)
        + sums("apcb,abc,abci->pi", T, Z["Z_IIA"], abc)
        + sums("acbp,abc,abci->pi", U, Z["Z_IIA"], bca)
    )
    R_out = np.concatenate([-SEEN.cross / h, np.eye(TESTS)], axis=1)
    for part, expected in zip(("fluctuation", "dntk", "ddntk_I", "ddntk_II"), (fluctuation, dntk, I, II), strict=True):
        value, expected = found.mean_parts()[part], R_out @ expected
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()), err_msg=part)
