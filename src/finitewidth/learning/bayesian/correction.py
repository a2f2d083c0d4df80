r"""The $1/n$ correction of a posterior, in the expanded form.

The book writes the posterior by the action of all outputs, PDLT (6.79)-(6.88), see `action_form`. That form needs the inverse kernel
on training and test samples together, and mixes orders: its leftovers of order $1/n^2$ are large, and at widths of some tens they
decide the result. Here the Gaussian law given a random metric $\widehat G$, weighted by $p(y|\widehat G)$ as in PDLT (6.94), is
expanded strictly to first order in the mean shift $g_1 = G^{\{1\}}/n$ and the covariance $v = V/n$ of $\widehat G$.

Sample indices: $a, b, c$ run over training samples, $\beta$ over test samples, $\delta$ over both, training samples first. With
$u_i^a = \widetilde K^{ab}y_{i;b}$ and $S^{ab} = \sum_iu_i^au_i^b - n_L\widetilde K^{ab}$; noise is part of $\widetilde K$, never of $v$ and
$g_1$.
"""

import numpy as np
from jaxtyping import Float

from ...gaussian.nearly_gaussian import density_correction
from .gaussian_posterior import GaussianPosterior

Vertex = Float[np.ndarray, "D D D D"]
Matrix = Float[np.ndarray, "D D"]


def source(posterior: GaussianPosterior) -> tuple[Float[np.ndarray, "A A"], Float[np.ndarray, "A A"]]:
    r"""$S^{ab} = \sum_iu_i^au_i^b - n_L\widetilde K^{ab}$, which pulls at the metric, and $\widetilde K^{ab}$ itself."""
    inverse = posterior.solved.inverse()
    return posterior.u @ posterior.u.T - posterior.u.shape[1] * inverse, inverse


def mean_correction(
    P: Float[np.ndarray, "B D"],
    g1: Matrix,
    v: Vertex,
    u: Float[np.ndarray, "A n_L"],
    S: Float[np.ndarray, "A A"],
    inverse: Float[np.ndarray, "A A"],
) -> Float[np.ndarray, "B n_L"]:
    r"""$P_\beta{}^\delta\big[g_{1,\delta a}u_i^a + \tfrac12v_{(\delta c)(ab)}S^{ab}u_i^c - v_{(\delta a)(bc)}\widetilde K^{ab}u_i^c\big]$:
    what PDLT (6.88) becomes to first order."""
    A = len(u)
    pulled = np.einsum("dcab,ab->dc", v[:, :A, :A, :A], S) / 2 - np.einsum("dabc,ab->dc", v[:, :A, :A, :A], inverse)
    return P @ ((g1[:, :A] + pulled) @ u)


def covariance_correction(
    P: Float[np.ndarray, "B D"],
    g1: Matrix,
    v: Vertex,
    S: Float[np.ndarray, "A A"],
    inverse: Float[np.ndarray, "A A"],
) -> Float[np.ndarray, "B B"]:
    r"""What every output has alone,
    $P_{\beta_1}{}^{\delta_1}P_{\beta_2}{}^{\delta_2}\big[g_{1,\delta_1\delta_2} + \tfrac12v_{(\delta_1\delta_2)(ab)}S^{ab}
    - v_{(\delta_1a)(\delta_2b)}\widetilde K^{ab}\big]$."""
    A = len(S)
    pulled = np.einsum("deab,ab->de", v[:, :, :A, :A], S) / 2 - np.einsum("daeb,ab->de", v[:, :A, :, :A], inverse)
    return P @ (g1 + pulled) @ P.T


def wiring(P: Float[np.ndarray, "B D"], v: Vertex, u: Float[np.ndarray, "A n_L"]) -> Float[np.ndarray, "B B n_L n_L"]:
    r"""What outputs share, $P_{\beta_1}{}^{\delta_1}P_{\beta_2}{}^{\delta_2}v_{(\delta_1a)(\delta_2b)}u_i^au_j^b$: the wiring of
    PDLT (6.89), Hebb's rule for outputs."""
    A = len(u)
    half = np.einsum("daeb,bj->daej", v[:, :A, :, :A], u)
    return np.einsum("xd,ye,daej,ai->xyij", P, P, half, u, optimize=True)


def evidence_correction(
    K: Float[np.ndarray, "A A"],
    g1: Float[np.ndarray, "A A"],
    v: Float[np.ndarray, "A A A A"],
    y: Float[np.ndarray, "A n_L"],
) -> float:
    r"""$\log p(y) - \log p_\infty(y) = \tfrac12g_{1,ab}S^{ab} + \tfrac18v_{(ab)(cd)}\big(S^{ab}S^{cd} - 4S^{ac}\widetilde K^{bd}
    - 2n_L\widetilde K^{ac}\widetilde K^{bd}\big)$, for the kernel `K` of the training samples, noise included: the relative
    correction of a density of nearly Gaussian neurons."""
    return float(density_correction(y.T, K, v, g1))


def size_of_correction(
    g1: Float[np.ndarray, "A A"],
    v: Float[np.ndarray, "A A A A"],
    S: Float[np.ndarray, "A A"],
    inverse: Float[np.ndarray, "A A"],
    outputs: int,
) -> float:
    """The terms of the evidence's correction, each taken positive: they may cancel in a sum that is to be small."""
    exchange = np.einsum("abcd,bd->ac", v, inverse)
    terms = (
        np.sum(g1 * S) / 2,
        np.einsum("abcd,ab,cd->", v, S, S) / 8,
        np.sum(exchange * S) / 2,
        outputs * np.sum(exchange * inverse) / 4,
    )
    return float(np.sum(np.abs(terms)))
