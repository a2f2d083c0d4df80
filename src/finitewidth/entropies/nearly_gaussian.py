r"""Finite width: entropies as a series in the coupling $\varepsilon = V/(nG^2)$, one input, PDLT appendix A.3.

The distribution of $m$ neurons follows an action with couplings $g_m$, $v_m$, $u_m$ that run with $m$,

$$S = \tfrac12g_m\textstyle\sum z^2 - \tfrac18v_m(\sum z^2)^2 + \tfrac1{24}u_m(\sum z^2)^3\quad\text{PDLT (A.55)},$$

and to the orders given here $u_m$ drops out of every entropy. Valid for MLPs, where cumulants of more neurons are of higher order
in $1/n$; with skip connections they are not.
"""

import math
from typing import Any

from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_number

_ORDERS = (2, 3)


@entry()
def neuron_entropy(G: float, coupling: float, neurons: int = 1, order: int = 3) -> float:
    r"""$\mathcal S_m = \frac m2\log(2\pi eG) - \frac{m^2+2m}{16}\varepsilon^2 + \frac{m^3+10m^2+16m}{48}\varepsilon^3$,
    PDLT (A.52), (A.66), up to the power `order` of the coupling.

    Examples:
        >>> round(fw.entropies.neuron_entropy(1.0, 0.1, neurons=2), 6)
        2.834544
    """
    size, m = as_number(G, "G"), as_count(neurons, "neurons")
    if size <= 0:
        raise DomainError("G", f"{size:g}", "a positive metric")
    gaussian = m / 2 * math.log(2 * math.pi * math.e * size)
    return gaussian + _series(coupling, order, -(m**2 + 2 * m) / 16, (m**3 + 10 * m**2 + 16 * m) / 48)


@entry()
def neuron_information(coupling: float, neurons: tuple[int, int] = (1, 1), order: int = 3) -> float:
    r"""What $m_1$ neurons of a layer tell of $m_2$ others,
    $I = \frac{m_1m_2}8\varepsilon^2 - \frac{m_1m_2(20+3m_1+3m_2)}{48}\varepsilon^3$, PDLT (A.53), (A.67), up to the power `order`.

    Examples:
        >>> round(fw.entropies.neuron_information(0.04), 8)
        0.00016533
    """
    m_1, m_2 = _as_groups(neurons, 2)
    return _series(coupling, order, m_1 * m_2 / 8, -m_1 * m_2 * (20 + 3 * m_1 + 3 * m_2) / 48)


@entry()
def neuron_tripartite(coupling: float, neurons: tuple[int, int, int] = (1, 1, 1)) -> float:
    r"""$I_3 = \frac{m_1m_2m_3}8\varepsilon^3 > 0$ to leading order, PDLT (A.75): what three groups of neurons know is redundant.

    Examples:
        >>> round(fw.entropies.neuron_tripartite(0.1), 9)
        0.000125
    """
    return math.prod(_as_groups(neurons, 3)) / 8 * _as_coupling(coupling) ** 3


@entry()
def action_couplings(G: float, V: float, width: int, neurons: int = 1, u: float = 0.0) -> tuple[float, float]:
    r"""The couplings $g_m$ and $v_m$ of $m$ neurons to second order in $1/n$, given the sextic $u_m$,

    $$v_m = \frac V{nG^4} - \frac{m+8}2\Big(\frac V{nG^3}\Big)^2 + (m+4)u_mG\ \text{PDLT (A.63)},$$

    $$g_m = \frac1G + \frac{m+2}2v_mG - \frac{(m+2)(m+4)}4u_mG^2 + \frac{m+2}2v_m^2G^3\ \text{PDLT (A.59)};$$

    to first order PDLT (A.46)-(A.48).

    Examples:
        >>> [round(coupling, 6) for coupling in fw.entropies.action_couplings(1.0, 2.0, width=100)]
        [1.027797, 0.0182]
    """
    size, vertex, sextic = as_number(G, "G"), as_number(V, "V"), as_number(u, "u")
    if size <= 0:
        raise DomainError("G", f"{size:g}", "a positive metric")
    n, m = as_count(width, "width"), as_count(neurons, "neurons")
    v = vertex / (n * size**4) - (m + 8) / 2 * (vertex / (n * size**3)) ** 2 + (m + 4) * sextic * size
    g = 1 / size + (m + 2) / 2 * (v * size + v**2 * size**3) - (m + 2) * (m + 4) / 4 * sextic * size**2
    return g, v


def _series(coupling: Any, order: Any, second: float, third: float) -> float:
    epsilon = _as_coupling(coupling)
    if order not in _ORDERS or isinstance(order, bool):
        raise DomainError("order", repr(order), "2, the leading order, or 3")
    return second * epsilon**2 + (third * epsilon**3 if order == 3 else 0.0)


def _as_coupling(coupling: Any) -> float:
    epsilon = as_number(coupling, "coupling")
    if epsilon < 0:
        raise DomainError("coupling", f"{epsilon:g}", "V/(nG^2) >= 0")
    return epsilon


def _as_groups(neurons: Any, groups: int) -> tuple[int, ...]:
    sizes = tuple(as_count(size, "neurons") for size in neurons)
    if len(sizes) != groups:
        raise ShapeError("neurons", f"{len(sizes)} groups", f"{groups}")
    return sizes
