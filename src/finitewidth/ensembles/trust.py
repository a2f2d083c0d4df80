"""Whether the standard errors of a measurement can be trusted, said aloud where they cannot."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._entry import warn
from ..results import Flow, Measurement
from ..results.measurement import ENOUGH_NETWORKS

_METRIC, _TANGENT = ("G", "V"), ("H", "A", "B", "D", "F")  # G1 has the errors of G, and H1 those of H
_FIRST, _SECOND = ("P", "Q"), ("R", "S", "T", "U")


def warn_of_few_networks(measured: Flow[Measurement]) -> None:
    """A `ValidityWarning` that names quantities and layers whose errors a few networks decide, and says what to do."""
    groups: list[tuple[Any, tuple[str, ...], tuple[int, ...]]] = [
        (measured.known_metric(), _METRIC, tuple(range(1, len(measured.K) + 1)))
    ]
    if measured.tangent is not None:
        groups.append((measured.tangent, _TANGENT, measured.tangent.layers))
    if measured.differential is not None:
        groups.append((measured.differential, _FIRST, measured.differential.layers))
    if measured.second_differential is not None:
        groups.append((measured.second_differential, _SECOND, measured.second_differential.layers))
    named, fewest = [], math.inf
    for group, names, layers in groups:
        for name in names:
            found: Measurement = getattr(group, name)
            doubtful = [layer for layer, each in zip(layers, found.trustworthy, strict=True) if not each.all()]
            if doubtful and found.effective_networks is not None:
                fewest = min(fewest, float(np.min(found.effective_networks)))
                named.append(f"{name} {in_layers(doubtful)}")
    if named:
        warn(_message(measured, named, fewest))


def _message(measured: Flow[Measurement], named: list[str], fewest: float) -> str:
    ensemble = measured.known_ensemble()
    by_population = ensemble.method == "population"
    drawn = "populations" if by_population else f"{ensemble.networks} networks"
    remedies = [f"draw at least {math.ceil(ENOUGH_NETWORKS / fewest)} times as many networks", "take larger widths"]
    if measured.net.neurons_persist:
        pass  # no populations of these
    elif not by_population and measured.tangent is None:
        remedies.append("measure with method='population', which draws networks that matter more often")
    elif not by_population:
        remedies.append("measure G and V apart, with through='vertex' and method='population'")
    return (
        f"Standard errors of {', '.join(named)} cannot be trusted, they are likely too small: as few as {fewest:.1f} of the {drawn} "
        f"decide them, and {ENOUGH_NETWORKS:.0f} are needed. What helps: {'; '.join(remedies)}. "
        "`.trustworthy` of each quantity says which entries are sound."
    )


def in_layers(layers: Sequence[int]) -> str:
    """`in layer 3`, `in layers 2, 4-6`."""
    runs = [
        [layer for _, layer in run]
        for _, run in itertools.groupby(enumerate(layers), key=lambda numbered: numbered[1] - numbered[0])
    ]
    ranges = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"in layer {ranges}" if len(layers) == 1 else f"in layers {ranges}"
