"""Which gamma and tau0 keep the tokens of a Transformer safe."""

from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float

from ...advice.token_fates import ShapingAdvice, recommend_gamma, recommend_tau0
from ...networks.shaped import BlockNetwork, ShapedBlock
from ..plain import plain
from ..section import Column, Section, Table, Words
from .fates import share_columns
from .transformer import attention_of

_PAPER = "This is about initialisation; the models trained in the paper start at gamma = 0.05 to 0.2."


def about_shaping(net: BlockNetwork, V0: Float[np.ndarray, "m m"], seed: int) -> Section:
    """Fates over a range of `gamma` and of `tau0`, all else as it is, and the values to choose."""
    block, depth, attention = net.block, net.depth_time, attention_of(net)
    assert isinstance(block, ShapedBlock)
    found = (
        recommend_gamma(lambda gamma: block.reshaped(gamma=gamma), V0, depth, seed),
        recommend_tau0(lambda tau0: block.reshaped(tau0=tau0), V0, depth, seed),
    )
    currents = float(attention.gamma), float(attention.tau0)
    sentences = [sentence(advice, current) for advice, current in zip(found, currents, strict=True)]
    parts = Words(" ".join([*sentences, _PAPER])), *(_table(advice) for advice in found)
    return Section("advice", "Shaping", plain([_data(advice) for advice in found]), parts)


def sentence(advice: ShapingAdvice, current: float) -> str:
    """Which value to choose instead of the current one."""
    name, chosen = advice.parameter, advice.chosen
    if chosen is None:
        return f"No {name} of these keeps the tokens safe."
    end = "largest" if name == "gamma" else "lowest"
    return f"{name} = {chosen:g} is the {end} of these that is safe (here: {current:g})."


def _data(advice: ShapingAdvice) -> dict[str, Any]:
    return {
        "parameter": advice.parameter,
        "values": advice.values,
        "fates": [asdict(fate) for fate in advice.fates],
        "chosen": advice.chosen,
    }


def _table(advice: ShapingAdvice) -> Table:
    marks = tuple("← recommended" if value == advice.chosen else "" for value in advice.values)
    values = Column(advice.parameter, tuple(f"{value:g}" for value in advice.values))
    return Table((values, *share_columns(advice.fates), Column("", marks, left=True)))
