"""Numbers as people write them."""

import math
from collections.abc import Iterable

_SMALLEST, _LARGEST = -4, 6  # powers of ten between which a number is written without one


def digits(values: Iterable[float], count: int) -> tuple[str, ...]:
    """Each with so many significant digits."""
    return tuple(f"{value:.{count}g}" for value in values)


def rounded(values: Iterable[float], count: int) -> tuple[str, ...]:
    """As `digits`, but 146 to two digits is 150, not 1.5e+02."""
    return tuple(f"{float(f'{value:.{count}g}'):g}" for value in values)


def with_error(mean: float, error: float) -> str:
    """A number rounded to its standard error: 0.4213(12) means 0.4213 ± 0.0012, and 4.21(12)e+09 likewise."""
    if error == 0 or not math.isfinite(error):
        return f"{mean:.5g}"
    power = math.floor(math.log10(max(abs(mean), error)))
    if not _SMALLEST <= power < _LARGEST:
        return f"{with_error(mean / 10.0**power, error / 10.0**power)}e{power:+03d}"
    digits = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    if digits < 0:
        return f"{round(mean, digits):.0f}({round(error, digits):.0f})"
    return f"{mean:.{digits}f}({round(error * 10**digits)})"


def with_errors(means: Iterable[float], errors: Iterable[float], told: Iterable[bool] | None = None) -> tuple[str, ...]:
    """Each rounded to its standard error; a question mark in place of one that cannot be `told`."""
    pairs = [(float(mean), float(error)) for mean, error in zip(means, errors, strict=True)]
    known = [True] * len(pairs) if told is None else list(told)
    return tuple(
        with_error(*pair) if known_one else f"{pair[0]:.2g}(?)" for pair, known_one in zip(pairs, known, strict=True)
    )
