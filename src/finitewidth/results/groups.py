r"""Groups of quantities, the same for theory and for measurement: generic in what their fields are made of.

Layer $\ell$ stands at index $\ell-1$. Everything is in the book's normalisation, with $n = n_{\ell-1}$ the width of the layer before.
Means over networks are `G` and `H`; their limits at infinite width, `K` and `Theta`, are known exactly on both sides.
"""

from typing import Generic

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._result import Result
from .._table import Table, table_of, values_of
from .measurement import Leaf


class Metric(Result, eqx.Module, Generic[Leaf]):
    r"""The metric $\widehat G$ of a network: mean and covariance."""

    axes = ("layer",)

    G1: Leaf
    r"""$G^{\{1\}} = n(G - K)$ to leading order in theory, PDLT (4.115), as it is when measured; shape (L, N, N)."""
    G: Leaf
    r"""The mean metric $E[\widehat G_{\alpha\beta}] = E[z_{i;\alpha}z_{i;\beta}]$; in theory $K + G^{\{1\}}/n$, PDLT (4.104);
    shape (L, N, N)."""
    V: Leaf
    r"""The four-point vertex $V_{(\alpha\beta)(\gamma\delta)} = n\,\mathrm{Cov}(\widehat G_{\alpha\beta}, \widehat G_{\gamma\delta})$,
    PDLT (4.76), (4.119); shape (L, N, N, N, N)."""


class NextOrder(Result, eqx.Module, Generic[Leaf]):
    """One order beyond the book: the third cumulant of the metric and the second corrections of the other two."""

    axes = ("layer",)

    six_point: Leaf
    r"""$n^2$ times the third cumulant of the metric, PDLT (4.59), on unordered pairs of samples; shape (L, P, P, P)."""
    V1: Leaf
    r"""The correction of the vertex, $V = V^{\{0\}} + V^{\{1\}}/n + \dots$, PDLT (4.105); shape (L, N, N, N, N)."""
    G2: Leaf
    r"""The second correction of the mean metric, $G = K + G^{\{1\}}/n + G^{\{2\}}/n^2 + \dots$, PDLT (4.104); shape (L, N, N)."""


class Tangent(Result, eqx.Module, Generic[Leaf]):
    r"""The tangent kernel $\widehat H$: mean, and correlations with itself and with preactivations."""

    Theta: Float[Array, "layers N N"]
    r"""The frozen tangent kernel of infinite width, PDLT (8.63), (9.5)."""
    H1: Leaf
    r"""$H^{\{1\}} = n(H - \Theta)$, PDLT (9.3); shape (layers, N, N)."""
    H: Leaf
    r"""The mean $E[\widehat H_{ii;\alpha\beta}]$, PDLT (8.58); in theory $\Theta + H^{\{1\}}/n$, PDLT (9.3); shape (layers, N, N)."""
    A: Leaf
    r"""$A_{(12)(34)} = n\,\mathrm{Cov}[\widehat H_{ii;12}, \widehat H_{jj;34}]$, $i \ne j$, PDLT (8.82), (8.97);
    axes (layer, 1, 2, 3, 4)."""
    B: Leaf
    r"""$B_{1324} = n\,E[\widehat H_{ij;12}\widehat H_{ij;34}]$, $i \ne j$, PDLT (8.82), (8.89); axes as printed, (layer, 1, 3, 2, 4)."""
    D: Leaf
    r"""$D_{1234} = n\,\mathrm{Cov}[z_{i;1}z_{i;2}, \widehat H_{jj;34}]$, $i \ne j$, PDLT (8.67), (8.77); axes (layer, 1, 2, 3, 4)."""
    F: Leaf
    r"""$F_{1324} = n\,E[z_{i;1}z_{j;2}\widehat H_{ij;34}]$, $i \ne j$, PDLT (8.67), (8.79); axes as printed, (layer, 1, 3, 2, 4)."""
    layers: tuple[int, ...] = eqx.field(static=True)
    """The layers along the first axis, counted from 1: all of them in theory, those that were measured in an ensemble."""

    def table(self) -> Table:
        """One row for each layer that is known."""
        return _table_of_layers(self, self.layers)


