r"""Expectations of functions of a few neurons, to order $1/n$, from the flow: PDLT (4.46), PDLT (4.61)-(4.64)."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count
from ..gaussian import nearly_gaussian
from ..gaussian.grid import equispaced
from ..gaussian.nearly_gaussian import as_samples, marginalise_samples
from ..realised.observable import Observable, check_observable
from ..results import Flow, as_flow

_NODES = {1: 401, 2: 121, 3: 61, 4: 35}  # per dimension, by the number of dimensions
_MOST_DIMENSIONS = max(_NODES)


def gaussian_average(function: Observable, K: Float[Array, "N N"], neurons: int) -> Array:
    r"""$\langle\!\langle F\rangle\!\rangle_K$ over independent neurons, on an equispaced grid; `K` must be regular."""
    dimensions = neurons * len(K)
    u, weights = equispaced(_NODES[dimensions])
    grid = np.stack(np.meshgrid(*[u] * dimensions, indexing="ij"), axis=-1).reshape(-1, neurons, len(K))
    weight = functools.reduce(np.multiply.outer, [weights] * dimensions).ravel()
    root = jnp.linalg.cholesky(K)
    return jnp.tensordot(weight, jax.vmap(lambda u: jnp.asarray(function(root @ u.T)))(jnp.asarray(grid)), axes=(0, 0))


def restricted(flow: Flow, layer: int, samples: Sequence[int], neurons: int) -> tuple[Array, Array, Array]:
    """K, v and g1 of a layer on some of the samples, having checked that they can be averaged over."""
    layer = as_count(layer, "layer")
    if layer > as_flow(flow).net.depth:
        raise DomainError("layer", layer, f"at most {flow.net.depth}, the network's depth")
    if neurons * len(samples) > _MOST_DIMENSIONS:
        got = f"{neurons} neurons times {len(samples)} samples"
        raise DomainError("neurons, samples", got, f"at most {_MOST_DIMENSIONS} variables in all")
    kept = as_samples(samples, "samples", flow.K.shape[-1])
    K, v, g1 = marginalise_samples(flow.K[layer - 1], flow.v[layer - 1], flow.g1[layer - 1], kept)
    if np.linalg.eigvalsh(np.asarray(K))[0] <= 1e-12 * np.trace(np.asarray(K)):
        raise DomainError("samples", list(samples), "samples whose kernel is not singular: leave out duplicated ones")
    return K, v, g1


@entry()
def expectation_to_first_order(
    flow: Flow, layer: int, function: Observable, *, samples: Sequence[int] = (0,), neurons: int = 1
) -> Array:
    r"""$E[F(z^{(\ell)})]$ with its $1/n$ correction, PDLT (4.46), PDLT (4.61).

    `function` maps the preactivations of some neurons, shape (samples, neurons), to a number or an array; it must be
    smooth. At most four variables in all.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> round(float(fw.expansion.expectation_to_first_order(theory, 2, lambda z: z[0, 0] ** 2)), 6)
        1.25
    """
    neurons = as_count(neurons, "neurons")
    K, v, g1 = restricted(flow, layer, samples, neurons)
    check_observable(function, (len(samples), neurons), "function")
    return nearly_gaussian.expectation(lambda k: gaussian_average(function, k, neurons), K, v, g1)


@entry()
def covariance_between_neurons(
    flow: Flow, layer: int, left: Observable, right: Observable, *, samples: Sequence[int] = (0,)
) -> Array:
    r"""$\mathrm{Cov}[F(z_i), G(z_j)]$ of two different neurons to order $1/n$, PDLT (4.63)-(4.64).

    Both functions map one neuron's preactivations, shape (samples, 1), to a number.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> square = lambda z: z[0, 0] ** 2
        >>> round(float(fw.expansion.covariance_between_neurons(theory, 2, square, square)), 6)
        0.976562
    """
    K, v, _ = restricted(flow, layer, samples, neurons=1)
    check_observable(left, (len(samples), 1), "left")
    check_observable(right, (len(samples), 1), "right")

    def average_of(function: Observable) -> Callable[[Array], Array]:
        return lambda k: gaussian_average(function, k, 1)

    return nearly_gaussian.covariance_between_neurons(average_of(left), average_of(right), K, v)
