r"""Activations that tend to the identity as the network widens, so slowly that depth in proportion to width undoes it.

Each knows itself at a width, for real networks, and the drift it causes in the covariance per unit of depth over width.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, diagonal
from ..._entry import entry
from ..._errors import DomainError
from ..._validation import as_count, as_number
from ...activations import Activation, as_activation
from ...activations.families import ScaleInvariant, scale_invariant
from ...gaussian.line import line_average
from .shaped_relu_kernel import correlation_and_scale, kernel_excess, kernel_excess_slope


class ShapedActivation:
    """What a block asks of its activation."""

    exponent: float
    r"""$p$: the activation deviates from the identity by $n^{-p}$, and covariances drift by $n^{-2p}$ a layer."""

    @abstractmethod
    def at_width(self, n: int) -> Activation:
        r"""$\varphi_s$ at width `n`."""

    def usable_at(self, n: int) -> Activation:
        """`at_width`, refused where nothing passes."""
        return self.at_width(n)

    @abstractmethod
    def normalisation(self, n: int) -> float:
        r"""$c = 1/E[\varphi_s(w)^2]$, $w \sim N(0, 1)$."""

    @abstractmethod
    def drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"]:
        r"""$b(V) = \lim n^{2p}\,(c\,E[\varphi_s\varphi_s^{\mathsf T}] - V)$."""

    @abstractmethod
    def positive_drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"] | None:
        r"""The part $P$ of the drift for which $V + P\,dt$ is positive semi-definite, for $dt$ up to `largest_step`."""

    def positive_growth(self, V: Float[Array, "m m"]) -> Float[Array, " m"] | None:
        """Its diagonal."""
        positive = self.positive_drift(V)
        return None if positive is None else diagonal(positive)

    @abstractmethod
    def generator(self, V: Float[Array, "m m"]) -> Float[Array, "m m"] | None:
        r"""$C$ in the rest of the drift, $CV + VC^{\mathsf T}$."""

    @property
    def largest_step(self) -> float:
        """The longest step for which `positive_drift` keeps covariances positive."""
        return np.inf


@dataclass(frozen=True)
class ShapedReLU(ShapedActivation):
    r"""$\varphi_s(x) = s_+\max(x, 0) + s_-\min(x, 0)$ with $s_\pm = 1 + c_\pm n^{-p}$ (Shaped Transformer Eq. 5)."""

    c_plus: float
    c_minus: float
    exponent: float = 0.5

    @property
    def chi_squared(self) -> float:
        r"""$\chi^2 = (c_+ - c_-)^2/4$, all that survives of the slopes in the limit."""
        return (self.c_plus - self.c_minus) ** 2 / 4

    def slopes(self, n: int) -> tuple[float, float]:
        r"""$s_+, s_-$ at width `n`."""
        shrink = as_count(n, "n") ** -self.exponent
        return 1 + self.c_plus * shrink, 1 + self.c_minus * shrink

    def at_width(self, n: int) -> ScaleInvariant:
        """The leaky ReLU with the slopes of width `n`."""
        return scale_invariant(*self.slopes(n), name="shaped_relu")

    def usable_at(self, n: int) -> ScaleInvariant:
        """`at_width`, refused where both slopes are zero: some shaped ReLUs are flat at one width."""
        if not any(self.slopes(n)):
            got = f"{self.c_plus:g}, {self.c_minus:g}: both slopes 1 + c n^(-{self.exponent:g}) are zero at width {n}"
            raise DomainError("c_plus, c_minus", got, "one that is not, or another width")
        return self.at_width(n)

    def normalisation(self, n: int) -> float:
        r"""$c = 2/(s_+^2 + s_-^2)$."""
        right, left = self.slopes(n)
        return 2 / (right**2 + left**2)

    def kernel(self, rho: Float[Array, "*s"] | float, n: int) -> Float[Array, "*s"]:
        r"""$c\,E[\varphi_s(w)\varphi_s(w')]$ at correlation $\rho$, exact at width `n`."""
        right, left = self.slopes(n)
        return rho + (right - left) ** 2 / (2 * (right**2 + left**2)) * kernel_excess(rho)

    def kernel_slope(self, rho: Float[Array, "*s"] | float, n: int) -> Float[Array, "*s"]:
        r"""$c\,E[\varphi_s'(w)\varphi_s'(w')]$, the derivative of `kernel` in $\rho$."""
        right, left = self.slopes(n)
        return 1 + (right - left) ** 2 / (2 * (right**2 + left**2)) * kernel_excess_slope(rho)

    def nu(self, rho: Float[Array, "*s"] | float) -> Float[Array, "*s"]:
        r"""$\nu(\rho) = \frac{(c_+-c_-)^2}{2\pi}(\sqrt{1-\rho^2} - \rho\arccos\rho)$, the limit of $n^{2p}$ times
        (`kernel` $- \rho$), with the sign of Shaped Transformer Eq. 6."""
        return self.chi_squared * kernel_excess(rho)

    def nu_slope(self, rho: Float[Array, "*s"] | float) -> Float[Array, "*s"]:
        r"""$\nu'(\rho) = -\tfrac{2\chi^2}{\pi}\arccos\rho$."""
        return self.chi_squared * kernel_excess_slope(rho)

    def drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"]:
        r"""$b_{\rm ReLU}(V)^{\alpha\beta} = \nu(\rho^{\alpha\beta})\sqrt{V^{\alpha\alpha}V^{\beta\beta}}$ (Shaped Transformer Thm 3.2)."""
        rho, scale = correlation_and_scale(V)
        itself = jnp.eye(V.shape[-1], dtype=bool)  # kept out of nu, whose second derivative diverges at coincidence
        return jnp.where(itself, 0.0, scale * self.nu(jnp.where(itself, 0.0, rho)))

    def positive_drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"] | None:
        r"""All of it: $V + b\,dt$ mixes the kernels of $x$ and of $|x|$ with weights $1 - \chi^2dt$ and $\chi^2dt$."""
        return self.drift(V) if self.chi_squared else None

    def positive_growth(self, V: Float[Array, "m m"]) -> None:
        """Nothing: norms stay."""
        return None

    def generator(self, V: Float[Array, "m m"]) -> None:
        """Nothing: all of the drift is positive."""
        return None

    @property
    def largest_step(self) -> float:
        r"""$1/\chi^2$."""
        return 1 / self.chi_squared if self.chi_squared else np.inf


@dataclass(frozen=True)
class ShapedSmooth(ShapedActivation):
    r"""$\varphi_s(x) = S\,\phi(x/S)$ with $S = a n^p$ and $\phi(0) = 0$, $\phi'(0) = 1$ (lecture 17).

    `activation` is any activation $\sigma$ smooth at zero; $\phi = (\sigma - \sigma(0))/\sigma'(0)$.
    """

    activation: Activation
    a: float = 1.0
    exponent: float = 0.5
    phi2: float = field(init=False)
    r"""$\phi''(0)$."""
    phi3: float = field(init=False)
    r"""$\phi'''(0)$."""
    offset: float = field(init=False, repr=False)
    r"""$\sigma(0)$."""
    slope: float = field(init=False, repr=False)
    r"""$\sigma'(0)$."""

    def __post_init__(self) -> None:
        offset, slope, second, third = np.asarray(self.activation.taylor(3)).tolist()
        if slope == 0:
            raise DomainError("activation", f"{self.activation.name}, flat at zero", "an activation with σ'(0) ≠ 0")
        for name, value in (("phi2", second / slope), ("phi3", third / slope), ("offset", offset), ("slope", slope)):
            object.__setattr__(self, name, value)

    def at_width(self, n: int) -> Activation:
        r"""$S\phi(x/S)$ at width `n`."""
        S = self.a * as_count(n, "n") ** self.exponent
        kinks = tuple(S * kink for kink in self.activation.kinks)
        return Activation(_Stretched(self.activation, self.offset, self.slope, S), kinks, name="shaped")

    @entry()
    def normalisation(self, n: int) -> float:
        r"""$c = 1/E[\varphi_s(w)^2]$ by quadrature."""
        phi = self.at_width(n)
        return 1 / float(line_average(lambda w: phi(w) ** 2, jnp.ones(()), phi.kinks))

    def drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"]:
        r"""Lecture 17:
        $$b^{\alpha\beta} = \frac{\phi_2^2}{4a^2}\bigl(V^{\alpha\alpha}V^{\beta\beta} + V^{\alpha\beta}(2V^{\alpha\beta} - 3)\bigr)
          + \frac{\phi_3}{2a^2}V^{\alpha\beta}(V^{\alpha\alpha} + V^{\beta\beta} - 2).$$"""
        growth = diagonal(self.generator(V))
        linear = (growth[:, None] + growth) * V
        positive = self.positive_drift(V)
        return linear if positive is None else linear + positive

    def positive_drift(self, V: Float[Array, "m m"]) -> Float[Array, "m m"] | None:
        r"""The kernel of the curvature, $\frac{\phi_2^2}{4a^2}(V^{\alpha\alpha}V^{\beta\beta} + 2(V^{\alpha\beta})^2)$."""
        if self.phi2 == 0:
            return None
        norms = diagonal(V)
        return self.phi2**2 / (4 * self.a**2) * (norms[:, None] * norms + 2 * V**2)

    def generator(self, V: Float[Array, "m m"]) -> Float[Array, "m m"]:
        r"""The diagonal matrix of $\frac{\phi_3}{2a^2}(V^{\alpha\alpha} - 1) - \frac{3\phi_2^2}{8a^2}$."""
        growth = self.phi3 / 2 * (diagonal(V) - 1) - 3 / 8 * self.phi2**2
        return jnp.diag(growth / self.a**2)


@dataclass(frozen=True)
class _Stretched:
    """A function that equals another made from the same parameters, so that compiled code is found again."""

    activation: Activation
    offset: float
    slope: float
    scale: float

    def __call__(self, x: Array) -> Array:
        return self.scale / self.slope * (self.activation(x / self.scale) - self.offset)


@entry()
def shaped_relu(c_plus: float = 0.0, c_minus: float = -1.0, exponent: float = 0.5) -> ShapedReLU:
    r"""The leaky ReLU with slopes $1 + c_\pm n^{-p}$ (Shaped Transformer Eq. 5).

    Examples:
        >>> fw.shaped.shaped_relu(0.0, -1.0)
        ShapedReLU(c_plus=0.0, c_minus=-1.0, exponent=0.5)
    """
    return ShapedReLU(as_number(c_plus, "c_plus"), as_number(c_minus, "c_minus"), _exponent(exponent))


@entry()
def shaped_smooth(
    activation: str | Activation | Callable[[Array], Array] = "tanh", a: float = 1.0, exponent: float = 0.5
) -> ShapedSmooth:
    r"""$S\phi(x/S)$ with $S = a n^p$: any activation smooth at zero, stretched until it is almost linear (lecture 17).

    Examples:
        >>> fw.shaped.shaped_smooth("tanh", a=2.0).phi3
        -2.0
    """
    a = as_number(a, "a", low=0.0)
    if a == 0:
        raise DomainError("a", a, "a positive number")
    return ShapedSmooth(as_activation(activation), a, _exponent(exponent))


def _exponent(value: float) -> float:
    exponent = as_number(value, "exponent", low=0.0)
    if exponent == 0:
        raise DomainError("exponent", exponent, "a positive number: an activation that does not shrink is not shaped")
    return exponent
