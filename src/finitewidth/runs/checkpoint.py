"""A long run written down as it goes, so that a killed one continues where it stopped."""

import os
import secrets
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._errors import ArgumentError
from .._fingerprint import fingerprint

_FORMAT = 3  # to be raised whenever the same seed starts to give other networks


class Checkpoint:
    """A file that holds the state of one run: the fingerprint of its problem, the next step, the sums so far."""

    def __init__(self, path: str | os.PathLike[str], problem: Any):
        """Refuses, before any work is done, a path that cannot be written. `problem` is all on which the sums depend."""
        try:
            self.path = Path(path)
        except TypeError:
            raise ArgumentError("checkpoint", repr(path), "the path of a file") from None
        self.fingerprint = fingerprint(_FORMAT, problem)
        # Each run has a draft of its own: two that share a file must not write into one another's.
        self._draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.part")
        try:
            if self.path.is_dir():
                raise IsADirectoryError("it is a directory")
            self._draft.touch()
            self._draft.unlink()
        except OSError as error:
            raise ArgumentError(
                "checkpoint", f"{str(path)!r} ({error})", "the path of a file that can be written"
            ) from error

    def load(self, empty: Any) -> tuple[int, Any]:
        """The next step and the state, shaped like `empty`; step 0 and `empty` itself if there is no file yet."""
        if not self.path.exists():
            return 0, empty
        leaves, structure = jax.tree.flatten(empty)
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                belongs = str(saved["fingerprint"])
                step = int(saved["step"])
                state = [saved[f"state{i}"] for i in range(len(leaves))] if belongs == self.fingerprint else []
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ArgumentError(
                "checkpoint", f"{self.path.name!r}, not a checkpoint", "a checkpoint or a new path"
            ) from error
        if belongs != self.fingerprint:
            raise ArgumentError(
                "checkpoint",
                f"{self.path.name!r}, written for another network, inputs, seed, method or number of networks",
                "the checkpoint of this very run, or a new path",
            )
        return step, jax.tree.unflatten(structure, state)

    def save(self, step: int, state: Any) -> None:
        """Written aside and moved into place at once: whenever the run is killed, the file is whole."""
        arrays: dict[str, Any] = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        try:
            with self._draft.open("wb") as file:
                np.savez(file, fingerprint=np.asarray(self.fingerprint), step=np.asarray(step), **arrays)
                file.flush()
                os.fsync(file.fileno())
            self._draft.replace(self.path)
        finally:
            self._draft.unlink(missing_ok=True)  # left over only if writing failed
