"""A flow laid over its measurement, entry by entry, in standard errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._errors import ArgumentError, ShapeError
from ..._table import Table, values_of
from ...ensembles.trust import in_layers
from ...results import Deviations, Flow, Measurement
from ...results.measurement import ENOUGH_NETWORKS
from ..plain import plain
from ..section import Part, Tone, Words
from .components import components
from .enough_networks import effective
from .flow_tables import cannot_tell, deviation_tables, farthest_table
from .rows import Row, Summary
from .same import check_same_description
from .verdict import (
    TONES,
    Verdict,
    as_if_normal,
    expected_largest,
    in_standard_errors,
    largest_by_chance,
    reach,
    sentence_on,
    verdict_on,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

_WORST = 5  # entries that a table shows
_SAME_INPUTS = 1e-9  # relative difference of first-layer kernels, which a kernel that was given may have


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Deviations):
    """Every independent entry of G, G1, V and, if both sides know them, H, H1, A, B, D, F in every layer measured;
    columns are arrays of equal length.

    Theory's side of `G` is $K + G^{\\{1\\}}/n$, the mean metric to the order known, PDLT (4.104), and that of `H`
    is $\\Theta + H^{\\{1\\}}/n$, PDLT (9.3). Theory is exact up to higher orders in 1/n, so with enough networks
    deviations must show: they shrink when widths grow.

    Entries that are not `trustworthy` have standard errors that a few networks decide, or belong to layers in which, by theory's
    relative variance of the metric, those that decide a mean are too rare to be among so few: their deviations say neither yes nor no,
    and count for nothing in `verdict`, `worst`, `farthest` and `summary`.
    """

    effective: Float[np.ndarray, " R"]
    """The networks behind each standard error, by their own count or by theory's, whichever is less."""
    network: str
    networks: int
    seed: int
    method: str

    def __len__(self) -> int:
        return len(self.deviation)

    def __getitem__(self, index: int) -> Row:
        return Row(
            str(self.quantity[index]),
            int(self.layer[index]),
            str(self.component[index]),
            *(float(column[index]) for column in (self.theory, self.measured, self.standard_error, self.deviation)),
            trustworthy=bool(self.trustworthy[index]),
        )

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    @property
    def worst(self) -> Row:
        """The entry that is farthest off, of those that can tell if there are any."""
        return self.farthest(1)[0]

    def farthest(self, count: int) -> list[Row]:
        """The `count` entries that are farthest off, the worst first; those that cannot tell come after all others."""
        order = np.lexsort((-np.abs(self.deviation), ~self.trustworthy))
        return [self[int(index)] for index in order[:count]]

    @property
    def verdict(self) -> Verdict:
        """Whether theory and networks agree, by the largest deviation of the entries that can tell and what noise alone would give;
        agreement is claimed of all only where all can tell, and of none where most cannot."""
        return verdict_on(*self._largest())

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return sentence_on(
            *self._largest(), self.silent, float(np.abs(self.deviation[self.trustworthy]).max(initial=0.0))
        )

    @property
    def silent(self) -> str:
        """Quantities and layers of which entries cannot tell, such as `G in layer 9, V in layers 4-9`; empty where all can."""
        layers = {name: np.unique(self.layer[~self.trustworthy & (self.quantity == name)]) for name in self.quantities}
        return ", ".join(f"{name} {in_layers(found.tolist())}" for name, found in layers.items() if len(found))

    def _largest(self) -> tuple[float, int, int]:
        """The largest deviation of those that can tell, as normal noise would have it, how many of them fluctuate, and how many cannot
        tell."""
        told = self.trustworthy
        sizes = as_if_normal(self.deviation[told], self.effective[told], self.networks)
        fluctuating = int(np.sum(told & (self.standard_error > 0)))
        return float(sizes.max(initial=0.0)), fluctuating, int(np.sum(~told))

    def noticed(self, name: str) -> float:
        """By which share of its own size theory of a quantity would have to be off in every entry to be noticed in each layer that can
        tell and in which it is not zero; infinite if there is none."""
        told = (self.quantity == name) & self.trustworthy & (self.standard_error > 0) & (self.theory != 0)
        edge = reach(largest_by_chance(max(1, self._largest()[1])), self.effective[told], self.networks)
        shares = edge * self.standard_error[told] / np.abs(self.theory[told])
        found = [shares[self.layer[told] == layer].min() for layer in np.unique(self.layer[told])]
        return float(max(found, default=np.inf))

    def summary(self) -> list[Summary]:
        """One line for each quantity and layer."""
        lines = []
        for name in self.quantities:
            of = self.quantity == name
            for layer in np.unique(self.layer[of]):
                lines.append(self._summary(name, int(layer), of & (self.layer == layer)))
        return lines

    @property
    def quantities(self) -> list[str]:
        """The names of what is compared, in order."""
        return list(dict.fromkeys(self.quantity.tolist()))

    def _summary(self, name: str, layer: int, mask: np.ndarray) -> Summary:
        told = mask & self.trustworthy
        deviation = self.deviation[told]
        uncertain = int((self.standard_error[told] > 0).sum())
        largest, rms = (np.abs(deviation).max(), np.sqrt(np.mean(deviation**2))) if len(deviation) else (0.0, 0.0)
        entries = int(mask.sum())
        silent = entries - len(deviation)
        return Summary(name, layer, entries, float(largest), float(rms), expected_largest(uncertain), silent)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; an infinite deviation is the string "inf"."""
        about = {"network": self.network, "networks": self.networks, "seed": self.seed, "method": self.method}
        rows = [row._asdict() for row in self]
        about |= {"verdict": self.verdict}
        return plain({**about, "rows": rows, "summary": [line._asdict() for line in self.summary()]})

    def table(self) -> Table:
        """One row for each entry."""
        columns = {name: value for name, value in values_of(self).items() if isinstance(value, np.ndarray)}
        facts = {"verdict": str(self.verdict), "network": self.network, "networks": self.networks}
        return Table(facts | {"seed": self.seed, "method": self.method}, columns)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Deviations by layer, in standard errors; on a new figure unless axes are given."""
        from ...figures import deviations_by_layer

        return deviations_by_layer(self, ax)

    def _parts(self, tables: tuple[Part, ...]) -> tuple[Part, ...]:
        head = f"Theory against {self.networks} networks (method {self.method}, seed {self.seed})"
        silent = int((~self.trustworthy).sum())
        caution = (Words(cannot_tell(silent, len(self), self.method)),) if silent else ()
        said = Words(self.sentence, TONES[self.verdict])
        return (Words(head, Tone.STRONG), Words(self.network, Tone.SOFT), said, *caution, *tables)

    def __rich__(self) -> "RenderableType":
        from ..terminal import stacked

        return stacked(self._parts(deviation_tables(self.summary(), self.farthest(_WORST))))

    def __str__(self) -> str:
        from ..terminal import as_text

        return as_text(self.__rich__())

    def __repr__(self) -> str:
        """The verdict and the farthest entries; `print` shows every layer."""
        from ..terminal import as_text, stacked

        return as_text(stacked(self._parts((farthest_table(self.farthest(_WORST)),))))


