"""`compare_models`: which network do the data speak for?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._table import Table
from ..._validation import as_count, as_floats, as_number
from ...networks import MLP, as_mlp
from .bayes import log_evidence_of_data


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """Hypotheses and what the data say of them."""

    nets: tuple[MLP, ...]
    log_evidence: Float[np.ndarray, " M"]
    r"""$\log p(y|\mathcal H)$ of each, PDLT (6.34) with its $1/n$ correction at order 1."""
    log_prior: Float[np.ndarray, " M"]
    r"""$\log p(\mathcal H)$ of each before seeing the data."""

    def table(self) -> Table:
        """One row for each hypothesis."""
        columns = {"log_evidence": self.log_evidence, "log_prior": self.log_prior, "probability": self.probabilities}
        names = np.array([repr(net) for net in self.nets])
        return Table({"best": self.best}, {"hypothesis": np.arange(len(names)), **columns, "net": names})

    @property
    def log_bayes_factors(self) -> Float[np.ndarray, "M M"]:
        r"""$\log\frac{p(y|\mathcal H_i)}{p(y|\mathcal H_j)}$ at [i, j], PDLT (6.30)-(6.31): positive where the data favour $i$."""
        return self.log_evidence[:, None] - self.log_evidence[None, :]

    @property
    def probabilities(self) -> Float[np.ndarray, " M"]:
        r"""$p(\mathcal H|y) \propto p(y|\mathcal H)\,p(\mathcal H)$ among these hypotheses, PDLT (6.29)."""
        weights = self.log_evidence + self.log_prior
        relative = np.exp(weights - weights.max())
        return relative / relative.sum()

    @property
    def best(self) -> int:
        """The position of the most probable hypothesis."""
        return int(np.argmax(self.log_evidence + self.log_prior))


@entry(remedy="call `tune`, or use fewer layers")
def compare_models(
    nets: Sequence[MLP], x: Any, y: Any, noise: float = 0.0, order: int = 1, prior: Any = None
) -> ModelComparison:
    r"""The evidence of data under several networks, Bayes factors and the posterior over hypotheses, PDLT (6.29)-(6.31).

    Widths count: at `order=1` evidences have their $1/n$ correction. A [`ModelComparison`]
    [finitewidth.learning.bayesian.compare_models.ModelComparison] of `log_evidence`, `log_bayes_factors`, `probabilities`, `best`.

    **Arguments:**

    - `nets`: networks of one number of inputs and outputs.
    - `x`, `y`, `noise`, `order`: as for `bayes`. Compare evidences of the same data only.
    - `prior`: probabilities of the hypotheses before seeing data, which need not add up to one; equal unless given.

    Examples:
        >>> nets = [fw.MLP("relu", (2, 8, 8, 1), C_W=C_W) for C_W in (2.0, 1.0)]
        >>> fw.compare_models(nets, [[1.0, 0.5]], [1.0], order=0).best
        0
    """
    models = tuple(as_mlp(net, f"nets[{i}]") for i, net in enumerate(nets))
    if not models:
        raise ShapeError("nets", "no network", "at least one")
    noise, order = as_number(noise, "noise", low=0.0), as_count(order, "order", at_least=0)
    before = np.ones(len(models)) if prior is None else np.asarray(as_floats(prior, "prior"))
    if before.shape != (len(models),):
        raise ShapeError("prior", f"shape {before.shape}", f"one probability for each of the {len(models)} networks")
    if (before < 0).any() or not before.any():
        raise DomainError("prior", before.tolist(), "probabilities >= 0, not all of them zero")
    evidence = np.asarray([log_evidence_of_data(net, x, y, noise, order) for net in models])
    with np.errstate(divide="ignore"):  # a hypothesis of probability zero
        return ModelComparison(models, evidence, np.log(before / before.sum()))
