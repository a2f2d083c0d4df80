"""What an ensemble of networks has shown, in the names and normalisation of the theory."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import DomainError
from ..networks import MLP
from ..networks.pairs import pair_index
from .means import mean_and_error
from .moments import Moments, covariance, mean_deviation
from .tally import TangentTally


class Measurement(eqx.Module):
    """Figures with their standard errors."""

    mean: Float[np.ndarray, "..."]
    standard_error: Float[np.ndarray, "..."]

    def __getitem__(self, index: Any) -> "Measurement":
        """The same part of both: `measured.K[2]` is layer three."""
        return Measurement(self.mean[index], self.standard_error[index])


class MeasuredTangentKernel(eqx.Module):
    r"""Statistics of the tangent kernels $\widehat H^{(\ell)}$ over an ensemble; the layer at index $i$ is `layers[i]`.

    In the normalisation and with the axes of the theory: $n_{\ell-1}$ times a covariance or a mean product.
    """

    layers: tuple[int, ...] = eqx.field(static=True)
    """The layers that were measured, counted from 1."""
    Theta: Measurement
    H1: Measurement
    A: Measurement
    B: Measurement
    D: Measurement
    F: Measurement


class MeasuredFlow(eqx.Module):
    r"""Statistics of the metrics $\widehat G^{(\ell)}$ over an ensemble of networks, layer $\ell$ at index $\ell-1$.

    The first layer's metric is the same in every network: there `V` and `G1` are zero without error. Statistics of tangent
    kernels are there if asked for with `through="ntk"`, for the layers that `layers` names.
    """

    K: Measurement
    r"""$E[\widehat G^{(\ell)}_{\alpha\beta}]$, the mean metric PDLT (4.72), shape (L, N, N). Theory's $K$ is its limit
    at infinite width, $K + G^{\{1\}}/n_{\ell-1}$ its value to the next order."""
    V: Measurement
    r"""$n_{\ell-1}\,\mathrm{Cov}(\widehat G^{(\ell)}_{\alpha\beta}, \widehat G^{(\ell)}_{\gamma\delta})$, PDLT (4.76),
    shape (L, N, N, N, N)."""
    G1: Measurement
    r"""$n_{\ell-1}\,(E[\widehat G^{(\ell)}_{\alpha\beta}] - K^{(\ell)}_{\alpha\beta})$, PDLT (4.104),
    shape (L, N, N)."""
    widths: tuple[int, ...] = eqx.field(static=True)
    networks: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    method: str = eqx.field(static=True)
    tangent_kernel: MeasuredTangentKernel | None = None

    def _tangent_kernel(self) -> MeasuredTangentKernel:
        if self.tangent_kernel is None:
            raise DomainError(
                "through", "a simulation that stops before the tangent kernel", "simulate(..., through='ntk')"
            )
        return self.tangent_kernel

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers, counted from 1, whose tangent kernels were measured: the first axis of `Theta`, `H1`, `A`, `B`, `D`, `F`."""
        return self._tangent_kernel().layers

    @property
    def Theta(self) -> Measurement:
        r"""The mean tangent kernel $E[\widehat H^{(\ell)}_{ii;\alpha\beta}]$, PDLT (8.58), shape (measured, N, N). Theory's $\Theta$
        is its limit at infinite width, $\Theta + H^{\{1\}}/n_{\ell-1}$ its value to the next order."""
        return self._tangent_kernel().Theta

    @property
    def H1(self) -> Measurement:
        r"""$n_{\ell-1}(E[\widehat H^{(\ell)}_{ii;\alpha\beta}] - \Theta^{(\ell)}_{\alpha\beta})$, PDLT (9.3)."""
        return self._tangent_kernel().H1

    @property
    def A(self) -> Measurement:
        r"""$n_{\ell-1}\mathrm{Cov}(\widehat H_{ii;12}, \widehat H_{jj;34})$ for $i \ne j$, PDLT (8.82), axes (1, 2, 3, 4)."""
        return self._tangent_kernel().A

    @property
    def B(self) -> Measurement:
        r"""$n_{\ell-1}E[\widehat H_{ij;12}\widehat H_{ij;34}]$ for $i \ne j$, PDLT (8.82), axes as printed, (1, 3, 2, 4)."""
        return self._tangent_kernel().B

    @property
    def D(self) -> Measurement:
        r"""$n_{\ell-1}E[z_{i;1}z_{i;2}\widehat{\Delta H}_{jj;34}]$ for $i \ne j$, PDLT (8.67), axes (1, 2, 3, 4)."""
        return self._tangent_kernel().D

    @property
    def F(self) -> Measurement:
        r"""$n_{\ell-1}E[z_{i;1}z_{j;2}\widehat{\Delta H}_{ij;34}]$ for $i \ne j$, PDLT (8.67), axes as printed, (1, 3, 2, 4)."""
        return self._tangent_kernel().F


