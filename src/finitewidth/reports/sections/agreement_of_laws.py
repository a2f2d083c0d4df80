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
    data = plain(
        {
            "verdict": comparison.verdict,
            "worst": comparison.worst._asdict(),
            "entries": len(comparison.rows),
        }
    )
    parts = Drawing("densities", partial(law_densities, limit, networks), _CAPTION), Words(sentence(comparison))
    return Section("agreement", "The limit against networks", data, parts)


def sentence(comparison: LawComparison) -> str:
    """How close the limit is, entry by entry."""
    worst, entries = comparison.worst, len(comparison.rows)
    return (
        f"{comparison.sentence} The farthest entry is {worst.entry}: Kolmogorov-Smirnov distance {worst.distance:.3f} between the limit "
        f"and {comparison.second.paths} networks (p = {worst.p_value:.2g}; one entry in {entries} is below {1 / entries:.2g} by chance)."
    )
