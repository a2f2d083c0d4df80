"""What theory says of a network, and what networks do, layer by layer: one type for both."""

from typing import Any, Generic, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, DomainError
from .._ratio import ratio_or_zero
from .._result import Result
from .._table import Table, values_of
from ..networks import LayeredNetwork
from .flow_table import table_of_flow
from .groups import Differential, Metric, NextOrder, SecondDifferential, Tangent
from .measurement import Leaf, on_leaf

Group = TypeVar("Group")


class Ensemble(Result, eqx.Module):
    """Which networks were measured."""

    networks: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    method: str = eqx.field(static=True)


class Flow(Result, eqx.Module, Generic[Leaf]):
    r"""Kernels and their corrections at finite width in every layer; layer $\ell$ stands at index $\ell - 1$.

    The result of `flow`, whose fields are arrays, and of `simulate`, whose fields are `Measurement`s with `.mean` and
    `.standard_error`. A field means the same in both. What was computed is a set of groups: `metric` (G1, G, V), `next_order`
    (six_point, V1, G2), `tangent` (Theta, H1, H, A, B, D, F), `differential` (P, Q), `second_differential` (R, S, T, U); every field can
    be read from the flow itself, as `flow.V`.
    """

    net: LayeredNetwork
    K: Float[Array, "L N N"]
    """The kernel of infinite width: an array, known exactly, on both sides."""
    metric: Metric[Leaf] | None = None
    tangent: Tangent[Leaf] | None = None
    next_order: NextOrder[Leaf] | None = None
    differential: Differential[Leaf] | None = None
    second_differential: SecondDifferential[Leaf] | None = None
    ensemble: Ensemble | None = None
    """The networks behind a measurement; `None` for theory."""

    def table(self) -> Table:
        """One row for each layer and pair of inputs; of tensors with four indices the entry that belongs to the pair, as V(ab)(ab)."""
        groups, layers = {}, {}
        for group in (self.metric, self.next_order, self.tangent, self.differential, self.second_differential):
            if group is not None:
                fields = values_of(group)
                known = fields.pop("layers", range(1, len(self.K) + 1))
                groups |= fields
                layers |= dict.fromkeys(fields, known)
        facts = {"net": self.net} if self.ensemble is None else {"net": self.net, **values_of(self.ensemble)}
        return table_of_flow(np.asarray(self.K), groups, layers, facts)

    def known_metric(self) -> Metric[Leaf]:
        """The group `metric`, or a clear error."""
        return _known(self.metric, "metric", "`flow` with through='vertex' or 'ntk', or by `simulate`")

    def known_tangent(self) -> Tangent[Leaf]:
        """The group `tangent`, or a clear error."""
        return _known(self.tangent, "tangent", "`flow` or `simulate` with through='ntk'")

    def known_differential(self) -> Differential[Leaf]:
        """The group `differential`, or a clear error."""
        return _known(self.differential, "differential", "`flow` or `simulate` with through='dntk'")

    def known_second_differential(self) -> SecondDifferential[Leaf]:
        """The group `second_differential`, or a clear error."""
        return _known(self.second_differential, "second_differential", "`flow` or `simulate` with through='ddntk'")

    def known_next_order(self) -> NextOrder[Leaf]:
        """The group `next_order`, or a clear error."""
        return _known(self.next_order, "next_order", "`flow` with next_order=True")

    def known_ensemble(self) -> Ensemble:
        """The networks behind a measurement, or a clear error for theory."""
        if self.ensemble is None:
            raise ArgumentError("flow", "theory", "a measured flow, such as `simulate(net, x)` gives")
        return self.ensemble

    @property
    def previous_widths(self) -> Float[np.ndarray, " L"]:
        r"""$n_{\ell-1}$ of every layer, in which the corrections are normalised."""
        return np.asarray(self.net.widths[:-1], dtype=float)

    @property
    def G1(self) -> Leaf:
        """See `Metric`."""
        return self.known_metric().G1

    @property
    def G(self) -> Leaf:
        """See `Metric`."""
        return self.known_metric().G

    @property
    def V(self) -> Leaf:
        """See `Metric`."""
        return self.known_metric().V

    @property
    def six_point(self) -> Leaf:
        """See `NextOrder`."""
        return self.known_next_order().six_point

    @property
    def V1(self) -> Leaf:
        """See `NextOrder`."""
        return self.known_next_order().V1

    @property
    def G2(self) -> Leaf:
        """See `NextOrder`."""
        return self.known_next_order().G2

    @property
    def Theta(self) -> Float[Array, "layers N N"]:
        """See `Tangent`."""
        return self.known_tangent().Theta

    @property
    def H1(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().H1

    @property
    def H(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().H

    @property
    def A(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().A

    @property
    def B(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().B

    @property
    def D(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().D

    @property
    def F(self) -> Leaf:
        """See `Tangent`."""
        return self.known_tangent().F

    @property
    def P(self) -> Leaf:
        """See `Differential`."""
        return self.known_differential().P

    @property
    def Q(self) -> Leaf:
        """See `Differential`."""
        return self.known_differential().Q

    @property
    def R(self) -> Leaf:
        """See `SecondDifferential`."""
        return self.known_second_differential().R

    @property
    def S(self) -> Leaf:
        """See `SecondDifferential`."""
        return self.known_second_differential().S

    @property
    def T(self) -> Leaf:
        """See `SecondDifferential`."""
        return self.known_second_differential().T

    @property
    def U(self) -> Leaf:
        """See `SecondDifferential`."""
        return self.known_second_differential().U

    @property
    def v(self) -> Leaf:
        r"""$V/n_{\ell-1} = \mathrm{Cov}(\widehat G, \widehat G)$."""
        return on_leaf(lambda V: V / self.previous_widths[:, None, None, None, None], self.V)

    @property
    def g1(self) -> Leaf:
        r"""$G^{\{1\}}/n_{\ell-1} = E[\widehat G] - K$, to leading order in theory."""
        return on_leaf(lambda G1: G1 / self.previous_widths[:, None, None], self.G1)

    @property
    def relative_fluctuation(self) -> Leaf:
        r"""$V_{(\alpha\alpha)(\alpha\alpha)}/(n_{\ell-1}K_{\alpha\alpha}^2)$, shape (L, N): the dimensionless coupling that must stay
        small."""
        scale = self.previous_widths[:, None] * _diagonal(self.K) ** 2
        return on_leaf(lambda V: _four_alike(V) / scale, self.V)

    @property
    def relative_tangent_fluctuation(self) -> Float[Array, "layers N"]:
        r"""The relative variance of one output's tangent kernel in theory,
        $(A + 2B)_{\alpha\alpha\alpha\alpha}/(n_{\ell-1}\Theta_{\alpha\alpha}^2)$, PDLT (9.23); zero where nothing learns."""
        tangent: Any = as_flow(self, "relative_tangent_fluctuation").known_tangent()
        of_one_output = _four_alike(tangent.A) + 2 * _four_alike(tangent.B)
        return ratio_or_zero(of_one_output, self.previous_widths[:, None] * _diagonal(tangent.Theta) ** 2)


def as_flow(flow: Any, argument: str = "flow") -> "Flow[Array]":
    """`flow`, refused unless it is what `flow` returns.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> fw.results.as_flow(theory) is theory
        True
    """
    if not isinstance(flow, Flow) or flow.ensemble is not None:
        got = "a measured flow" if isinstance(flow, Flow) else type(flow).__name__
        raise ArgumentError(argument, got, "a theoretical Flow, such as `flow(net, x)` gives")
    return flow


def _known(group: Group | None, name: str, how: str) -> Group:
    if group is None:
        raise DomainError("flow", f"a result without its group `{name}`", f"one computed by {how}")
    return group


def _diagonal(matrices: Float[Array, "layers N N"]) -> Float[Array, "layers N"]:
    return matrices.diagonal(axis1=1, axis2=2)


def _four_alike(tensors: Float[Array, "layers N N N N"]) -> Float[Array, "layers N"]:
    same = np.arange(tensors.shape[1])
    return tensors[:, same, same, same, same]
