r"""The tangent kernel of one network and its differentials with joint indices: sample and output in one, sample first."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ...networks import MLP
from ...realised import Parameters, ddntk, dntk, ntk
from ...realised.parameters import preactivations


class Joint(NamedTuple):
    """First outputs of one network, its tangent kernel, PDLT (11.7), and the differentials of that, PDLT (11.8), (∞.5), (∞.7)."""

    z: Float[np.ndarray, " M"]
    H: Float[np.ndarray, "M M"]
    dH: Float[np.ndarray, "M M M"]
    ddH_I: Float[np.ndarray, "M M M M"]
    ddH_II: Float[np.ndarray, "M M M M"]


def joint_differentials(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> Joint:
    """On all samples of `x` and all outputs."""
    z = np.asarray(preactivations(net, params, x)[-1])
    tensors = ntk(net, params, x, layers="last")[-1], dntk(net, params, x), *ddntk(net, params, x)
    return Joint(z.ravel(), *(_joined(np.asarray(tensor), z.size) for tensor in tensors))


def _joined(tensor: np.ndarray, size: int) -> np.ndarray:
    """From all samples first and then all outputs to pairs of one sample and one output."""
    slots = tensor.ndim // 2
    order = [axis for slot in range(slots) for axis in (slot, slots + slot)]
    return np.transpose(tensor, order).reshape((size,) * slots)
