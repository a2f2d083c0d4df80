r"""What every shaped block tells of its limit.

At depth $\ell$ and width $n$, both large, the covariance of $m$ tokens $V_\ell = X_\ell X_\ell^{\mathsf T}/n$ moves in the
depth time $t = \ell/n$ by

$$dV = b(V)\,dt + \Sigma(V)^{1/2}dB,\qquad
  \Sigma^{1/2}dB = \sqrt{\kappa}\,L\,dN\,L^{\mathsf T} + dA\,V + V\,dA^{\mathsf T},\quad LL^{\mathsf T} = V.$$

Values fluctuate through a symmetric Gaussian matrix $N = (Z + Z^{\mathsf T})/\sqrt2$, which has covariance
$\Sigma_{\rm lin}$; attention mixes the tokens by a Gaussian matrix $A$, linear in another $Z$. Both cost $O(m^3)$, where a
square root of $\Sigma$ would cost $O(m^6)$. Any matrix $L$ with $LL^{\mathsf T} = V$ serves, square or not.
"""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Key

from ..._arrays import Array, diagonal
from ..._entry import entry
from ..._memory import check_four_samples
from .finite import Block
from .tokens import as_token_covariance

Square = Float[Array, "m m"]


class ShapedBlock(Block):
    """A block that is described at every width and in the proportional limit."""

    @property
    @abstractmethod
    def value_noise(self) -> Array | float:
        r"""$\kappa$, the coefficient of $\Sigma_{\rm lin}$ in $\Sigma$."""

    @entry()
    def drift(self, V: Any) -> Float[Array | np.ndarray, "m m"]:
        r"""$b(V)$, per unit of depth time."""
        return self.drift_inside(as_token_covariance(V, "V"))

    @abstractmethod
    def drift_inside(self, V: Square) -> Square:
        r"""$b(V)$ as the integrators compute it, of a covariance that needs no check."""

    def reshaped(self, gamma: float | None = None, tau0: float | None = None) -> "ShapedBlock":
        r"""The same block with another weight $\gamma$ of its branches, or another temperature $\tau_0$, where it has one."""
        return self

    @property
    def parts(self) -> "tuple[ShapedBlock, ...]":
        """The blocks of which this one is a stack."""
        return (self,)

    @property
    def mixings(self) -> int:
        """How many Gaussian matrices mix tokens."""
        return 0

    def mixing(self, Z: Float[Array, "mixings r r"], L: Float[Array, "m r"]) -> Square | None:
        r"""$A$, made from `mixings` matrices of independent standard normals; `None` if tokens do not mix."""
        return None

    def mixing_diffusion(self, V: Square) -> Float[Array, "m m m m"]:
        r"""The covariance of $AV + VA^{\mathsf T}$."""
        return jnp.zeros(V.shape * 2, V.dtype)

    def positive_drift(self, V: Square) -> Square | None:
        r"""A part $P$ of the drift for which $V + P\,dt$ is positive semi-definite, for $dt$ up to `largest_step`."""
        return None

    def positive_growth(self, V: Square) -> Float[Array, " m"] | None:
        """The diagonal of `positive_drift`."""
        positive = self.positive_drift(V)
        return None if positive is None else diagonal(positive)

    def mixing_growth(self, V: Square) -> Float[Array, " m"] | None:
        r"""What $A$ alone adds to the diagonal of $V$, that of $b - P - CV - VC^{\mathsf T} = E[AVA^{\mathsf T}] + \tfrac12(E[A^2]V +
        VE[A^2]^{\mathsf T})$; `None` if tokens do not mix."""
        if not self.mixings:
            return None
        P, C = self.positive_growth(V), self.generator(V)
        rest = diagonal(self.drift_inside(V)) - (0 if P is None else P)
        return rest if C is None else rest - 2 * jnp.sum(C * V, axis=1)

    def generator(self, V: Square) -> Square | None:
        r"""$C$ that gives the rest of the drift as a map of tokens: with $E = \exp(C\,dt + A\sqrt{dt})$,
        $E[E\,V E^{\mathsf T}] = V + (b - P)\,dt + O(dt^2)$. It holds the Itô correction $-\tfrac12E[A^2]$."""
        return None

    @property
    def largest_step(self) -> Array | float:
        """The longest step in depth time for which `positive_drift` keeps covariances positive."""
        return jnp.inf

    @entry()
    def diffusion(self, V: Any) -> Float[Array | np.ndarray, "m m m m"]:
        r"""$\Sigma(V)^{\alpha\beta,\delta\omega}$, per unit of depth time: for reading, never for sampling."""
        checked = as_token_covariance(V, "V")
        check_four_samples(4.0, 1, len(checked), "V")
        return self.value_noise * linear_diffusion(checked) + self.mixing_diffusion(checked)

    def noise(self, key: Key[Array, ""], L: Float[Array, "m r"]) -> Square:
        r"""A symmetric Gaussian matrix of covariance $\Sigma(LL^{\mathsf T})$, in $O(m^3)$."""
        rank = L.shape[1]
        return self.noise_from(jax.random.normal(key, (1 + self.mixings, rank, rank), L.dtype), L)

    def noise_from(self, Z: Float[Array, "1+{self.mixings} r r"], L: Float[Array, "m r"]) -> Square:
        r"""The noise as a linear function of its independent standard normals `Z`."""
        noise = jnp.sqrt(self.value_noise) * L @ symmetric_normal(Z[0]) @ L.T
        A = self.mixing(Z[1:], L)
        if A is None:
            return noise
        mixed = A @ L @ L.T
        return noise + mixed + mixed.T


def symmetric_normal(Z: Float[Array, "r r"]) -> Float[Array, "r r"]:
    r"""$(Z + Z^{\mathsf T})/\sqrt2$: off-diagonal variance 1, diagonal variance 2, and $E[N^2] = (r+1)\,I$."""
    return (Z + Z.T) / jnp.sqrt(2.0)


def linear_diffusion(V: Square) -> Float[Array, "m m m m"]:
    r"""$\Sigma_{\rm lin}(V)^{\alpha\beta,\delta\omega} = V^{\alpha\delta}V^{\beta\omega} + V^{\alpha\omega}V^{\beta\delta}$."""
    return jnp.einsum("ad,bw->abdw", V, V) + jnp.einsum("aw,bd->abdw", V, V)
