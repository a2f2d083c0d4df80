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

    @property
    def pairs(self) -> PairIndex:
        """How pairs of samples are ordered in `vertex` and `correction`."""
        return pair_index(self.K.shape[-1])

    @property
    def previous_widths(self) -> Float[Array, " L"]:
        r"""$n_{\ell-1}$ of every layer, in which the corrections are normalised."""
        return np.asarray(self.net.widths[:-1], dtype=float)

    def _known(self, field: str) -> Array:
        value = getattr(self, field)
        if value is None:
            raise DomainError("through", "'kernel', which stops before the vertex", "'vertex' for V and G1")
        return value

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
    def relative_fluctuation(self) -> Float[Array, "L N"]:
        r"""$V_{(\alpha\alpha)(\alpha\alpha)}/(n_{\ell-1}K_{\alpha\alpha}^2)$: the dimensionless coupling that must stay small."""
        diagonal = self.pairs.diagonal
        return self._known("vertex")[:, diagonal, diagonal] / self.K.diagonal(axis1=1, axis2=2) ** 2
