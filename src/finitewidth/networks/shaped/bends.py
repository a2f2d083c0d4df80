r"""How a shaped activation bends: moments of one neuron's deviations from the identity, which drive backward passes and features.

With $h \sim N(0, \Phi)$ over inputs and $D^\alpha = \varphi_s'(h^\alpha)$, a neuron deviates at order $n^{-1/2}$ by the random bends

$$y^{\alpha\gamma} = \lim\sqrt n\,(D^\alpha - E D)\,h^\gamma,\qquad
  \varphi_s(h^\gamma) \simeq h^\gamma + \tfrac{\kappa}{\sqrt n}\,y^{\gamma\gamma},$$

with $\kappa = 1$ for a kink at zero and $\tfrac12$ for a smooth activation, and at order $1/n$ in its mean. All tensors of the
backward and feature-learning equations are made of $M = E[y\,y]$, of the covariance $N$ of the slopes alone, and of those means.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, diagonal
from ..._entry import entry
from ..._errors import ArgumentError
from ..._result import Result
from ...gaussian.root import covariance_root
from ...gaussian.sign_pairs import sign_pair_moments, sign_pairs
from .activation import ShapedActivation, ShapedReLU, ShapedSmooth
from .block import Square
from .shaped_relu_kernel import correlation_and_scale, kernel_excess
from .tokens import as_token_covariance

Fourth = Float[Array, "m m m m"]


class Bends(eqx.Module):
    """The bends of one family of activations; its coefficients are data, so that all members share a compiled program."""

    half: eqx.AbstractClassVar[float]
    r"""$\kappa$."""

    @abstractmethod
    def moments(self, Phi: Square) -> Fourth:
        r"""$M^{\alpha\gamma,\beta\delta} = E[y^{\alpha\gamma}y^{\beta\delta}]$."""

    @abstractmethod
    def slopes(self, Phi: Square) -> Square:
        r"""$N^{\alpha\beta}$, the limit of $n$ times the covariance of $D^\alpha$ and $D^\beta$."""

    @abstractmethod
    def mean_slope(self, Phi: Square) -> Float[Array, " m"]:
        r"""$\mu^\alpha$ in $n\,E[D^\alpha D^\beta]\,c - n = N^{\alpha\beta} + \mu^\alpha + \mu^\beta + c_0$."""

    @property
    @abstractmethod
    def offset(self) -> Array:
        r"""$c_0$, the same for all inputs."""

    @abstractmethod
    def cubic(self, Phi: Square) -> Float[Array, "m m m"]:
        r"""The part of $\mathsf t^{\alpha\gamma\delta}$ that comes from means of order $1/n$."""

    @abstractmethod
    def slope_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$1 + \mathsf g\,\Delta + O(\Delta^2)$, positive semi-definite for every step: $c\,E[D^\alpha D^\beta]$ of a layer of
        width $1/\Delta$."""

    @abstractmethod
    def value_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$\Phi + b(\Phi)\,\Delta + O(\Delta^2)$, positive semi-definite for every step."""

    @abstractmethod
    def draw(self, Z: Float[Array, "bent p"], Phi: Square, G: Float[Array, "p p"]) -> Float[Array, "m m p"]:
        r"""Gaussian $\langle y^{\alpha\gamma}, \zeta^b\rangle$ of covariance $M \otimes G$: the bends of all neurons, as backward vectors
        $b$ see them, from standard normals `Z`."""

    def against_values(self, y: Float[Array, "m m *rest"]) -> Float[Array, "m m *rest"]:
        r"""$y^{\alpha\gamma} - \kappa\,y^{\gamma\gamma}$: from $D^\alpha h^\gamma$ to $D^\alpha h^\gamma - \varphi^\gamma$."""
        i = np.arange(y.shape[0])
        return y - self.half * y[i, i][None]

    def backward_factor(self, Phi: Square) -> Square:
        r"""$\mathsf g^{\alpha\beta} = \lim n\,(c\,E[D^\alpha D^\beta] - 1)$."""
        mean = self.mean_slope(Phi)
        return self.slopes(Phi) + mean[:, None] + mean + self.offset

    def value_drift(self, M: Fourth, Phi: Square) -> Float[Array, "m m m"]:
        r"""$\mathsf t^{\alpha\gamma\delta} = \lim n\,c\,E[(D^\alpha h^\gamma - \varphi^\gamma)\varphi^\delta]$."""
        i = np.arange(len(Phi))
        return self.half * self.against_values(M)[:, :, i, i] + self.cubic(Phi)

    def value_covariance(self, M: Fourth) -> Fourth:
        r"""$\lambda^{\alpha\gamma,\beta\delta} = \lim n\,E[(D^\alpha h^\gamma - \varphi^\gamma)(D^\beta h^\delta - \varphi^\delta)]$."""
        once = self.against_values(M)
        return self.against_values(once.transpose(2, 3, 0, 1)).transpose(2, 3, 0, 1)


class KinkedBends(Bends):
    r"""Shaped ReLU: $y^{\alpha\gamma} = \chi\,\mathrm{sgn}(h^\alpha)\,h^\gamma$."""

    half: ClassVar[float] = 1.0
    chi_squared: Float[Array, ""]

    def moments(self, Phi: Square) -> Fourth:
        r"""$\chi^2\,\Psi^{\alpha\beta;\gamma\delta}$."""
        return self.chi_squared * sign_pair_moments(Phi).transpose(0, 2, 1, 3)

    def slopes(self, Phi: Square) -> Square:
        r"""$\chi^2\,\tfrac2\pi\arcsin\rho$."""
        return self.chi_squared * sign_pairs(Phi)

    def mean_slope(self, Phi: Square) -> Float[Array, " m"]:
        """None beside the offset."""
        return jnp.zeros(len(Phi), Phi.dtype)

    @property
    def offset(self) -> Array:
        r"""$-\chi^2$, so that $\mathsf g^{\alpha\alpha} = 0$."""
        return -self.chi_squared

    def cubic(self, Phi: Square) -> Float[Array, "m m m"]:
        """None."""
        return jnp.zeros((len(Phi),) * 3, Phi.dtype)

    def slope_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$e^{-\chi^2\Delta} + (1 - e^{-\chi^2\Delta})A$, a mixture of two kernels."""
        share = -jnp.expm1(-self.chi_squared * step)
        return 1 - share * (1 - sign_pairs(Phi))

    def value_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$e^{-\chi^2\Delta}\Phi$ and the rest of the kernel of $|h|$."""
        rho, scale = correlation_and_scale(Phi)
        return Phi - jnp.expm1(-self.chi_squared * step) * scale * kernel_excess(rho)

    def draw(self, Z: Float[Array, "bent p"], Phi: Square, G: Float[Array, "p p"]) -> Float[Array, "m m p"]:
        r"""$L_MZL_G^{\mathsf T}$."""
        m = len(Phi)
        root = covariance_root(self.moments(Phi).reshape(m * m, m * m))
        return (root @ Z[1:] @ covariance_root(G).T).reshape(m, m, len(G))


class SmoothBends(Bends):
    r"""$S\phi(x/S)$, $S = a\sqrt n$: $y^{\alpha\gamma} = \tfrac{\phi_2}a\,h^\alpha h^\gamma$, and slopes are larger by
    $\tfrac{\phi_3}{2a^2n}(h^\alpha)^2$ in the mean."""

    half: ClassVar[float] = 0.5
    phi2: Float[Array, ""]
    r"""$\phi''(0)/a$."""
    phi3: Float[Array, ""]
    r"""$\phi'''(0)/a^2$."""

    def moments(self, Phi: Square) -> Fourth:
        r"""$\tfrac{\phi_2^2}{a^2}E[h^\alpha h^\gamma h^\beta h^\delta]$."""
        return self.phi2**2 * _fourth_moments(Phi)

    def slopes(self, Phi: Square) -> Square:
        r"""$\tfrac{\phi_2^2}{a^2}\Phi^{\alpha\beta}$."""
        return self.phi2**2 * Phi

    def mean_slope(self, Phi: Square) -> Float[Array, " m"]:
        r"""$\tfrac{\phi_3}{2a^2}\Phi^{\alpha\alpha}$."""
        return self.phi3 / 2 * diagonal(Phi)

    @property
    def offset(self) -> Array:
        r"""$-\tfrac1{a^2}(\tfrac34\phi_2^2 + \phi_3)$."""
        return -(0.75 * self.phi2**2 + self.phi3)

    def cubic(self, Phi: Square) -> Float[Array, "m m m"]:
        r"""$\tfrac{\phi_3}{a^2}(\tfrac12E[h^\alpha h^\alpha h^\gamma h^\delta] - \tfrac16E[h^\gamma h^\gamma h^\gamma h^\delta])$."""
        i = np.arange(len(Phi))
        fourth = _fourth_moments(Phi)
        return self.phi3 * (fourth[i, i] / 2 - fourth[i, i, i][None] / 6)

    def slope_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$s^\alpha s^\beta + N\Delta$ with $s^\alpha = \exp\Delta(\mu^\alpha + \tfrac12c_0)$."""
        scale = jnp.exp(step * (self.mean_slope(Phi) + self.offset / 2))
        return scale[:, None] * scale + step * self.slopes(Phi)

    def value_kernel(self, Phi: Square, step: Array | float) -> Square:
        r"""$s^\alpha s^\beta\Phi^{\alpha\beta}$, $s^\alpha = \exp\Delta(\tfrac{\phi_3}{2a^2}(\Phi^{\alpha\alpha} - 1) -
        \tfrac{3\phi_2^2}{8a^2})$, and the kernel of the curvature."""
        norms = diagonal(Phi)
        scale = jnp.exp(step * (self.phi3 / 2 * (norms - 1) - 3 / 8 * self.phi2**2))
        return scale[:, None] * Phi * scale + step / 4 * self.phi2**2 * (norms[:, None] * norms + 2 * Phi**2)

    def draw(self, Z: Float[Array, "bent p"], Phi: Square, G: Float[Array, "p p"]) -> Float[Array, "m m p"]:
        r"""$\tfrac{\phi_2}a(\Phi z_0 + L N' L^{\mathsf T})$ for each of the independent backward vectors, with a number $z_0$ and a
        symmetric Gaussian matrix $N'$."""
        m, p = len(Phi), len(G)
        L, among = covariance_root(Phi), Z[1:].reshape(m, m, p)
        symmetric = (among + among.swapaxes(0, 1)) / jnp.sqrt(2.0)
        fluctuating = jnp.einsum("ai,bj,ijp->abp", L, L, symmetric)
        return self.phi2 * (Phi[:, :, None] * Z[0] + fluctuating) @ covariance_root(G).T


def _fourth_moments(Phi: Square) -> Fourth:
    return (
        jnp.einsum("ij,kl->ijkl", Phi, Phi) + jnp.einsum("ik,jl->ijkl", Phi, Phi) + jnp.einsum("il,jk->ijkl", Phi, Phi)
    )


def bends_of(activation: ShapedActivation) -> Bends:
    """Those of a shaped activation of exponent 1/2; beyond, networks are linear and nothing bends."""
    bent = 1.0 * (activation.exponent == 0.5)
    if activation.exponent < 0.5:
        got = f"a shaped activation of exponent {activation.exponent:g}"
        raise ArgumentError("block", got, "one of exponent 1/2 or more: below it, gradients have no random limit")
    if isinstance(activation, ShapedReLU):
        return KinkedBends(jnp.asarray(bent * activation.chi_squared))
    if isinstance(activation, ShapedSmooth):
        phi2, phi3 = activation.phi2 / activation.a, activation.phi3 / activation.a**2
        return SmoothBends(jnp.asarray(bent * phi2), jnp.asarray(bent * phi3))
    raise ArgumentError("activation", type(activation).__name__, "`shaped_relu(...)` or `shaped_smooth(...)`")


class SlopeTensors(Result, eqx.Module):
    """The five tensors of the backward and feature-learning equations at one covariance, in units of $1/n$."""

    g: Float[Array, "m m"]
    r"""$\mathsf g^{\alpha\beta}$ of $c\,E[D^\alpha D^\beta] - 1$."""
    t: Float[Array, "m m m"]
    r"""$\mathsf t^{\alpha\gamma\delta}$ of $c\,E[(D^\alpha h^\gamma - \varphi^\gamma)\varphi^\delta]$."""
    lam: Float[Array, "m m m m"]
    r"""$\lambda^{\alpha\gamma,\beta\delta}$ of $E[(D^\alpha h^\gamma - \varphi^\gamma)(D^\beta h^\delta - \varphi^\delta)]$."""
    e: Float[Array, "m m m"]
    r"""$\mathsf e^{\gamma;\alpha\beta}$ of $E[D^\gamma(D^\alpha - D^\beta)]$."""
    epsilon: Float[Array, "m m m m"]
    r"""$\varepsilon^{\alpha\beta,\gamma\delta}$ of $E[(D^\alpha - D^\beta)(D^\gamma - D^\delta)]$."""


@entry()
def slope_tensors(activation: ShapedActivation, V: Any) -> SlopeTensors:
    r"""Moments of a shaped activation $\varphi$ and its slope $D$ at one neuron, $h \sim N(0, V)$: what drives backward passes.

    Each is the limit of $n$ times the average in its description, as in lecture 19 with all of its dots filled in.

    Examples:
        >>> tensors = fw.shaped.slope_tensors(fw.shaped.shaped_relu(1.0, -1.0), np.eye(2))
        >>> tensors.g.round(6).tolist()
        [[0.0, -1.0], [-1.0, 0.0]]
    """
    Phi = jnp.asarray(as_token_covariance(V, "V"))
    bends = bends_of(activation)
    M, N, mean = bends.moments(Phi), bends.slopes(Phi), bends.mean_slope(Phi)
    apart = N[:, :, None] - N[:, None, :]  # N^{gamma alpha} - N^{gamma beta}
    epsilon = N[:, None, :, None] - N[:, None, None, :] - N[None, :, :, None] + N[None, :, None, :]
    return SlopeTensors(
        g=bends.backward_factor(Phi),
        t=bends.value_drift(M, Phi),
        lam=bends.value_covariance(M),
        e=apart + mean[:, None] - mean,
        epsilon=epsilon,
    )
