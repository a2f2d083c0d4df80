"""`report`: all there is to say about a network at initialisation, section by section."""

import contextlib
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._compile import long_run
from .._entry import entry
from .._errors import ValidityWarning
from .._validation import as_count, as_seed
from ..critical import Criticality, criticality, residual_nu
from ..ensembles import simulate
from ..expansion import flow
from ..expansion.flow import check_flow_memory
from ..networks import MLP, ResidualMLP, as_layered
from ..networks.residual import refuse_norm
from ..results import Flow
from .comparison.flows import Comparison, compare_flows
from .document import Document
from .inputs import best_mean_square, generic_inputs, quick
from .sections.agreement import about_agreement
from .sections.at_this_depth import at_this_depth
from .sections.criticality import about_criticality, is_tuned
from .sections.in_short import about_in_short, about_residual_in_short
from .sections.layers import about_layers
from .sections.network import about_network
from .sections.origin import about_origin
from .sections.training import about_training
from .sections.typical import WIDE_SPREAD, about_typical, quick_typical
from .sections.validity import about_validity
from .sections.vocabulary import about_words
from .sections.what_to_do import about_what_to_do
from .sections.what_to_do_with_skips import about_what_to_do_with_skips

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_INPUTS, _FEW_LAYERS = 2, 100


@dataclass(frozen=True, eq=False, repr=False)
class Report(Document):
    """A report. `data` is all of it in types that JSON knows; print it, or ask for `to_json()` or `to_html()`.

    - `data["meta"]`: versions, seed, settings, inputs. `data["network"]`: what it is about.
    - `data["in_short"]`: the headline, and a line each on signals, gradients and agreement.
    - `data["criticality"]`: class, reason, all critical points, the `recommended` one, whether the network is `tuned`.
    - `data["layers"]`: columns by layer, one entry a layer (and input): theory and, under `measured`, networks.
    - `data["training"]`: tangent kernel of the first input by layer, its fluctuation, each layer's share in it, learning
      rates of plain gradient descent, a verdict; `null` for activations that jump.
    - `data["validity"]`: depth over width, the largest fluctuation of all layers, and what they mean.
    - `data["typical"]`: where networks differ much, quantiles of kernel and gradients over them, measured and, where known, theory's.
    - `data["agreement"]`: theory against the networks, in standard errors.
    - `data["words"]`: what the words of the report mean.
    - `data["what_to_do"]`: initialisation, inputs, another activation if this one cannot be tuned, widths and depths that are safe.

    `theory`, `measured` and `comparison` are the results behind it.
    """

    theory: Flow
    measured: Flow
    comparison: Comparison

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """That of `theory`."""
        return self.theory.plot(ax)


