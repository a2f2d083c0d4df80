"""Whether theory and networks agree, as far as that many deviations can tell."""

import math
from enum import StrEnum

import numpy as np
from scipy.special import ndtri

_BY_CHANCE = 1e-3  # the share of runs in which noise alone would be called a disagreement


# Differences below this, relative to the natural size of a quantity, are rounding: entries that do not fluctuate at
# all (the first layer; the square of a sign) are known exactly, and have no standard error worth the name.
_ROUNDING = 1e-12


class Verdict(StrEnum):
    """What a comparison comes to."""

    AGREE = "agree"
    DISAGREE = "disagree"
    CANNOT_TELL = "cannot tell"


def expected_largest(count: int) -> float:
    r"""The mean largest of $m$ independent $|z|$, $z$ normal: $\int_0^\infty 1 - \mathrm{erf}(t/\sqrt2)^m\,dt$."""
    if count == 0:
        return 0.0
    t = np.linspace(0.0, 12.0, 1201)
    inside = np.array([math.erf(value / math.sqrt(2)) for value in t])
    return float(np.trapezoid(1 - inside**count, t))


def largest_by_chance(count: int) -> float:
    r"""What the largest of $m$ independent $|z|$ exceeds in one run of a thousand."""
    return float(-ndtri(-np.expm1(np.log1p(-_BY_CHANCE) / count) / 2))


def in_standard_errors(difference: np.ndarray, error: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Differences in standard errors; zero for rounding of numbers of this `size`, infinite where what is known exactly differs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(difference) <= _ROUNDING * size, 0.0, difference / error)


def verdict_on(largest: float, count: int) -> Verdict:
    """On the largest of `count` deviations, in standard errors. An infinite one disagrees, whatever the count."""
    if count == 0 and math.isfinite(largest):
        return Verdict.CANNOT_TELL
    return Verdict.AGREE if count and largest <= largest_by_chance(count) else Verdict.DISAGREE


def sentence_on(largest: float, count: int) -> str:
    """The verdict in words, with what noise alone would do."""
    match verdict_on(largest, count):
        case Verdict.CANNOT_TELL:
            return "Whether theory and networks agree, none of the entries can tell."
        case Verdict.AGREE:
            return (
                f"Theory and networks agree: the largest of {count} deviations is {largest:.2f} standard errors, where noise alone "
                f"gives {expected_largest(count):.2f} on average."
            )
        case Verdict.DISAGREE:
            noise = (
                f", where noise alone stays below {largest_by_chance(count):.2f} in 999 runs of 1000" if count else ""
            )
            return (
                f"Theory and networks disagree: the largest of {count} deviations is {largest:.2f} standard errors{noise}. Theory "
                "leaves out higher orders in 1/n: wider networks must come closer, or something else is wrong."
            )
