"""Whether gradients of a deep network explode or vanish, and why."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._validation import as_floats
from ..critical.one_input.susceptibilities import susceptibilities_at
from ..critical.one_input.trust import check_continuous
from ..expansion.tangent_layers import tangent_contributions
from ..networks import MLP, as_mlp

# Power laws change a quantity by chi = 1 - p/l a layer, with p <= 2, so L |log chi| <= 2 at any depth; beyond this it is
# an exponential that depth has made visible.
_EXPONENTIAL = 4.0


@dataclass(frozen=True)
class GradientDiagnosis:
    r"""The factors of $\frac{d\mathcal L}{d\theta^{(\ell)}} =
    \epsilon\cdot\frac{dz^{(L)}}{dz^{(\ell)}}\cdot\frac{dz^{(\ell)}}{d\theta^{(\ell)}}$, PDLT (9.87), at infinite width,
    averaged over inputs. Layer $\ell$ at index $\ell-1$. `str()` of it is a table and a verdict.

    - `chi_parallel`, `chi_perp`: the susceptibilities between layers $\ell$ and $\ell+1$, for $\ell < L$.
    - `chain_rule`: the mean square of the chain-rule factor, $\prod_{\ell'=\ell}^{L-1}\chi_\perp^{(\ell')}$, PDLT (9.88), (9.93).
    - `trivial`: the mean square of the trivial factor of weights, $g^{(\ell-1)}$, PDLT (9.90), (9.92); of biases it is one.
    - `error`: the mean square of the error factor under the squared loss, $K^{(L)} + \overline{y^2}$, PDLT (9.91); one number.
    - `bias`, `weight`: contributions of the layer to the tangent kernel, with the rates of the network, PDLT (9.28).
    - `problems`: what is wrong, in words; empty at criticality.
    """

    chi_parallel: Float[np.ndarray, " later"]
    chi_perp: Float[np.ndarray, " later"]
    chain_rule: Float[np.ndarray, " L"]
    trivial: Float[np.ndarray, " L"]
    error: float
    bias: Float[np.ndarray, " L"]
    weight: Float[np.ndarray, " L"]
    problems: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing changes exponentially with depth."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One or two sentences."""
        if self.problems:
            return " ".join(self.problems)
        return "Gradients change with depth by powers at most: neither do they explode nor vanish."

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

    The susceptibilities of the last hidden layer decide, against the depth: at criticality only powers of depth remain.

    **Arguments:**

    - `net`: any MLP.
    - `x`: inputs (N, n_0).
    - `y`: targets (N, n_L), which count in the error factor; zero unless given.
    """
    check_continuous(as_mlp(net).activation)
    split = tangent_contributions(net, x)
    kernels, chain, overlap, bias, weight = (
        np.asarray(part).diagonal(axis1=1, axis2=2)
        for part in (split.K, split.chain, split.overlap, split.bias, split.weight)
    )
    at = susceptibilities_at(net.activation, jnp.asarray(kernels[:-1]), net.C_W[1:, None])
    parallel, perp = (np.asarray(chi).mean(axis=1) for chi in (at.chi_parallel, at.chi_perp))
    targets = 0.0 if y is None else float(jnp.mean(as_floats(y, "y") ** 2))
    return GradientDiagnosis(
        parallel,
        perp,
        chain.mean(axis=1),
        overlap.mean(axis=1),
        float(kernels[-1].mean()) + targets,
        bias.mean(axis=1),
        weight.mean(axis=1),
        _problems(parallel, perp, kernels.mean(axis=1)),
    )


def _problems(parallel: np.ndarray, perp: np.ndarray, K: np.ndarray) -> tuple[str, ...]:
    """The table of consequences, where depth has made them visible."""
    if len(parallel) == 0:
        return ()
    depth, found = len(K), []
    along = depth * math.log(max(abs(parallel[-1]), np.finfo(float).tiny))
    across = depth * math.log(max(perp[-1], np.finfo(float).tiny))
    if along > _EXPONENTIAL:
        found.append(f"chi_parallel = {parallel[-1]:.4g} > 1: kernel and error factor explode with depth.")
    if along < -_EXPONENTIAL and K[-1] < K[0] * math.exp(-_EXPONENTIAL):
        found.append(f"chi_parallel = {parallel[-1]:.4g} < 1: signals vanish, and deep weights have no gradient.")
    if across > _EXPONENTIAL:
        found.append(f"chi_perp = {perp[-1]:.4g} > 1: the tangent kernel and gradients of shallow layers explode.")
    if across < -_EXPONENTIAL:
        found.append(f"chi_perp = {perp[-1]:.4g} < 1: gradients of shallow layers vanish, only the last layers learn.")
    return tuple(found)
