"""`predict_one`: one realised network, trained on paper."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._memory import check_memory
from ..._result import Result
from ..._validation import as_inputs
from ...networks import MLP, as_mlp
from ...realised.parameters import Parameters, as_parameters
from ..kernel.learners import check_stable
from ..kernel.train_test import as_targets
from .algorithm import as_pace, positive_spectrum
from .joint import Joint, joint_differentials
from .projectors import Projectors

_COPIES = 6  # of the tensors with four joint indices


class OnePrediction(Result, eqx.Module):
    r"""What one network says after training, in parts, and its tangent kernel. Training inputs stand first, then test inputs."""

    start: Float[Array, "N n_L"]
    r"""$z(0)$."""
    free: Float[Array, "N n_L"]
    r"""$z^F(t)$: what it would have learned with its tangent kernel frozen, PDLT (∞.91)."""
    interaction: Float[Array, "N n_L"]
    r"""$z^I(t)$: what comes from a tangent kernel that changes, PDLT (∞.118)."""
    kernel: Float[Array, "N N n_L n_L"]
    r"""$\widehat H(0)$ at [sample, sample, output, output]."""
    trained_kernel: Float[Array, "N N n_L n_L"]
    r"""$\widehat H(t)$, PDLT (∞.117)."""
    sharp_kernel: Float[Array, "N N_train n_L n_L"]
    r"""A kernel $H^\sharp$ with which, to this order, frozen kernel regression ends where this network does, PDLT (∞.155)-(∞.159); one of
    many: it differs from $\widehat H$ by a matrix of rank one."""
    trained: int = eqx.field(static=True)
    """The number of training inputs."""

    @property
    def outputs(self) -> Float[Array, "N n_L"]:
        r"""$z(t)$ on all inputs."""
        return self.free + self.interaction

    @property
    def mean(self) -> Float[Array, "N_test n_L"]:
        r"""$z(t)$ on test inputs: for one network, its prediction is its mean."""
        return self.outputs[self.trained :]


@entry(remedy="lower the rate, or call `tune`")
def predict_one(
    net: MLP,
    params: Parameters,
    x_train: Any,
    y_train: Any,
    x_test: Any,
    algorithm: str = "gradient_flow",
    *,
    rate: float | None = None,
    steps: int | None = None,
    time: float = math.inf,
) -> OnePrediction:
    r"""Outputs and tangent kernel of one network after training on squared errors, without training it, PDLT (∞.84)-(∞.159):

    $$z_\beta(t) = z_\beta - \widehat H_{\beta a}C_a\epsilon_a + \tau_\beta - \widehat H_{\beta d}\tau_d,$$

    its own tangent kernel $\widehat H$ in the projectors, and in $\tau$ its own differentials $\widehat{dH}$, $\widehat{dd_IH}$ and
    $\widehat{dd_{II}H}$ with joint indices of samples and outputs. What is missed is of the order of the square of what
    kernels that stay frozen miss.

    **Arguments:**

    - `net`, `params`: a network and its parameters before training, such as `draw_parameters` gives.
    - `x_train`, `y_train`, `x_test`: inputs with one sample a row, targets (N_train, n_L). All outputs on all inputs
      together should be few, ten or so: there are fourth powers of their number.
    - `algorithm`, `rate`, `steps`, `time`: as for `predict` at order 1.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 1))
        >>> found = fw.predict_one(net, fw.draw_parameters(net, 0), [[1.0, 0.5]], [[1.0]], [[0.3, -1.0]])
        >>> found.outputs.shape, bool(abs(found.outputs[0, 0] - 1.0) < 1e-12)
        ((2, 1), True)
    """
    params, n_0 = as_parameters(as_mlp(net), params), net.widths[0]
    train, test = (np.asarray(as_inputs(x, name, n_0)) for x, name in ((x_train, "x_train"), (x_test, "x_test")))
    y = as_targets(y_train, len(train), net.widths[-1])
    pace, direct = as_pace(algorithm, rate, steps, time)
    joint = (len(train) + len(test)) * net.widths[-1]
    what = (
        f"{len(train)} inputs, which with {len(test)} for test and {net.widths[-1]} outputs make {joint} joint indices"
    )
    check_memory(
        8.0 * _COPIES * joint**4, "x_train", what, "ten indices or so: there are fourth powers of their number"
    )
    found = joint_differentials(net, params, np.concatenate([train, test]))
    A, M = y.size, len(found.z)
    values, vectors = positive_spectrum(found.H[:A, :A], "x_train")
    if pace.rate:
        check_stable(float(values.max()), pace.rate, "the training inputs of this network")
    turn = np.eye(M)
    turn[:A, :A] = vectors
    seen = turned(found, turn)
    error = seen.z[:A] - vectors.T @ y.ravel()
    projectors = Projectors(values, M, pace, direct)  # training inputs are asked as those for test are
    asked = np.concatenate([np.arange(A), np.arange(M)])
    pushed = push(seen, projectors, error, asked)
    gain = projectors.first()[:, -1] * error
    free = seen.z - seen.H[:, :A] @ gain
    interaction = pushed[A:] - seen.H[:, :A] @ pushed[:A]
    moved = moved_kernel(seen, projectors, error)
    tau, v = turn @ pushed[A:], vectors @ (error / values)
    shape = (len(train) + len(test), net.widths[-1])
    sharp = found.H[:, :A] - np.outer(tau, v) / max(float(v @ v), np.finfo(float).tiny)
    return OnePrediction(
        found.z.reshape(shape),
        (turn @ free).reshape(shape),
        (turn @ interaction).reshape(shape),
        _by_samples(found.H, shape),
        _by_samples(turn @ moved @ turn.T, shape),
        _by_samples(sharp, shape),
        len(train),
    )


def turned(found: Joint, turn: Float[np.ndarray, "M M"]) -> Joint:
    """All of it in another basis, given by columns."""

    def along(tensor: np.ndarray) -> np.ndarray:
        for _ in range(tensor.ndim):
            tensor = np.tensordot(tensor, turn, axes=(0, 0))
        return tensor

    return Joint(*(along(np.asarray(each)) for each in found))


def push(seen: Joint, Z: Projectors, error: Float[np.ndarray, " A"], asked: np.ndarray) -> Float[np.ndarray, " asked"]:
    r"""$\tau_p$ of PDLT (∞.141) for the inputs `asked`, in the order of the last axis of the projectors."""
    a, e = slice(len(error)), error
    of_two = np.einsum("apb,abp,a,b->p", seen.dH[a][:, asked][:, :, a], Z.Z_A(), e, e, optimize=True)
    of_two += np.einsum("pab,abp,a,b->p", seen.dH[asked][:, a, a], Z.Z_B(), e, e, optimize=True)
    of_three = 0.0
    for slots, tensor, projector in (
        ("apbc", seen.ddH_I[a][:, asked][:, :, a, a], Z.Z_IA()),
        ("pabc", seen.ddH_I[asked][:, a, a, a], Z.Z_IB()),
        ("abpc", seen.ddH_II[a, a][:, :, asked][:, :, :, a], Z.Z_IIA()),
        ("pabc", seen.ddH_II[asked][:, a, a, a], Z.Z_IIB()),
    ):
        of_three = of_three + np.einsum(f"{slots},abcp,a,b,c->p", tensor, projector, e, e, e, optimize=True)
    return of_two + of_three


def moved_kernel(seen: Joint, Z: Projectors, error: Float[np.ndarray, " A"]) -> Float[np.ndarray, "M M"]:
    r"""$\widehat H(t)$, PDLT (∞.117): with $a(t)$ of PDLT (∞.92) and the sums $s_{kl}$ of later errors $k$ and earlier ones $l$,

    $$\widehat H_{12} - (dH_{12j}+dH_{21j})a_j + \tfrac12(dd_IH_{12kl}+dd_IH_{21kl}+2dd_{II}H_{12kl})\,a_ka_l
      + (dd_{II}H_{1k2l}+dd_{II}H_{2k1l})\,s_{kl}.$$
    """
    a = slice(len(error))
    once = Z.first()[:, -1] * error
    both = np.outer(once, once)
    ordered = Z.Z_A()[..., -1] * np.outer(error, error)
    change = -np.einsum("pqa,a->pq", seen.dH[:, :, a], once)
    change = change + np.einsum("pqab,ab->pq", seen.ddH_I[:, :, a, a] + seen.ddH_II[:, :, a, a], both) / 2
    change = change + np.einsum("paqb,ab->pq", seen.ddH_II[:, a, :, a], ordered)
    return seen.H + change + change.T


def _by_samples(matrix: Float[np.ndarray, "M K"], shape: tuple[int, int]) -> Float[np.ndarray, "N _ n_L n_L"]:
    samples, outputs = shape
    return np.swapaxes(matrix.reshape(samples, outputs, -1, outputs), 1, 2)
