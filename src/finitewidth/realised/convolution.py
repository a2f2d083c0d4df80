"""The convolutional layer of PDLT section 2.1: its forward pass and how many parameters it has."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import ShapeError
from .._validation import as_count, as_floats


@entry()
def convolution(W: Any, b: Any, x: Any) -> Float[Array, "n_out H W"]:
    r"""$z_{i,(c,d)} = b_i + \sum_j\sum_{c'=-k}^k\sum_{d'=-k}^kW_{ij}^{c'd'}\,x_{j,(c+c',d+d')}$, PDLT (2.8), with zeros around the image.

    **Arguments:**

    - `W`: weights, shape (n_out, n_in, 2k+1, 2k+1); `b`: biases, shape (n_out,); `x`: an image, shape (n_in, H, W).

    Examples:
        >>> fw.realised.convolution(np.ones((1, 1, 3, 3)), [0.5], np.ones((1, 2, 2))).tolist()
        [[[4.5, 4.5], [4.5, 4.5]]]
    """
    weights, biases, image = (
        jnp.asarray(as_floats(W, "W")),
        jnp.asarray(as_floats(b, "b")),
        jnp.asarray(as_floats(x, "x")),
    )
    if weights.ndim != 4 or weights.shape[2] != weights.shape[3] or weights.shape[2] % 2 == 0:
        raise ShapeError("W", f"shape {weights.shape}", "(n_out, n_in, 2k+1, 2k+1)")
    if biases.shape != weights.shape[:1]:
        raise ShapeError("b", f"shape {biases.shape}", f"({weights.shape[0]},), one for each channel out")
    if image.ndim != 3 or image.shape[0] != weights.shape[1]:
        raise ShapeError("x", f"shape {image.shape}", f"({weights.shape[1]}, H, W), as many channels as W takes")
    return jax.lax.conv(image[None], weights, (1, 1), "SAME")[0] + biases[:, None, None]


@entry()
def convolution_parameters(channels_in: int, channels_out: int, reach: int) -> int:
    r"""$n_{\rm out} + n_{\rm out}n_{\rm in}(2k+1)^2$ parameters of PDLT (2.8), whatever the size of the image.

    Examples:
        >>> fw.realised.convolution_parameters(3, 16, reach=1)
        448
    """
    n_in, n_out = as_count(channels_in, "channels_in"), as_count(channels_out, "channels_out")
    return n_out + n_out * n_in * (2 * as_count(reach, "reach", at_least=0) + 1) ** 2