def measured_flow(
    net: MLP,
    kernels: Float[Array, "L N N"],
    moments: Moments | None,
    *,
    networks: int,
    seed: int,
    method: str,
    tangent_kernel: MeasuredTangentKernel | None = None,
) -> MeasuredFlow:
    """The statistics of layers 2..L, taken about their infinite-width `kernels`, with the first layer before them.

    `moments` is `None` for a network of one layer, where nothing fluctuates.
    """
    limit = np.asarray(kernels)
    layers, samples = limit.shape[:2]
    pairs = pair_index(samples)
    G1: Any = np.zeros((2, layers, len(pairs.a)))
    V: Any = np.zeros((2, layers, len(pairs.a), len(pairs.a)))
    widths = np.asarray([1, *net.hidden_widths])
    if moments is not None:
        G1[:, 1:] = mean_deviation(moments)
        V[:, 1:] = covariance(moments)
    deviation, error = pairs.unpack(G1)
    G1, V = G1 * widths[:, None], V * widths[:, None, None]
    return MeasuredFlow(
        K=Measurement(limit + deviation, error),
        V=Measurement(*pairs.unpack_twice(V)),
        G1=Measurement(*pairs.unpack(G1)),
        widths=net.widths,
        networks=networks,
        seed=seed,
        method=method,
        tangent_kernel=tangent_kernel,
    )


def measured_tangent_kernel(
    net: MLP, limit: Float[Array, "L N N"], tally: TangentTally | None
) -> MeasuredTangentKernel:
    """The statistics of the layers that `tally` counts (the last ones), about their infinite-width `limit`.

    If these are all layers that fluctuate, the first one, which does not, stands before them; it stands alone where
    `tally` is `None`.
    """
    theta = np.asarray(limit)
    samples = theta.shape[1]
    pairs = pair_index(samples)
    count = 0 if tally is None else len(tally.joint.d)
    first = net.depth - count if count < net.depth - 1 else 0
    layers = np.arange(first, net.depth)
    known = len(layers) - count  # one if the first layer is among them
    widths = np.asarray([1, *net.hidden_widths])[layers]
    H1 = np.zeros((2, len(layers), samples, samples))
    A, B, D, F = (np.zeros((2, len(layers), *[samples] * 4)) for _ in "ABDF")
    if tally is not None:
        size = len(pairs.a)
        joint = jnp.stack(covariance(tally.joint))
        H1[:, known:] = pairs.unpack(jnp.stack(mean_deviation(tally.joint))[..., size:])
        A[:, known:] = pairs.unpack_twice(joint[..., size:, size:])
        D[:, known:] = pairs.unpack_twice(joint[..., :size, size:])
        B[:, known:], F[:, known:] = mean_and_error(tally.B), mean_and_error(tally.F)

    def scaled(figures: np.ndarray) -> Measurement:
        return Measurement(*(figures * widths.reshape(-1, *[1] * (figures.ndim - 2))))

    return MeasuredTangentKernel(
        tuple(int(layer) + 1 for layer in layers),
        Theta=Measurement(theta[layers] + H1[0], H1[1]),
        H1=scaled(H1),
        A=scaled(A),
        B=Measurement(*B),  # already in units of the width
        D=scaled(D),
        F=Measurement(*F),
    )
