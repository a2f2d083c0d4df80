"""The time to stop at, against formulas for one and two directions of learning, which SciPy or a logarithm minimises."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize

import finitewidth as fw
from finitewidth.learning import optimal_stopping
from finitewidth.learning.kernel import generalisation


@dataclass(frozen=True)
class Alone:
    r"""Training inputs that do not feel one another, $\widetilde\Theta = \mathrm{diag}(a)$, and one test input, with $\Theta_{BA} = b$.

    Its output is $z_B - u\cdot(z_A - y)$ with $u_i = \frac{b_i}{a_i}(1 - e^{-a_it})$, and the mean loss of PDLT (10.52)
    $\frac12[(u\cdot y - y_B)^2 + K_{BB} - 2u\cdot K_{BA} + u\cdot\widetilde Ku]$.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    y: tuple[float, ...]
    told: float
    K: np.ndarray

    def parts(self, time):
        a, b, y = (np.asarray(part) for part in (self.a, self.b, self.y))
        u = b / a * -np.expm1(-a * time)
        return (u @ y - self.told) ** 2 / 2, (self.K[-1, -1] - 2 * u @ self.K[-1, :-1] + u @ self.K[:-1, :-1] @ u) / 2

    @property
    def arguments(self):
        Theta = np.diag([*self.a, sum(np.square(self.b) / self.a)])
        Theta[-1, :-1] = Theta[:-1, -1] = self.b
        return {"kernel": (Theta, self.K), "y_train": self.y, "y_test": [self.told]}


def one_direction(u, a=1.0):
    """One training input for which u, of b/a = .9 at the end of training, is best: told u(p + y^2) = y y_B + q."""
    p, q, y = 0.3, 0.1, 1.2
    return Alone((a,), (0.9 * a,), (y,), (u * (p + y**2) - q) / y, np.array([[p, q], [q, 0.8]]))


def assert_is_least(found, problem, time):
    """To half a step of the second refinement, each of which puts 33 times into two steps of the last: the first 33 reach from a
    thousandth of the shortest learning time to thirty of the longest."""
    half = math.log(3e4 * max(problem.a) / min(problem.a)) / 32 / 16 / 16 / 2
    assert abs(math.log(found.time / time)) < half * 1.01
    np.testing.assert_allclose([found.error.bias, found.error.variance], problem.parts(found.time), rtol=1e-11)
    np.testing.assert_allclose([found.at_the_end.bias, found.at_the_end.variance], problem.parts(math.inf), rtol=1e-11)
    assert found.error.total <= max(sum(problem.parts(time * math.exp(side * half))) for side in (-1.01, 1.01))


@pytest.mark.parametrize("a", [1e-6, 1.0, 1e7])
def test_one_input_is_a_logarithm(a):
    """In any unit of time, and from its first thousandth to where the rest of the loss is nearly rounding."""
    for passed in (0.00101, 0.0093, 0.31, 1.0, 2.7, 9.5):
        problem = one_direction(-0.9 * math.expm1(-passed), a)
        assert_is_least(optimal_stopping(**problem.arguments), problem, passed / a)


@pytest.mark.parametrize("a", [1e-6, 1.0, 1e7])
def test_multiples_of_an_input_are_one_that_learns_faster(a):
    r"""$z_A = v\zeta$ learns at rate $a|v|^2$; the other eigenvalues of $avv^T$ are zero but for rounding, and nobody waits for them."""
    v = np.array([1.0, 0.7, -0.4, 2.1, 0.3])
    for passed in (0.0093, 0.31, 1.0, 2.7):
        problem = one_direction(-0.9 * math.expm1(-passed), a)
        rows = np.append(v, 1.0)
        Theta = (
            np.outer(rows, rows) * np.where(np.arange(6) < 5, 1, 0.9)[:, None] * np.where(np.arange(6) < 5, 1, 0.9) * a
        )
        K = np.outer(rows, rows) * problem.K[0, 0]
        K[-1, :-1] = K[:-1, -1] = v * problem.K[0, 1]
        K[-1, -1] = problem.K[1, 1]
        found = optimal_stopping(kernel=(Theta, K), y_train=v * problem.y[0], y_test=[problem.told])
        one = optimal_stopping(**problem.arguments)
        assert found.time * (v @ v) == pytest.approx(one.time, rel=1e-9)
        assert found.error.total == pytest.approx(one.error.total, rel=1e-9)


@pytest.mark.parametrize(
    ("y", "told"),
    [
        ((1.0, 2.0), 0.02),  # when the fast direction has barely begun
        ((1.0, 2.0), 0.5),  # while the fast one is learned
        ((1.0, 2.0), 1.5),  # while the slow one is
        ((1.0, -0.5), 0.87),  # before the slow one spoils what the fast one learned
        ((-1.0, 1.7), 0.3),  # when the slow one has mended what the fast one spoiled
    ],
)
def test_fast_and_slow_directions(y, told):
    """Of rates 3000 and 1: SciPy, from the best of a fine grid."""
    problem = Alone(
        (3000.0, 1.0), (2700.0, 0.8), y, told, 0.01 * np.array([[1, 0.1, 0.3], [0.1, 1, 0.2], [0.3, 0.2, 1]])
    )
    times = np.geomspace(1e-7, 60, 4000)
    at = int(np.argmin([sum(problem.parts(time)) for time in times]))
    bounds = math.log(times[at - 1]), math.log(times[at + 1])
    least = optimize.minimize_scalar(
        lambda log: sum(problem.parts(math.exp(log))), bounds=bounds, method="bounded", options={"xatol": 1e-9}
    )
    assert_is_least(optimal_stopping(**problem.arguments), problem, math.exp(least.x))


def test_what_is_best_learned_to_the_end():
    """Told more than the end of training reaches."""
    problem = one_direction(0.95)
    found = optimal_stopping(**problem.arguments)
    assert found.error.total == pytest.approx(sum(problem.parts(math.inf)), rel=1e-12)
    assert found.time > 15


def test_bad_times_to_stop(monkeypatch):
    arguments = one_direction(0.4).arguments
    with pytest.raises(fw.DomainError, match=r"`points`.*100001.*at most 100000 times"):
        optimal_stopping(**arguments, points=100_001)
    with pytest.raises(fw.DomainError, match=r"`points`.*got 2;"):
        optimal_stopping(**arguments, points=2)
    assert 0 < optimal_stopping(**arguments, points=3).time < math.inf
    with pytest.raises(fw.DomainError, match=r"`y_test`.*overflows"):
        optimal_stopping(**arguments | {"y_test": [1e200]})
    monkeypatch.setattr(generalisation, "_MOST_POINTS", 40)
    assert optimal_stopping(**arguments, points=40).time < math.inf
    with pytest.raises(fw.DomainError, match="at most 40 times"):
        optimal_stopping(**arguments, points=41)
