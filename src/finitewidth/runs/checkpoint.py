"""A long run written down as it goes, so that a killed one continues where it stopped."""

import math
import os
from typing import Any

import jax
import numpy as np

from .._archive import Archive, opened
from .._drafts import as_path, check_writable, draft_of
from .._errors import ArgumentError, DomainError
from .._fingerprint import fingerprint

_FORMAT = 3  # to be raised whenever the same seed starts to give other networks
_WANT = "a checkpoint or a new path"


class Checkpoint:
    """A file that holds the state of one run: the fingerprint of its problem, the next step, the sums so far."""

    def __init__(self, path: str | os.PathLike[str], problem: Any):
        """Refuses, before any work is done, a path that cannot be written. `problem` is all on which the sums depend."""
        self.path = as_path(path, "checkpoint")
        self.fingerprint = fingerprint(_FORMAT, problem)
        check_writable(self.path, "checkpoint")

    def load(self, empty: Any, most: float = math.inf) -> tuple[int, Any]:
        """The next step, of `most`, and the state, shaped like `empty`; step 0 and `empty` itself if there is no file yet."""
        if not os.path.exists(self.path):
            return 0, empty
        leaves, structure = jax.tree.flatten(empty)
        with opened(self.path, "checkpoint", _WANT) as saved:
            belongs = str(saved.array("fingerprint.npy"))
            step = saved.array("step.npy")
            if belongs == self.fingerprint and not (step.shape == () and step.dtype.kind == "i" and 0 <= step <= most):
                raise DomainError("step", step, f"an integer from 0 to {most}")
            state = [_leaf(saved, i, leaf) for i, leaf in enumerate(leaves)] if belongs == self.fingerprint else []
        if belongs != self.fingerprint:
            raise ArgumentError(
                "checkpoint",
                f"{self.path!r}, written for another network, inputs, seed, method or number of networks",
                "the checkpoint of this very run, or a new path",
            )
        return int(step), jax.tree.unflatten(structure, state)

    def save(self, step: int, state: Any) -> None:
        """Written aside and moved into place at once: whenever the run is killed, the file is whole."""
        arrays: dict[str, Any] = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        with draft_of(self.path, "checkpoint") as file:
            np.savez(file, fingerprint=np.asarray(self.fingerprint), step=np.asarray(step), **arrays)


def _leaf(saved: Archive, number: int, like: Any) -> np.ndarray:
    """Of the shape and type that the run goes on with."""
    array, wanted = saved.array(f"state{number}.npy"), np.asarray(like)
    if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
        raise DomainError(
            f"state{number}", f"{array.dtype} of shape {array.shape}", f"{wanted.dtype} of {wanted.shape}"
        )
    return array
