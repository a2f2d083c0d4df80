"""What a network believes after seeing data: one type for theory and for measured posteriors."""

from typing import Any, ClassVar, Generic

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError
from .._result import Result
from .._table import Table
from .._validation import as_count, as_seed
from ..networks import LayeredNetwork
from .measurement import Leaf, Measurement
from .prediction import OutputMoments


class Representation(Result, eqx.Module, Generic[Leaf]):
    r"""The kernels that hidden layers show to the layer behind them, before and after seeing the data.

    Entry $\ell-1$ along the first axis is hidden layer $\ell$: the mean of
    $\widehat G^{(\ell+1)}_{\alpha\beta} = C_b + \frac{C_W}{n_\ell}\sum_j\sigma^{(\ell)}_{j;\alpha}\sigma^{(\ell)}_{j;\beta}$,
    PDLT (4.70), on training samples, then test samples; shapes (L - 1, N, N).
    """

    axes: ClassVar[tuple[str, ...]] = ("layer",)

    prior: Leaf
    """Of networks as they are drawn."""
    posterior: Leaf
    """Of networks that agree with the data."""
    change: Leaf
    """What was learned, the difference: zero at infinite width, PDLT (6.71)."""


class Posterior(OutputMoments[Leaf], Generic[Leaf]):
    r"""Outputs on test samples given targets on training samples.

    The result of `bayes`, whose fields are arrays, and of `exact_posterior`, whose fields are `Measurement`s. Outputs are those of
    the network itself: a new observation would have the variance `noise` on top. The covariance has two parts: `sample_covariance`,
    what every output has alone, and `wiring`, also between different outputs, which vary together as they were told
    things at once, PDLT (6.89); zero at infinite width.
    """

    log_evidence: Leaf = eqx.field(kw_only=True)
    r"""$\log p(y)$ of the targets, PDLT (6.34) with its correction."""
    representation: Representation[Leaf] | None = eqx.field(kw_only=True)
    """`None` where a kernel was given and there is no network, for a `ResidualMLP`, whose layers pass on more than this, and at order 0 for
    data so large that kernels of hidden layers are not kept."""
    net: LayeredNetwork | None = eqx.field(kw_only=True)
    noise: float = eqx.field(kw_only=True, static=True)
    order: int | None = eqx.field(kw_only=True, static=True, default=None)
    """The order in 1/n of theory; `None` for a measurement, which has all orders."""
    correction: float = eqx.field(kw_only=True, static=True, default=0.0)
    r"""How large the terms are that make the $1/n$ correction of $\log p(y)$, all taken positive: a number that must be small."""
    error: float = eqx.field(kw_only=True, static=True, default=0.0)
    """Of computing corrections of order 1/n: how much they differ, relative to each, when they are computed again with inputs rounded anew.
    Zero where the kernel's condition number is too small for errors to be seen; one where no digit is left."""
    effective_networks: float | None = eqx.field(kw_only=True, static=True, default=None)
    """How many networks decide a measurement."""

    @entry()
    def samples(self, count: int, seed: int = 0) -> Float[np.ndarray, "count B n_L"]:
        """Outputs drawn from the posterior at infinite width, PDLT (6.66): each a Gaussian process of its own. Of order 0 only."""
        if self.order != 0:
            got = "a measurement" if self.order is None else f"order {self.order}"
            raise ArgumentError("posterior", got, "one of order 0: beyond it the posterior is not Gaussian")
        count, rng = as_count(count, "count"), np.random.default_rng(as_seed(seed))
        mean: Any = self.mean
        values, vectors = np.linalg.eigh(np.asarray(self.sample_covariance))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return mean + np.einsum("bk,skj->sbj", root, rng.normal(size=(count, *mean.shape)))

    def table(self) -> Table:
        """One row for each test sample: mean and standard deviation of every output."""
        parts = {"mean": self.mean, "standard deviation": self.standard_deviation}
        columns = {"test sample": np.arange(len(_values(self.mean)))}
        for name, leaf in parts.items():
            columns |= {f"{name}[{i}]": column for i, column in enumerate(np.asarray(_values(leaf)).T)}
        by = {"order": self.order} if self.order is not None else {"effective networks": self.effective_networks}
        facts = {"network": self.net, "noise": self.noise, **by, "log evidence": float(_values(self.log_evidence))}
        return Table({name: fact for name, fact in facts.items() if fact is not None}, columns)


def _values(leaf: Any) -> Any:
    return leaf.mean if isinstance(leaf, Measurement) else leaf
