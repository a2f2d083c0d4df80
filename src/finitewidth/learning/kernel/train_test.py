"""The kernels between training and test inputs, from a network or as they are given."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import as_floats
from ...kernels.tangent_map import output_kernels
from ...networks import LayeredNetwork, as_layered
from ...results import LearningProblem
from ..samples import as_samples, outputs_of, reading

_ROUNDING = 1e-10  # of a kernel, relative to its largest entry
_SQUARE = 128  # rows and columns that are looked at together


@dataclass(frozen=True, eq=False)
class TrainTestKernels:
    r"""$\Theta$ and $K$ of the output layer on training inputs, which stand first, and test inputs."""

    Theta: Float[np.ndarray, "N N"]
    K: Float[np.ndarray, "N N"]
    trained: int
    """The number of training inputs. One matrix may be both kernels, which is Bayes."""

    @property
    def Theta_train(self) -> Float[np.ndarray, "N_train N_train"]:
        r"""$\widetilde\Theta$."""
        return self.Theta[: self.trained, : self.trained]

    @property
    def Theta_cross(self) -> Float[np.ndarray, "N_test N_train"]:
        r"""$\Theta_{\mathcal{BA}}$."""
        return self.Theta[self.trained :, : self.trained]

    @property
    def K_train(self) -> Float[np.ndarray, "N_train N_train"]:
        r"""$\widetilde K$."""
        return self.K[: self.trained, : self.trained]

    @property
    def K_cross(self) -> Float[np.ndarray, "N_test N_train"]:
        r"""$K_{\mathcal{BA}}$."""
        return self.K[self.trained :, : self.trained]

    @property
    def K_test(self) -> Float[np.ndarray, "N_test N_test"]:
        r"""$K_{\mathcal{BB}}$."""
        return self.K[self.trained :, self.trained :]


def kernels_and_problem(
    net: LayeredNetwork | None, x_train: Any, y_train: Any, x_test: Any, kernel: Any
) -> tuple[TrainTestKernels, LearningProblem]:
    """The kernels of a network on its inputs, or those that are given; and the targets as columns, one an output."""
    if kernel is None:
        return _of_network(net, x_train, y_train, x_test)
    for argument, given in (("net", net), ("x_train", x_train), ("x_test", x_test)):
        if given is not None:
            raise ArgumentError(argument, "a value beside `kernel`", "either a network and inputs, or kernels")
    targets = as_targets(y_train)
    Theta, K = _both(kernel)
    if len(Theta) <= len(targets):
        want = f"more than {len(targets)} rows: the training inputs of `y_train` first, then the test inputs"
        raise ShapeError("kernel", f"shape {Theta.shape}", want)
    return TrainTestKernels(Theta, K, len(targets)), LearningProblem(targets)


def as_targets(y_train: Any, samples: int | None = None, outputs: int | None = None) -> Float[np.ndarray, "N n_L"]:
    """Targets with one sample a row; a flat array is one output."""
    if y_train is None:
        raise ArgumentError("y_train", "nothing", "targets, one sample a row")
    array = np.asarray(as_floats(y_train, "y_train"))
    targets = array[:, None] if array.ndim == 1 else array
    rows, columns = "N_train" if samples is None else samples, "n_L" if outputs is None else outputs
    fits = targets.ndim == 2 and 0 not in targets.shape
    if not fits or samples not in (None, len(targets)) or outputs not in (None, targets.shape[1]):
        raise ShapeError(
            "y_train", f"shape {array.shape}", f"shape ({rows}, {columns}): one target a sample and output"
        )
    return targets


def _of_network(
    net: LayeredNetwork | None, x_train: Any, y_train: Any, x_test: Any
) -> tuple[TrainTestKernels, LearningProblem]:
    for argument, given in (("net", net), ("x_train", x_train), ("x_test", x_test)):
        if given is None:
            raise ArgumentError(
                argument, "nothing", "a network, training and test inputs; or `kernel` instead of all three"
            )
    net = reading(as_layered(net), x_train, "x_train")
    train, test = (as_samples(net, x, name) for x, name in ((x_train, "x_train"), (x_test, "x_test")))
    targets = as_targets(y_train, len(train), outputs_of(net))
    K, Theta = output_kernels(net, np.concatenate([train, test]))
    return TrainTestKernels(np.asarray(Theta), np.asarray(K), len(train)), LearningProblem(targets, train, test)


def _as_kernel(matrix: Any) -> Float[np.ndarray, "N N"]:
    """A symmetric matrix none of whose 2 x 2 parts is negative; what it costs to know more, whoever needs it pays."""
    array = np.asarray(as_floats(matrix, "kernel"))
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise ShapeError("kernel", f"shape {array.shape}", "a square matrix (N, N), or two of them")
    diagonal = np.diagonal(array)
    allowed = _ROUNDING * max(float(np.abs(diagonal).max()), np.finfo(float).tiny)
    asymmetry, excess = _flaws(array, np.sqrt(np.maximum(diagonal, 0.0)))
    if asymmetry > allowed:
        raise DomainError("kernel", "a matrix that is not symmetric", "a symmetric matrix")
    if diagonal.min() < 0 or excess > allowed:
        raise DomainError("kernel", "two samples between which it is negative", "a positive semi-definite matrix")
    return (array + array.T) / 2 if asymmetry > 0 else array


def _flaws(array: Float[np.ndarray, "N N"], roots: Float[np.ndarray, " N"]) -> tuple[float, float]:
    r"""The largest $|M_{ab} - M_{ba}|$, and the largest $|M_{ab}| - \sqrt{M_{aa}M_{bb}}$; a square and the one across the diagonal at
    a time, which caches hold."""
    asymmetry, excess = 0.0, -np.inf
    parts = [slice(start, start + _SQUARE) for start in range(0, len(array), _SQUARE)]
    for number, rows in enumerate(parts):
        for columns in parts[number:]:
            here = array[rows, columns]
            asymmetry = max(asymmetry, float(np.abs(here - array[columns, rows].T).max()))
            excess = max(excess, float((np.abs(here) - np.outer(roots[rows], roots[columns])).max()))
    return asymmetry, excess


def _both(kernel: Any) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N N"]]:
    """$(\\Theta, K)$, or one matrix for both, which is Bayesian inference."""
    if isinstance(kernel, tuple | list) and len(kernel) == 2 and np.ndim(kernel[0]) == 2:
        Theta, K = (_as_kernel(matrix) for matrix in kernel)
    else:
        Theta = K = _as_kernel(kernel)
    if Theta.shape != K.shape:
        raise ShapeError("kernel", f"shapes {Theta.shape} and {K.shape}", "two square matrices of one size")
    if not np.diagonal(Theta).max() > 0:
        raise DomainError("kernel", "a tangent kernel that is zero", "one with which something is learned")
    return Theta, K