class Differential(Result, eqx.Module, Generic[Leaf]):
    r"""The differential of the tangent kernel, PDLT (11.8), with the preactivation of the same layer. To leading order PDLT (11.45):

    $$E[\widehat{dH}_{i_0i_1i_2;012}\,z_{i_3;3}] = \tfrac1n\big[\delta_{i_0i_3}\delta_{i_1i_2}P_{0123}
      + \delta_{i_0i_1}\delta_{i_2i_3}Q_{0123} + \delta_{i_0i_2}\delta_{i_1i_3}Q_{0213}\big].$$
    """

    P: Leaf
    r"""$P_{0123} = n\,E[\widehat{dH}_{ijj;012}\,z_{i;3}]$, $i \ne j$, PDLT (11.49), symmetric in 1 and 2; axes (layer, 0, 1, 2, 3)."""
    Q: Leaf
    r"""$Q_{0123} = n\,E[\widehat{dH}_{iij;012}\,z_{j;3}]$, $i \ne j$, PDLT (11.52); axes (layer, 0, 1, 2, 3)."""
    layers: tuple[int, ...] = eqx.field(static=True)
    """The layers along the first axis, counted from 1."""

    def table(self) -> Table:
        """One row for each layer that is known."""
        return _table_of_layers(self, self.layers)


class SecondDifferential(Result, eqx.Module, Generic[Leaf]):
    r"""Means of the two second differentials of the tangent kernel, PDLT (∞.5), (∞.7); PDLT (∞.11), (∞.12):

    $$E[\widehat{dd_IH}_{i_0i_1i_2i_3;0123}] = \tfrac1n\big[\delta_{i_0i_1}\delta_{i_2i_3}R_{0123}
      + \delta_{i_0i_2}\delta_{i_3i_1}R_{0231} + \delta_{i_0i_3}\delta_{i_1i_2}R_{0312}\big],$$

    $$E[\widehat{dd_{II}H}_{i_1i_2i_3i_4;1234}] = \tfrac1n\big[\delta_{i_1i_2}\delta_{i_3i_4}S_{1234}
      + \delta_{i_1i_3}\delta_{i_4i_2}T_{1342} + \delta_{i_1i_4}\delta_{i_2i_3}U_{1423}\big].$$

    Samples stand in the printed order, which for `T` and `U` is not that of the neural indices.
    """

    R: Leaf
    r"""$R_{0123} = n\,E[\widehat{dd_IH}_{iijj;0123}]$, $i \ne j$, PDLT (∞.177), symmetric in 2 and 3; axes (layer, 0, 1, 2, 3)."""
    S: Leaf
    r"""$S_{1234} = n\,E[\widehat{dd_{II}H}_{iijj;1234}]$, $i \ne j$, PDLT (∞.179); axes (layer, 1, 2, 3, 4)."""
    T: Leaf
    r"""$T_{1342} = n\,E[\widehat{dd_{II}H}_{ijij;1234}]$, $i \ne j$, PDLT (∞.180); axes as printed, (layer, 1, 3, 4, 2)."""
    U: Leaf
    r"""$U_{1423} = n\,E[\widehat{dd_{II}H}_{ijji;1234}]$, $i \ne j$, PDLT (∞.181); axes as printed, (layer, 1, 4, 2, 3)."""
    layers: tuple[int, ...] = eqx.field(static=True)
    """The layers along the first axis, counted from 1."""

    def table(self) -> Table:
        """One row for each layer that is known."""
        return _table_of_layers(self, self.layers)


def _table_of_layers(group: Result, layers: tuple[int, ...]) -> Table:
    table = table_of({name: value for name, value in values_of(group).items() if name != "layers"}, ("layer",))
    return Table(table.facts, table.columns | {"layer": np.asarray(layers)})
