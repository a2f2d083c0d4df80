"""Whether theory and networks agree, as far as that many deviations can tell."""

import math
from enum import StrEnum
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from ..section import Tone

_BY_CHANCE = 1e-3  # the share of runs in which noise alone would be called a disagreement
_COARSE = 0.5  # a distance of distribution functions that must not go unnoticed


# Differences below this, relative to the natural size of a quantity, are rounding: entries that do not fluctuate at
# all (the first layer; the square of a sign) are known exactly, and have no standard error worth the name.
_ROUNDING = 1e-12


class Verdict(StrEnum):
    """What a comparison comes to."""

    AGREE = "agree"
    IN_PART = "agree where they can tell"
    DISAGREE = "disagree"
    CANNOT_TELL = "cannot tell"


TONES = {
    Verdict.AGREE: Tone.GOOD,
    Verdict.IN_PART: Tone.RISKY,
    Verdict.DISAGREE: Tone.BAD,
    Verdict.CANNOT_TELL: Tone.SOFT,
}


def expected_largest(count: int) -> float:
    r"""The mean largest of $m$ independent $|z|$, $z$ normal: $\int_0^\infty 1 - \mathrm{erf}(t/\sqrt2)^m\,dt$."""
    if count == 0:
        return 0.0
    t = np.linspace(0.0, 12.0, 1201)
    inside = np.array([math.erf(value / math.sqrt(2)) for value in t])
    return float(np.trapezoid(1 - inside**count, t))


def largest_by_chance(count: int) -> float:
    r"""What the largest of $m$ independent $|z|$ exceeds in one run of a thousand."""
    return -NormalDist().inv_cdf(-math.expm1(math.log1p(-_BY_CHANCE) / count) / 2)


def as_if_normal(
    deviation: Float[np.ndarray, " R"], effective: Float[np.ndarray, " R"], networks: int
) -> Float[np.ndarray, " R"]:
    r"""The sizes $w$ of deviations, in standard errors, that normal numbers as rare would have.

    Means of skewed numbers, divided by their own standard errors, reach out further on one side, to
    $|t| = w + a(2w^2 + 1)$ with $a = \gamma/6\sqrt M$ (Cornish and Fisher, with the Edgeworth series of Student's $t$), and
    $\gamma^2/M = 1/M_{\rm eff} - 1/M$. Taken as they are, noise would disagree in up to seven runs of a thousand, not in one.
    """
    a = _skew(effective, networks)
    t = np.maximum(np.abs(deviation) - a, 0.0)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(t), np.inf, 2 * t / (1 + np.sqrt(1 + 8 * a * t)))  # a = 0 is no exception


def reach(edge: float, effective: Float[np.ndarray, " R"], networks: int) -> Float[np.ndarray, " R"]:
    r"""The deviation that is as rare as `edge` of normal numbers: $w + a(2w^2 + 1)$, the inverse of `as_if_normal`."""
    return edge + _skew(effective, networks) * (2 * edge**2 + 1)


def _skew(effective: Float[np.ndarray, " R"], networks: int) -> Float[np.ndarray, " R"]:
    return np.sqrt(np.maximum(1 / effective - 1 / networks, 0.0)) / 6


def in_standard_errors(difference: np.ndarray, error: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Differences in standard errors; zero for rounding of numbers of this `size`, infinite where what is known exactly differs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(difference) <= _ROUNDING * size, 0.0, difference / error)


def verdict_on(largest: float, count: int, silent: int = 0) -> Verdict:
    """On the largest of `count` deviations, in standard errors, beside `silent` ones that cannot tell. An infinite one disagrees,
    whatever the count; agreement is claimed of all only if all can tell, and agreement of a minority is none."""
    if count == 0:
        return Verdict.CANNOT_TELL if math.isfinite(largest) else Verdict.DISAGREE
    if largest > largest_by_chance(count):
        return Verdict.DISAGREE
    if silent == 0:
        return Verdict.AGREE
    return Verdict.IN_PART if silent <= count else Verdict.CANNOT_TELL


def sentence_on(largest: float, count: int, silent: int = 0, where: str = "", seen: float | None = None) -> str:
    """The verdict in words, with what noise alone would do; `where` names the entries that cannot tell, as in `V in layers 3-5`, and
    `seen` is the largest deviation before it was counted as normal noise."""
    seen = largest if seen is None else seen
    rare = "" if f"{seen:.2f}" == f"{largest:.2f}" else f" and as rare as {largest:.2f} of normal noise"
    size = f"the largest of {count} deviations is {seen:.2f} standard errors{rare}"
    within = f"{size}, where noise alone would give about {expected_largest(count):.2f} if they were independent"
    match verdict_on(largest, count, silent):
        case Verdict.CANNOT_TELL if count == 0:
            return "Whether theory and networks agree, none of the entries can tell."
        case Verdict.CANNOT_TELL:
            return f"Whether theory and networks agree, most entries cannot tell ({where}). Those that can, agree: {within}."
        case Verdict.IN_PART:
            return f"Theory and networks agree where they can tell; they cannot for {where}. Elsewhere {within}."
        case Verdict.AGREE:
            return f"Theory and networks agree: {within}."
        case Verdict.DISAGREE:
            noise = (
                f", where noise alone stays below {largest_by_chance(count):.2f} in 999 runs of 1000" if count else ""
            )
            return (
                f"Theory and networks disagree: {size}{noise}. "
                "Wider networks must come closer, since theory leaves out higher orders in 1/n, or something else is wrong."
            )


def noticed_distance(count: int, first: int, second: int) -> float:
    r"""The Kolmogorov-Smirnov distance of two samples that noise alone exceeds, in one of `count` entries, once in a thousand runs:
    $\sqrt{\tfrac12\ln(2/\alpha)(\tfrac1{n_1}+\tfrac1{n_2})}$."""
    alpha = -math.expm1(math.log1p(-_BY_CHANCE) / count)
    return math.sqrt(math.log(2 / alpha) / 2 * (1 / first + 1 / second))


def verdict_on_laws(p_value: float, count: int, first: int, second: int) -> Verdict:
    """On the smallest p-value of `count` entries of two samples."""
    if math.log1p(-min(p_value, 0.5)) * count > math.log1p(
        -_BY_CHANCE
    ):  # the smallest of so many is this small too rarely
        return Verdict.DISAGREE
    return Verdict.AGREE if noticed_distance(count, first, second) <= _COARSE else Verdict.CANNOT_TELL


def sentence_on_laws(p_value: float, distance: float, count: int, first: int, second: int) -> str:
    """The verdict in words, with what would have been seen."""
    seen = f"distances beyond about {noticed_distance(count, first, second):.2f} would show"
    match verdict_on_laws(p_value, count, first, second):
        case Verdict.DISAGREE:
            return (
                f"The two laws disagree: one of {count} entries is apart by a Kolmogorov-Smirnov distance of {distance:.3f}, "
                f"p = {p_value:.2g}, where noise alone stays above p = {_BY_CHANCE / count:.2g} in 999 runs of 1000. A limit is approached "
                "as width grows; two samples of one law must not differ so."
            )
        case Verdict.AGREE:
            return f"The two laws agree in all {count} entries, as far as so many paths can tell: {seen}."
        case _:
            return f"Whether the two laws agree, so few paths cannot tell: of {count} entries only {seen}."
