"""Whether gradients of a deep network explode or vanish, and why."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ShapeError
from .._result import Result
from .._table import Table
from .._validation import as_floats
from ..critical import CriticalPoint, criticality
from ..critical.one_input.susceptibilities import susceptibilities_at
from ..critical.one_input.trust import check_continuous
from ..expansion.tangent_layers import tangent_contributions
from ..gaussian.derivatives import evaluated
from ..networks import MLP, as_mlp

_ALMOST = 0.05  # a network counts as tuned if depth times its distance from criticality is below this
_TINY = float(np.finfo(float).tiny)
_HARMLESS = 2.0  # a factor, over the whole depth, that no optimiser minds
_LARGE = 1e6  # times the signals of the last layer: where a function has its final slope
_SCATTERED = 0.1  # depth over width from which averages are not what one network has


@dataclass(frozen=True, repr=False)
class GradientDiagnosis(Result):
    r"""The factors of $\frac{d\mathcal L}{d\theta^{(\ell)}} =
    \epsilon\cdot\frac{dz^{(L)}}{dz^{(\ell)}}\cdot\frac{dz^{(\ell)}}{d\theta^{(\ell)}}$, PDLT (9.87), at infinite width,
    averaged over inputs. Layer $\ell$ at index $\ell-1$. `str()` of it is a table and a verdict.

    - `chi_parallel`, `chi_perp`: the susceptibilities between layers $\ell$ and $\ell+1$, for $\ell < L$.
    - `chain_rule`: the mean square of the chain-rule factor, $\prod_{\ell'=\ell}^{L-1}\chi_\perp^{(\ell')}$, PDLT (9.88), (9.93).
    - `trivial`: the mean square of the trivial factor of weights, $g^{(\ell-1)}$, PDLT (9.90), (9.92); of biases it is one.
    - `error`: the mean square of the error factor under the squared loss, $K^{(L)} + \overline{y^2}$, PDLT (9.91); one number.
    - `bias`, `weight`: contributions of the layer to the tangent kernel, with the rates of the network, PDLT (9.28).
    - `critical`: whether only powers of depth appear, as at a critical point; otherwise depth acts exponentially. GELU and
      others of its class are critical at one size of the kernel only, which the inputs have to have.
    - `problems`: what is wrong, in words; empty at criticality, and where depth is too small for the exponentials to matter.
    - `remedy`: where the inputs have the wrong size for a critical point, which size they need; empty elsewhere.
    - `depth_over_width`: where it is large, single networks scatter widely, and few are like the infinitely wide ones.
    """

    chi_parallel: Float[np.ndarray, " later"]
    chi_perp: Float[np.ndarray, " later"]
    chain_rule: Float[np.ndarray, " L"]
    trivial: Float[np.ndarray, " L"]
    error: float
    bias: Float[np.ndarray, " L"]
    weight: Float[np.ndarray, " L"]
    critical: bool
    problems: tuple[str, ...]
    remedy: str
    depth_over_width: float

    def table(self) -> Table:
        """One row for each layer; the last has no layer after it, and no susceptibilities."""
        after = {name: np.append(getattr(self, name), np.nan) for name in ("chi_parallel", "chi_perp")}
        columns = {name: getattr(self, name) for name in ("chain_rule", "trivial", "bias", "weight")}
        facts = {"critical": self.critical, "error": self.error, "verdict": self.verdict}
        return Table(facts, {"layer": np.arange(1, len(self.bias) + 1), **after, **columns})

    @property
    def healthy(self) -> bool:
        """Whether no factor beyond two builds up exponentially over the depth."""
        return not self.problems

    @property
    def factor(self) -> float:
        """By which mean square gradients grow on their way from the last layer to the first, the error factor aside."""
        return float(self.chain_rule[0])

    @property
    def verdict(self) -> str:
        """One or two sentences, with the factor over the whole depth."""
        if len(self.chi_perp) == 0:
            return "One layer: there is no depth in which gradients could explode or vanish."
        return " ".join(filter(None, (self._of_averages(), self.remedy, self._of_single_networks())))

    def _of_averages(self) -> str:
        if self.problems:
            return " ".join(self.problems)
        change = "stays the same" if f"{self.factor:.3g}" == "1" else f"changes by a factor of {self.factor:.3g}"
        over = f"from the last layer to the first their mean square {change}"
        if self.critical:
            return f"The network is critical, so gradients change by powers of depth only: {over}."
        return (
            f"The network is not critical, chi_perp = {self.factor ** (1 / len(self.chi_perp)):.4g} a layer, but shallow enough: {over}. "
            "More layers multiply that further."
        )

    def _of_single_networks(self) -> str:
        if self.depth_over_width < _SCATTERED:
            return ""
        return (
            f"This is said of infinitely wide networks; at depth over width {self.depth_over_width:.3g} single ones scatter, "
            "as `ensembles.typical_networks` shows."
        )

    def __str__(self) -> str:
        names = ("layer", "chi_par", "chi_perp", "chain rule", "trivial", "biases", "weights")
        padded = [np.append(chi, np.nan) for chi in (self.chi_parallel, self.chi_perp)]
        columns = zip(*padded, self.chain_rule, self.trivial, self.bias, self.weight, strict=True)
        lines = ["  ".join(f"{name:>10}" for name in names)]
        for layer, numbers in enumerate(columns, start=1):
            shown = ("" if math.isnan(number) else f"{number:.4g}" for number in numbers)
            lines.append("  ".join(f"{text:>10}" for text in (str(layer), *shown)))
        return "\n".join([*lines, f"mean squared error factor: {self.error:.4g}", self.verdict])


@entry()
def diagnose_gradients(net: MLP, x: Any, y: Any = None) -> GradientDiagnosis:
    r"""Why gradients of a network explode or vanish, layer by layer, PDLT (9.87)-(9.93).

    - $\chi_\parallel > 1$: the kernel and the error factor explode, and for scale-invariant activations the trivial factor.
    - $\chi_\parallel < 1$ with a kernel that dies: signals vanish in deep layers, and with them the gradients of their weights.
    - $\chi_\perp > 1$: the chain-rule factor, and the tangent kernel of deep networks, explode.
    - $\chi_\perp < 1$: the chain-rule factor of shallow layers dies, and they do not learn.

    At criticality only powers of depth remain, whatever the factor over the depth of this network. Away from it, and that includes
    inputs of the wrong size at the critical point of GELU, a factor of more than two is called a problem.

    **Arguments:**

    - `net`: any MLP.
    - `x`: inputs (N, n_0).
    - `y`: targets (N, n_L), which count in the error factor; zero unless given.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.diagnose_gradients(net, [[1.0, 0.5]]).critical
        True
    """
    check_continuous(as_mlp(net).activation)
    split = tangent_contributions(net, x)
    kernels, chain, overlap, bias, weight = (
        np.asarray(part).diagonal(axis1=1, axis2=2)
        for part in (split.K, split.chain, split.overlap, split.bias, split.weight)
    )
    at = susceptibilities_at(net.activation, jnp.asarray(kernels[:-1]), net.C_W[1:, None])
    parallel, perp = (np.asarray(chi).mean(axis=1) for chi in (at.chi_parallel, at.chi_perp))
    targets = 0.0 if y is None else _mean_square(y, (len(kernels[-1]), net.widths[-1]))
    point = _point_of(net)
    critical = _is_critical(net.depth, point, parallel, perp)
    K, chain = kernels.mean(axis=1), chain.mean(axis=1)
    return GradientDiagnosis(
        parallel,
        perp,
        chain,
        overlap.mean(axis=1),
        float(K[-1]) + targets,
        bias.mean(axis=1),
        weight.mean(axis=1),
        critical,
        () if critical else _problems(parallel, perp, chain, K, _grows_for_ever(net, float(K[-1]))),
        "" if critical else _remedy(point, K),
        net.depth_over_width,
    )


def _mean_square(y: Any, shape: tuple[int, int]) -> float:
    targets = np.asarray(as_floats(y, "y"))
    if targets.shape != shape:
        raise ShapeError("y", f"shape {targets.shape}", f"{shape}, one row of targets for each input")
    return float(np.mean(targets**2))


def _point_of(net: MLP) -> CriticalPoint | None:
    """The critical point at which all layers behind the first are initialised, as closely as the depth allows."""
    hidden = np.stack([np.asarray(net.C_b)[1:], np.asarray(net.C_W)[1:]])
    points = criticality(net.activation).critical_points
    allowed = _ALMOST / net.depth
    return next((at for at in points if (np.abs(hidden - [[at.C_b], [at.C_W]]) < allowed * at.C_W).all()), None)


def _is_critical(depth: int, point: CriticalPoint | None, parallel: np.ndarray, perp: np.ndarray) -> bool:
    r"""Whether all susceptibilities are one, as closely as the depth allows, or tend to one as powers of depth do: at a point that
    attracts all kernels. A finite $K^\star$ does not: away from it they stay off one for thousands of layers."""
    if (np.abs(np.stack([parallel, perp]) - 1) < _ALMOST / depth).all():
        return True
    return point is not None and point.attracts and not point.K_star


def _grows_for_ever(net: MLP, K: float) -> bool:
    r"""Whether layers like the last enlarge the largest signals too, $C_W\,\overline{\sigma^2(\pm z)} > z^2$: otherwise kernels that grow
    now, as those of small inputs to tanh, are on their way up to a fixed point."""
    z = _LARGE * max(1.0, math.sqrt(K))
    with np.errstate(over="ignore"):
        square = np.mean((evaluated(net.activation.value, np.array([-z, z])) / z) ** 2)
    return bool(float(net.C_W[-1]) * square > 1)


def _problems(
    parallel: np.ndarray, perp: np.ndarray, chain: np.ndarray, K: np.ndarray, for_ever: bool
) -> tuple[str, ...]:
    """The table of consequences, where depth has made them visible, with the factors over the whole depth; `for_ever`: whether nothing
    would end a growth."""
    found = []
    growth, backward = (
        max(float(last / first), _TINY) if first > 0 else 1.0 for last, first in ((K[-1], K[0]), (chain[0], 1.0))
    )
    # Towards a fixed point of its own the kernel hardly changes any more; towards zero or infinity it does, by chi_parallel.
    last = float(K[-1] / K[-2])
    if for_ever and last > (1 + parallel[-1]) / 2 > 1 and growth > _HARMLESS:
        found.append(
            f"chi_parallel = {parallel[-1]:.4g} > 1: signals explode with depth, here by a factor of {growth:.3g} in mean square from "
            "the first layer to the last, and with them the error at the start."
        )
    # Steps that shrink by chi_parallel lead down to K_L - (K_{L-1} - K_L) chi/(1 - chi): to zero if that is less than half of K_L.
    to_zero = parallel[-1] < 1 and (1 - last) * parallel[-1] >= last * (1 - parallel[-1]) / 2
    if to_zero and growth < 1 / _HARMLESS:
        found.append(
            f"chi_parallel = {parallel[-1]:.4g} < 1: signals vanish with depth, here by a factor of {1 / growth:.3g} in mean square "
            "from the first layer to the last, and with them the gradients of deep weights."
        )
    if not 1 / _HARMLESS <= backward <= _HARMLESS:
        what, size = ("explode", backward) if backward > 1 else ("vanish", 1 / backward)
        found.append(
            f"chi_perp = {backward ** (1 / max(1, len(perp))):.4g} a layer: gradients {what} exponentially with depth, here by a "
            f"factor of {size:.3g} in mean square from the last layer to the first."
        )
    return tuple(found)


def _remedy(point: CriticalPoint | None, K: np.ndarray) -> str:
    if point is None or not point.K_star:
        return ""
    return (
        f"The initialisation is critical for kernels of K* = {point.K_star:.4g} only, and here they run from {K[0]:.3g} to {K[-1]:.3g}: "
        f"scale inputs to a mean square of {(point.K_star - point.C_b) / point.C_W:.5g}."
    )
