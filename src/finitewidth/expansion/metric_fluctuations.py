r"""One layer given the one before: the exact conditional law, and its expansion in the fluctuation of the metric.

$$\hat G_{ab} = C_b + \frac{C_W}{n}\sum_j\sigma(z_{ja})\sigma(z_{jb})\quad\text{PDLT (4.70)},\qquad \hat G = G + D.$$

Neurons are rows and samples columns, as in `nearly_gaussian`.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError, named
from .._validation import as_count, as_floats, as_inputs, is_concrete, per_layer, tried
from ..gaussian.nearly_gaussian import Metric, as_neurons, as_symmetric
from ..gaussian.wick import as_invertible, gaussian_log_density
from ..networks.layer import kernel_of

# A coupling that grows or decays like a smaller power of depth than this is called marginal.
_MARGINAL_EXPONENT = 0.1


@entry()
def expanded_inverse(G: Metric | Any, D: Metric | Any) -> Metric:
    r"""$\hat G^{-1} = G^{-1} - G^{-1}DG^{-1} + G^{-1}DG^{-1}DG^{-1} + O(D^3)$, PDLT (4.55).

    Examples:
        >>> fw.expansion.expanded_inverse(np.eye(2), 0.01 * np.eye(2)).round(6).tolist()
        [[0.9901, 0.0], [0.0, 0.9901]]
    """
    metric = as_invertible(G, "G")
    fluctuation, inverse = as_symmetric(D, "D", metric), jnp.linalg.inv(metric)
    first = inverse @ fluctuation @ inverse
    return inverse - first + first @ fluctuation @ inverse


@entry()
def expanded_exponential(
    z: Float[Array, "*batch m N"] | Any, G: Metric | Any, D: Metric | Any
) -> Float[Array, "*batch"]:
    r"""The ratio of $e^{-\frac12\sum_i z_i\hat G^{-1}z_i}$ to the same at $G$, to second order in $D$, PDLT (4.56).

    $$1 + \tfrac12\sum_i\bar z_iD\bar z_i - \tfrac12\sum_i\bar z_iDG^{-1}D\bar z_i
      + \tfrac18\Big(\sum_i\bar z_iD\bar z_i\Big)^2,\qquad \bar z_i = G^{-1}z_i.$$

    Examples:
        >>> G, D = np.eye(2), 0.01 * np.eye(2)
        >>> round(float(fw.expansion.expanded_exponential(np.ones((1, 2)), G, D)), 6)
        1.00995
    """
    metric = as_invertible(G, "G")
    neurons, fluctuation = as_neurons(z, "z", metric), as_symmetric(D, "D", metric)
    inverse = jnp.linalg.inv(metric)
    raised = neurons @ inverse

    def summed_over_neurons(matrix: Metric) -> Array:
        return jnp.einsum("...ia,ab,...ib->...", raised, matrix, raised)

    first = summed_over_neurons(fluctuation)
    return 1 + 0.5 * first - 0.5 * summed_over_neurons(fluctuation @ inverse @ fluctuation) + 0.125 * first**2


@entry()
def expanded_determinant(G: Metric | Any, D: Metric | Any, neurons: int) -> Float[Array, ""]:
    r"""The ratio of $|2\pi\hat G|^{m/2}$ to $|2\pi G|^{m/2}$, to second order in $D$, PDLT (4.57).

    $$1 + \tfrac m2\,\mathrm{tr}(DG^{-1}) + \tfrac{m^2}{8}\big(\mathrm{tr}\,DG^{-1}\big)^2
      - \tfrac m4\,\mathrm{tr}(DG^{-1}DG^{-1}).$$

    Examples:
        >>> G, D = np.eye(2), 0.01 * np.eye(2)
        >>> round(float(fw.expansion.expanded_determinant(G, D, neurons=3)), 6)
        1.0303
    """
    metric = as_invertible(G, "G")
    m, relative = as_count(neurons, "neurons"), as_symmetric(D, "D", metric) @ jnp.linalg.inv(metric)
    first = 0.5 * m * jnp.trace(relative)
    return 1 + first + 0.5 * first**2 - 0.25 * m * jnp.trace(relative @ relative)


@entry()
def layer_log_density(z: Float[Array, "n N"] | Any, G: Metric | Any) -> Float[Array, ""]:
    r"""$\log p(z) = -\tfrac12\sum_i G^{ab}z_{ia}z_{ib} - \tfrac n2\log|2\pi G|$, PDLT (4.13)-(4.15), PDLT (4.69).

    With $G = G^{(1)}$ the law of the first layer, PDLT (4.23), which is exact at any width.

    Examples:
        >>> round(float(fw.expansion.layer_log_density(np.ones((3, 2)), np.eye(2))), 6)
        -8.513631
    """
    with named(z="z", K="G"):
        return jnp.sum(gaussian_log_density(as_inputs(z, "z"), G))


@entry()
def interlayer_log_density(
    z_next: Float[Array, "n_next N"] | Any,
    z_prev: Float[Array, "n N"] | Any,
    sigma: Callable[[Array], Array],
    C_b: float | Array,
    C_W: float | Array,
) -> Float[Array, ""]:
    r"""$\log p(z^{(\ell+1)}|z^{(\ell)})$, exact at any width, PDLT (4.69)-(4.70).

    $$-\tfrac12\sum_i\hat G^{ab}z^{(\ell+1)}_{ia}z^{(\ell+1)}_{ib} - \tfrac{n_{\ell+1}}{2}\log|2\pi\hat G|,$$

    with $\hat G$ a function of $z^{(\ell)}$. The determinant is part of it: the interlayer action as printed in
    PDLT (4.124)-(4.126) leaves it out, and so would reweight the previous layer by $|\hat G|^{n_{\ell+1}/2}$.

    Examples:
        >>> round(float(fw.expansion.interlayer_log_density([[0.5]], [[1.0], [-1.0]], np.tanh, 0.1, 1.0)), 6)
        -0.909943
    """
    previous = as_inputs(z_prev, "z_prev")
    following = as_inputs(z_next, "z_next")
    if following.shape[1] != previous.shape[1]:
        raise ShapeError(
            "z_next", f"shape {following.shape}", f"{previous.shape[1]} columns, as the layer before: one a sample"
        )
    activity = tried(sigma, previous, "sigma") if is_concrete(previous) else sigma(previous)
    if activity.shape != previous.shape:
        raise ShapeError("sigma", f"values of shape {activity.shape}", f"an elementwise function: {previous.shape}")
    gram = activity.T @ activity / len(previous)
    metric = kernel_of(per_layer(C_b, "C_b", 1)[0], per_layer(C_W, "C_W", 1)[0], gram)
    try:
        metric = as_invertible(metric, "z_prev")
    except DomainError:
        got = "a singular matrix C_b + C_W <sigma sigma> of its neurons"
        raise DomainError("z_prev", got, "as many neurons as samples, or C_b > 0, and samples that differ") from None
    return layer_log_density(following, metric)


@entry()
def joint_log_density(
    layers: Sequence[Float[Array, "_ N"] | Any],
    G1: Metric | Any,
    sigma: Callable[[Array], Array],
    C_b: float | Sequence[float] | Array,
    C_W: float | Sequence[float] | Array,
) -> Float[Array, ""]:
    r"""$\log p(z^{(1)},\dots,z^{(L)})$, the action of all layers together with its sign changed, PDLT (4.121)-(4.122).

    $$\log p(z^{(1)}) + \sum_\ell\log p(z^{(\ell+1)}|z^{(\ell)})\quad\text{PDLT (4.123)}$$

    `G1` is the metric of the first layer, PDLT (4.8); `C_b` and `C_W` are scalars or one value for each layer.

    Examples:
        >>> layers = [[[1.0], [-1.0]], [[0.5]]]
        >>> round(float(fw.expansion.joint_log_density(layers, [[1.0]], np.tanh, 0.1, 1.0)), 6)
        -3.74782
    """
    if not layers:
        raise ShapeError("layers", "no layer", "the preactivations of at least one layer")
    biases, weights = per_layer(C_b, "C_b", len(layers)), per_layer(C_W, "C_W", len(layers))
    # A Python loop, not a scan: layers differ in width, so their arrays cannot be stacked.
    with named(z="layers[0]", G="G1"):
        densities = [layer_log_density(layers[0], G1)]
    for i, (previous, following) in enumerate(itertools.pairwise(layers), start=1):
        with named(z_prev=f"layers[{i - 1}]", z_next=f"layers[{i}]"):
            densities.append(interlayer_log_density(following, previous, sigma, biases[i], weights[i]))
    return jnp.sum(jnp.stack(densities))


@entry()
def coupling_trend(coupling: Float[Array, " L"] | Any) -> Literal["relevant", "marginal", "irrelevant"]:
    r"""What depth does to a coupling such as $V^{(\ell)}/(n_{\ell-1}K^2)$, given layer by layer, PDLT (4.127).

    Over the second half of the layers its size changes like $\ell^p$: *relevant* (grows) for $p > 0.1$,
    *irrelevant* (shrinks) for $p < -0.1$, *marginal* between.

    Examples:
        >>> fw.expansion.coupling_trend([0.0, 0.1, 0.2, 0.3])
        'relevant'
    """
    sizes = np.abs(np.asarray(as_floats(coupling, "coupling")))
    if sizes.ndim != 1 or len(sizes) < 4:
        raise ShapeError("coupling", f"shape {sizes.shape}", "one number per layer, for at least 4 layers")
    half = len(sizes) // 2
    if not sizes[half:].all():
        raise DomainError("coupling", "zero in a deep layer", "a coupling that does not vanish")
    exponent = np.polyfit(np.log(np.arange(half, len(sizes)) + 1), np.log(sizes[half:]), 1)[0]
    if abs(exponent) <= _MARGINAL_EXPONENT:
        return "marginal"
    return "relevant" if exponent > 0 else "irrelevant"
