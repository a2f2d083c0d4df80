"""`ntk_law`: the random tangent kernel of networks as deep as wide."""

import os
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import BlowUpError
from ..._result import Result
from ..._table import Table
from ...networks.shaped import Block, ShapedBlock, ShapedReLU
from .feature_learning_sde import feature_learning_sde
from .tangent_moments import linear_tangent_moments


class TangentLaw(Result, eqx.Module):
    r"""The law of $\overline\Theta = \tfrac1T\int_0^TG_t\circ\Phi_t\,dt$, the tangent kernel averaged over depth: at rate $\eta_0/d$,
    outputs learn with $\eta_0\overline\Theta$."""

    block: Block
    V0: Float[np.ndarray, "m m"]
    """The covariance of the inputs."""
    samples: Float[np.ndarray, "paths m m"]
    mean: Float[np.ndarray, "m m"]
    """Over samples."""
    mean_error: Float[np.ndarray, "m m"]
    """Its standard error."""
    second_moment: Float[np.ndarray, "m m"]
    r"""$E[(\overline\Theta^{\alpha\beta})^2]$ over samples."""
    second_moment_error: Float[np.ndarray, "m m"]
    """Its standard error; tails are heavy, so that it is itself uncertain beyond depths of about half the width."""
    exact_mean: Float[np.ndarray, "m m"]
    """In closed form; NaN where none is known."""
    exact_second_moment: Float[np.ndarray, "m m"]
    """In closed form; NaN where none is known."""
    depth_to_width: float = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @property
    def paths(self) -> int:
        """How many samples there are."""
        return len(self.samples)

    def quantile(self, q: Any) -> Float[np.ndarray, "*q m m"]:
        """Quantiles of each entry."""
        return np.quantile(self.samples, q, axis=0)

    def table(self) -> Table:
        """One row for each independent entry."""
        i, j = np.triu_indices(len(self.V0))
        names = ("mean", "mean_error", "second_moment", "second_moment_error", "exact_mean", "exact_second_moment")
        columns = {"alpha": i, "beta": j} | {name: getattr(self, name)[i, j] for name in names}
        columns |= {f"{level:.0%}": self.quantile(level)[i, j] for level in (0.05, 0.5, 0.95)}
        facts = {name: getattr(self, name) for name in ("depth_to_width", "paths", "steps", "seed", "block")}
        return Table(facts, columns)


@entry(nan=True)
def ntk_law(
    block: ShapedBlock,
    V0: Any,
    depth_to_width: float,
    paths: int = 4096,
    seed: int = 0,
    steps: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> TangentLaw:
    r"""Sample the tangent kernel of `block`'s networks with one output, averaged over depth: it stays random as width grows (lecture 19).

    For linear networks mean and second moments are known in closed form, for shaped ReLU those of the diagonal,
    $E\,\overline\Theta^{\alpha\alpha} = \Phi_0^{\alpha\alpha}$ and, for an MLP at small $T$,
    $E(\overline\Theta^{\alpha\alpha})^2 \simeq (\Phi_0^{\alpha\alpha})^2(1 + \tfrac43T)$.

    **Arguments:** those of `feature_learning_sde`; `block` is a `ShapedMLP` or a `ShapedResNet`.

    Examples:
        >>> law = fw.ntk_law(fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0)), [[1.0]], 0.3, paths=8, steps=4)
        >>> law.samples.shape, round(float(law.exact_second_moment[0, 0]), 4)
        ((8, 1, 1), 1.5269)
    """
    law = feature_learning_sde(
        block, V0, depth_to_width, paths=paths, seed=seed, steps=steps, save=1, progress=progress, checkpoint=checkpoint
    )
    start = law.Phi[0, 0]
    exact_mean, exact_second = _closed(block, start, law.depth_to_width)
    squares = law.NTK**2
    lost = np.isnan(exact_second) & ~np.isnan(exact_mean)  # NaN in both says that no closed form is known
    if not np.isfinite(squares.sum()) or lost.any():
        got = f"at depth over width {law.depth_to_width:g}, from squares up to {start.max():g}"
        raise BlowUpError(f"Second moments of the tangent kernel leave the finite numbers {got}: lower one of the two.")
    root = np.sqrt(law.paths)
    return TangentLaw(
        block=block,
        V0=start,
        samples=law.NTK,
        mean=law.NTK.mean(axis=0),
        mean_error=law.NTK.std(axis=0) / root,
        second_moment=squares.mean(axis=0),
        second_moment_error=squares.std(axis=0) / root,
        exact_mean=exact_mean,
        exact_second_moment=exact_second,
        depth_to_width=law.depth_to_width,
        seed=law.seed,
        steps=law.steps or 0,
    )


def _closed(block: Any, V0: Float[np.ndarray, "m m"], time: float) -> tuple[np.ndarray, np.ndarray]:
    """All entries of linear networks, the diagonal of shaped ReLU, nothing of smooth activations."""
    moments = linear_tangent_moments(V0, float(block.value_noise) * time)
    i, j = np.indices(V0.shape)
    linear, kinked = block.activation.exponent > 0.5, isinstance(block.activation, ShapedReLU)
    known = linear | (kinked & ((i == j) | (kinked and block.activation.chi_squared == 0)))
    return np.where(known, moments.mean, np.nan), np.where(known, moments.second[i, j, i, j], np.nan)