@entry()
def report(
    net: MLP | ResidualMLP, x: Any = None, *, networks: int | None = None, seed: int = 0, progress: bool | None = None
) -> Report:
    r"""Criticality, kernel, vertex and fluctuations of a network by depth, laid over a quick simulation.

    **Arguments:**

    - `net`: an MLP or a residual one, tuned or not. Of residual networks a report has no sections on training and on typical networks.
    - `x`: inputs, shape (N, n_0). By default two inputs of correlation one half; their mean square is one, or, for a
      network tuned to a finite $K^\star$, the one that makes $K^{(1)} = K^\star$.
    - `networks`: how many networks to draw; by default as many as a few seconds allow.
    - `seed`: of the simulation.
    - `progress`: as in `simulate`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.report(net, [[1.0, 0.5], [0.3, -1.0]], networks=1000).data["network"]["depth"]
        3
    """
    refuse_norm(as_layered(net), "net", "no vertex", "norm=None; `simulate` measures such networks")
    if x is not None:
        check_flow_memory(net, len(net.first_kernel(x)), "vertex", "x")  # bad inputs are refused before any work
    count, seed = quick(net) if networks is None else as_count(networks, "networks", at_least=2), as_seed(seed)
    verdict = criticality(net.activation)
    inputs, described = _generic(net, verdict) if x is None else (x, "given")
    if isinstance(net, ResidualMLP):
        return _of_residual(net.reading(inputs), verdict, inputs, described, count, seed, progress)
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as compiler:
        warnings.simplefilter("ignore", ValidityWarning)  # it is what the section on validity is about
        # Most of the time is spent in XLA's compiler, which lets two threads use two processors.
        of_theory = compiler.submit(_theory, net, inputs)
        of_training = compiler.submit(about_training, net, inputs)
        measured = simulate(net, inputs, networks=count, seed=seed, progress=progress)
        theory, training = of_theory.result(), of_training.result()
    comparison = compare_flows(theory, measured)
    fluctuations = np.asarray(theory.relative_fluctuation).max(axis=1)
    fluctuation = float(fluctuations.max())
    apart = training.data is not None and max(fluctuation, training.data["relative_fluctuation"][-1]) >= WIDE_SPREAD
    typical = quick_typical(net, inputs, seed) if apart else None
    kernel = np.asarray(theory.K)[:, 0, 0]
    ill = training.data is not None and bool(training.data["problems"])
    at_depth = at_this_depth(net, verdict, np.asarray(inputs, dtype=float)[:1]) if ill else None
    sections = [
        about_in_short(net.depth, kernel, training.data, fluctuation, typical, comparison, at_depth),
        about_criticality(net, verdict),
        about_layers(theory, measured, _slope(net, verdict), comparison),
        training,
        about_validity(net, fluctuation),
    ]
    if typical is not None:
        sections.append(about_typical(net, inputs, typical, float(kernel[-1]), fluctuation))
    sections += [
        about_agreement(comparison, fluctuation),
        about_words(),
        about_what_to_do(net, verdict, fluctuations, at_depth is not None and at_depth.no_worse),
    ]
    return Report(about_network(net), tuple(sections), about_origin(measured, described), theory, measured, comparison)


def _theory(net: MLP, inputs: Any) -> Flow:
    """Its program runs once here, and for few inputs and layers in less time than the compiler takes to optimise it."""
    few = len(inputs) <= _FEW_INPUTS and net.depth <= _FEW_LAYERS
    with long_run(False) if few else contextlib.nullcontext():
        return flow(net, inputs)


def _of_residual(
    net: ResidualMLP,
    verdict: Criticality,
    inputs: Any,
    described: str,
    networks: int,
    seed: int,
    progress: bool | None,
) -> Report:
    """The sections of which theory knows enough with skips: nothing on training and typical networks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)  # it is what the section on validity is about
        theory, measured = flow(net, inputs), simulate(net, inputs, networks=networks, seed=seed, progress=progress)
    comparison, tuned = compare_flows(theory, measured), is_tuned(net, verdict)
    fluctuation = float(np.asarray(theory.relative_fluctuation).max())
    kernel = np.asarray(theory.K)[:, 0, 0]
    sections = (
        about_residual_in_short(net, tuned, verdict.point is not None, kernel, fluctuation, comparison),
        about_criticality(net, verdict),
        about_layers(theory, measured, residual_nu(net.activation, float(net.gamma)) if tuned else None, comparison),
        about_validity(net, fluctuation),
        about_agreement(comparison, fluctuation),
        about_words(),
        about_what_to_do_with_skips(net, verdict, fluctuation),
    )
    return Report(about_network(net), sections, about_origin(measured, described), theory, measured, comparison)


def _generic(net: MLP | ResidualMLP, verdict: Criticality) -> tuple[Any, str]:
    point = verdict.point
    return generic_inputs(net.widths[0], best_mean_square(point) if point and is_tuned(net, verdict) else 1.0)


def _slope(net: MLP, verdict: Criticality) -> float | None:
    """Of the fluctuation by depth over width, which a critical network has."""
    return verdict.exponents.nu if verdict.exponents and is_tuned(net, verdict) else None
