r"""Late layers of the $K^\star = 0$ class: series in $1/\ell$ and $L = \log(\ell/\ell_0)$, for activations smooth at
zero.

Pure formulas of the coefficients $a_1 < 0$, $a_2$, $b_1$ of PDLT (5.86)-(5.88).
"""

import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array

Layers = Float[Array, "*l"]


def kernel(a1: float, a2: float, l_0: float, layer: Layers) -> Layers:
    r"""$K = \frac1{(-a_1)\ell} - \frac{a_2-a_1^2}{a_1^3}\frac L{\ell^2} -
    \frac{(a_2-a_1^2)^2}{a_1^5}\frac{L^2-L}{\ell^3}$, PDLT (5.92), (5.94)."""
    log, gap = jnp.log(layer / l_0), a2 - a1**2
    return -1 / (a1 * layer) - gap / a1**3 * log / layer**2 - gap**2 / a1**5 * (log**2 - log) / layer**3


def starting_depth(a1: float, a2: float, layer: float | Array, K: float | Array) -> Array:
    r"""$\ell_0$ from the kernel at one late layer.

    $u = 1/K$ obeys $u = A\ell + \frac{c_2}A L + \frac{c_2^2}{A^3}\frac L\ell + O(1/\ell)$ with $A = -a_1$,
    $c_2 = a_1^2-a_2$: solved for $L$, this inverts PDLT (5.94).
    """
    A, c2 = -a1, a1**2 - a2
    log = (1 / K - A * layer) / (c2 / A + c2**2 / (A**3 * layer))
    return layer * jnp.exp(-log)


def parallel(a1: float, a2: float, l_0: float, layer: Layers) -> Layers:
    r"""$\delta K_{[1]}/\delta_\parallel = \frac1{\ell^2}\big[1 + \frac{2(a_2-a_1^2)}{a_1^2}\frac L\ell\big]$,
    PDLT (5.96)-(5.97)."""
    return (1 + 2 * (a2 - a1**2) / a1**2 * jnp.log(layer / l_0) / layer) / layer**2


def perp(a1: float, a2: float, b1: float, l_0: float, layer: Layers) -> Layers:
    r"""$\delta\delta K_{[2]}/\delta^2 = \ell^{-b_1/a_1}\big[1 + \frac{b_1(a_2-a_1^2)}{a_1^3}\frac L\ell\big]$,
    PDLT (5.98)-(5.99)."""
    return (1 + b1 * (a2 - a1**2) / a1**3 * jnp.log(layer / l_0) / layer) * layer ** (-b1 / a1)


def vertex(a1: float, a2: float, b1: float, l_0: float, layer: Layers) -> Layers:
    r"""$V = \frac2{3a_1^2}\frac1\ell + \frac{2(a_2-a_1^2)}{3a_1^4}\frac L{\ell^2}
    + \frac{5a_2+a_1(82a_1-90b_1)}{3a_1^4}\frac1{\ell^2}$, PDLT (5.127)."""
    logarithmic = 2 * (a2 - a1**2) * jnp.log(layer / l_0)
    constant = 5 * a2 + a1 * (82 * a1 - 90 * b1)
    return 2 / (3 * a1**2 * layer) + (logarithmic + constant) / (3 * a1**4 * layer**2)


def metric(a1: float, tuning: float = 0.0) -> float:
    r"""The limit of $G^{\{1\}}$, PDLT (5.134): $\frac{2-3t}{6a_1}$ with $t$ = `tuning` $= c_W^{\{1\}}\sigma_1^2$ and
    $c_b^{\{1\}} = 0$; $-\frac1{3(-a_1)}$ without tuning, 0 for the renormalised $t = \frac23$, PDLT (5.142)."""
    return (2 - 3 * tuning) / (6 * a1)


def renormalised_metric(a1: float, a2: float, b1: float, layer: Layers) -> Layers:
    r"""$G^{\{1\}} = \frac{84a_1^2-90a_1b_1-a_2}{3a_1^3}\frac1\ell$ at the renormalised $C_W$: what PDLT (5.143)
    should say.

    The coefficient printed there leaves out the term of order $1/\ell^2$ of PDLT (5.127).
    """
    return (84 * a1**2 - 90 * a1 * b1 - a2) / (3 * a1**3) / layer
