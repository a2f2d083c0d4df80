"""What one training input teaches about one test input."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._validation import as_floats
from ...networks import MLP, as_mlp


class OneToOne(Result, eqx.Module):
    r"""Training on $x_+$, test on $x_-$."""

    robustness: Float[Array, "*batch"]
    r"""$\frac{\Theta_{-+}}{\Theta_{++}}-1$: the bias is $m_--y_- = (y_+-y_-) + \text{robustness}\cdot y_+$, PDLT (10.56)."""
    variance: Float[Array, "*batch"]
    r"""Of the trained output on $x_-$ over initialisations, PDLT (10.57)."""


@entry()
def one_to_one(Theta: Any, K: Any) -> OneToOne:
    r"""Robustness and variance from the kernels of two inputs, the training input $x_+$ first, exactly, PDLT (10.56)-(10.57):

    $$r = \frac{\Theta_{-+}}{\Theta_{++}},\qquad \mathrm{Cov} = K_{--} - 2rK_{-+} + r^2K_{++}.$$

    For nearby inputs `critical.tangent_pair_flow` expands both, PDLT (10.62)-(10.65).

    **Arguments:**

    - `Theta`, `K`: 2 x 2 matrices, shape (..., 2, 2), such as all layers of a flow.

    Examples:
        >>> found = fw.learning.one_to_one([[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.2], [0.2, 1.0]])
        >>> float(found.robustness), float(found.variance)
        (-0.5, 1.05)
    """
    theta, k = (np.asarray(as_floats(matrix, name)) for matrix, name in ((Theta, "Theta"), (K, "K")))
    if theta.shape[-2:] != (2, 2) or theta.shape != k.shape:
        raise ShapeError("Theta, K", f"shapes {theta.shape} and {k.shape}", "2 x 2 kernels of one shape (..., 2, 2)")
    if not (theta[..., 0, 0] > 0).all():
        raise DomainError("Theta", "a training input that learns nothing", "Theta[..., 0, 0] > 0")
    share = theta[..., 1, 0] / theta[..., 0, 0]
    variance = k[..., 1, 1] - 2 * share * k[..., 1, 0] + share**2 * k[..., 0, 0]
    return OneToOne(np.asarray(share - 1), np.asarray(variance))


def last_layer_only(net: MLP) -> MLP:
    r"""The network of which only the last layer learns, at the rates $\lambda_b^{(L)} = C_b^{(L)}$, $\lambda_W^{(L)} = C_W^{(L)}$: its
    tangent kernel is its kernel, and training it at infinite width is Bayesian inference, PDLT (10.44)-(10.49).

    Examples:
        >>> fw.learning.last_layer_only(fw.MLP("tanh", (2, 8, 8, 1))).lambda_W.tolist()
        [0.0, 0.0, 1.0]
    """
    last = np.arange(as_mlp(net).depth) == net.depth - 1
    return net.replace(lambda_b=np.where(last, net.C_b, 0.0), lambda_W=np.where(last, net.C_W, 0.0))
