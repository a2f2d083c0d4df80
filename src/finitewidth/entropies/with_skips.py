r"""`information` of residual networks, whose neurons persist and are not independent given a metric.

A law $q\,(1 + \sum_{i<j}\varrho_{ij})$ of neurons, $q$ that of independent ones and $\varrho_{ij} = \sum c_{pq}h_p(z_i)h_q(z_j)$ of order
$1/n$ with the $c_{pq}$ of `expansion/persistent_sharing.py`, has

$$I = \tfrac12\langle\varrho_{12}^2\rangle = \tfrac12\mathrm{tr}\,c^2 = \tfrac12c_{22}^2 + v^2,\qquad
  I_3 = \langle\varrho_{12}\varrho_{23}\varrho_{31}\rangle = \mathrm{tr}\,c^3 = c_{22}^3 + 3c_{22}v^2,\qquad
  v^2 = \sum_{p\ne2}c_{p2}^2 .$$

Without skips $v = 0$, and these are PDLT (A.53) and PDLT (A.75). The mean square of a neuron is $K + G^{\{1\}}/n$, and what else its law
has of order $1/n$ enters entropies squared: so their next order, $1/n$, is that of $G^{\{1\}}$.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from .._errors import DomainError
from .._validation import as_inputs
from ..ensembles.persistent_samples import Persistent, persistent_samples
from ..expansion import flow
from ..expansion.persistent_sharing import own_paths
from ..networks import ResidualMLP
from ..networks.residual import refuse_norm
from ..results import Flow
from .gaussian import samples_to_next_order
from .mixtures import ON_THE_PLANE, refuse_silent
from .nearly_gaussian import neuron_entropy
from .orders import Information, Orders, measured
from .persistent import NEURONS, information_of_samples, informations_of_neurons

ASSUMES = {
    "leading": "infinite width for entropies and for what samples tell of one another; for neurons the first power of 1/n, with all joint "
    "cumulants of two neurons that have it",
    "next": "one more order in 1/n, with G1, for entropies and samples; between neurons it is not known with skips",
    "exact": "nothing but the number of networks: the law of neurons over networks drawn, with standard errors",
}
"""What each column takes for granted."""


def information_with_skips(
    net: ResidualMLP, x: Any, groups: tuple[int, int, int], networks: int, seed: int
) -> Information:
    """As `information`, whose arguments have been checked."""
    net = net.reading(x)
    inputs = np.asarray(as_inputs(x, "x", net.widths[0]))[:2]
    refuse_norm(net, "net", "no information", "norm=None: neither vertex nor law of normalised neurons is known")
    if groups != (1, 1, 1):
        raise DomainError(
            "groups", f"{groups} for a residual network", "(1, 1, 1): exact laws of more neurons would need a grid each"
        )
    if net.depth > 1 and net.width < 3:
        raise DomainError("net", f"width {net.width}", "at least three neurons in a layer, of which to look at three")
    theory = flow(net, inputs)
    drawn = persistent_samples(net, inputs, min(NEURONS, net.width), networks, seed)
    refuse_silent(drawn.block)
    K, coupling = np.asarray(theory.K)[:, 0, 0], np.asarray(theory.relative_fluctuation)[:, 0]
    paths = np.asarray(own_paths(net.activation, jnp.asarray(K[0]), net.layers[1:]))
    c_22, v_2 = coupling / 2, paths * np.asarray(net.layers.inverse_width) ** 2
    gaussian = np.array([neuron_entropy(each, 0.0) for each in K])
    layers = [Persistent(*parts) for parts in zip(*(np.moveaxis(part, 1, 0) for part in drawn), strict=True)]
    entropies, pairs, tripartite = zip(*map(informations_of_neurons, layers), strict=True)
    return Information(
        coupling,
        Orders(gaussian, gaussian + np.asarray(theory.g1)[:, 0, 0] / (2 * K), measured(entropies)),
        Orders(c_22**2 / 2 + v_2, None, measured(pairs)),
        Orders(c_22**3 + 3 * c_22 * v_2, None, measured(tripartite)),
        _of_samples(theory, layers) if len(inputs) == 2 else None,
        groups,
        networks,
        seed,
        ASSUMES,
    )


def _of_samples(theory: Flow[Any], layers: list[Persistent]) -> Orders:
    leading, following = samples_to_next_order(theory)
    few = [Persistent(*(part[:ON_THE_PLANE] for part in layer)) for layer in layers]
    return Orders(leading, following, measured([information_of_samples(layer) for layer in few]))
