r"""Two inputs $x_\pm = x_0 \pm \frac12\delta x$ seen through their mean and their difference."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ShapeError
from ..._result import Result
from ..._validation import as_floats, as_number
from ...networks.layer import kernel_of

_GAMMA = np.array([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]], [[1.0, -1.0], [-1.0, 1.0]]])  # PDLT (5.16)


class GammaComponents(Result, eqx.Module):
    r"""$K = K_{[0]}\gamma^{[0]} + K_{[1]}\gamma^{[1]} + K_{[2]}\gamma^{[2]}$, PDLT (5.15).

    `K_0`: the kernel of the mean input. `K_1`: half the difference of the two norms, $\frac12(K_{++}-K_{--})$. `K_2`: a
    quarter of the squared distance, $\frac14(K_{++}+K_{--}-2K_{+-})$. PDLT (5.17)-(5.19).
    """

    K_0: Float[Array, "*batch"]
    K_1: Float[Array, "*batch"]
    K_2: Float[Array, "*batch"]

    @entry()
    def kernel(self) -> Float[Array, "*batch 2 2"]:
        """The matrix these are the components of."""
        components = jnp.stack([self.K_0, self.K_1, self.K_2], axis=-1)
        return jnp.einsum("...a,aij->...ij", components, _GAMMA)


@entry()
def gamma_components(kernel: Float[Array, "*batch 2 2"] | Any) -> GammaComponents:
    r"""$K_{[a]} = \mathrm{tr}(K\gamma^{[a]})/\mathrm{tr}(\gamma^{[a]}\gamma^{[a]})$, PDLT (5.20).

    Examples:
        >>> float(fw.critical.gamma_components([[1.0, 0.8], [0.8, 1.0]]).K_0)
        0.9
    """
    matrix = as_floats(kernel, "kernel")
    if matrix.shape[-2:] != (2, 2):
        raise ShapeError("kernel", f"shape {matrix.shape}", "2 x 2 kernels, shape (..., 2, 2)")
    traces = jnp.einsum("...ij,aij->...a", matrix, _GAMMA) / np.einsum("aij,aij->a", _GAMMA, _GAMMA)
    return GammaComponents(traces[..., 0], traces[..., 1], traces[..., 2])


@entry()
def first_layer_components(
    x_0: Float[Array, " n_0"] | Any, delta_x: Float[Array, " n_0"] | Any, C_b: float, C_W: float
) -> GammaComponents:
    r"""The first layer, exactly: $K_{[0]} = C_b + \frac{C_W}{n_0}|x_0|^2$,
    $K_{[1]} = \frac{C_W}{n_0}x_0\cdot\delta x$ and $K_{[2]} = \frac{C_W}{4n_0}|\delta x|^2$, from PDLT (5.2),
    (5.17)-(5.19).

    Examples:
        >>> float(fw.critical.first_layer_components([1.0, 0.0], [0.0, 0.1], C_b=0.0, C_W=2.0).K_0)
        1.0
    """
    mean, difference = as_floats(x_0, "x_0"), as_floats(delta_x, "delta_x")
    if mean.ndim != 1 or mean.shape != difference.shape or mean.size == 0:
        raise ShapeError("x_0, delta_x", f"shapes {mean.shape} and {difference.shape}", "two vectors of length n_0")
    scale = as_number(C_W, "C_W", low=0.0) / len(mean)
    bias = as_number(C_b, "C_b", low=0.0)
    return GammaComponents(
        kernel_of(bias, scale, mean @ mean), scale * mean @ difference, scale * difference @ difference / 4
    )
