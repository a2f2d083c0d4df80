"""Algorithm projectors against the tensors of the book, made with all their indices, and against sums over steps taken one by one."""

import itertools
import math

import mpmath
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.end_of_training.chains import Pace
from finitewidth.learning.end_of_training.projectors import Projectors

NAMES = ("Z_A", "Z_B", "Z_IA", "Z_IB", "Z_IIA", "Z_IIB")
RANDOM = np.random.default_rng(5)
FEATURES = RANDOM.normal(size=(3, 6))
H = FEATURES @ FEATURES.T / 6


def printed(H, eta):
    """PDLT (∞.107), (∞.110), (∞.135)-(∞.147) as matrices over all pairs and triples of training inputs, inverted as such."""
    one, G = np.eye(len(H)), np.linalg.inv(H)

    def at(matrices):
        return np.kron(np.kron(matrices[0], matrices[1]), matrices[2])

    h = [at([H if i == j else one for j in range(3)]) for i in range(3)]
    g = [at([G if i == j else one for j in range(3)]) for i in range(3)]

    def X_II(i, j):
        return np.linalg.inv(h[i] + h[j] - eta * h[i] @ h[j])

    pairs = h[0] @ h[1] + h[0] @ h[2] + h[1] @ h[2]
    X_III = np.linalg.inv(sum(h) - eta * pairs + eta**2 * h[0] @ h[1] @ h[2])
    Y_1 = (X_II(0, 1) - X_III) @ g[2]
    Y_2 = g[0] @ g[1] - X_II(0, 1) @ g[1]
    Y_3 = g[0] @ g[1] @ g[2] - X_II(0, 1) @ g[1] @ g[2] - X_II(1, 2) @ g[0] @ g[2] + X_II(1, 2) @ X_III @ g[2]
    Y_4 = X_II(1, 2) @ g[0] - X_II(1, 2) @ X_III

    def turned(tensor, order):
        N = len(H)
        both = [*order, *(3 + i for i in order)]
        return np.transpose(tensor.reshape((N,) * 6), both).reshape(tensor.shape)

    Z_B, Z_IB = Y_2 + eta / 2 * X_II(0, 1), -Y_3 - eta / 2 * (Y_4 + Y_1) - eta**2 / 6 * X_III
    return {
        "Z_A": Y_2,
        "Z_B": (Z_B + turned(Z_B, (1, 0, 2))) / 2,
        "Z_IA": -Y_3 - eta / 2 * Y_4,
        "Z_IB": sum(turned(Z_IB, order) for order in itertools.permutations(range(3))) / 6,
        "Z_IIA": -Y_3,
        "Z_IIB": -Y_3 - turned(Y_3, (1, 0, 2)) - turned(Y_3, (0, 2, 1)) - eta * (Y_4 + Y_1),
    }


@pytest.mark.parametrize("eta", [0.0, 0.05, 0.3])
def test_the_end_of_training_is_that_of_the_book_with_all_indices(eta):
    """PDLT (∞.107)-(∞.110), (∞.135)-(∞.147)."""
    algorithm = {"algorithm": "gradient_descent", "rate": eta} if eta else {}
    found = fw.learning.algorithm_projectors(H, **algorithm)
    u, N = found.vectors, len(H)
    for name, expected in printed(H, eta).items():
        Z = np.asarray(getattr(found, name))
        Z = Z if Z.ndim == 3 else np.repeat(Z[:, :, None], N, axis=2)
        tensor = np.einsum("abc,ia,jb,kc,la,mb,nc->ijklmn", Z, *[u] * 6, optimize=True).reshape(expected.shape)
        np.testing.assert_allclose(tensor, expected, rtol=0, atol=1e-13 * np.abs(expected).max(), err_msg=name)


def by_steps(h, eta, steps, after):
    r"""The force of PDLT (∞.117)-(∞.119), step by step: each projector is what its differential adds to a test output, PDLT (∞.118), or
    to one of training whose own eigenvalue is the next one (`after`), per unit of $\widehat H$ between the two."""
    N = len(h)
    mu = 1 - eta * h
    total = {name: np.zeros((N, N, N)) for name in NAMES}
    A, moved = np.zeros(N), {name: np.zeros((N, N, N)) for name in ("dH", "two")}
    for step in range(steps):
        weight = eta * (1.0 if after is None else (1 - (1 - eta * after) ** (steps - 1 - step)) / after)
        e = mu**step
        ea, eb, ec = e[:, None, None], e[None, :, None], e[None, None, :]
        Ab, Ac = A[None, :, None], A[None, None, :]
        total["Z_A"] += weight * ea * Ab
        total["Z_B"] += weight * (ea * Ab + eta / 2 * ea * eb)
        total["Z_IA"] -= weight * ea * (moved["dH"] + moved["two"] / 2)
        total["Z_IB"] -= weight * (
            ea * (moved["dH"] + moved["two"] / 2) + eta / 2 * ea * eb * Ac + eta**2 / 6 * ea * eb * ec
        )
        total["Z_IIA"] -= weight * ea * moved["dH"]
        later = ea * moved["dH"]
        total["Z_IIB"] -= weight * (
            later + np.swapaxes(later, 0, 1) + np.swapaxes(later, 1, 2) + ea * moved["two"] + eta * ea * eb * Ac
        )
        moved["dH"] = moved["dH"] + eta * eb * Ac
        moved["two"] = moved["two"] + eta**2 * eb * ec
        A = A + eta * e
    total["Z_B"] = (total["Z_B"] + np.swapaxes(total["Z_B"], 0, 1)) / 2
    total["Z_IB"] = sum(np.transpose(total["Z_IB"], order) for order in itertools.permutations(range(3))) / 6
    return total


