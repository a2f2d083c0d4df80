"""Which gamma and tau0, together, keep the tokens of a Transformer safe."""

from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float

from ...advice.token_fates import Fates, ShapingAdvice, recommend_shaping
from ...networks.shaped import BlockNetwork, ShapedBlock
from ..plain import plain
from ..section import Cell, Code, Column, Part, Section, Table, Tone, Words
from .fates import worst_share
from .transformer import shaping_of
from .transformer_recipe import recipe

_NOTE = (
    "The largest share of networks that explode, vanish or collapse, at this depth and width; of 512 paths of the limit, so that a "
    "share of 5 % is known to within about 1 %."
)


def about_shaping(net: BlockNetwork, V0: Float[np.ndarray, "m m"], seed: int) -> Section:
    """Fates over `gamma` and `tau0` together, all else as it is, and where to start."""
    block = net.block
    assert isinstance(block, ShapedBlock)
    advice = recommend_shaping(block, V0, net.depth_time, seed)
    parts: list[Part] = [Words(sentence(advice, net)), _table(advice)]
    if advice.recommended is not None:
        advised = block.reshaped(*advice.recommended).at(net.width, net.depth)
        parts += [Words(_WRITTEN), Code(recipe(advised))]
    return Section("advice", "What to do", plain(_data(advice)), tuple(parts))


_WRITTEN = "The network with these values, every factor of it: without one it is another."


def sentence(advice: ShapingAdvice, net: BlockNetwork) -> str:
    """Where to start, and how far one may go."""
    shape = f"{net.depth} blocks of width {net.width}"
    if advice.recommended is None:
        return f"No gamma and tau0 of these keep the tokens of {shape} safe: make the network wider, or shallower."
    gamma, tau0 = advice.recommended
    start = (
        f"For {shape} start at gamma = {gamma:g}, tau0 = {tau0:g} (here: {shaping_of(net.block)}): the largest gamma of these up to "
        "0.2, from where the paper's models were trained, and the temperature nearest to one that keep the tokens safe."
    )
    reach = [(tau0, advice.largest_safe_gamma(tau0)) for tau0 in advice.temperatures]
    limits = ", ".join(
        f"{largest:g} at tau0 = {tau0:g}" if largest else f"none at tau0 = {tau0:g}" for tau0, largest in reach
    )
    return f"{start} At initialisation tokens are safe up to gamma = {limits}: that is a bound, not advice, for training moves gamma."


def _data(advice: ShapingAdvice) -> dict[str, Any]:
    return {
        "gammas": advice.gammas,
        "temperatures": advice.temperatures,
        "fates": [[asdict(fate) for fate in row] for row in advice.fates],
        "recommended": advice.recommended,
    }


def _table(advice: ShapingAdvice) -> Table:
    def cell(gamma: float, tau0: float | None, fate: Fates) -> Cell:
        shown = worst_share(fate)
        return Words(f"→ {shown.text}", Tone.CHOSEN) if (gamma, tau0) == advice.recommended else shown

    columns = [Column("gamma", tuple(f"{gamma:g}" for gamma in advice.gammas))]
    for i, tau0 in enumerate(advice.temperatures):
        cells = tuple(cell(gamma, tau0, row[i]) for gamma, row in zip(advice.gammas, advice.fates, strict=True))
        columns.append(Column(f"tau0 = {tau0:g}", cells))
    return Table(tuple(columns), note=_NOTE)
