"""The joint law of forward and backward kernels, and of what one instant of training does to features: sampled paths."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array
from .._errors import ShapeError
from .._result import Result
from .._table import Table, table_of_paths
from .._validation import as_count, as_floats
from ..networks.shaped import Block


class FeatureFields(NamedTuple):
    r"""What samplers of one network or path find, at the depths that are kept; the last five only if there are targets."""

    Phi: Float[Array, "*s times m m"]
    G: Float[Array, "*s times p p"]
    Q: Float[Array, "*s times m p"]
    f: Float[Array, "*s p"]
    NTK: Float[Array, "*s p p"]
    stopped: Bool[Array, "*s"]
    S: Float[Array, "*s times m p"] | None = None
    C: Float[Array, "*s times m m"] | None = None
    K: Float[Array, "*s times m m"] | None = None
    f_dot: Float[Array, "*s p"] | None = None


class FeatureLaw(Result, eqx.Module):
    r"""Paths in depth time of the limit, or measured on networks; both have the same fields (lecture 19).

    Inputs are counted by $\alpha, \beta, \ldots$ Backward indices count inputs and outputs, outputs of one input side by side: $p$ is
    the number of inputs times that of outputs. Fields that say what training does are `None` without targets.

    For networks, time $\ell/n$ is that of the post-activations $\varphi_\ell$ and of the matrix $W_\ell$ that reads them.
    """

    block: Block
    """What the inputs pass through, again and again."""
    times: Float[np.ndarray, " times"]
    """Depth times, from 0 to `depth_to_width`."""
    Phi: Float[np.ndarray, "paths times m m"]
    r"""$\Phi^{\alpha\beta} = \tfrac cn\langle\varphi^\alpha, \varphi^\beta\rangle$, the covariance of features."""
    G: Float[np.ndarray, "paths times p p"]
    r"""$\langle u^\alpha, u^\beta\rangle$ of the gradients $u = \partial f/\partial h$ in the next layer."""
    Q: Float[np.ndarray, "paths times m p"]
    r"""$Q^{\alpha\beta} = \langle h^\alpha, u^\beta\rangle$ in the next layer: first index forward, second backward."""
    f: Float[np.ndarray, "paths p"]
    """Outputs."""
    NTK: Float[np.ndarray, "paths p p"]
    r"""$\overline\Theta = \tfrac1T\int_0^TG_t\circ\Phi_t\,dt$; of networks, the tangent kernel over the number $d + 1$ of matrices, or over
    $2\gamma^2d$ for residual blocks."""
    stopped: Bool[np.ndarray, " paths"]
    """Paths whose covariance left the range in which it can be followed, and was held there: smooth activations can explode."""
    S: Float[np.ndarray, "paths times m p"] | None
    r"""$S^{\alpha\beta} = \langle\dot h^\alpha, u^\beta\rangle$, lecture 19's $R^z$: what layers up to here bring to
    $\dot f^\alpha$, as the gradient of $\beta$ sees it."""
    C: Float[np.ndarray, "paths times m m"] | None
    r"""$C = R\,\Phi^{-1}$, the velocities of features along features."""
    K: Float[np.ndarray, "paths times m m"] | None
    r"""The Gram matrix of the velocities orthogonal to the features."""
    f_dot: Float[np.ndarray, "paths p"] | None
    r"""$\dot f$, per unit of training time at rate $\eta = \eta_0/(d + 1)$."""
    targets: Float[np.ndarray, " p"] | None
    r"""$y$ of the loss $\tfrac12(f - y)^2$, whose gradient flow moves everything."""
    depth_to_width: float = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    r"""$\eta_0$."""
    seed: int = eqx.field(static=True)
    method: str = eqx.field(static=True)
    steps: int | None = eqx.field(static=True, default=None)
    """Steps in depth time of the limit; `None` for networks."""
    width: int | None = eqx.field(static=True, default=None)
    """Width of the networks; `None` for the limit."""
    depth: int | None = eqx.field(static=True, default=None)
    """Depth of the networks; `None` for the limit."""

    @property
    def paths(self) -> int:
        """How many paths or networks there are."""
        return len(self.f)

    @property
    def R(self) -> Float[np.ndarray, "paths times m m"] | None:
        r"""$R^{\alpha\beta} = \tfrac cn\langle\dot\varphi^\alpha, \varphi^\beta\rangle = (C\Phi)^{\alpha\beta}$."""
        return None if self.C is None else self.C @ self.Phi

    @property
    def velocity(self) -> Float[np.ndarray, "paths times m m"] | None:
        r"""$\tfrac cn\langle\dot\varphi^\alpha, \dot\varphi^\beta\rangle = K + C\Phi C^{\mathsf T}$, which lecture 19 calls $\dot\Phi$."""
        return None if self.C is None or self.K is None else self.K + self.C @ self.Phi @ self.C.swapaxes(-1, -2)

    @property
    def dPhi(self) -> Float[np.ndarray, "paths times m m"] | None:
        r"""$\partial_{\rm train}\Phi = R + R^{\mathsf T}$: how training moves the covariance of features."""
        R = self.R
        return None if R is None else R + R.swapaxes(-1, -2)

    @property
    def at_depths(self) -> dict[str, Float[np.ndarray, "paths times i j"]]:
        """All fields that go by depth, by name."""
        names = ("Phi", "G", "Q", "S", "C", "K", "R", "velocity", "dPhi")
        return {name: field for name in names if (field := getattr(self, name)) is not None}

    @property
    def of_paths(self) -> dict[str, np.ndarray]:
        """All fields of whole networks, by name."""
        return {name: field for name in ("f", "NTK", "f_dot") if (field := getattr(self, name)) is not None}

    def table(self) -> Table:
        """One row for each path and depth time."""
        names = ("depth_to_width", "width", "depth", "method", "steps", "rate", "seed", "block", "targets")
        facts = {name: fact for name in names if (fact := getattr(self, name)) is not None}
        facts["paths"] = {"running": int(np.sum(~self.stopped)), "stopped": int(np.sum(self.stopped))}
        return Table(facts, table_of_paths(self.times, self.at_depths).columns)


def feature_law(found: FeatureFields, **about: Any) -> FeatureLaw:
    """The law of what samplers found."""
    return FeatureLaw(**found._asdict(), **about)


def as_targets(targets: Any, outputs: int | None, inputs: int) -> tuple[Float[np.ndarray, " p"] | None, int]:
    """Targets by backward index, and the number of outputs."""
    if targets is None:
        return None, 1 if outputs is None else as_count(outputs, "outputs")
    array = np.asarray(as_floats(targets, "targets"))
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != inputs or array.shape[1] == 0:
        raise ShapeError("targets", f"shape {np.shape(targets)}", f"shape ({inputs},) or ({inputs}, outputs)")
    if outputs is not None and as_count(outputs, "outputs") != array.shape[1]:
        raise ShapeError("targets", f"{array.shape[1]} for each input", f"{outputs}, the number of outputs")
    return array.reshape(-1), array.shape[1]
