"""`information`: entropies and mutual informations of a network's layers, in three ways side by side."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, ShapeError
from .._result import Result
from .._validation import as_count, as_ensemble, as_inputs
from ..critical.one_input.second_order import SecondOrder, second_order
from ..ensembles import metric_samples
from ..expansion import flow
from ..networks import MLP, ResidualMLP, as_mlp
from ..results import Measurement
from .gaussian import sample_information
from .mixtures import GROUPS, entropies_of_neurons, entropies_of_two_samples, in_groups, jackknife
from .nearly_gaussian import neuron_entropy, neuron_information, neuron_tripartite

_FEWEST = 20 * GROUPS
_ON_THE_PLANE = 2000  # networks of which two samples are looked at together

ASSUMES = {
    "leading": "infinite width for entropies and for what samples tell of one another; for neurons the first power of V/(nG^2) "
    "that does not vanish",
    "next": "one more order in 1/n, with V and G to that order; where V/(nG^2) is not well below one it is no measure of anything",
    "exact": "nothing but the number of networks: the law of the layer over networks drawn, with standard errors",
}
"""What each column takes for granted."""


@dataclass(frozen=True, repr=False)
class Orders(Result):
    """One quantity by layer, in nats: the leading order, the next one where it is known, and the exact value by sampling."""

    axes = ("layer",)

    leading: Float[np.ndarray, " L"]
    next: Float[np.ndarray, " L"] | None
    exact: Measurement

    def as_columns(self, name: str) -> dict[str, Any]:
        """As part of a table."""
        columns = {f"{name}_leading": self.leading} | ({} if self.next is None else {f"{name}_next": self.next})
        return columns | self.exact.as_columns(f"{name}_exact")


@dataclass(frozen=True, repr=False)
class Information(Result):
    r"""What `information` returns; layer $\ell$ at index $\ell-1$, everything in nats.

    - `coupling`: $\varepsilon = V/(nK^2)$ of the first input to first order, in which neurons are expanded.
    - `entropy`: $\mathcal S$ of the first group of neurons on the first input, which depends on the units of the signal.
    - `neurons`: what the first two groups of neurons tell of one another; `tripartite`: the information $I_3$ of all three.
    - `samples`: what the first two inputs tell of one another through one neuron; `None` for one input.
    - `assumes`: what each of the three ways takes for granted.
    """

    axes = ("layer",)

    coupling: Float[np.ndarray, " L"]
    entropy: Orders
    neurons: Orders
    tripartite: Orders
    samples: Orders | None
    groups: tuple[int, int, int]
    networks: int
    seed: int
    assumes: dict[str, str]


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

    - `net`: an MLP; residual networks are refused, for their neurons are not independent given the metric.
    - `x`: inputs, shape (N, n_0), of which the first is looked at, and the second beside it.
    - `groups`: $m_1, m_2, m_3$, how many neurons of a layer each group has; together at most its width.
    - `networks`, `seed`: the networks that the exact values are read from; at least 400.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> found = fw.information(net, [[1.0, 0.5]], networks=400)
        >>> found.neurons.leading.round(3).tolist()
        [0.0, 0.008, 0.031]
    """
    if isinstance(net, ResidualMLP):
        want = (
            "an MLP: neurons that persist are not independent given the metric, so that neither the series of PDLT (A.66)-(A.75) nor the "
            "mixture holds for them; `flow` has their vertex, `simulate` measures it"
        )
        raise DomainError("net", "a residual network", want)
    inputs = np.asarray(as_inputs(x, "x", as_mlp(net).widths[0]))[:2]
    sizes = _as_groups(groups)
    count, seed = as_ensemble(networks, seed, at_least=_FEWEST)
    first = np.asarray(net.first_kernel(inputs))[0, 0]
    theory = SecondOrder(*map(np.asarray, second_order(net.activation, jnp.asarray(first), net.layers[1:])))
    metrics = metric_samples(net, inputs, networks=count, seed=seed)
    dead = int((np.diagonal(metrics, axis1=2, axis2=3) <= 0).any(axis=(1, 2)).sum())
    if dead:
        got = f"{dead} of {count} networks whose neurons are all silent in some layer, so that entropies are minus infinity"
        raise DomainError("net", got, "wider layers, or C_b > 0")
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
        Orders(gaussian, gaussian + m_1 / 2 * size + quadratic, _measured(exact[0])),
        Orders(
            np.array([neuron_information(e, (m_1, m_2), order=2) for e in epsilon]),
            np.array([neuron_information(e, (m_1, m_2)) for e in epsilon]) + bend,
            _measured(exact[1]),
        ),
        Orders(np.array([neuron_tripartite(e, sizes) for e in epsilon]), None, _measured(exact[2])),
    )


def _of_samples(net: MLP, x: np.ndarray, metrics: np.ndarray) -> Orders:
    """What two inputs tell of one another through one neuron, PDLT (A.28)."""
    theory = flow(net, x)
    K, shift = np.asarray(theory.K), np.asarray(theory.g1)
    a, b, c = K[:, 0, 0], K[:, 1, 1], K[:, 0, 1]
    squared = c**2 / (a * b)
    change = 2 * c * shift[:, 0, 1] / (a * b) - squared * (shift[:, 0, 0] / a + shift[:, 1, 1] / b)
    leading = np.array([sample_information(layer)[0, 1] for layer in K])
    if not np.isfinite(leading).all():
        raise DomainError("x", "two samples that coincide, or are opposite", "samples that differ, or one sample")
    exact = []
    for layer in np.moveaxis(metrics[:_ON_THE_PLANE], 1, 0):
        grouped = in_groups(layer)

        def between(weights: np.ndarray, grouped: np.ndarray = grouped) -> np.ndarray:
            alone = [entropies_of_neurons(grouped[..., i, i], 1, weights) for i in range(2)]
            return alone[0] + alone[1] - entropies_of_two_samples(grouped, weights)

        exact.append(jackknife(between))
    return Orders(leading, leading + change / (2 * (1 - squared)), _measured(exact))


def _measured(estimates: list[tuple[float, float]]) -> Measurement:
    return Measurement(*np.transpose(estimates))
