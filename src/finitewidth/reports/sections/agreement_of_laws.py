"""How far the limit is from networks of the width at hand."""

from functools import partial

from ...figures import law_densities
from ..comparison.laws import LawComparison
from ..plain import plain
from ..section import Drawing, Section, Words

_CAPTION = "The first two tokens after the last block."


def about_agreement_of_laws(comparison: LawComparison) -> Section:
    """Densities of two tokens, and the farthest entry of all."""
    limit, networks = comparison.first, comparison.second
    data = plain({"worst": comparison.worst._asdict(), "entries": len(comparison.rows)})
    parts = Drawing("densities", partial(law_densities, limit, networks), _CAPTION), Words(sentence(comparison))
    return Section("agreement", "The limit against networks", data, parts)


def sentence(comparison: LawComparison) -> str:
    """How close the limit is, entry by entry."""
    worst, entries = comparison.worst, len(comparison.rows)
    return (
        f"Of {entries} entries of covariance and correlation the farthest is {worst.entry}: "
        f"Kolmogorov-Smirnov distance {worst.distance:.3f} between the limit and {comparison.second.paths} networks "
        f"(p = {worst.p_value:.2g}; one entry in {entries} is below {1 / entries:.2g} by chance)."
    )
