"""`flow`: what theory says of a network at finite width."""

from typing import Any, Literal, get_args

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry, is_traced, warn
from .._errors import DomainError, UnknownNameError
from .._memory import check_four_samples, check_memory
from .._validation import as_number
from ..activations import ScaleInvariant
from ..gaussian.accuracy import TRACED_VARIANCE, gram_rule
from ..kernels.kernel_map import checked_if_traced, largest_variance
from ..kernels.pair_walk import every_kernel
from ..kernels.start import first_kernel, first_overlap
from ..networks import MLP, LayeredNetwork, ResidualMLP, as_mlp
from ..networks.residual import refuse_norm
from ..results import Flow
from .differential_flow import differential_flow, tensors_known_to
from .next_order import next_order_flow
from .persistent import persistent_metric_flow
from .persistent_tangent import persistent_tangent_flow
from .positive import why_no_covariance
from .recursion import metric_flow
from .tangent import tangent_flow

Through = Literal["kernel", "vertex", "ntk", "dntk", "ddntk"]

# Tensors of four samples that are alive at the end of a flow: those it returns, and as many again in units of the width before it.
_TENSORS = {"vertex": 3.0, "ntk": 11.0, "dntk": 15.0, "ddntk": 23.0}
_UNTRUSTED = 1.0  # relative variance of the metric at which the first correction is as large as the leading term
_LARGEST_KERNEL = 1e6  # there H1 of GELU is wrong by some thousandths of itself; the error grows as K^2 and faster


@entry(remedy="call `tune`, or use fewer layers")
def flow(
    net: LayeredNetwork,
    x: Any = None,
    *,
    kernel: Any = None,
    through: Through = "vertex",
    next_order: bool = False,
    traced_variance: float = TRACED_VARIANCE,
) -> Flow[Array]:
    r"""The kernel of a network and its corrections at finite width, layer by layer, for a set of inputs.

    **Arguments:**

    - `net`: the network. Residual ones of several inputs need an activation with a continuous slope, for `"ntk"` with a continuous second
      derivative, or two half-lines such as ReLU.
    - `x`: inputs, shape (N, n_0), one sample a row. Duplicated samples are fine (but for tangent kernels of
      residual networks whose slopes jump), zero samples need `C_b > 0`.
    - `kernel`: instead of `x`, the first layer's kernel $K^{(1)}$, shape (N, N), positive semi-definite.
    - `through`: how far to go, each step including those before: `"kernel"` stops at infinite width and is fast for
      thousands of samples; `"vertex"` adds the group `metric`, the four-point vertex $V$ and the metric's correction
      $G^{\{1\}}$; `"ntk"` adds the group `tangent`, the tangent kernel with its mean $\Theta + H^{\{1\}}/n$ and its correlations
      $A$, $B$, $D$, $F$, for the learning rates of `net`; `"dntk"` adds the group `differential` with $P$, $Q$, by which tangent kernels
      change as networks learn; `"ddntk"` adds `second_differential` with $R$, $S$, $T$, $U$, for activations whose slopes do not jump.
      In these two, of so many samples that a minute would not do (some twenty to thirty), averages over three or four different ones are
      good to about 1e-8 of the largest entry, so that tens of samples are affordable.
    - `next_order`: add the group `next_order`, one order beyond the book for the metric: the six-point vertex, $V^{\{1\}}$ and
      $G^{\{2\}}$, for a few samples and smooth activations.
    - `traced_variance`: a bound on the kernel's diagonal, used only under `jit` or `grad`, where values cannot be
      looked at: quadratures are chosen for it, and running the result beyond it is an error.

    **Returns:** a [`Flow`][finitewidth.results.flow.Flow] with `K`, `V`, `G1` and more.

    Differentiable in `x`, `kernel` and the hyperparameters of `net`. Warns where $L/n$ is too large for an expansion in $1/n$,
    and where $K + G^{\{1\}}/n$ is not positive semi-definite, as for inputs that lie closer together than $1/n$ where slopes jump.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> theory.V[2, 0, 0, 0, 0].round(6).item()
        15.625
    """
    if not isinstance(through, str) or through not in get_args(Through):
        raise UnknownNameError("through", through, get_args(Through))
    K1 = first_kernel(net, x, kernel)
    net = net if x is None else net.reading(x)
    check_flow_memory(net, len(K1), through, "kernel" if x is None else "x")
    largest = largest_variance(net, K1, as_number(traced_variance, "traced_variance", low=0.0))
    result = _groups(net, x, K1, largest, through, next_order)
    if not (net.activation.has_closed_pair and net.activation.has_closed_product):
        result = checked_if_traced(net, K1, largest, result)
    return _said(result)


