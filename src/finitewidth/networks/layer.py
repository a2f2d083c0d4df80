r"""One layer of a network: its hyperparameters by name, and the formulas in which they enter.

Everything else about a layer is an average over neurons: $\langle\sigma_\alpha\sigma_\beta\rangle_K$ at infinite width,
$\frac1n\sum_j\sigma_{j;\alpha}\sigma_{j;\beta}$ in a real network. What the layer makes of such an average is the same in both.
"""

from typing import Any, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from ..activations import Activation

Norm = Literal["rms", "layer"]
OneOrMore = TypeVar("OneOrMore", bound="Layer")


def normalised(z: Float[Array, "*samples n"], norm: Norm) -> Float[Array, "*samples n"]:
    r"""Neurons of mean square one, $z/\sqrt{\frac1n\sum_jz_j^2}$ (RMSNorm); for layer normalisation after their mean is taken off. Without
    learned gains and without an $\epsilon$."""
    centred = z - jnp.mean(z, axis=-1, keepdims=True) if norm == "layer" else z
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True))


def _sizes(Kaa: Float[Array, "*#shape"], Kbb: Float[Array, "*#shape"]) -> Float[Array, "*#shape"]:
    return jnp.sqrt(Kaa) * jnp.sqrt(Kbb)  # roots of the variances alone: in a Gram matrix these are vectors


def kernel_of(C_b: Any, C_W: Any, average: Any) -> Any:
    r"""$C_b + C_W\langle\sigma_\alpha\sigma_\beta\rangle$, PDLT (4.118) and PDLT (4.70)."""
    return C_b + C_W * average


