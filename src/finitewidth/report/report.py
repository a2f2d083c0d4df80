"""`report`: all there is to say about a network at initialisation, in one plain structure."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import ValidityWarning
from .._precision import in_float64
from .._validation import as_count
from ..criticality import Criticality, CriticalPoint, criticality
from ..ensembles import MeasuredFlow, simulate
from ..flow import Flow, flow
from ..networks import MLP, as_mlp
from ..networks.tangent_map import has_tangent_kernel
from .compare import Comparison, compare
from .document import Document
from .inputs import best_mean_square, generic_inputs, quick
from .plain import describe, meta, plain
from .training import training
from .validity import regime

if TYPE_CHECKING:
    from rich.console import RenderableType

_SAME = 1e-9  # relative difference of hyperparameters below which a network counts as tuned


@dataclass(frozen=True, eq=False, repr=False)
class Report(Document):
    """A report. `data` is all of it in types that JSON knows; print it, or ask for `to_json()` or `to_html()`.

    - `data["meta"]`: versions, seed, settings, inputs. `data["network"]`: what it is about.
    - `data["criticality"]`: class, reason, all critical points, the `recommended` one, whether the network is `tuned`.
    - `data["layers"]`: columns by layer, one entry a layer (and input): theory and, under `measured`, networks.
    - `data["training"]`: tangent kernel of the first input by layer, its fluctuation, each layer's share in it, learning rates
      of plain gradient descent, a verdict; `null` for activations that jump.
    - `data["validity"]`: depth over width, fluctuation of the last layer, and what they mean.
    - `data["agreement"]`: theory against the networks, in standard errors.

    `theory`, `measured` and `comparison` are the results behind it.
    """

    theory: Flow
    measured: MeasuredFlow
    comparison: Comparison

    def to_html(self) -> str:
        """A page that needs nothing but itself."""
        from .html import page

        return page(self)

    def __rich__(self) -> "RenderableType":
        from .terminal import renderable

        return renderable(self.data)


@in_float64
def report(
    net: MLP, x: Any = None, *, networks: int | None = None, seed: int = 0, progress: bool | None = None
) -> Report:
    r"""Criticality, kernel, vertex and fluctuations of a network by depth, laid over a quick simulation.

    **Arguments:**

    - `net`: the network, tuned or not.
    - `x`: inputs, shape (N, n_0). By default two inputs of correlation one half; their mean square is one, or, for a
      network tuned to a finite $K^\star$, the one that makes $K^{(1)} = K^\star$.
    - `networks`: how many networks to draw; by default as many as a few seconds allow.
    - `seed`: of the simulation.
    - `progress`: as in `simulate`.
    """
    as_mlp(net)
    if x is not None:
        net.first_kernel(x)  # bad inputs are refused before any work
    count = quick(net) if networks is None else as_count(networks, "networks", at_least=2)
    verdict = criticality(net.activation)
    inputs, described = _generic(net, verdict) if x is None else (x, "given")
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as compiler:
        warnings.simplefilter("ignore", ValidityWarning)  # it is what the section on validity is about
        # Most of the time is spent in XLA's compiler, which lets two threads use two processors.
        of_theory = compiler.submit(flow, net, inputs)
        of_training = compiler.submit(training, net, inputs) if has_tangent_kernel(net.activation) else None
        measured = simulate(net, inputs, networks=count, seed=seed, progress=progress)
        theory, trained = of_theory.result(), None if of_training is None else of_training.result()
    comparison = compare(theory, measured)
    data = {
        "meta": meta(seed=measured.seed, networks=count, method=measured.method, inputs=described),
        "network": describe(net),
        "criticality": _criticality(net, verdict),
        "layers": _layers(theory, measured),
        "training": trained,
        "validity": _validity(theory),
        "agreement": _agreement(comparison),
    }
    return Report(plain(data), theory, measured, comparison)


def _generic(net: MLP, verdict: Criticality) -> tuple[np.ndarray, str]:
    point = verdict.point
    at_point = point is not None and _tuned(net, point)
    return generic_inputs(net.widths[0], best_mean_square(point) if point and at_point else 1.0)


def _criticality(net: MLP, verdict: Criticality) -> dict[str, Any]:
    point = verdict.point
    return {
        "class": verdict.universality_class,
        "tunable": verdict.tunable,
        "reason": verdict.reason,
        "critical_points": [asdict(each) for each in verdict.critical_points],
        "recommended": None if point is None else asdict(point) | {"mean_square": best_mean_square(point)},
        "tuned": point is not None and _tuned(net, point),
        "coefficients": {"a1": verdict.a1, "a2": verdict.a2, "b1": verdict.b1},
        "exponents": None if verdict.exponents is None else asdict(verdict.exponents),
    }


def _tuned(net: MLP, point: CriticalPoint) -> bool:
    close = [np.allclose(a, b, rtol=_SAME, atol=_SAME) for a, b in ((net.C_b, point.C_b), (net.C_W, point.C_W))]
    return all(close)


def _layers(theory: Flow, measured: MeasuredFlow) -> dict[str, Any]:
    r"""Columns by layer: $K$, $G$, $G^{\{1\}}$, $V$ and $V/(nK^2)$ of each input, correlation with the first."""

    def own(array: Any) -> np.ndarray:
        return np.diagonal(array, axis1=1, axis2=2)

    def own_vertex(array: Any) -> np.ndarray:
        a = np.arange(array.shape[1])
        return array[:, a, a, a, a]

    def both(function: Any, measurement: Any) -> dict[str, np.ndarray]:
        return {"mean": function(measurement.mean), "standard_error": function(measurement.standard_error)}

    kernel = own(theory.K)
    scale = theory.previous_widths[:, None] * kernel**2
    return {
        "layer": np.arange(1, len(kernel) + 1),
        "K": kernel,
        "G": own(theory.G),
        "G1": own(theory.G1),
        "V": own_vertex(theory.V),
        "relative_fluctuation": theory.relative_fluctuation,
        "correlation": theory.K[:, 0] / np.sqrt(kernel[:, :1] * kernel),
        "measured": {
            "K": both(own, measured.K),
            "G1": both(own, measured.G1),
            "V": both(own_vertex, measured.V),
            "relative_fluctuation": both(lambda array: own_vertex(array) / scale, measured.V),
        },
    }


def _validity(theory: Flow) -> dict[str, Any]:
    fluctuation = float(theory.relative_fluctuation.max())
    found = regime(fluctuation)
    return {
        "depth_over_width": theory.net.depth_over_width,
        "relative_fluctuation": fluctuation,
        "relative_spread": float(np.sqrt(fluctuation)),
        "label": found.label,
        "meaning": found.meaning,
    }


def _agreement(comparison: Comparison) -> dict[str, Any]:
    return {
        "entries": len(comparison),
        "worst": comparison.worst._asdict(),
        "summary": [line._asdict() for line in comparison.summary()],
    }
