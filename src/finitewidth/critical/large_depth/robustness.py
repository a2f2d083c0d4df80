"""How much a deep critical network learns about an input from a nearby one: the class of vanishing kernels."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_number
from ...activations import Activation, as_activation
from ..one_input.coefficients import kernel_series
from .asymptotics import as_layers


class RobustnessAsymptotics(Result, eqx.Module):
    r"""The last layer of critical networks of depth $L$, leading powers; $\delta^2$ is that of
    $\delta\delta K_{[2]} \to \delta^2\ell^{-p_\perp}$, PDLT (10.72)."""

    depths: Float[Array, "*L"]
    p_perp: float = eqx.field(static=True)
    r"""$b_1/a_1$, at most one, and one where $\sigma''(0) = 0$."""
    Theta_00: Float[Array, "*L"]
    deltadelta_Theta_2: Float[Array, "*L"]
    robustness: Float[Array, "*L"]
    r"""$-2\,\delta\delta\Theta_{[2]}/\Theta_{00}$ for inputs of equal norm, PDLT (10.62)."""


@entry()
def robustness_asymptotics(
    activation: str | Activation | Callable[[Array], Array],
    depths: Float[Array, "*L"] | Any,
    delta_squared: float = 1.0,
    lambda_b: float = 1.0,
    lambda_W: float = 1.0,
    *,
    uniform: bool = False,
) -> RobustnessAsymptotics:
    r"""The class $K^\star = 0$ at criticality, smooth at zero, PDLT (10.71)-(10.81), with
    $\Lambda = \tilde\lambda_b + \tilde\lambda_W\sigma_1^2/(-a_1)$.

    Rates of the equivalence principle, $\lambda_b^{(\ell)} = \tilde\lambda_b\ell^{-p_\perp}L^{p_\perp-1}$ and
    $\lambda_W^{(\ell)} = \tilde\lambda_W(L/\ell)^{p_\perp-1}$, PDLT (10.74), have $\Theta_{00} \to \Lambda$ and

    $$\delta\delta\Theta_{[2]} \to \tfrac{\delta^2}{2-p_\perp}\Big\{\tilde\lambda_W\sigma_1^2 +
      \tfrac{\sigma_2^2}{\sigma_1^2}\Lambda\Big\}L^{1-p_\perp}\quad\text{PDLT (10.75)-(10.78)},$$

    which grows where $\sigma_2 \ne 0$. Rates that are the same in all layers (`uniform`) have
    $\Theta_{00} \to \frac{\lambda_bL}{1+p_\perp}$, PDLT (10.79), and for $\sigma_2 = 0$

    $$\delta\delta\Theta_{[2]} \to \Big[\lambda_W\sigma_1^2 + \tfrac{(-a_1)\lambda_b}2\Big]\delta^2,$$

    where PDLT (10.80)-(10.81) lack the second term: $\langle\sigma''\sigma''\rangle\Theta_{00}$ does not vanish, as $\Theta_{00}$
    grows. For $\sigma_2 \ne 0$ the robustness is $-\delta^2\frac{\sigma_2^2}{\sigma_1^2}L^{1-p_\perp}$. Corrections are of relative
    size $\log L/L$.

    **Arguments:**

    - `depths`: $L$, from 1.
    - `delta_squared`: $\delta^2$.
    - `lambda_b`, `lambda_W`: $\tilde\lambda_b, \tilde\lambda_W$, or the rates themselves if `uniform`.

    Examples:
        >>> fw.critical.robustness_asymptotics("tanh", [10.0, 100.0])
        RobustnessAsymptotics of 2 rows: p_perp = 1
          index  depths  Theta_00  deltadelta_The  robustness
              0      10       1.5               1     -1.3333
              1     100       1.5               1     -1.3333
    """
    sigma, L = as_activation(activation), as_layers(depths, "depths")
    rates = as_number(lambda_b, "lambda_b", low=0.0), as_number(lambda_W, "lambda_W", low=0.0)
    distance, series = as_number(delta_squared, "delta_squared", low=0.0), kernel_series(sigma)
    if not series.smooth or series.sigma_0 != 0 or series.A2 == 0 or not series.a1 < 0:
        raise DomainError(
            "activation", repr(sigma.name), "a smooth one with sigma(0) = 0 and a_1 < 0: the class K* = 0"
        )
    a_1, p, slope = series.a1, series.b1 / series.a1, series.A2
    bend = float(series.right[2]) ** 2
    if uniform:
        if rates[0] == 0:
            raise DomainError(
                "lambda_b", 0.0, "a positive rate: without it the tangent kernel of a uniform network does not grow"
            )
        theta = rates[0] * L / (1 + p)
        if bend == 0:
            difference = (rates[1] * slope - a_1 * rates[0] / 2) * distance * jnp.ones_like(L)
        else:
            difference = distance * bend / slope * L ** (1 - p) * theta / 2
    else:
        bracket = rates[0] - rates[1] * slope / a_1
        theta = bracket * jnp.ones_like(L)
        difference = distance / (2 - p) * (rates[1] * slope + bend / slope * bracket) * L ** (1 - p)
    return RobustnessAsymptotics(L, float(p), theta, difference, -2 * difference / theta)