class Layer(eqx.Module):
    r"""The layer $\ell$ that receives an average over the $n_{\ell-1}$ neurons before it; or several layers at once, their
    numbers stacked along a first axis, as `lax.scan` wants them."""

    C_b: Float[Array, "*layers"]
    C_W: Float[Array, "*layers"]
    lambda_b: Float[Array, "*layers"]
    lambda_W: Float[Array, "*layers"]
    inverse_width: Float[Array, "*layers"]
    r"""$1/n_{\ell-1}$; zero for the first layer, whose inputs do not fluctuate."""

    def __getitem__(self: OneOrMore, index: Any) -> OneOrMore:
        """One layer of a stack, or some of them."""
        return jax.tree.map(lambda leaf: leaf[index], self)

    def kernel(
        self, average: Float[Array, "*shape"], before: Float[Array, "*shape"] | None = None
    ) -> Float[Array, "*shape"]:
        r"""The kernel, or the metric, that this layer makes: $C_b + C_W\langle\sigma_\alpha\sigma_\beta\rangle$, PDLT (4.118). The kernel
        `before`, that of the layer from which the average comes, matters to layers that are skipped (`ResidualLayer`)."""
        return kernel_of(self.C_b, self.C_W, average)

    def seen(
        self, K: Float[Array, "*shape"], Kaa: Float[Array, "*#shape"], Kbb: Float[Array, "*#shape"]
    ) -> Float[Array, "*shape"]:
        """The covariance of what activations see, of neurons of covariance K: the same, unless something normalises them."""
        return K

    def seen_variances(self, variances: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """`seen` of an input with itself."""
        return variances

    def seen_slopes(
        self, slopes: Float[Array, "*shape"], Kaa: Float[Array, "*#shape"], Kbb: Float[Array, "*#shape"]
    ) -> Float[Array, "*shape"]:
        r"""$\langle\sigma'_\alpha\sigma'_\beta\rangle$ as a derivative by the neurons themselves."""
        return slopes

    def own_tangent_kernel(self, average: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        r"""What this layer's own parameters add to the tangent kernel: $\lambda_b + \lambda_W\langle\sigma_\alpha\sigma_\beta\rangle$,
        PDLT (8.23)."""
        return self.lambda_b + self.lambda_W * average

    def tangent_kernel(
        self, average: Float[Array, "*#shape"], slopes: Float[Array, "*#shape"], theta: Float[Array, "*#shape"]
    ) -> Float[Array, "*#shape"]:
        r"""What the layer makes of the tangent kernel before it,
        $\lambda_b + \lambda_W\langle\sigma_\alpha\sigma_\beta\rangle + C_W\langle\sigma'_\alpha\sigma'_\beta\rangle\Theta_{\alpha\beta}$,
        PDLT (8.63), (9.5)."""
        return self.own_tangent_kernel(average) + self.perpendicular(slopes) * theta

    def perpendicular(self, slopes: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        r"""$\chi_\perp = C_W\langle\sigma'_\alpha\sigma'_\beta\rangle$: by how much the layer passes on a tangent kernel, PDLT (9.30)."""
        return self.C_W * slopes

    def covariance(self, source: Float[Array, "*shape"], pushed: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        r"""The covariance of the metric, $C_W^2\big[\frac1{n_{\ell-1}}\mathrm{Cov}(\sigma\sigma, \sigma\sigma) + T v T^{\mathsf T}\big]$:
        what the neurons before add (`source`) and what they pass on (`pushed`), PDLT (4.119)."""
        return self.C_W**2 * (self.inverse_width * source + pushed)


class ResidualLayer(Layer):
    r"""A layer with a way around it: $z^{(\ell+1)} = b + W\sigma(z^{(\ell)}) + \gamma z^{(\ell)}$, PDLT (B.3), (B.6)."""

    skip: Float[Array, "*layers"]
    r"""$\gamma$; zero where there is no way around."""
    norm: Norm | None = eqx.field(static=True, default=None)
    r"""Whether $\sigma$ reads normalised neurons."""

    def seen(
        self, K: Float[Array, "*shape"], Kaa: Float[Array, "*#shape"], Kbb: Float[Array, "*#shape"]
    ) -> Float[Array, "*shape"]:
        r"""$K_{\alpha\beta}/\sqrt{K_{\alpha\alpha}K_{\beta\beta}}$ behind a normalisation: at infinite width the mean square over
        neurons is $K_{\alpha\alpha}$ and their mean, which layer normalisation takes off, zero."""
        return K if self.norm is None else K / _sizes(Kaa, Kbb)

    def seen_variances(self, variances: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """One, behind a normalisation."""
        return variances if self.norm is None else jnp.ones_like(variances)

    def seen_slopes(
        self, slopes: Float[Array, "*shape"], Kaa: Float[Array, "*#shape"], Kbb: Float[Array, "*#shape"]
    ) -> Float[Array, "*shape"]:
        r"""$\langle\sigma'_\alpha\sigma'_\beta\rangle/\sqrt{K_{\alpha\alpha}K_{\beta\beta}}$ behind a normalisation: that the size itself
        moves with each neuron is of order $1/n$."""
        return slopes if self.norm is None else slopes / _sizes(Kaa, Kbb)

    def signal(self, activation: Activation, z: Float[Array, "N n"]) -> Float[Array, "N n"]:
        r"""$\sigma(z)$, or of `normalised` neurons."""
        return activation(z if self.norm is None else normalised(z, self.norm))

    def kernel(
        self, average: Float[Array, "*shape"], before: Float[Array, "*shape"] | None = None
    ) -> Float[Array, "*shape"]:
        r"""$C_b + C_W\langle\sigma_\alpha\sigma_\beta\rangle + \gamma^2K_{\alpha\beta}$, PDLT (B.11); without a kernel `before`, what the
        layer's own weights and biases make."""
        block = super().kernel(average)
        return block if before is None else block + self.skip**2 * before

    def perpendicular(self, slopes: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        r"""$\chi_\perp = C_W\langle\sigma'_\alpha\sigma'_\beta\rangle + \gamma^2$, PDLT (B.16)."""
        return super().perpendicular(slopes) + self.skip**2
