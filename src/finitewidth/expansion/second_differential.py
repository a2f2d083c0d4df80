r"""One layer of the flow of $R$, $S$, $T$, $U$, the means of the tangent kernel's second differentials, PDLT (∞.11), (∞.12).

Width-absorbed, $r = R/n$ and so on; $\lambda = \lambda_W$, $C = C_W$, $\theta = \Theta$ before, samples by their numbers.
With $g_{13} = \lambda\langle\sigma''_1\sigma_3\rangle + C\theta_{13}\langle\sigma'''_1\sigma'_3\rangle$ and
$k_{13} = \lambda\langle\sigma'_1\sigma'_3\rangle + C\theta_{13}\langle\sigma''_1\sigma''_3\rangle$, the averages of the derivatives of
$\lambda\sigma'_1\sigma_3 + C\theta_{13}\sigma''_1\sigma'_3$ in $z_1$ and in $z_3$,

$$r'_{0123} = \tfrac1n\big[\lambda C\langle\sigma''_0\sigma_1\sigma'_2\sigma'_3\rangle\theta_{02}\theta_{03}
  + C^2\langle\sigma'''_0\sigma'_1\sigma'_2\sigma'_3\rangle\theta_{01}\theta_{02}\theta_{03}\big]
  + C\langle\sigma'_2\sigma'_3\rangle\big[g_{01}(b_{0023} + p_{0230}) + k_{01}p_{0231}\big]
  + C^2\langle\sigma'_0\sigma'_1\rangle\langle\sigma'_2\sigma'_3\rangle r_{0123},$$

PDLT (∞.177) with $\lambda_W$ and $C_W$ before both members of each bracket, as PDLT (∞.14) has them;

$$s'_{1234} = \tfrac1n\big[C\lambda\langle\sigma'_1\sigma'_2\sigma'_3\sigma'_4\rangle\theta_{13}\theta_{24}
  + C^2\langle\sigma''_1\sigma''_2\sigma'_3\sigma'_4\rangle\theta_{12}\theta_{13}\theta_{24}\big]
  + C\langle\sigma'_3\sigma'_4\rangle k_{12}\,b_{1234} + C^2\langle\sigma'_1\sigma'_2\rangle\langle\sigma'_3\sigma'_4\rangle s_{1234}
  \quad\text{PDLT (∞.179)},$$

$$\begin{aligned}t'_{1342} = {}&\tfrac1n\big[\lambda^2\langle\sigma'_1\sigma'_2\sigma_3\sigma_4\rangle\theta_{12}
  + C\lambda\langle\sigma'_1\sigma''_2\sigma_3\sigma'_4\rangle\theta_{12}\theta_{24}
  + C\lambda\langle\sigma''_1\sigma'_2\sigma'_3\sigma_4\rangle\theta_{12}\theta_{13}
  + C^2\langle\sigma''_1\sigma''_2\sigma'_3\sigma'_4\rangle\theta_{12}\theta_{13}\theta_{24}\big]\\
  &+ g_{13}g_{24}f_{1122} + g_{13}k_{24}f_{1142} + k_{13}g_{24}f_{3122} + k_{13}k_{24}f_{3142}
  + C^2\langle\sigma'_1\sigma'_3\rangle\langle\sigma'_2\sigma'_4\rangle t_{1342}\\
  &+ C\langle\sigma'_2\sigma'_4\rangle\{g_{13}q_{2411} + k_{13}q_{2413}\}
  + C\langle\sigma'_1\sigma'_3\rangle\{g_{24}q_{1322} + k_{24}q_{1324}\}\quad\text{PDLT (∞.180)},\end{aligned}$$

$$u'_{1423} = \tfrac1nC^2\langle\sigma''_1\sigma''_2\sigma'_3\sigma'_4\rangle\theta_{12}\theta_{13}\theta_{24}
  + C^2\langle\sigma'_1\sigma'_4\rangle\langle\sigma'_2\sigma'_3\rangle u_{1423}\quad\text{PDLT (∞.181)}.$$
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from ..networks import Layer
from .differential import Differentials, PairMatrices, Tensor
from .tangent import TangentState


class SecondDifferentials(NamedTuple):
    """$R/n$, $S/n$, $T/n$ and $U/n$, axes in the printed order: 0123, 1234, 1342, 1423."""

    r: Tensor
    s: Tensor
    t: Tensor
    u: Tensor


class FourFactors(NamedTuple):
    """Averages of four factors of one neuron; axes in the order in which the factors are written."""

    slopes: Tensor
    r"""$\langle\sigma'_1\sigma'_2\sigma'_3\sigma'_4\rangle$."""
    mixed: Tensor
    r"""$\langle\sigma_1\sigma_2\sigma'_3\sigma'_4\rangle$."""
    bent: Tensor
    r"""$\langle\sigma''_1\sigma'_2\sigma'_3\sigma_4\rangle$."""
    third: Tensor
    r"""$\langle\sigma'''_1\sigma'_2\sigma'_3\sigma'_4\rangle$."""
    twice_bent: Tensor
    r"""$\langle\sigma''_1\sigma''_2\sigma'_3\sigma'_4\rangle$."""


def new_second_differentials(
    state: TangentState,
    first: Differentials,
    old: SecondDifferentials,
    layer: Layer,
    theta: Float[Array, "N N"],
    two: PairMatrices,
    four: FourFactors,
) -> SecondDifferentials:
    """One layer; in sums over samples the letters a, b, c, d stand for 1, 2, 3, 4, or for 0, 1, 2, 3 in R."""
    C, rate, share = layer.C_W, layer.lambda_W, layer.inverse_width
    slopes = two.slopes
    g = rate * two.value_curvature.T + C * theta * two.third_slope
    k = rate * slopes + C * theta * two.curvatures
    curved = C**2 * jnp.einsum("abcd,ab,ac,bd->abcd", four.twice_bent, theta, theta, theta)

    r = share * rate * C * jnp.einsum("acdb,ac,ad->abcd", four.bent, theta, theta)
    r += share * C**2 * jnp.einsum("abcd,ab,ac,ad->abcd", four.third, theta, theta, theta)
    with_own = jnp.einsum("aacd->acd", state.b) + jnp.einsum("acda->acd", first.p)
    r += C * jnp.einsum("cd,ab,acd->abcd", slopes, g, with_own) + C * jnp.einsum("cd,ab,acdb->abcd", slopes, k, first.p)
    r += C**2 * jnp.einsum("ab,cd,abcd->abcd", slopes, slopes, old.r)

    s = share * (C * rate * jnp.einsum("abcd,ac,bd->abcd", four.slopes, theta, theta) + curved)
    s += C * jnp.einsum("cd,ab,abcd->abcd", slopes, k, state.b)
    s += C**2 * jnp.einsum("ab,cd,abcd->abcd", slopes, slopes, old.s)

    t = rate**2 * jnp.einsum("cdab,ab->acdb", four.mixed, theta)
    t += C * rate * jnp.einsum("badc,ab,bd->acdb", four.bent, theta, theta)
    t += C * rate * jnp.einsum("abcd,ab,ac->acdb", four.bent, theta, theta)
    t = share * (t + jnp.einsum("abcd->acdb", curved)) + _pulled_second(_pulled(state.f, g, k), g, k)
    with_slope = C * jnp.einsum("bd,ac,bdaa->acdb", slopes, g, first.q)
    with_slope += C * jnp.einsum("bd,ac,bdac->acdb", slopes, k, first.q)
    t += with_slope + jnp.transpose(with_slope, (3, 2, 1, 0))
    t += C**2 * jnp.einsum("ac,bd,acdb->acdb", slopes, slopes, old.t)

    u = share * jnp.einsum("abcd->adbc", curved) + C**2 * jnp.einsum("ad,bc,adbc->adbc", slopes, slopes, old.u)
    return SecondDifferentials(r, s, t, u)


def _pulled(f: Tensor, g: Float[Array, "N N"], k: Float[Array, "N N"]) -> Tensor:
    r"""$g_{13}f_{11\cdot\cdot} + k_{13}f_{31\cdot\cdot}$, axes $(1, 3, \cdot, \cdot)$."""
    return jnp.einsum("ac,aaxy->acxy", g, f) + jnp.einsum("ac,caxy->acxy", k, f)


def _pulled_second(f: Tensor, g: Float[Array, "N N"], k: Float[Array, "N N"]) -> Tensor:
    r"""$g_{24}f_{\cdot\cdot22} + k_{24}f_{\cdot\cdot42}$, axes $(\cdot, \cdot, 4, 2)$."""
    return jnp.einsum("bd,xybb->xydb", g, f) + jnp.einsum("bd,xydb->xydb", k, f)
