"""The evidence of data over a grid of initialisations and depths."""

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import BlowUpError, DomainError, ShapeError
from ..._memory import check_layers
from ..._progress import ProgressBar
from ..._result import Result
from ..._table import Table
from ..._validation import as_count, as_floats, as_number
from ...kernels.kernel_map import kernel_recursion
from ...networks import MLP, as_mlp
from .bayes import log_evidence_of_data
from .data import as_data
from .evidence import log_density, noisy_kernel


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceScan(Result):
    """The logarithm of the evidence over a grid."""

    C_b: Float[np.ndarray, " b"]
    C_W: Float[np.ndarray, " w"]
    depths: tuple[int, ...]
    log_evidence: Float[np.ndarray, "b w depths"]
    r"""$\log p(y|C_b, C_W, L)$; minus infinity where a kernel leaves the range of numbers, which both PDLT (6.37) and
    PDLT (6.38) say: kernels that are far too large and far too small are both refuted."""

    def table(self) -> Table:
        """One row for each point of the grid."""
        C_b, C_W, depth = np.meshgrid(self.C_b, self.C_W, np.asarray(self.depths), indexing="ij")
        columns = {"C_b": C_b, "C_W": C_W, "depth": depth, "log_evidence": self.log_evidence}
        return Table({"best (C_b, C_W, depth)": self.best}, {name: np.ravel(grid) for name, grid in columns.items()})

    @property
    def best(self) -> tuple[float, float, int]:
        """$C_b$, $C_W$ and the depth at which the evidence is largest."""
        b, w, d = np.unravel_index(int(np.argmax(self.log_evidence)), self.log_evidence.shape)
        return float(self.C_b[b]), float(self.C_W[w]), self.depths[int(d)]


@entry()
def evidence_scan(
    net: MLP,
    x: Any,
    y: Any,
    C_b: Any = 0.0,
    C_W: Any = None,
    depths: Any = None,
    noise: float = 0.0,
    order: int = 0,
    *,
    progress: bool | None = None,
) -> EvidenceScan:
    r"""$\log p(y|\mathcal H)$, PDLT (6.34), for all combinations of `C_b`, `C_W` and `depths`; everything else is that of `net`.

    The best $C_W$ tends to the critical one with growing depth for scale-invariant activations only. For tanh it does not: at
    criticality the kernel of a deep network decays, $K \sim 1/2\ell$, and targets of order one favour larger weights, whatever section
    6.3.1 of the book suggests.

    **Arguments:**

    - `net`: its activation and widths. All hidden layers must have one width where `depths` differ from its own.
    - `C_b`, `C_W`, `depths`: numbers or lists of numbers; `C_W` of one and the depth of `net` unless given.
    - `noise`, `order`: as for `bayes`. At order 0 one recursion serves all depths.

    Examples:
        >>> net = fw.MLP("relu", (1, 8, 1))
        >>> fw.learning.evidence_scan(net, [[1.0]], [1.0], C_W=[1.0, 1.5, 2.0]).best
        (0.0, 1.5, 2)
    """
    model = as_mlp(net)
    noise, order = as_number(noise, "noise", low=0.0), as_count(order, "order", at_least=0)
    biases, weights = _grid(C_b, "C_b"), _grid(1.0 if C_W is None else C_W, "C_W")
    layers = (model.depth,) if depths is None else _depths(depths)
    if layers != (model.depth,) and len(set(model.hidden_widths)) != 1:
        raise DomainError("net", f"hidden widths {model.hidden_widths}", "hidden layers of one width, for other depths")
    found = np.full((len(biases), len(weights), len(layers)), -np.inf)
    with ProgressBar(len(biases) * len(weights), progress, things="initialisations") as bar:
        for i, b in enumerate(biases):
            for j, w in enumerate(weights):
                found[i, j] = _of_depths(model.replace(C_b=b, C_W=w), layers, x, y, noise, order)
                bar.advance_to(i * len(weights) + j + 1)
    return EvidenceScan(biases, weights, layers, found)


def _of_depths(net: MLP, depths: tuple[int, ...], x: Any, y: Any, noise: float, order: int) -> Float[np.ndarray, " d"]:
    found = np.full(len(depths), -np.inf)
    if order == 0:
        deepest = _at_depth(net, max(depths))
        inputs, targets = as_data(net, x, y, noise, "x", "y")
        kernels = _until_it_leaves(deepest, inputs)
        for k, depth in enumerate(depths):
            if depth <= len(kernels):
                found[k] = log_density(noisy_kernel(kernels[depth - 1], noise, "x"), targets)
        return found
    for k, depth in enumerate(depths):
        with contextlib.suppress(BlowUpError):  # the kernel leaves the range of numbers before this depth
            found[k] = log_evidence_of_data(_at_depth(net, depth), x, y, noise, order)
    return found


def _until_it_leaves(net: MLP, x: Float[np.ndarray, "A n_0"]) -> Float[np.ndarray, "layers A A"]:
    """Kernels of every layer up to the last in which they are in the range of numbers."""
    while True:
        try:
            return np.asarray(kernel_recursion(net, net.first_kernel(x)))
        except BlowUpError:
            if net.depth == 1:
                return np.zeros((0, len(x), len(x)))
            net = _at_depth(net, (net.depth + 1) // 2)


def _at_depth(net: MLP, depth: int) -> MLP:
    check_layers(depth, "depths")
    hidden = net.hidden_widths[:1] * (depth - 1) if depth != net.depth else net.hidden_widths
    return net.replace(
        widths=(net.widths[0], *hidden, net.widths[-1]),
        **{name: float(np.asarray(getattr(net, name))[0]) for name in ("C_b", "C_W", "lambda_b", "lambda_W")},
    )


def _grid(values: Any, argument: str) -> Float[np.ndarray, " k"]:
    grid = np.atleast_1d(np.asarray(as_floats(values, argument)))
    if grid.ndim != 1 or grid.size == 0 or (grid < 0).any():
        raise ShapeError(argument, f"{grid.tolist()}", "a number >= 0 or a list of them")
    return grid


def _depths(depths: Any) -> tuple[int, ...]:
    listed = [depths] if np.ndim(depths) == 0 else list(depths)
    return tuple(as_count(depth, "depths") for depth in listed)
