"""How likely the tokens of a network explode, vanish or collapse."""

from dataclasses import asdict

from ...advice.token_fates import Fates, token_fates
from ...results import CovarianceLaw
from ..plain import plain
from ..section import Column, Section, Table, Tone, Words

_RISKY, _BAD = 0.05, 0.25
_HEADS = {"explosion": "explode", "vanishing": "vanish", "collapse": "collapse"}


def about_fates(limit: CovarianceLaw, networks: CovarianceLaw) -> Section:
    """Shares of networks that go wrong at the last depth, in the limit and measured."""
    in_limit, measured = token_fates(limit), token_fates(networks)
    data = plain({"limit": asdict(in_limit), "networks": asdict(measured)})
    labels = Column("share of networks that", ("in the limit", f"{networks.paths} networks"), left=True)
    parts = (
        Words(verdict(in_limit, measured), tone(in_limit, measured)),
        Table((labels, *share_columns((in_limit, measured)))),
    )
    return Section("fates", "In short: what may go wrong", data, parts)


def share_columns(fates: tuple[Fates, ...]) -> tuple[Column, ...]:
    """One column for each way to go wrong, and a row for each of the fates."""
    return tuple(Column(head, tuple(_share(getattr(fate, name)) for fate in fates)) for name, head in _HEADS.items())


def worst_share(fates: Fates) -> Words:
    """The largest of the shares."""
    return _share(fates.worst)


def _share(share: float) -> Words:
    return Words(f"{share:.1%}", _tone(share))


def _tone(share: float) -> Tone:
    return Tone.BAD if share > _BAD else Tone.RISKY if share > _RISKY else Tone.GOOD


def tone(limit: Fates, networks: Fates) -> Tone:
    """Of the verdict."""
    return _tone(max(limit.worst, networks.worst))


def verdict(limit: Fates, networks: Fates) -> str:
    """What the shares mean."""
    worst = max(limit.worst, networks.worst)
    if worst <= _RISKY:
        return "Tokens keep their norms and differences: the initialisation is safe at this depth."
    name = max(_HEADS, key=lambda name: max(getattr(limit, name), getattr(networks, name)))
    if worst <= _BAD:
        return f"Some networks are at risk of {name}: the end of this report says what is safe."
    return f"{name.capitalize()} is likely at this depth over width: the end of this report says what is safe."
