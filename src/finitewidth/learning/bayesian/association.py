r"""Neurons that fire together: what one neuron's value says of another's, at finite width.

Two neurons of one layer share the metric of the layer before. A neuron that is seen to be large makes a large metric likely, and so the
other neuron large: not its sign, whose odd moments stay zero, but its size.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError
from ..._validation import as_count, as_floats, as_number


@entry()
def association_couplings(G: float, V: float, width: int, neurons: int = 2) -> tuple[float, float]:
    r"""Quadratic and quartic coupling of the action of m neurons on one input, PDLT (6.73): $g_m$ with
    $\frac1{g_m} = G - \frac{m+2}{2n_{\ell-1}}\frac VG$, PDLT (6.74), and $v = \frac{V}{n_{\ell-1}G^4}$, PDLT (6.75). `width` is
    $n_{\ell-1}$; $G$ and $V$ are those of `flow`.

    Examples:
        >>> [round(coupling, 6) for coupling in fw.learning.association_couplings(1.0, 2.0, 100)]
        [1.041667, 0.02]
    """
    metric, vertex, n = _checked(G, V, width)
    neurons = as_count(neurons, "neurons")
    inverse = metric - (neurons + 2) / (2 * n) * vertex / metric
    if inverse <= 0:
        raise DomainError(
            "width", n, f"more than {(neurons + 2) / 2 * vertex / metric**2:.3g}, where the action exists"
        )
    return 1 / inverse, vertex / (n * metric**4)


@entry()
def variance_given_another(G: float, V: float, width: int, seen: Any) -> Float[np.ndarray, "*shape"]:
    r"""$E[z_2^2|z_1 = \check z_1] = G + \tfrac12(\check z_1^2 - G)\frac{V}{n_{\ell-1}G^2} + O(n^{-2})$, PDLT (6.78), for one or many values
    `seen` of $\check z_1$: larger than $G$ where the neuron seen is larger than usual.

    Examples:
        >>> float(fw.learning.variance_given_another(1.0, 2.0, 100, 2.0))
        1.03
    """
    metric, vertex, n = _checked(G, V, width)
    z = np.asarray(as_floats(seen, "seen"))
    return np.asarray(metric + (z**2 - metric) / 2 * vertex / (n * metric**2))


@entry()
def variance_given_another_by_action(G: float, V: float, width: int, seen: Any) -> Float[np.ndarray, "*shape"]:
    r"""The same by the action of two neurons, $\frac1{g_2} + \frac v{2g_2^2}\big(\frac3{g_2} + \check z_1^2\big)$, PDLT (6.76)-(6.77), with
    leftovers of order $1/n^2$.

    Examples:
        >>> round(float(fw.learning.variance_given_another_by_action(1.0, 2.0, 100, 2.0)), 6)
        1.023406
    """
    g, v = association_couplings(G, V, width)
    z = np.asarray(as_floats(seen, "seen"))
    return np.asarray(1 / g + v / (2 * g**2) * (3 / g + z**2))


def _checked(G: Any, V: Any, width: Any) -> tuple[float, float, int]:
    metric, vertex, n = as_number(G, "G"), as_number(V, "V", low=0.0), as_count(width, "width")
    if metric <= 0:
        raise DomainError("G", metric, "a positive number")
    return metric, vertex, n
