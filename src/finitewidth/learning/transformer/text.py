"""Text that every Python carries with it, as tokens."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, Key

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError


@dataclass(frozen=True)
class Text:
    """A text by character: `tokens` number the characters of `alphabet`."""

    alphabet: str
    tokens: Int[np.ndarray, " length"]

    @classmethod
    def of(cls, text: str) -> "Text":
        """The characters of `text` are its tokens."""
        if not isinstance(text, str):
            raise ArgumentError("text", type(text).__name__, "a string")
        if not text:
            raise DomainError("text", "an empty string", "at least one character")
        alphabet, tokens = np.unique(np.array(list(text)), return_inverse=True)
        return cls("".join(alphabet), tokens.astype(np.int32))

    def check_length(self, length: int) -> None:
        """Refuse pieces longer than the text."""
        if length > len(self.tokens):
            raise DomainError("length", length, f"at most the {len(self.tokens)} characters of the text")

    def batch(self, key: Key[Array, ""], sequences: int, length: int) -> Int[Array, "sequences length"]:
        """Pieces from random places."""
        self.check_length(length)
        return pieces(jnp.asarray(self.tokens), key, sequences, length)


def pieces(
    tokens: Int[Array, " N"], key: Key[Array, ""], sequences: int, length: int
) -> Int[Array, "sequences length"]:
    """From random places of a text that is long enough."""
    starts = jax.random.randint(key, (sequences, 1), 0, len(tokens) - length + 1)
    return tokens[starts + jnp.arange(length)]


def python_manual() -> Text:
    """The help texts of Python's `pydoc`: half a million characters of English and code."""
    from pydoc_data.topics import topics

    return Text.of("\n".join(topics[name] for name in sorted(topics)))