def compare_flows(theory: Flow[Array], measured: Flow[Measurement]) -> Comparison:
    """Every entry that both have, of one network and the same inputs."""
    if theory.metric is None:
        raise ArgumentError("theory", "a flow that stops at the kernel", "flow(..., through='vertex')")
    check_same_description("measured", theory.net, measured.net)
    if theory.K.shape != measured.K.shape:
        samples = measured.K.shape[-1]
        raise ShapeError("measured", f"{samples} inputs", f"{theory.K.shape[-1]}, as in `theory`")
    first, other = np.asarray(theory.K[0]), np.asarray(measured.K[0])
    if np.abs(first - other).max() > _SAME_INPUTS * np.abs(first).max():
        raise ArgumentError("measured", "networks that saw other inputs", "those of `theory`")
    ensemble = measured.known_ensemble()
    columns = [part.columns(theory, measured) for part in components(theory, measured)]
    quantity, layer, component, expected, found, error, behind, size = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    if ensemble.method != "population":  # which draws rare networks that matter more often, and counts them itself
        fluctuation = np.asarray(theory.relative_fluctuation).max(axis=1)
        behind = np.minimum(behind, effective(quantity, fluctuation[layer - 1], ensemble.networks))
    return Comparison(
        quantity,
        layer,
        component,
        expected,
        found,
        error,
        in_standard_errors(found - expected, error, size),
        behind >= ENOUGH_NETWORKS,
        np.minimum(behind, ensemble.networks),
        network=repr(theory.net),
        networks=ensemble.networks,
        seed=ensemble.seed,
        method=ensemble.method,
    )
