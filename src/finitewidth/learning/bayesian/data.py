"""Data as Bayesian inference takes it: inputs and targets by name, each input once where observations are exact."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import as_floats
from ..samples import as_samples, outputs_of


def as_targets(y: Any, argument: str, samples: int, outputs: int | None) -> Float[np.ndarray, "A n_L"]:
    """Targets with one sample a row; a list of numbers is one output."""
    targets = np.asarray(as_floats(y, argument))
    if targets.ndim == 1 and outputs in (1, None):
        targets = targets[:, None]
    wanted = f"shape ({samples}, {'n_L' if outputs is None else outputs}): one target a sample"
    if targets.ndim != 2 or len(targets) != samples or 0 in targets.shape:
        raise ShapeError(argument, f"shape {targets.shape}", wanted)
    if outputs is not None and targets.shape[1] != outputs:
        raise ShapeError(argument, f"shape {targets.shape}", wanted)
    return targets


def distinct(x: Float[np.ndarray, "A n_0"], y: Float[np.ndarray, "A n_L"], argument: str) -> Int[np.ndarray, " kept"]:
    """The first of every group of equal inputs: told the same thing twice without noise, a network learns nothing more.

    Equal inputs with different targets contradict each other.
    """
    _, first, group = np.unique(x, axis=0, return_index=True, return_inverse=True)
    of = first[group.ravel()]
    contradictory = np.flatnonzero((y != y[of]).any(axis=1))
    if len(contradictory):
        i = int(contradictory[0])
        got = f"two targets for one input (samples {int(of[i])} and {i})"
        raise DomainError(argument, got, "one, or `noise` > 0: without noise a network has one output for each input")
    return np.sort(first)


def as_data(
    net: Any, x_train: Any, y_train: Any, noise: float, inputs: str = "x_train", targets: str = "y_train"
) -> tuple[Float[np.ndarray, "A n_0"], Float[np.ndarray, "A n_L"]]:
    """Checked inputs and targets of a network, each input once unless there is `noise`."""
    x = as_samples(net, x_train, inputs)
    if y_train is None:
        raise ArgumentError(targets, "nothing", "targets, one a sample")
    y = as_targets(y_train, targets, len(x), outputs_of(net))
    if noise == 0:
        kept = distinct(x, y, targets)
        x, y = x[kept], y[kept]
    return x, y
