"""What theory says of a network, layer by layer."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from .._errors import ArgumentError, DomainError
from .._ratio import ratio_or_zero
from ..networks import MLP
from ..networks.pairs import PairIndex, pair_index


class Flow(eqx.Module):
    r"""Kernels and their finite-width corrections at every layer; layer $\ell$ stands at index $\ell - 1$.

    In the book's normalisation, with $n = n_{\ell-1}$ the width of the layer before:
    $E[z_{i;\alpha}z_{j;\beta}] = \delta_{ij}(K + G^{\{1\}}/n + \dots)_{\alpha\beta}$ and
    $\mathrm{Cov}(\hat G_{\alpha\beta}, \hat G_{\gamma\delta}) = V_{(\alpha\beta)(\gamma\delta)}/n + \dots$, PDLT (4.104)-(4.105).
    """

    net: MLP
    K: Float[Array, "L N N"]
    """The infinite-width kernel."""
    vertex: Float[Array, "L P P"] | None = None
    """$V/n_{\\ell-1}$ between unordered pairs of samples: the covariance of the metric."""
    correction: Float[Array, "L P"] | None = None
    """$G^{\\{1\\}}/n_{\\ell-1}$ on unordered pairs: the shift of the mean metric."""
    six_point: Float[Array, "L P P P"] | None = None
    """The third cumulant of the metric between unordered pairs."""
    vertex_next: Float[Array, "L P P"] | None = None
    """The next term of the metric's covariance, $V^{\\{1\\}}/n_{\\ell-1}^2$."""
    correction_next: Float[Array, "L P"] | None = None
    """The next term of the metric's mean, $G^{\\{2\\}}/n_{\\ell-1}^2$."""

    tangent_kernel: Float[Array, "L N N"] | None = None
    r"""The frozen tangent kernel $\Theta$ of infinite width."""
    tangent_correction: Float[Array, "L P"] | None = None
    r"""$H^{\{1\}}/n_{\ell-1}$ on unordered pairs: the shift of the mean tangent kernel."""
    tangent_with_metric: Float[Array, "L P P"] | None = None
    r"""$D/n_{\ell-1}$: the covariance of the metric (first pair) and the tangent kernel (second pair)."""
    tangent_variance: Float[Array, "L P P"] | None = None
    r"""$A/n_{\ell-1}$: the covariance of the tangent kernels of two neurons."""
    tangent_between_neurons: Float[Array, "L N N N N"] | None = None
    r"""$B/n_{\ell-1}$, in the book's order of samples, 1324."""
    tangent_with_preactivations: Float[Array, "L N N N N"] | None = None
    r"""$F/n_{\ell-1}$, in the book's order of samples, 1324."""

    @property
    def pairs(self) -> PairIndex:
        """How pairs of samples are ordered in `vertex` and `correction`."""
        return pair_index(self.K.shape[-1])

    @property
    def previous_widths(self) -> Float[np.ndarray, " L"]:
        r"""$n_{\ell-1}$ of every layer, in which the corrections are normalised."""
        return np.asarray(self.net.widths[:-1], dtype=float)

    def _known(self, field: str) -> Array:
        value = getattr(self, field)
        if value is None:
            raise DomainError(
                "through",
                f"a flow that stops before `{field}`",
                "'vertex' for V and G1, 'next' for U, V1, G2, 'ntk' for Theta, H1, A, B, D, F",
            )
        return value

    def vertex_at(self, index: int) -> Float[Array, "P P"]:
        """`vertex` of one layer, or a clear error if the flow stopped before it."""
        return self._known("vertex")[index]

    @property
    def v(self) -> Float[Array, "L N N N N"]:
        r"""$V/n_{\ell-1} = \mathrm{Cov}(\hat G, \hat G)$."""
        return self.pairs.unpack_twice(self._known("vertex"))

    @property
    def V(self) -> Float[Array, "L N N N N"]:
        """The four-point vertex, PDLT (4.119)."""
        return self._in_units_of_width(self.v)

    @property
    def g1(self) -> Float[Array, "L N N"]:
        r"""$G^{\{1\}}/n_{\ell-1} = E[\hat G] - K$ to leading order."""
        return self.pairs.unpack(self._known("correction"))

    @property
    def G1(self) -> Float[Array, "L N N"]:
        r"""The next-to-leading metric $G^{\{1\}}$, PDLT (4.115)."""
        return self._in_units_of_width(self.g1)

    @property
    def G(self) -> Float[Array, "L N N"]:
        r"""The metric $K + G^{\{1\}}/n_{\ell-1}$, PDLT (4.104)."""
        return self.K + self.g1

    @property
    def U(self) -> Float[Array, "L P P P"]:
        r"""$n_{\ell-1}^2$ times the third cumulant of the metric, on unordered pairs (see `pairs`), PDLT (4.59)."""
        return self._known("six_point") * self.previous_widths[:, None, None, None] ** 2

    @property
    def V1(self) -> Float[Array, "L N N N N"]:
        r"""The correction of the vertex, $V = V^{\{0\}} + V^{\{1\}}/n_{\ell-1} + \dots$, PDLT (4.105)."""
        vertex = self.pairs.unpack_twice(self._known("vertex_next"))
        return vertex * self.previous_widths[:, None, None, None, None] ** 2

    @property
    def G2(self) -> Float[Array, "L N N"]:
        r"""The second correction of the metric, $G^{\{2\}}$ of PDLT (4.104)."""
        return self.pairs.unpack(self._known("correction_next")) * self.previous_widths[:, None, None] ** 2

    @property
    def relative_fluctuation(self) -> Float[Array, "L N"]:
        r"""$V_{(\alpha\alpha)(\alpha\alpha)}/(n_{\ell-1}K_{\alpha\alpha}^2)$: the dimensionless coupling that must stay small."""
        diagonal = self.pairs.diagonal
        return self._known("vertex")[:, diagonal, diagonal] / self.K.diagonal(axis1=1, axis2=2) ** 2

    def _in_units_of_width(self, tensor: Float[Array, "L ..."]) -> Float[Array, "L ..."]:
        return tensor * self.previous_widths.reshape(-1, *[1] * (tensor.ndim - 1))

    @property
    def Theta(self) -> Float[Array, "L N N"]:
        r"""The frozen tangent kernel $\Theta_{\alpha\beta}$ of infinite width, PDLT (8.63) and PDLT (9.5)."""
        return self._known("tangent_kernel")

    @property
    def H1(self) -> Float[Array, "L N N"]:
        r"""The next term of the mean tangent kernel, $H = \Theta + H^{\{1\}}/n_{\ell-1} + \dots$, PDLT (9.3)."""
        return self._in_units_of_width(self.pairs.unpack(self._known("tangent_correction")))

    @property
    def H(self) -> Float[Array, "L N N"]:
        r"""The mean tangent kernel $\Theta + H^{\{1\}}/n_{\ell-1}$, PDLT (9.3)."""
        return self.Theta + self.pairs.unpack(self._known("tangent_correction"))

    @property
    def A(self) -> Float[Array, "L N N N N"]:
        r"""$A_{(12)(34)}$, PDLT (8.97): $\mathrm{Cov}[\widehat H_{ii;12}, \widehat H_{jj;34}] = A/n_{\ell-1}$, $i \ne j$."""
        return self._in_units_of_width(self.pairs.unpack_twice(self._known("tangent_variance")))

    @property
    def B(self) -> Float[Array, "L N N N N"]:
        r"""$B_{1324}$, PDLT (8.89), axes in this order: $E[\widehat H_{ij;12}\widehat H_{ij;34}] = B_{1324}/n_{\ell-1}$."""
        return self._in_units_of_width(self._known("tangent_between_neurons"))

    @property
    def D(self) -> Float[Array, "L N N N N"]:
        r"""$D_{1234}$, PDLT (8.77): $\mathrm{Cov}[z_{i;1}z_{i;2}, \widehat H_{jj;34}] = D/n_{\ell-1}$, $i \ne j$."""
        return self._in_units_of_width(self.pairs.unpack_twice(self._known("tangent_with_metric")))

    @property
    def F(self) -> Float[Array, "L N N N N"]:
        r"""$F_{1324}$, PDLT (8.79), axes in this order: $E[z_{i;1}z_{j;2}\widehat H_{ij;34}] = F_{1324}/n_{\ell-1}$."""
        return self._in_units_of_width(self._known("tangent_with_preactivations"))

    @property
    def relative_tangent_fluctuation(self) -> Float[Array, "L N"]:
        r"""The relative variance of one output's tangent kernel,
        $(A + 2B)_{\alpha\alpha\alpha\alpha}/(n_{\ell-1}\Theta_{\alpha\alpha}^2)$, PDLT (9.23); zero where nothing learns."""
        diagonal = self.pairs.diagonal
        between = self._known("tangent_between_neurons").diagonal(axis1=1, axis2=2).diagonal(axis1=1, axis2=2)
        variance = self._known("tangent_variance")[:, diagonal, diagonal]
        of_one_output = variance + 2 * between.diagonal(axis1=1, axis2=2)
        return ratio_or_zero(of_one_output, self.Theta.diagonal(axis1=1, axis2=2) ** 2)


def as_flow(flow: Any) -> Flow:
    """`flow`, refused unless it is what `flow` returns."""
    if not isinstance(flow, Flow):
        raise ArgumentError("flow", type(flow).__name__, "a Flow, such as `flow(net, x)` gives")
    return flow
