r"""How fast fluctuations of a critical residual network grow with depth: $V^{(\ell)}/(nK^2) \to \nu(\gamma)\,\ell/n$.

A neuron that persists remembers itself, $\mathrm{Cov}(z^{(s)}, z^{(t)}) = \gamma^{|t-s|}K$, so that all pairs of depths add to the vertex:

$$\nu(\gamma) = \frac{C_W^2}{K^2}\Big[c(1) + 2\sum_{k\ge1}c(\gamma^k)\Big],\qquad c(\varrho) = \mathrm{Cov}[\sigma^2(z), \sigma^2(z')],\quad
\langle zz'\rangle = \varrho K,\quad C_W = (1-\gamma^2)\,C_W(0).$$

PDLT (B.29) keeps of $c(\varrho)$, $\varrho \ne 1$, the term in $\varrho^2$ only. That is all there is for linear networks, and near
$K^\star = 0$ for activations that are smooth there; it is wrong by a factor of 2.4 for ReLU at $\gamma^2 = \frac12$.
"""

import math
from collections.abc import Callable
from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, NotTunableError, UnknownNameError
from ..._validation import as_count, as_number
from ...activations import Activation, ScaleInvariant, as_activation
from ...activations.families import scale_invariant
from ...gaussian.accuracy import product_rule
from ...gaussian.pairs import mixed_moment, square_average
from ...gaussian.powers import power
from ..classes.classes import UniversalityClass
from ..classes.classify import criticality
from ..one_input.one_sided import one_sided
from ..two_inputs.angle_moments import angle_moments

Form = Literal["complete", "printed"]

_FORGOTTEN = 1e-17  # a correlation that adds nothing to a sum
_CLOSEST = 1 - 1e-5  # to one: beyond, the sum over depths is longer than any network
_CLOSEST_BY_QUADRATURE = 1 - 1e-4  # half a million two-dimensional quadratures: half a minute
_TOGETHER = 2**15  # correlations averaged at once: each takes a two-dimensional quadrature


def critical_gamma(gamma: float) -> float:
    """`gamma`, refused where nothing can be critical: at one, the skip alone keeps all of the kernel."""
    number = as_number(gamma, "gamma")
    if abs(number) > _CLOSEST:
        want = f"|gamma| <= {_CLOSEST:g}: C_W = (1 - gamma^2) C_W(0) must be positive"
        raise DomainError("gamma", number, want)
    return number


@entry()
def residual_nu(
    activation: str | Activation | Callable[[Array], Array], gamma: float, form: Form = "complete"
) -> float:
    r"""$\nu(\gamma)$ of a critical residual network, $V/(nK^2) \to \nu\,\ell/n$; $\gamma = 0$ is an MLP.

    **Arguments:**

    - `activation`: one that can be tuned.
    - `gamma`: the strength of the skip connections, between -1 and 1; its sign matters.
    - `form`: `"complete"` to leading order in $1/n$, or `"printed"`, PDLT (B.29) and (B.35):
      $(1-\gamma^2)\big[(1-\gamma^2)\,\nu(0) + 4\gamma^2\big]$, a third of that with $3\nu(0)$ for $\nu(0)$ in the $K^\star = 0$ class:
      $\frac23(1-\gamma^4)$.

    Examples:
        >>> round(fw.critical.residual_nu("relu", 0.5**0.5), 4)
        5.4425
        >>> round(fw.critical.residual_nu("relu", 0.5**0.5, form="printed"), 4)
        2.25
    """
    nu, closest = _nu(as_activation(activation), form)
    number = critical_gamma(gamma)
    if abs(number) > closest:
        terms = f"{number:g}, for which {len(_correlations(number)):,} quadratures would be summed"
        raise DomainError("gamma", terms, f"|gamma| <= {closest:g} with this activation")
    return nu(number)


