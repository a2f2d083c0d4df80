"""One law of a covariance matrix in numbers: its entries at the last depth, and their quantiles."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ...results import CovarianceLaw
from ..plain import plain

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class LawRow(NamedTuple):
    """One entry of the covariance or of the correlation at the last depth."""

    entry: str
    first: tuple[float, ...]
    """Quantiles at `LEVELS` of the first law."""
    second: tuple[float, ...]
    distance: float
    """The largest difference of the two distribution functions."""
    p_value: float
    """How often two samples of one law would be at least this far apart."""


def about(law: CovarianceLaw) -> dict[str, Any]:
    """What a law is a sample of."""
    return {
        "width": law.width,
        "depth": law.depth,
        "depth_to_width": law.depth_to_width,
        "method": law.method,
        "steps": law.steps,
        "paths": law.paths,
        "counts": law.counts,
        "seed": law.seed,
    }


def entries(law: CovarianceLaw) -> dict[str, Float[np.ndarray, " paths"]]:
    """Every independent entry of covariance and correlation at the last depth, by name."""
    return named(law.final, law.correlation()[:, -1])


def named(V: Float[np.ndarray, "*paths m m"], rho: Float[np.ndarray, "*paths m m"]) -> dict[str, Any]:
    """The independent entries of a covariance and of its correlation, by name."""
    pairs = list(zip(*np.triu_indices(V.shape[-1]), strict=True))
    return {f"V({a},{b})": V[..., a, b] for a, b in pairs} | {
        f"rho({a},{b})": rho[..., a, b] for a, b in pairs if a != b
    }


def quantiles(values: Float[np.ndarray, " paths"]) -> tuple[float, ...]:
    """At `LEVELS`."""
    return tuple(float(q) for q in np.quantile(values, LEVELS))


def law_data(law: CovarianceLaw) -> dict[str, Any]:
    """What a law is, and the quantiles of its entries, in types that JSON knows."""
    rows = [{"entry": name, "quantiles": quantiles(values)} for name, values in entries(law).items()]
    return plain({"law": about(law), "levels": LEVELS, "rows": rows})
