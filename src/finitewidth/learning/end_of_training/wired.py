r"""Tensors with outputs and samples, contracted without ever being written out.

A tensor with four joint indices, each an output and a sample, is invariant under rotations of outputs, hence three tensors of
samples,

$$X_{1234} = \delta_{i_1i_2}\delta_{i_3i_4}X^s_{1234} + \delta_{i_1i_3}\delta_{i_2i_4}X^t_{1234}
  + \delta_{i_1i_4}\delta_{i_2i_3}X^u_{1234}.$$

What it is contracted with are targets, and two-point functions that are diagonal in outputs. So outputs make closed loops, each a
factor of $n_L$, and open lines, which end at targets or at the indices that are asked. The lines are followed here, in one place,
instead of in the dozens of terms of PDLT (∞.162)-(∞.167).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Four = Float[np.ndarray, "_ _ _ _"]

_PAIRINGS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))


@dataclass(frozen=True, eq=False)
class Wired:
    """Three tensors of samples, each in the order of the joint indices."""

    s: Four
    t: Four
    u: Four


class Factor(NamedTuple):
    """A matrix of samples that is diagonal in outputs (two letters), or targets (one letter)."""

    values: Float[np.ndarray, "..."]
    letters: str


class Contracted(NamedTuple):
    """A result with joint indices p, or p and q."""

    own: Float[np.ndarray, "_ _"] | float
    """Of p and q, diagonal in outputs."""
    lines: Float[np.ndarray, "..."] | float
    """With lines that end at targets: at [p, output], or at [p, q, output of p, output of q]."""

    def __add__(self, other: "Contracted") -> "Contracted":  # type: ignore[override]  # other tuples are joined
        return Contracted(self.own + other.own, self.lines + other.lines)


NOTHING = Contracted(0.0, 0.0)


def contracted(
    tensor: Wired, slots: str, weights: Sequence[Factor], factors: Sequence[Factor], outputs: int, asked: str
) -> Contracted:
    """The sum over all letters but those `asked`: "p", or "pq".

    **Arguments:**

    - `slots`: a letter for each joint index of the tensor; a letter that stands twice is summed over.
    - `weights`: arrays of samples alone, such as projectors, with a letter for each axis.
    - `factors`: what the tensor is contracted with, outputs included.
    """
    total = NOTHING
    for pairing, values in zip(_PAIRINGS, (tensor.s, tensor.t, tensor.u), strict=True):
        total = total + _one_pairing(pairing, values, slots, weights, factors, outputs, asked)
    return total


def _one_pairing(
    pairing: tuple[int, ...],
    values: Four,
    slots: str,
    weights: Sequence[Factor],
    factors: Sequence[Factor],
    outputs: int,
    asked: str,
) -> Contracted:
    lines = {letter: letter for letter in {*slots, *asked, *"".join(factor.letters for factor in factors)}}

    def end(letter: str) -> str:
        while lines[letter] != letter:
            letter = lines[letter]
        return letter

    joined = [(slots[pairing[i]], slots[pairing[i + 1]]) for i in (0, 2)]
    joined += [(factor.letters[0], factor.letters[1]) for factor in factors if len(factor.letters) == 2]
    for one, other in joined:
        lines[end(one)] = end(other)
    ends = {end(factor.letters) for factor in factors if len(factor.letters) == 1} | {end(letter) for letter in asked}
    loops = len({end(letter) for letter in lines} - ends)
    direct = len(asked) == 2 and end(asked[0]) == end(asked[1])
    name = {line: chr(ord("A") + i) for i, line in enumerate(sorted(ends))}
    operands = [(values, slots), *weights]
    operands += [(f.values, f.letters if len(f.letters) == 2 else f.letters + name[end(f.letters)]) for f in factors]
    result = asked if direct else asked + "".join(name[end(letter)] for letter in asked)
    expression = ",".join(letters for _, letters in operands) + "->" + result
    found = float(outputs) ** loops * np.einsum(expression, *(array for array, _ in operands), optimize="greedy")
    return Contracted(found, 0.0) if direct else Contracted(0.0, found)
