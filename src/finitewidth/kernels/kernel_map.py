r"""One layer's mean map on kernels, and its iteration: the network of infinite width.

$$K^{(\ell+1)}_{\alpha\beta} = C_b^{(\ell+1)} + C_W^{(\ell+1)}\langle\sigma_\alpha\sigma_\beta\rangle_{K^{(\ell)}}
  \quad\text{PDLT (4.118)}$$
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._entry import entry
from .._errors import BlowUpError
from .._validation import is_concrete
from ..activations import Activation
from ..gaussian.accuracy import TRACED_VARIANCE, Tree, check_averages, gram_rule, within_traced_variance
from ..gaussian.pairs import PairRule, pair_moment, square_averages
from ..networks import LayeredNetwork, as_layered
from .pair_walk import compiled_diagonal, diagonal_recursion, every_kernel, last_kernels

_LARGEST = 1e150  # its square is still a number


def gram(activation: Activation, K: Float[Array, "N N"], rule: PairRule, slopes: bool = False) -> Float[Array, "N N"]:
    r"""$\langle\sigma_\alpha\sigma_\beta\rangle_K$, or with `slopes` $\langle\sigma'_\alpha\sigma'_\beta\rangle_K$."""
    variances = diagonal(K)
    off_diagonal = ~np.eye(len(variances), dtype=bool)
    between = jnp.where(off_diagonal, K, 0.0)  # coincidence with oneself is the diagonal's business
    pairs = pair_moment(activation, int(slopes), int(slopes), variances[:, None], between, variances[None, :], rule)
    (squares,) = square_averages(activation, variances, 0, int(slopes))
    # Without the barrier the compiler computes them a second time, in the order of the transposed.
    pairs = jax.lax.optimization_barrier(pairs)
    return jnp.where(off_diagonal, (pairs + pairs.T) / 2, squares[:, None])  # a pair's two orders differ by rounding


def largest_variance(net: LayeredNetwork, K1: Float[Array, "N N"], traced: float = TRACED_VARIANCE) -> float:
    """The largest variance that an activation meets, from which quadratures are chosen.

    `BlowUpError` if the flow leaves the finite, positive numbers; the bound `traced` if values cannot be looked at.
    """
    if not all(map(is_concrete, (K1, *net.settings_of_kernels))):
        return traced
    silent = net.replace(lambda_b=0.0, lambda_W=0.0)  # rates, which may be traced, do not enter here
    with jax.ensure_compile_time_eval():
        layers, first = silent.layers[1:], np.diagonal(K1)
    variances = np.asarray(compiled_diagonal(net.activation, layers, (first, None))[0])
    usable = np.isfinite(variances) & (variances > 0) & (variances < _LARGEST)
    usable[-1] = np.isfinite(variances[-1])  # nothing is averaged over the last layer: zero is fine there
    if not usable.all():
        layer = int(np.argmin(usable.all(axis=1)))
        if layer:  # the activation itself may be the reason
            check_averages(net.activation, float(variances[layer - 1].max()))
        raise BlowUpError(
            f"The kernel of {net!r} leaves the positive numbers at layer {layer + 1} (it is "
            f"{variances[layer].tolist()}): lower or raise C_W, add C_b, or call `tune`."
        )
    largest = float(variances[:-1].max() if len(variances) > 1 else variances.max())
    check_averages(net.activation, largest)
    return largest


def checked_if_traced(net: LayeredNetwork, K1: Float[Array, "N N"], largest: float, tree: Tree) -> Tree:
    """What was computed with rules for kernels up to the `largest`: under a trace, an error where they turn out to be larger."""
    if all(map(is_concrete, (K1, *net.settings_of_kernels))):
        return tree
    variances, _ = diagonal_recursion(net.activation, net.layers[1:], (diagonal(K1), None))
    averaged_over = variances[:-1] if len(variances) > 1 else variances
    return within_traced_variance(tree, averaged_over, largest)


@entry()
def kernel(net: LayeredNetwork, x: Any) -> Float[Array, "N N"]:
    r"""The infinite-width kernel $K^{(L)}$ of the output, PDLT (4.118): the covariance of a Gaussian process.

    `flow(net, x, through="kernel")` gives every layer; this keeps only the last, for many samples `x`, shape (N, n_0).

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.kernel(net, [[1.0, 0.5], [0.3, -1.0]]).round(6).tolist()
        [[1.25, 0.520573], [0.520573, 1.09]]
    """
    K1 = as_layered(net).first_kernel(x)
    largest = largest_variance(net, K1)
    rule = gram_rule(net.activation, largest)
    last, _ = last_kernels(net.activation, net.layers[1:], (K1, None), rule)
    return last if rule is None else checked_if_traced(net, K1, largest, last)


def kernel_recursion(net: LayeredNetwork, K1: Float[Array, "N N"]) -> Float[Array, "L N N"]:
    r"""The infinite-width kernels of every layer from the first, PDLT (4.118)."""
    rule = gram_rule(net.activation, largest_variance(net, K1))
    return every_kernel(net.activation, net.layers[1:], (K1, None), rule)[0]
