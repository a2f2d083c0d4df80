"""Ways to train, by name: their arguments checked, and their projectors for anyone to look at."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._result import Result
from ..._validation import as_count, as_covariance, as_number
from ..kernel.learners import check_stable
from .chains import Pace
from .projectors import Projectors

ALGORITHMS = ("gradient_flow", "gradient_descent", "two_step")
_SINGULAR = 1e-11  # the least eigenvalue relative to the largest; the third power of its inverse stands in projectors


class AlgorithmProjectors(Result, eqx.Module):
    r"""The projectors of an algorithm in the eigenbasis of the tangent kernel of training inputs,
    $\widetilde H = \sum_au_ah_au_a^{\mathsf T}$:

    $$Z^{\tilde\alpha_1\tilde\alpha_2\tilde\alpha_3\tilde\alpha_4} = \sum_{ab}Z_{ab}\,u_a^{\tilde\alpha_1}u_b^{\tilde\alpha_2}
      u_a^{\tilde\alpha_3}u_b^{\tilde\alpha_4},$$

    and likewise with six indices. Those of $dH_{\delta12}$ and $dd_IH_{\delta123}$, which are symmetric, are symmetrised.
    """

    values: Float[Array, " N"]
    """The eigenvalues, from the smallest to the largest."""
    vectors: Float[Array, "N N"]
    """The eigenvectors, in columns."""
    Z_A: Float[Array, "N N"]
    Z_B: Float[Array, "N N"]
    Z_IA: Float[Array, "N N N"]
    Z_IB: Float[Array, "N N N"]
    Z_IIA: Float[Array, "N N N"]
    Z_IIB: Float[Array, "N N N"]


@entry()
def algorithm_projectors(
    kernel: Any,
    algorithm: str = "gradient_flow",
    *,
    rate: float | None = None,
    steps: int | None = None,
    time: float = math.inf,
) -> AlgorithmProjectors:
    r"""How an algorithm weighs what differentials of the tangent kernel do to a prediction, PDLT (∞.142)-(∞.153).

    With $\mu_a = 1-\eta h_a$, at the end of gradient descent $Z_A = \frac{\eta^2\mu_a}{(1-\mu_a)(1-\mu_a\mu_b)}$, and of gradient flow
    $\frac1{h_a(h_a+h_b)}$. $Z_B = \frac1{2h_ah_b}$ and $Z_{IB} = -\frac1{6h_ah_bh_c}$ are then the same for all algorithms, for they expand
    outputs along a displacement of parameters that all have in common. Two steps of second order have these alone, PDLT (∞.148).

    **Arguments:**

    - `kernel`: the tangent kernel of training inputs, positive definite, (N, N).
    - `algorithm`: `"gradient_flow"` until `time`, `"gradient_descent"` of a `rate`, to the end unless `steps` are given, or `"two_step"`.

    Examples:
        >>> found = fw.learning.algorithm_projectors([[2.0]], "gradient_descent", rate=0.25)
        >>> float(found.Z_A.round(6)[0, 0]), float(found.Z_B[0, 0])
        (0.083333, 0.125)
    """
    theta = np.asarray(as_covariance(kernel, "kernel"))
    pace, direct = as_pace(algorithm, rate, steps, time)
    values, vectors = positive_spectrum(theta, "kernel")
    if pace.rate:
        check_stable(float(values.max()), pace.rate, "the training inputs")
    projectors = Projectors(values, 1, pace, direct)
    found = {name: getattr(projectors, name)()[..., -1] for name in ("Z_A", "Z_B", "Z_IA", "Z_IB", "Z_IIA", "Z_IIB")}
    return AlgorithmProjectors(values, vectors, **found)


def as_pace(
    algorithm: Any, rate: Any, steps: Any, time: Any, known: tuple[str, ...] = ALGORITHMS, argument: str = "algorithm"
) -> tuple[Pace, bool]:
    """Rate and time of an algorithm, and whether it sets parameters directly. Options it does not have are refused, as are algorithms
    that are not `known` to the `argument` that names them."""
    if algorithm not in known:
        raise UnknownNameError(argument, algorithm, known)
    descends = algorithm == "gradient_descent"
    unwanted = {"rate": rate is not None and not descends, "steps": steps is not None and not descends}
    unwanted["time"] = algorithm != "gradient_flow" and time != math.inf
    for name, given in unwanted.items():
        if given:
            raise ArgumentError(
                name, f"a value with {argument} {algorithm!r}", f"none: that {argument} does not have it"
            )
    if descends:
        if rate is None:
            raise ArgumentError("rate", "nothing", f"a learning rate for {algorithm!r}")
        eta = as_number(rate, "rate", low=0.0)
        if eta == 0:
            raise DomainError("rate", eta, "a number > 0")
        return Pace(eta, math.inf if steps is None else eta * as_count(steps, "steps")), False
    if time == math.inf:
        return Pace(), algorithm == "two_step"
    end = as_number(time, "time", low=0.0)
    if end == 0:
        raise DomainError("time", end, "a number > 0, or inf")
    return Pace(0.0, end), False


def positive_spectrum(
    matrix: Float[np.ndarray, "N N"], argument: str, what: str = "a tangent kernel"
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N N"]]:
    """Eigenvalues and eigenvectors of a matrix that must be positive definite beyond rounding."""
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] > _SINGULAR * values[-1]:
        got = f"{what} of training inputs with eigenvalues from {values[0]:.3g} to {values[-1]:.3g}"
        raise DomainError(argument, got, "one that is not singular: training inputs that differ, none of them twice")
    return values, vectors
