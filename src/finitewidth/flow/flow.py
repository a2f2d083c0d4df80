"""`flow`: what theory says of a network at finite width."""

import warnings
from typing import Any, Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, Float

from .._errors import ArgumentError, BlowUpError, DomainError, UnknownNameError, ValidityWarning
from .._precision import in_float64, to_numpy
from .._validation import as_covariance, is_concrete
from ..gaussian.accuracy import (
    CURVATURE_OF_VALUES,
    TRACED_VARIANCE,
    VALUES_AND_SLOPES,
    gram_rule,
    pair_rule,
    product_rule,
)
from ..networks import MLP, as_mlp, layer_parameters
from ..networks.kernel_map import compiled_kernels, largest_variance
from ..networks.pairs import PairIndex, pair_index
from ..networks.tangent_map import check_has_tangent_kernel
from . import next_order, tangent
from .recursion import iterate
from .result import Flow

Through = Literal["kernel", "vertex", "ntk", "next"]

_MOST_SAMPLES_NEXT = 3  # the second derivatives of four-point averages make longer programs than compile quickly
_UNTRUSTED = 1.0  # relative variance of the metric at which the first correction is as large as the leading term

_compiled_iterate = jax.jit(iterate, static_argnums=(0, 3, 4, 5))
_compiled_tangent = jax.jit(tangent.iterate, static_argnums=(0, 4, 5, 6))
_compiled_next = jax.jit(next_order.iterate, static_argnums=(0, 3, 4, 5))


def first_kernel(net: MLP, x: Any, kernel: Any) -> Float[Array, "N N"]:
    """The first layer's kernel from inputs, or the one that is given."""
    if (x is None) == (kernel is None):
        raise ArgumentError("x", "both or neither of `x` and `kernel`", "either inputs or a first-layer kernel")
    return net.first_kernel(x) if kernel is None else as_covariance(kernel, "kernel")


def first_overlap(net: MLP, x: Any, K1: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """The overlaps of the inputs; read off the first kernel, which loses digits, only where there are no inputs."""
    return net.overlap_behind(K1) if x is None else net.overlap(x)


@in_float64
def flow(
    net: MLP,
    x: Any = None,
    *,
    kernel: Any = None,
    through: Through = "vertex",
    traced_variance: float = TRACED_VARIANCE,
) -> Flow:
    r"""The kernel of a network and its corrections at finite width, layer by layer, for a set of inputs.

    **Arguments:**

    - `net`: the network.
    - `x`: inputs, shape (N, n_0), one sample a row. Duplicated samples are fine, zero samples need `C_b > 0`.
    - `kernel`: instead of `x`, the first layer's kernel $K^{(1)}$, shape (N, N), positive semi-definite.
    - `through`: how far to go: `"kernel"` stops at infinite width and is fast for thousands of samples; `"vertex"` adds
      the four-point vertex $V$ and the metric's correction $G^{\{1\}}$; `"ntk"` adds the tangent kernel, its mean
      $\Theta + H^{\{1\}}/n$ and its correlations $A$, $B$, $D$, $F$, for the learning rates of `net`; `"next"` goes from the
      vertex one order further, to the six-point vertex $U$, $V^{\{1\}}$ and $G^{\{2\}}$, for a few samples and smooth activations.
    - `traced_variance`: a bound on the kernel's diagonal, used only under `jit` or `grad`, where values cannot be
      looked at: quadratures are chosen for it, and lose accuracy beyond it.

    **Returns:** a [`Flow`][finitewidth.flow.result.Flow] with `K`, `V`, `G1` and more.

    Differentiable in `x`, `kernel` and the hyperparameters of `net`. Warns where $L/n$ is too large for an expansion in $1/n$.
    """
    if through not in get_args(Through):
        raise UnknownNameError("through", through, get_args(Through))
    K1 = first_kernel(as_mlp(net), x, kernel)
    largest = largest_variance(net, K1, traced_variance)
    if through == "kernel":
        rule = gram_rule(net.activation, largest)
        return _checked(Flow(net, compiled_kernels(net.activation, layer_parameters(net), K1, rule)))
    pairs = pair_index(len(K1))
    if through == "ntk":
        return _checked(_tangent(net, K1, first_overlap(net, x, K1), pairs, largest))
    if through == "next":
        return _checked(_next_order(net, K1, pairs, largest))
    rules = pair_rule(net.activation, largest, derivatives=4), product_rule(net.activation, largest)
    K, vertex, correction = _compiled_iterate(net.activation, layer_parameters(net), pairs.pack(K1), pairs, *rules)
    return _checked(Flow(net, pairs.unpack(K), vertex, correction))


def _tangent(net: MLP, K1: Float[Array, "N N"], overlap: Float[Array, "N N"], pairs: PairIndex, largest: float) -> Flow:
    check_has_tangent_kernel(net.activation)
    rules = (
        pair_rule(net.activation, largest, derivatives=5),
        product_rule(net.activation, largest, VALUES_AND_SLOPES),
    )
    first = pairs.pack(K1), pairs.pack(net.first_tangent_kernel(overlap))
    K, v, g1, theta, h1, d, a, b, f = _compiled_tangent(net.activation, layer_parameters(net), *first, pairs, *rules)
    return Flow(
        net,
        pairs.unpack(K),
        v,
        g1,
        tangent_kernel=pairs.unpack(theta),
        tangent_correction=h1,
        tangent_with_metric=d,
        tangent_variance=a,
        tangent_between_neurons=b,
        tangent_with_preactivations=f,
    )


def _next_order(net: MLP, K1: Float[Array, "N N"], pairs: PairIndex, largest: float) -> Flow:
    if net.activation.kinks:
        got = f"{net.activation.name}, whose second derivatives of the vertex are distributions"
        raise DomainError("activation", got, "a smooth activation for through='next'")
    if len(K1) > _MOST_SAMPLES_NEXT:
        raise DomainError("x", f"{len(K1)} samples", f"at most {_MOST_SAMPLES_NEXT} for through='next'")
    rules = (
        pair_rule(net.activation, largest, derivatives=8),
        product_rule(net.activation, largest, CURVATURE_OF_VALUES),
    )
    K, v1, g1, u, v2, g2 = _compiled_next(net.activation, layer_parameters(net), pairs.pack(K1), pairs, *rules)
    return Flow(net, pairs.unpack(K), v1, g1, u, v2, g2)


def _checked(result: Flow) -> Flow:
    """The result as NumPy arrays if it is not being traced, having said where it cannot be trusted."""
    result = to_numpy(result)
    if not all(map(is_concrete, jax.tree.leaves(result))):
        return result
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result)):
        raise BlowUpError(f"The flow of {result.net!r} leaves the finite numbers: call `tune`, or use fewer layers.")
    if result.vertex is not None:
        worst = float(result.relative_fluctuation.max())
        if worst > _UNTRUSTED:
            warnings.warn(
                f"The metric's relative variance reaches {worst:.2g} (sum of 1/n = {result.net.depth_over_width:.2g}): "
                "the expansion in 1/n is not to be trusted for this depth over width.",
                ValidityWarning,
                stacklevel=3,
            )
    return result
