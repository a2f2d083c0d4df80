"""The attention block."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array, at_hand, diagonal
from ..._errors import DomainError, ShapeError, UnknownNameError
from ..._validation import as_count, as_flag, as_number, is_concrete
from . import token_mixing
from .block import Square
from .residual import ResidualBlock, as_gamma
from .sublayers import Residual, Sublayer, attention_branch, columns_per_head
from .token_mixing import Visible, visible

Mask = str | tuple[tuple[bool, ...], ...] | None


class ShapedAttention(ResidualBlock):
    r"""$X' = \lambda X + \gamma\,AXW^V/\sqrt n$ with $A = I + {\rm softmax}(Y/\tau) - \tfrac1m\mathbf 1\mathbf 1^{\mathsf T}$,
    $Y = \tfrac1nXW^QW^{K\mathsf T}X^{\mathsf T}$ and $\tau = \tau_0\sqrt{n\,n_k}$ (Shaped Transformer Eq. 1 and 9).

    Its limit, for `heads` $H$ (Shaped Transformer Thm 4.2 for $H = 1$ and no mask), is
    $$b(V) = \frac{\gamma^2}{\tau_0^2}\bigl(E[\delta A\,V\delta A^{\mathsf T}] + \bar A V + V\bar A^{\mathsf T}\bigr),\qquad
      \Sigma = \gamma^2(2 - \gamma^2)\,\Sigma_{\rm lin} + \frac{\gamma^4}{H\tau_0^2}\mathcal A,$$
    where $\delta A$ and $\bar A$ are the fluctuation and the mean of the softmax; it can explode in finite time.

    **Arguments:**

    - `gamma`: weight of the branch; `tau0`: temperature.
    - `heads`: $H$ heads, each with its own queries and keys and $n/H$ of the values, concatenated.
    - `mask`: `None` (every token sees all), `"causal"`, `"window:4"` (each token sees itself and the three before, or as many as
      the number says), or boolean, shape (m, m), row $\alpha$ being what token $\alpha$ sees. The softmax and the $\tfrac1m$
      subtracted from it extend over the visible tokens.
    - `key_width`: $n_k$ of each head; by default $n/H$. The limit does not depend on it.
    - `output_projection`: a last Gaussian matrix $W^O/\sqrt n$, with which $\Sigma_{\rm lin}$ is multiplied by $2\gamma^2$.
    - `exponent`: $p$ in $\tau = \tau_0n^p\sqrt{n_k}$. For $p > 1/2$ only the values fluctuate; for $p < 1/2$ depth time is
      $t = \ell n^{-2p}$ and only the logits do.
    """

    tau0: float | Array
    heads: int = eqx.field(static=True)
    mask: Mask = eqx.field(static=True)
    key_width: int | None = eqx.field(static=True)
    output_projection: bool = eqx.field(static=True)
    exponent: float = eqx.field(static=True)

    def __init__(
        self,
        gamma: Any,
        tau0: Any = 1.0,
        heads: int = 1,
        mask: Any = None,
        key_width: int | None = None,
        output_projection: bool = False,
        exponent: float = 0.5,
    ):
        self.gamma = as_gamma(gamma)
        self.tau0 = as_number(tau0, "tau0", low=0.0) if is_concrete(tau0) else tau0
        self.exponent = as_number(exponent, "exponent", low=0.0)
        for name in ("tau0", "exponent"):
            if is_concrete(getattr(self, name)) and getattr(self, name) == 0:
                raise DomainError(name, 0.0, "a positive number")
        self.heads = as_count(heads, "heads")
        self.mask = _as_mask(mask)
        self.key_width = None if key_width is None else as_count(key_width, "key_width")
        self.output_projection = as_flag(output_projection, "output_projection")

    def sees(self, tokens: int) -> Bool[np.ndarray, "m m"]:
        """Which tokens (columns) each token (row) attends to."""
        if self.mask is None:
            return np.ones((tokens, tokens), dtype=bool)
        if self.mask == "causal":
            return np.tri(tokens, dtype=bool)
        if isinstance(self.mask, str):
            return np.tri(tokens, dtype=bool) & ~np.tri(tokens, k=-_window(self.mask), dtype=bool)
        if len(self.mask) != tokens:
            raise ShapeError("mask", f"a mask of {len(self.mask)} tokens", f"one of {tokens}, as there are in V")
        return np.asarray(self.mask)

    def reshaped(self, gamma: float | None = None, tau0: float | None = None) -> "ShapedAttention":
        r"""With another $\gamma$ or $\tau_0$."""
        shaping = self.gamma if gamma is None else gamma, self.tau0 if tau0 is None else tau0
        return ShapedAttention(*shaping, self.heads, self.mask, self.key_width, self.output_projection, self.exponent)

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """One residual layer with an attention branch."""
        return (self.sublayer(width, tokens),)

    def check_width(self, width: int) -> None:
        """Heads share the columns evenly."""
        columns_per_head(self.heads, width)

    def sublayer(
        self, width: int, tokens: int, identity: bool = True, centred: bool = True, shaped_temperature: bool = True
    ) -> Residual:
        r"""Shaped attention (Shaped Transformer Eq. 9), or what is left of it; its temperature is $\tau_0n^p\sqrt{n_k}$, or
        $\tau_0\sqrt{n_k}$ if it is not shaped."""
        columns = columns_per_head(self.heads, width)
        key_width = columns if self.key_width is None else self.key_width
        shaping = width**self.exponent if shaped_temperature else 1.0
        temperature = at_hand(self.tau0) * shaping * key_width**0.5
        what = self.sees(tokens), temperature, self.heads, key_width, self.output_projection
        return Residual(attention_branch(*what, identity, centred), self.skip, at_hand(self.gamma))

    @property
    def time_exponent(self) -> float:
        r"""$\min(1, 2p)$."""
        return min(1.0, 2 * self.exponent)

    @property
    def value_noise(self) -> Array | float:
        r"""$\gamma^2(2 - \gamma^2)$, or $2\gamma^2$ with an output projection."""
        return self.residual_noise(branch=float(self.output_projection)) if self.exponent >= 0.5 else 0.0

    @property
    def _inert(self) -> bool:
        return self.exponent > 0.5

    @property
    def _mean_strength(self) -> Array | float:
        r"""$\gamma^2/\tau_0^2$, which multiplies the drift."""
        return self.gamma**2 / self.tau0**2

    @property
    def _noise_strength(self) -> Array | float:
        r"""$\gamma^4/(H\tau_0^2)$, which multiplies $\mathcal A$."""
        return self.gamma**4 / (self.heads * self.tau0**2)

    def _visible(self, V: Array) -> Visible | None:
        return None if self.mask is None else visible(self.sees(len(V)), V.dtype)

    def drift_inside(self, V: Square) -> Square:
        r"""$\frac{\gamma^2}{\tau_0^2}(E[\delta A\,V\delta A^{\mathsf T}] + \bar A V + V\bar A^{\mathsf T})$; without mask, Thm 4.2."""
        if self._inert:
            return 0 * V
        sees = self._visible(V)
        mean = token_mixing.mean_mixing(V, sees) @ V
        return self._mean_strength * (token_mixing.mixing_gram(V, sees) + mean + mean.T)

    @property
    def mixings(self) -> int:
        """One, unless the temperature is too high to matter."""
        return 0 if self._inert else 1

    def mixing(self, Z: Float[Array, "mixings r r"], L: Float[Array, "m r"]) -> Square | None:
        r"""$\gamma^2/(\tau_0\sqrt H)$ times the centred logits $LZL^{\mathsf T}$."""
        if self._inert:
            return None
        return self._noise_strength**0.5 * token_mixing.centred(L @ Z[0] @ L.T, self._visible(L))

    def mixing_diffusion(self, V: Square) -> Float[Array, "m m m m"]:
        r"""$\frac{\gamma^4}{H\tau_0^2}\mathcal A$."""
        if self._inert:
            return super().mixing_diffusion(V)
        return self._noise_strength * token_mixing.mixing_diffusion(V, visible(self.sees(len(V)), V.dtype))

    def positive_drift(self, V: Square) -> Square | None:
        r"""$(\frac{\gamma^2}{\tau_0^2} - \frac{\gamma^4}{H\tau_0^2})\,E[\delta A\,V\delta A^{\mathsf T}]$: what the fluctuation of
        the logits adds beyond mixing. Without a mask it is proportional to $V$ and belongs to the generator."""
        if self._inert or self.mask is None:
            return None
        return (self._mean_strength - self._noise_strength) * token_mixing.mixing_gram(V, self._visible(V))

    def mixing_growth(self, V: Square) -> Float[Array, " m"] | None:
        r"""The diagonal of $\frac{\gamma^4}{H\tau_0^2}(E[\delta A\,V\delta A^{\mathsf T}] + E[\delta A^2]V)$."""
        if self._inert:
            return None
        sees = self._visible(V)
        of_square = jnp.sum(token_mixing.mixing_square(V, sees) * V, axis=1)
        return self._noise_strength * (diagonal(token_mixing.mixing_gram(V, sees)) + of_square)

    def generator(self, V: Square) -> Square | None:
        r"""$\frac{\gamma^2}{\tau_0^2}\bar A - \frac{\gamma^4}{2H\tau_0^2}E[\delta A^2]$."""
        if self._inert:
            return None
        sees = self._visible(V)
        C = self._mean_strength * token_mixing.mean_mixing(V, sees)
        C = C - self._noise_strength / 2 * token_mixing.mixing_square(V, sees)
        if self.mask is not None:
            return C
        growth = token_mixing.centred_norm(V) / len(V) ** 2
        return C + (self._mean_strength - self._noise_strength) / 2 * growth * jnp.eye(len(V), dtype=V.dtype)


def _window(mask: str) -> int:
    """How many tokens the window of a mask named `window:4` shows, 4; zero if it is not a window."""
    name, _, size = mask.partition(":")
    return int(size) if name == "window" and size.isdecimal() else 0


def _as_mask(mask: Any) -> Mask:
    """A mask in a form that can be compared and hashed."""
    if mask is None:
        return None
    if isinstance(mask, str):
        if mask != "causal" and _window(mask) < 1:
            raise UnknownNameError("mask", mask, ["causal", "window:4"])
        return mask
    try:
        array = np.asarray(mask)
    except ValueError:
        raise ShapeError("mask", f"a ragged {type(mask).__name__}", "a boolean array (m, m)") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ShapeError("mask", f"shape {array.shape}", "`None`, 'causal', 'window:4' or a boolean array (m, m)")
    if array.dtype != bool:
        raise DomainError("mask", f"{array.dtype} entries", "booleans: True where a token sees another")
    blind = np.flatnonzero(~array.any(axis=1))
    if len(blind):
        raise DomainError("mask", f"an empty row {blind[0]}", "at least one visible token in each row")
    return tuple(tuple(row) for row in array.tolist())