def check_flow_memory(net: LayeredNetwork, samples: int, through: Through, argument: str) -> None:
    """`DomainError` where the flow of so many samples would not fit."""
    if through == "kernel":
        what = f"{samples} inputs to {net.depth} layers, whose kernels are all kept"
        check_memory(
            16.0 * net.depth * samples**2, argument, what, "fewer inputs or layers; `kernel` keeps the last alone"
        )
    else:
        check_four_samples(_TENSORS[through], net.depth, samples, argument)


def _groups(
    net: LayeredNetwork, x: Any, K1: Float[Array, "N N"], largest: float, through: Through, next_order: bool
) -> Flow[Array]:
    if through != "kernel":
        refuse_norm(net, "through", repr(through), "'kernel'; `simulate` measures the rest")
    if isinstance(net, ResidualMLP) and net.depth == 1:
        return eqx.tree_at(lambda found: found.net, _groups(_one_layer(net), x, K1, largest, through, next_order), net)
    if isinstance(net, ResidualMLP) and next_order:
        raise DomainError(
            "next_order", "True for a residual network", "an MLP: its neurons are drawn anew in each layer"
        )
    if isinstance(net, ResidualMLP) and through == "ntk":
        return Flow(net, *persistent_tangent_flow(net, K1, first_overlap(net, x, K1), largest))
    if isinstance(net, ResidualMLP) and through == "vertex":
        return Flow(net, *persistent_metric_flow(net, K1, largest))
    further = next_order_flow(as_mlp(net), K1, largest) if next_order else None
    if through in ("dntk", "ddntk"):
        found = differential_flow(as_mlp(net), K1, first_overlap(net, x, K1), largest, to_second=through == "ddntk")
        K, metric, tangent, first, second = found
        return Flow(net, K, metric, tangent, None if further is None else further[2], first, second)
    if through == "ntk":
        K, metric, tangent = tangent_flow(as_mlp(net), K1, first_overlap(net, x, K1), largest)
        return Flow(net, K, metric, tangent, None if further is None else further[2])
    if further is not None:
        K, metric, following = further
        return Flow(net, K, metric, next_order=following)
    if through == "vertex":
        return Flow(net, *metric_flow(net, K1, largest))
    return Flow(net, every_kernel(net.activation, net.layers[1:], (K1, None), gram_rule(net.activation, largest))[0])


def _one_layer(net: ResidualMLP) -> MLP:
    """A single layer has no way around it."""
    return MLP(net.activation, net.widths, net.C_b, net.C_W, net.lambda_b, net.lambda_W)


def flow_elsewhere(net: MLP, x: Float[np.ndarray, "N n_0"]) -> Flow[Array]:
    """`flow` through the second differential from other grids, to see the errors of both: numbers alone, without checks and words."""
    K1 = first_kernel(net, x, None)
    overlap, largest = first_overlap(net, x, K1), largest_variance(net, K1)
    K, metric, tangent, first, second = differential_flow(net, K1, overlap, largest, to_second=True, elsewhere=True)
    return Flow(net, K, metric, tangent, None, first, second)


def known_to(net: MLP, x: Float[np.ndarray, "N n_0"]) -> float:
    """How right its tensors of four samples are, relative to their largest entries."""
    return tensors_known_to(net.activation, largest_variance(net, first_kernel(net, x, None)), len(x))


def _said(result: Flow[Array]) -> Flow[Array]:
    """The result, having said where it cannot be trusted."""
    if result.metric is not None and not is_traced(result):
        worst = float(result.relative_fluctuation.max())
        if worst > _UNTRUSTED:
            warn(
                f"The metric's relative variance reaches {worst:.2g} (sum of 1/n = {result.net.depth_over_width:.2g}): "
                "the expansion in 1/n is not to be trusted for this depth over width."
            )
        negative = why_no_covariance(np.asarray(result.K), np.asarray(result.metric.G))
        if negative is not None:
            warn(negative)
    if result.tangent is not None and not is_traced(result) and not isinstance(result.net.activation, ScaleInvariant):
        largest = float(np.max(np.diagonal(result.K, axis1=1, axis2=2)[:-1], initial=0.0))
        if largest > _LARGEST_KERNEL:
            warn(
                f"The kernel of a hidden layer reaches {largest:.2g}, where H1 is a small difference of large averages and may have lost "
                f"its digits: scale inputs, or C_W, until kernels are below {_LARGEST_KERNEL:.0e}."
            )
    return result