@pytest.mark.parametrize("eta", [0.3, 1.4])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_so_many_steps_are_taken_one_by_one(eta, steps):
    """PDLT (∞.117)-(∞.124) at a finite number of steps, with rates beyond 1/h too."""
    h = np.array([0.2, 0.7, 1.1])
    projectors = Projectors(h, 1, Pace(eta, eta * steps))
    for position, after in ((-1, None), (0, h[0]), (2, h[2])):
        for name, expected in by_steps(h, eta, steps, after).items():
            found = getattr(projectors, name)()[..., position]
            expected = expected[..., 0] if found.ndim == 2 else expected
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13, err_msg=f"{name} {position}")


def test_flow_is_a_divided_difference_to_all_digits():
    """Of exponentials, with 40 digits, for eigenvalues of which some are nearly equal, some tiny."""
    h, time = np.array([1e-6, 0.4, 0.4 + 1e-9, 3.0]), 2.7
    projectors = Projectors(h, 1, Pace(0.0, time))
    with mpmath.workdps(60):

        def difference(nodes):
            matrix = mpmath.diag([-mpmath.mpf(float(node)) for node in nodes])
            for i in range(len(nodes) - 1):
                matrix[i, i + 1] = 1
            return float(mpmath.expm(matrix * mpmath.mpf(time))[0, len(nodes) - 1])

        for a, b, c in [(0, 1, 2), (3, 3, 0), (1, 2, 3), (2, 0, 0)]:
            nodes = [h[a] + h[b] + h[c], h[a] + h[b], h[a], 0.0]
            assert projectors.Z_IIA()[a, b, c, -1] == pytest.approx(-difference(nodes), rel=1e-13)
            assert projectors.Z_IIA()[a, b, c, 1] == pytest.approx(-difference([*nodes, h[1]]), rel=1e-13)
            assert projectors.Z_A()[a, b, -1] == pytest.approx(difference([h[a] + h[b], h[a], 0.0]), rel=1e-13)


def test_small_steps_are_flow_and_long_times_the_end():
    """Gradient descent of small steps, PDLT (∞.153), and times that are long for every eigenvalue."""
    h = np.array([0.3, 0.8, 1.7])
    at_once = {name: getattr(Projectors(h, 2, Pace()), name)() for name in ("first", "second", *NAMES)}
    for name, expected in at_once.items():
        late = getattr(Projectors(h, 2, Pace(0.0, 300.0)), name)()
        np.testing.assert_allclose(late, expected, rtol=2e-13, err_msg=name)
        steps = getattr(Projectors(h, 2, Pace(0.5, 300.0)), name)()
        np.testing.assert_allclose(steps, getattr(Projectors(h, 2, Pace(0.5)), name)(), rtol=2e-13, err_msg=name)
        small = getattr(Projectors(h, 2, Pace(1e-7)), name)()
        np.testing.assert_allclose(small, expected, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("x", [0.2, 0.9, 1.0, 1.6])
def test_one_training_input(x):
    """PDLT (∞.168)-(∞.169) and their companions: at $\\eta h = 1$ one step is enough, as two of second order are."""
    h, q = 1.3, 3 - 3 * x + x**2
    found = fw.learning.algorithm_projectors([[h]], "gradient_descent", rate=x / h)
    expected = {
        "Z_A": (1 - x) / (2 - x) / h**2,
        "Z_B": 0.5 / h**2,
        "Z_IA": -(1 - x) * (2 - 2 * x + x**2) / (2 * (2 - x) * q) / h**3,
        "Z_IB": -1 / 6 / h**3,
        "Z_IIA": -((1 - x) ** 3) / ((2 - x) * q) / h**3,
        "Z_IIB": -(1 - x) / (2 - x) / h**3,
    }
    for name, value in expected.items():
        assert getattr(found, name).item() == pytest.approx(value, rel=1e-13, abs=1e-15), name
    if x == 1.0:
        direct = fw.learning.algorithm_projectors([[h]], "two_step")
        for name in NAMES:
            assert getattr(found, name).item() == pytest.approx(getattr(direct, name).item(), abs=1e-15)


@pytest.mark.parametrize(
    "wrong",
    [
        {"algorithm": "newton"},
        {"algorithm": "gradient_descent"},
        {"rate": 0.1},
        {"steps": 3},
        {"algorithm": "two_step", "time": 2.0},
        {"time": 0.0},
        {"time": math.nan},
        {"algorithm": "gradient_descent", "rate": 100.0},
        {"algorithm": "gradient_descent", "rate": 0.0},
    ],
)
def test_options_that_an_algorithm_does_not_have(wrong):
    with pytest.raises(fw.ArgumentError):
        fw.learning.algorithm_projectors(H, **wrong)


def test_a_singular_kernel_is_refused():
    with pytest.raises(fw.DomainError, match="singular"):
        fw.learning.algorithm_projectors(np.ones((2, 2)))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_chains_of_few_steps(steps):
    """Every way to spend so few steps, one by one; a chain that is longer than they are is zero, for each rate."""
    eta, rates = 0.3, (np.array([0.5, 1.0, 2.0]), np.array([0.7, 0.1, 1.5]))
    for k in (1, 2):
        nodes = [*rates[:k], 0.0]
        waits = (each for each in itertools.product(range(steps + 1), repeat=k + 1) if sum(each) == steps - k)
        terms = [math.prod((1 - eta * r) ** i for r, i in zip(nodes, wait, strict=True)) for wait in waits]
        expected = eta**k * sum(terms, np.zeros(3))
        found = Pace(eta, eta * steps).chain(*rates[:k])
        assert found.shape == (3,)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-16)
