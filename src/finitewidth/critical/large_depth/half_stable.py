"""Near a half-stable critical point, on the side from which it attracts."""

from jaxtyping import Float

from ..._arrays import Array
from ..._errors import DomainError
from ..classes.classes import CriticalPoint
from ..one_input.averages import SingleInput


def half_stable(
    point: CriticalPoint, at: SingleInput, layer: Float[Array, "*l"], K1: float
) -> tuple[Array, Array, Array, Array, Array]:
    r"""$K$, `parallel`, `perp`, $V$, $G^{\{1\}}$ from the quadratic map
    $\Delta K' = \Delta K + \tilde a_1\Delta K^2$, PDLT (5.102).

    With $\kappa = -\tilde a_1\Delta K^{(1)} \ge 0$ and $u = 1 + \kappa(\ell-1)$, to leading order in $\tilde a_1$:

    $$\Delta K = \frac{\Delta K^{(1)}}u,\quad \delta K_{[1]} \propto u^{-2},\quad \delta\delta K_{[2]} \propto
      u^{-\chi_\perp'/\tilde a_1},\quad V = \frac{s}{5\kappa}\big(u-u^{-4}\big),\quad
      G^{\{1\}} = \frac{\tilde a_1s}{5\kappa^2}\Big(\frac{u^2}4+u^{-3}-\frac54u^{-2}\Big)$$

    with $s = C_W^2[\langle\sigma^4\rangle-\langle\sigma^2\rangle^2]$. For $\kappa\ell \gg 1$ this is
    $\Delta K \to \frac1{(-\tilde a_1)\ell}$, PDLT (5.103), and $V \to \frac15s\ell$; for $\kappa\ell \ll 1$,
    $V = s(\ell-1)$ and $G^{\{1\}} = \frac12\tilde a_1s(\ell-1)^2$.
    """
    K_star, curvature = float(point.K_star or 0.0), point.a1_tilde
    distance = K1 - K_star
    kappa = -curvature * distance
    if kappa < 0:
        raise DomainError("K1", f"{K1:g}", f"a kernel on the attracting side: K* = {K_star:.6g} {point.stability}")
    steps = layer - 1
    u = 1 + kappa * steps
    source = point.C_W**2 * at.v
    return (
        K_star + distance / u,
        u**-2,
        u ** (-point.C_W * at.ds / curvature),
        source * steps * _vertex_shape(u),
        curvature * source * steps**2 / 2 * _metric_shape(u),
    )


def _vertex_shape(u: Array) -> Array:
    r"""$\frac{u-u^{-4}}{5(u-1)} = \frac15(1 + u^{-1} + u^{-2} + u^{-3} + u^{-4})$."""
    return (1 + 1 / u + u**-2 + u**-3 + u**-4) / 5


def _metric_shape(u: Array) -> Array:
    r"""$\frac25\frac{u^2/4+u^{-3}-\frac54u^{-2}}{(u-1)^2} = \frac1{10}(1 + 2u^{-1} + 3u^{-2} + 4u^{-3})$."""
    return (1 + 2 / u + 3 * u**-2 + 4 * u**-3) / 10
