"""What theory says of a network, layer by layer."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from .._errors import DomainError
from ..networks import MLP
from .pairs import PairIndex, pair_index


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
                "through", f"a flow that stops before `{field}`", "'vertex' for V and G1, 'next' for U, V1, G2"
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
        return self.v * self.previous_widths[:, None, None, None, None]

    @property
    def g1(self) -> Float[Array, "L N N"]:
        r"""$G^{\{1\}}/n_{\ell-1} = E[\hat G] - K$ to leading order."""
        return self.pairs.unpack(self._known("correction"))

    @property
    def G1(self) -> Float[Array, "L N N"]:
        r"""The next-to-leading metric $G^{\{1\}}$, PDLT (4.115)."""
        return self.g1 * self.previous_widths[:, None, None]

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
