"""`information`: entropies and mutual informations of a network's layers, in three ways side by side."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_ensemble, as_inputs
from ..critical.one_input.second_order import SecondOrder, second_order
from ..ensembles import metric_samples
from ..expansion import flow
from ..networks import MLP, ResidualMLP, as_mlp
from .gaussian import samples_to_next_order
from .mixtures import (
    GROUPS,
    ON_THE_PLANE,
    entropies_of_neurons,
    entropies_of_two_samples,
    in_groups,
    jackknife,
    refuse_silent,
)
from .nearly_gaussian import neuron_entropy, neuron_information, neuron_tripartite
from .orders import Information, Orders, measured
from .with_skips import information_with_skips

_FEWEST = 20 * GROUPS

ASSUMES = {
    "leading": "infinite width for entropies and for what samples tell of one another; for neurons the first power of V/(nG^2) "
    "that does not vanish",
    "next": "one more order in 1/n, with V and G to that order; where V/(nG^2) is not well below one it is no measure of anything",
    "exact": "nothing but the number of networks: the law of the layer over networks drawn, with standard errors",
}
"""What each column takes for granted."""


@entry()
def information(
    net: MLP | ResidualMLP, x: Any, *, groups: tuple[int, int, int] = (1, 1, 1), networks: int = 10_000, seed: int = 0
) -> Information:
    r"""Entropies, and what neurons and samples tell of one another, layer by layer: to leading order, to the next, and exactly.

    Theory, one input, $\varepsilon = V/(nG^2)$ with both of its orders:
    $\mathcal S_m = \frac m2\log(2\pi eG) - \frac{m^2+2m}{16}\varepsilon^2+\dots$, PDLT (A.66);
    $I = \frac{m_1m_2}8\varepsilon^2 - \frac{m_1m_2(20+3m_1+3m_2)}{48}\varepsilon^3$, PDLT (A.67);
    $I_3 = \frac{m_1m_2m_3}8\varepsilon^3$, PDLT (A.75). Two inputs: $\frac12\log\frac{K_{++}K_{--}}{K_{++}K_{--}-K_{+-}^2}$,
    PDLT (A.28). There the vertex enters at order $1/n^2$ only, because a Gaussian has the largest entropy of its covariance; so the next
    order is that of $K + G^{\{1\}}/n$ in the same formula.

    Exactly: given its metric a layer is Gaussian, so over networks it is a mixture, whose entropy is an integral over a radius.

    **Arguments:**

    - `net`: an MLP or a residual network. Neurons of the latter persist and are not independent given the metric: there informations
      between neurons are $\frac12c_{22}^2 + v^2$ and $c_{22}^3 + 3c_{22}v^2$ with $c_{22} = \frac\varepsilon2$ and a sum $v^2$ over all
      other joint cumulants of order $1/n$, the next order is known of entropies and of samples only, and the exact values are integrals
      over a grid.
    - `x`: inputs, shape (N, n_0), of which the first is looked at, and the second beside it.
    - `groups`: $m_1, m_2, m_3$, how many neurons of a layer each group has; together at most its width. Of residual networks one each.
    - `networks`, `seed`: the networks that the exact values are read from; at least 400.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> found = fw.information(net, [[1.0, 0.5]], networks=400)
        >>> found.neurons.leading.round(3).tolist()
        [0.0, 0.008, 0.031]
    """
    sizes = _as_groups(groups)
    count, seed = as_ensemble(networks, seed, at_least=_FEWEST)
    if isinstance(net, ResidualMLP):
        return information_with_skips(net, x, sizes, count, seed)
    widest = max(as_mlp(net).widths[1:])
    if sum(sizes) > max(widest, len(sizes)):  # one each is asked of narrow layers too, as if there were three neurons
        raise DomainError("groups", f"{sum(sizes)} neurons", f"at most {widest}, as the widest layer has")
    inputs = np.asarray(as_inputs(x, "x", net.widths[0]))[:2]
    first = np.asarray(net.first_kernel(inputs))[0, 0]
    theory = SecondOrder(*map(np.asarray, second_order(net.activation, jnp.asarray(first), net.layers[1:])))
    metrics = metric_samples(net, inputs, networks=count, seed=seed)
    refuse_silent(metrics)
    coupling = np.asarray(theory.v1 / theory.K**2)
    return Information(
        coupling,
        *_of_neurons(theory, coupling, metrics[:, :, 0, 0], sizes),
        _of_samples(net, inputs, metrics) if len(inputs) == 2 else None,
        sizes,
        count,
        seed,
        ASSUMES,
    )


def _as_groups(groups: Any) -> tuple[int, int, int]:
    if not isinstance(groups, tuple | list) or len(groups) != 3:
        raise ShapeError("groups", repr(groups), "three numbers of neurons, such as (1, 1, 1)")
    one, two, three = (as_count(m, "groups") for m in groups)
    return one, two, three


def _of_neurons(
    theory: SecondOrder, epsilon: np.ndarray, metrics: np.ndarray, sizes: tuple[int, int, int]
) -> tuple[Orders, Orders, Orders]:
    m_1, m_2, m_3 = sizes
    whole = m_1 + m_2 + m_3
    # the coupling to second order, in the term that is quadratic in it
    second = theory.v2 / theory.K**2 - 2 * theory.v1 * theory.g1 / theory.K**3
    bend = neuron_information(1.0, (m_1, m_2), order=2) * 2 * epsilon * second
    exact: list[list[tuple[float, float]]] = [[], [], []]
    for layer in metrics.T:
        grouped = in_groups(layer)

        def of(m: int, weights: np.ndarray, grouped: np.ndarray = grouped) -> np.ndarray:
            return entropies_of_neurons(grouped, m, weights)

        exact[0].append(jackknife(lambda w: of(m_1, w)))
        exact[1].append(jackknife(lambda w: of(m_1, w) + of(m_2, w) - of(m_1 + m_2, w)))
        exact[2].append(
            jackknife(
                lambda w: (
                    of(m_1, w)
                    + of(m_2, w)
                    + of(m_3, w)
                    - of(m_1 + m_2, w)
                    - of(m_2 + m_3, w)
                    - of(m_3 + m_1, w)
                    + of(whole, w)
                )
            )
        )
    size = (theory.g1 + theory.g2) / theory.K - (theory.g1 / theory.K) ** 2 / 2  # log G - log K
    gaussian = np.array([neuron_entropy(K, 0.0, m_1) for K in theory.K])
    quadratic = np.array([neuron_entropy(1.0, e, m_1, order=2) - neuron_entropy(1.0, 0.0, m_1) for e in epsilon])
    return (
        Orders(gaussian, gaussian + m_1 / 2 * size + quadratic, measured(exact[0])),
        Orders(
            np.array([neuron_information(e, (m_1, m_2), order=2) for e in epsilon]),
            np.array([neuron_information(e, (m_1, m_2)) for e in epsilon]) + bend,
            measured(exact[1]),
        ),
        Orders(np.array([neuron_tripartite(e, sizes) for e in epsilon]), None, measured(exact[2])),
    )


def _of_samples(net: MLP, x: np.ndarray, metrics: np.ndarray) -> Orders:
    """What two inputs tell of one another through one neuron, PDLT (A.28)."""
    leading, following = samples_to_next_order(flow(net, x))
    exact = []
    for layer in np.moveaxis(metrics[:ON_THE_PLANE], 1, 0):
        grouped = in_groups(layer)

        def between(weights: np.ndarray, grouped: np.ndarray = grouped) -> np.ndarray:
            alone = [entropies_of_neurons(grouped[..., i, i], 1, weights) for i in range(2)]
            return alone[0] + alone[1] - entropies_of_two_samples(grouped, weights)

        exact.append(jackknife(between))
    return Orders(leading, following, measured(exact))
