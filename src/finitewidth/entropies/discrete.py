"""Entropy and its relatives for distributions over finitely many outcomes, in nats, PDLT appendix A.1."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_floats

_ROUNDING = 1e-9  # of a sum in float64, and of probabilities printed with some digits


def _as_distribution(p: Any, argument: str) -> Float[np.ndarray, "..."]:
    """Probabilities that add up to one."""
    array = np.asarray(as_floats(p, argument))
    if array.size == 0:
        raise ShapeError(argument, f"shape {array.shape}", "at least one probability")
    if array.ndim == 0 or (array < 0).any() or abs(array.sum() - 1) > _ROUNDING:
        raise DomainError(
            argument, f"entries that add up to {array.sum():.12g}, the least of them {array.min():.3g}", "probabilities"
        )
    return array


def _surprisal(p: np.ndarray) -> np.ndarray:
    r"""$-\log p$, PDLT (A.4); zero where it is not asked for, as $0\log0 = 0$."""
    return -np.log(np.where(p > 0, p, 1.0))


@entry()
def entropy(p: Any) -> float:
    r"""$\mathcal S[p] = -\sum_x p(x)\log p(x)$, PDLT (A.1): what one does not know before seeing $x$.

    Examples:
        >>> round(fw.entropies.entropy([0.5, 0.5]), 6)
        0.693147
    """
    distribution = _as_distribution(p, "p")
    return float(np.sum(distribution * _surprisal(distribution)))


@entry()
def cross_entropy(p: Any, q: Any) -> float:
    r"""$\mathcal S[p, q] = -\sum_x p(x)\log q(x)$, PDLT (A.12); infinite where $q$ rules out what $p$ allows.

    Examples:
        >>> round(fw.entropies.cross_entropy([0.5, 0.5], [0.25, 0.75]), 6)
        0.836988
    """
    first, second = _two_distributions(p, q)
    if ((first > 0) & (second == 0)).any():
        return float("inf")
    return float(np.sum(first * _surprisal(second)))


@entry()
def divergence(p: Any, q: Any) -> float:
    r"""Kullback and Leibler's $\mathrm{KL}[p\,\|\,q] = \sum_x p\log\frac pq = \mathcal S[p,q] - \mathcal S[p] \ge 0$, PDLT (A.12).

    Examples:
        >>> round(fw.entropies.divergence([0.5, 0.5], [0.25, 0.75]), 6)
        0.143841
    """
    return cross_entropy(p, q) - entropy(p)


@entry()
def mutual_information(joint: Any) -> float:
    r"""$I(x, y) = \mathcal S_x + \mathcal S_y - \mathcal S_{xy}$, PDLT (A.14), of a table $p(x, y)$ with one axis for each variable.

    Examples:
        >>> round(fw.entropies.mutual_information([[0.5, 0.0], [0.0, 0.5]]), 6)
        0.693147
    """
    table = _as_joint(joint, 2)
    return entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table)


@entry()
def tripartite_information(joint: Any) -> float:
    r"""$I_3 = \mathcal S_x + \mathcal S_y + \mathcal S_z - \mathcal S_{xy} - \mathcal S_{yz} - \mathcal S_{zx} + \mathcal S_{xyz} =
    I(x,y) - I(x,y\,|\,z)$, PDLT (A.24), of a table $p(x, y, z)$: positive where the three repeat one another, negative where two of
    them together tell what neither does.

    Examples:
        >>> xor = [[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]]
        >>> round(fw.entropies.tripartite_information(xor), 6)
        -0.693147
    """
    table = _as_joint(joint, 3)
    ones = sum(entropy(table.sum(axis=pair)) for pair in ((1, 2), (0, 2), (0, 1)))
    twos = sum(entropy(table.sum(axis=one)) for one in range(3))
    return ones - twos + entropy(table)


def _as_joint(joint: Any, variables: int) -> np.ndarray:
    table = _as_distribution(joint, "joint")
    if table.ndim != variables:
        raise ShapeError("joint", f"shape {table.shape}", f"{variables} axes, one for each variable")
    return table


def _two_distributions(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = _as_distribution(p, "p"), _as_distribution(q, "q")
    if first.shape != second.shape:
        raise ShapeError("q", f"shape {second.shape}", f"that of p, {first.shape}")
    return first, second