def _nu(sigma: Activation, form: Form) -> tuple[Callable[[float], float], float]:
    """The function of gamma, its activation looked at once, and the gamma up to which it can be computed."""
    if not isinstance(form, str) or form not in get_args(Form):
        raise UnknownNameError("form", form, get_args(Form))
    verdict = criticality(sigma)
    if verdict.point is None or verdict.exponents is None:
        raise NotTunableError(verdict.activation, verdict.reason)
    point, nu = verdict.point, verdict.exponents.nu
    # Near K* = 0 the kernel falls as it passes, and two thirds of what each layer adds are lost with it, PDLT (5.131), (B.35).
    kept = 1 / 3 if verdict.universality_class is UniversalityClass.ZERO else 1.0
    if form == "printed":
        return lambda g: kept * (1 - g**2) * ((1 - g**2) * nu / kept + 4 * g**2), _CLOSEST
    by_quadrature = verdict.universality_class is UniversalityClass.HALF_STABLE
    if by_quadrature:
        K = float(point.K_star or 0.0)

        def covariances(remembered: np.ndarray) -> np.ndarray:
            return point.C_W**2 / K**2 * np.asarray(_covariance_of_squares(sigma, K, remembered))
    else:
        lines = _lines_at_zero(sigma)

        def covariances(remembered: np.ndarray) -> np.ndarray:
            squares = angle_moments(lines, np.arccos(np.clip(remembered, -1, 1))).squares
            return np.asarray(squares) / lines.A2**2 - 1

    def complete(g: float) -> float:
        remembered = _correlations(g)
        parts = [covariances(remembered[first : first + _TOGETHER]) for first in range(0, len(remembered), _TOGETHER)]
        return kept * (1 - g**2) ** 2 * float(2 * sum(part.sum() for part in parts) - parts[0][0])

    return complete, _CLOSEST_BY_QUADRATURE if by_quadrature else _CLOSEST


def _lines_at_zero(sigma: Activation) -> ScaleInvariant:
    """The two half-lines that the activation is, or that it begins with on both sides of zero."""
    if isinstance(sigma, ScaleInvariant):
        return sigma
    right, left = one_sided(sigma, 1, jnp.zeros(1))
    return scale_invariant(float(right[0]), float(left[0]))


def _correlations(gamma: float) -> Float[np.ndarray, " k"]:
    r"""$1, \gamma, \gamma^2, \dots$ as far as they count, and then zeros: few lengths, so that a search for $\gamma$ compiles little."""
    if gamma == 0:
        return np.ones(1)
    count = 1 + math.ceil(math.log(_FORGOTTEN) / math.log(abs(gamma)))
    few = 32 * 8 ** max(0, math.ceil(math.log(count / 32, 8)))
    powers = np.arange(few if few < _TOGETHER else _TOGETHER * math.ceil(count / _TOGETHER))
    return np.where(powers < count, gamma**powers, 0.0)


def _covariance_of_squares(sigma: Activation, K: float, correlations: Float[np.ndarray, " k"]) -> Float[Array, " k"]:
    r"""$\mathrm{Cov}[\sigma^2(z), \sigma^2(z')]$ of two variables of variance $K$."""
    square, rule = power(sigma, 2), product_rule(sigma, K)
    variance = jnp.full(len(correlations), K)
    return (
        mixed_moment(square, 0, square, 0, rule, variance, K * correlations, variance)
        - square_average(sigma, jnp.asarray(K)) ** 2
    )


@entry()
def optimal_gamma(
    activation: str | Activation | Callable[[Array], Array], ratio: float, outputs: int, form: Form = "complete"
) -> float:
    r"""$\gamma^\star(r)$: the skip connections with which depth over width $r = L/n$ is the optimal one, PDLT (B.36)-(B.37),

    $$\nu(\gamma^\star)\,r = \frac4{20 + 3n_L},$$

    and zero where a network without any may be as deep, or deeper.

    **Arguments:**

    - `activation`: one that can be tuned.
    - `ratio`: depth over hidden width.
    - `outputs`: $n_L$, the width of the last layer, whose halves share the information.
    - `form`: which $\nu$, as in `residual_nu`. What the optimum assumes is the same in both.

    Examples:
        >>> round(fw.critical.optimal_gamma("relu", 0.1, outputs=10), 4)
        0.9717
        >>> round(fw.critical.optimal_gamma("relu", 0.1, outputs=10, form="printed") ** 2, 4)
        0.8091
    """
    nu, closest = _nu(as_activation(activation), form)
    r = as_number(ratio, "ratio", low=0.0)
    wanted = math.inf if r == 0 else 4 / (20 + 3 * as_count(outputs, "outputs")) / r
    least = nu(0.0)
    if least <= wanted:
        return 0.0
    if least * (1 - closest**2) ** 2 > wanted:  # the first term of nu's sum, none of which is negative
        raise _too_deep(r, closest)

    def excess(g: float) -> float:
        return nu(g) - wanted

    # Sums over depths are long near one: come closer in steps.
    low, high = 0.0, 0.5
    while excess(high) > 0:
        if high == closest:
            raise _too_deep(r, closest)
        low, high = high, min(1 - (1 - high) / 8, closest)
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))


def _too_deep(ratio: float, closest: float) -> DomainError:
    return DomainError("ratio", ratio, f"a smaller one: gamma would be within {1 - closest:g} of one")
