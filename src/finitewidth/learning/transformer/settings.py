"""What a language model is made of."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._validation import as_count, as_number

Kind = Literal["shaped", "pre_ln", "post_ln"]


@dataclass(frozen=True)
class TransformerSettings:
    r"""A Transformer over `vocabulary` tokens of sequences of `length`, `width` $n$, `depth` $d$ and `heads` $H$.

    - `kind`: `"shaped"` has no normalisation layer, $X' = \lambda X + \gamma\,\text{branch}(X)$ with $\lambda^2 + \gamma^2 = 1$ at
      the start; `"pre_ln"` adds the branch of the normalised stream; `"post_ln"` normalises the sum.
    - `gamma`, `tau0`: weight of the branches and temperature of the attention of a shaped model.
    - `hidden_ratio`: width of the feedforward layer over `width`.
    - `causal`: each token sees itself and those before it (next-token prediction, the only task to `train` on); else all
      tokens.
    """

    vocabulary: int
    length: int = 64
    width: int = 64
    depth: int = 6
    heads: int = 4
    kind: Kind = "shaped"
    gamma: float = 0.2
    tau0: float = 1.0
    hidden_ratio: int = 4
    causal: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type is int:
                as_count(getattr(self, field.name), field.name)
        if self.kind not in get_args(Kind):
            raise UnknownNameError("kind", self.kind, get_args(Kind))
        if self.width % self.heads:
            raise DomainError("heads", self.heads, f"a divisor of the width {self.width}")
        if not 0 < as_number(self.gamma, "gamma") < 1:
            raise DomainError("gamma", self.gamma, "a number between 0 and 1")
        if as_number(self.tau0, "tau0") <= 0:
            raise DomainError("tau0", self.tau0, "a positive number")
        if not isinstance(self.causal, bool):
            raise ArgumentError("causal", repr(self.causal), "True or False")

    @property
    def key_width(self) -> int:
        """$n_k$ of each head."""
        return self.width // self.heads
