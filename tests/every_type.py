"""Every public class, and a made-up object of each: its fields filled in as their annotations say."""

import dataclasses
import enum
import inspect
import types
import typing

import jax
import numpy as np
from jaxtyping import AbstractArray

import finitewidth as fw
import made_up
import made_up_laws
from finitewidth._result import Result
from public_names import public_things

SIZES = {
    "L": 3,
    "layers": 3,
    "N": 2,
    "later": 2,
    "m": 2,
    "r": 2,
    "P": 3,
    "paths": 4,
    "times": 3,
    "levels": 3,
    "order": 2,
}
NET = fw.MLP("tanh", (2, 8, 4, 1))
BLOCK = fw.ShapedTransformer(fw.ShapedAttention(0.3, heads=2, mask="causal"), fw.ShapedResNet(0.3))


def public_classes() -> list[type]:
    """Every class that a user can reach through public names, errors aside."""
    classes = {thing for thing in public_things() if inspect.isclass(thing) and not issubclass(thing, BaseException)}
    return sorted(
        (kind for kind in classes if kind.__module__.startswith("finitewidth.")), key=lambda kind: kind.__name__
    )


def is_abstract(kind: type) -> bool:
    return kind in (
        fw.networks.Network,
        fw.networks.LayeredNetwork,
        fw.shaped.Block,
        fw.shaped.ShapedBlock,
        fw.shaped.ShapedActivation,
    )


def fields_of(kind: type) -> dict[str, typing.Any]:
    if hasattr(kind, "_fields"):
        return inspect.get_annotations(next(base for base in kind.__mro__ if "_fields" in vars(base)))
    return {field.name: field.type for field in dataclasses.fields(kind)}


def example(kind: type) -> typing.Any:
    """A made-up object of that class."""
    if kind in EXAMPLES:
        return EXAMPLES[kind]()
    values = {name: filled(annotation, name) for name, annotation in fields_of(kind).items()}
    if hasattr(kind, "_fields"):
        return kind(**values)
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def filled(annotation: typing.Any, name: str = "") -> typing.Any:
    """A value of that type; of a union the first that is not `None`."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, typing.TypeVar) or annotation is typing.Any:
        return np.random.default_rng(len(name)).uniform(1, 2, size=(3, 2, 2))
    if origin in (typing.Union, types.UnionType):
        return filled(next(part for part in parts if part is not type(None)), name)
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return array_of(annotation, name)
    if annotation in (np.ndarray, jax.Array, np.generic):
        return np.random.default_rng(len(name)).uniform(1, 2, size=3)
    if origin is tuple:
        return tuple(filled(part, name) for part in parts if part is not ...) * (2 if ... in parts else 1)
    if origin is dict:
        return {filled(parts[0], name): filled(parts[1], name)}
    if origin is typing.Literal:
        return parts[0]
    simple = {float: 0.5, int: 3, str: "made up", bool: True, complex: 1j}
    if annotation in simple:
        return simple[annotation]
    kind = origin or annotation
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    if issubclass(kind, fw.networks.Network):
        return NET
    return BLOCK if issubclass(kind, fw.shaped.Block) else example(kind)


def array_of(annotation: type, name: str) -> np.ndarray:
    dims = [dim for dim in annotation.dim_str.split() if dim != "..."]
    shape = [int(dim) if dim.isdigit() else SIZES.get(dim, 3) for dim in dims]
    values = np.random.default_rng(len(name)).uniform(1, 2, size=shape)
    kinds = annotation.dtypes
    return values > 1.5 if "bool" in kinds else values.astype(int) if "float64" not in kinds else values


def posterior() -> typing.Any:
    """Of one output on two test samples; the rest as its annotations say."""
    values = {name: filled(annotation, name) for name, annotation in fields_of(fw.results.Posterior).items()}
    shapes = {"mean": (2, 1), "sample_covariance": (2, 2), "wiring": (2, 2, 1, 1), "log_evidence": ()}
    values |= {name: np.full(shape, 0.5) for name, shape in shapes.items()} | {"whole_covariance": None, "order": 1}
    return fw.results.Posterior(**values)


def report() -> typing.Any:
    """On made-up numbers: what a report is made of does not matter here."""
    from functools import partial

    from finitewidth.reports.section import Column, Drawing, Fact, Section, Table, Words

    theory = made_up.theory()
    measured = made_up.perfect(theory)
    drawing = Drawing("flow", partial(fw.figures.flow_by_depth, theory, measured), "made up")
    parts = (Words("made up"), Table((Column("layer", ("1", "2")),)), drawing)
    section = Section("layers", "Layers", {"K": [1.0]}, parts, (Fact("depth", "3"), Fact("width", "8")))
    sides = Section("meta", "made up", {"seed": 0})
    return fw.reports.Report(sides, (section,), sides, theory, measured, fw.compare(theory, measured))


def law(**about: typing.Any) -> typing.Any:
    ends = [made_up_laws.tokens(rho, 1 + rho) for rho in (0.1, 0.2, 0.3, 0.4)]
    return made_up_laws.from_to(made_up_laws.tokens(0.2), ends, block=BLOCK, **about)


def feature_law(**about: typing.Any) -> typing.Any:
    """On made-up numbers that belong together where that is checked: the same inputs for all paths."""
    values = {name: filled(annotation, name) for name, annotation in fields_of(fw.results.FeatureLaw).items()}
    values["Phi"][:] = values["Phi"][0, 0]
    values["Phi"][:, 1:] += np.arange(4.0)[:, None, None, None]
    return fw.results.FeatureLaw(**values | about)


def transformer_report() -> typing.Any:
    of_networks = report()
    parts = of_networks.head, of_networks.sections, of_networks.foot
    return fw.reports.TransformerReport(*parts, law(), law(width=8), fw.compare(law(), law(width=8)))


def measured_flow() -> typing.Any:
    return made_up.perfect(made_up.theory())


def tangent(layers: tuple[int, ...] = (1, 3)) -> typing.Any:
    """Measured in some layers."""
    random, depth = np.random.default_rng(0), len(layers)
    two, four = random.uniform(size=(depth, 2, 2)), {name: random.uniform(size=(depth, *[2] * 4)) for name in "ABDF"}
    return fw.results.Tangent(Theta=two, H1=two, H=two, **four, layers=layers)


def differentials(kind: type, names: str, layers: tuple[int, ...] = (1, 3)) -> typing.Any:
    """Of tangent kernels, measured in some layers."""
    random = np.random.default_rng(1)
    return kind(**{name: random.uniform(size=(len(layers), *[2] * 4)) for name in names}, layers=layers)


EXAMPLES: dict[type, typing.Callable[[], typing.Any]] = {
    fw.MLP: lambda: NET,
    fw.ResidualMLP: lambda: fw.ResidualMLP("tanh", width=4, depth=3, gamma=0.5),
    fw.results.Flow: measured_flow,
    fw.results.Metric: lambda: measured_flow().metric,
    fw.results.Posterior: posterior,
    fw.results.Tangent: tangent,
    fw.results.Differential: lambda: differentials(fw.results.Differential, "PQ"),
    fw.results.SecondDifferential: lambda: differentials(fw.results.SecondDifferential, "RSTU"),
    fw.results.CovarianceLaw: law,
    fw.results.FeatureLaw: feature_law,
    fw.reports.FeatureComparison: lambda: fw.compare(feature_law(), feature_law(width=8)),
    fw.reports.Comparison: lambda: fw.compare(made_up.theory(), measured_flow()),
    fw.reports.LawComparison: lambda: fw.compare(law(), law(width=8)),
    fw.reports.Report: report,
    fw.reports.TransformerReport: transformer_report,
    fw.activations.ScaleInvariant: lambda: fw.activations.leaky_relu(0.3),
    fw.activations.ExponentialSum: lambda: fw.activations.exponential(0.5),
    fw.Activation: lambda: fw.ACTIVATIONS["tanh"],
    fw.gaussian.Function: lambda: fw.ACTIVATIONS["gelu"],
    fw.ShapedAttention: lambda: BLOCK.blocks[0],
    fw.ShapedResNet: lambda: BLOCK.blocks[1],
    fw.ShapedMLP: lambda: fw.ShapedMLP(fw.shaped.shaped_smooth("gelu")),
    fw.ShapedTransformer: lambda: BLOCK,
    fw.shaped.ShapedReLU: fw.shaped.shaped_relu,
    fw.shaped.ShapedSmooth: lambda: fw.shaped.shaped_smooth("tanh", a=2.0),
    fw.shaped.AblatedAttention: lambda: fw.shaped.AblatedAttention(BLOCK.blocks[0], identity=False),
    fw.shaped.FiniteStack: lambda: fw.shaped.FiniteStack(*BLOCK.blocks),
    fw.shaped.LayerNormTransformer: lambda: fw.shaped.LayerNormTransformer("post", heads=2, mask="window:2"),
    fw.shaped.BlockNetwork: lambda: BLOCK.at(width=8, depth=3),
    fw.gaussian.EvenAction: lambda: fw.gaussian.EvenAction(np.eye(2), [np.ones((2, 2, 2, 2))]),
    fw.learning.QuadraticModel: lambda: fw.learning.QuadraticModel(np.ones((2, 3)), np.ones((2, 3, 3)), 0.1),
    fw.ensembles.LazyGaussian: lambda: fw.ensembles.LazyGaussian(jax.random.key(0), (4, 3), 1.0),
    fw.critical.PhaseDiagram: lambda: diagram(),
    fw.learning.ModelComparison: lambda: fw.learning.ModelComparison(
        (NET, NET.replace(C_W=2.0)), np.array([-1.0, -2.0]), np.log([0.5, 0.5])
    ),
    fw.learning.EvidenceScan: lambda: fw.learning.EvidenceScan(
        np.array([0.0, 0.1]), np.array([1.0, 1.5, 2.0]), (2, 3), np.arange(-12.0, 0.0).reshape(2, 3, 2)
    ),
    fw.advice.ShapingAdvice: lambda: fw.advice.ShapingAdvice(
        (0.1, 0.2), (1.0,), tuple((fw.advice.Fates(0.0, explosion, 0.01),) for explosion in (0.02, 0.3))
    ),
}


def diagram() -> typing.Any:
    """A grid of forty by sixty, as users draw them."""
    C_b, C_W = np.linspace(0, 1, 40), np.linspace(0.5, 2, 60)
    grid = np.add.outer(C_b, C_W)
    phase = np.where(grid > 1.5, fw.critical.Phase.CHAOTIC, fw.critical.Phase.ORDERED)
    line = fw.critical.CriticalLine(C_W, C_W, C_W - 1)
    every = grid[..., None]
    return fw.critical.PhaseDiagram("tanh", C_b, C_W, phase, grid, grid, grid, every, every > 1, line, line)


RESULTS = [kind for kind in public_classes() if issubclass(kind, Result)]
DESCRIPTIONS = [
    kind
    for kind in public_classes()
    if not issubclass(kind, Result | enum.Enum)
    and not is_abstract(kind)
    and (
        issubclass(kind, fw.networks.Network | fw.shaped.Block | fw.shaped.ShapedActivation | fw.gaussian.Function)
        or kind
        in (
            fw.networks.Layer,
            fw.networks.ResidualLayer,
            fw.realised.Parameters,
            fw.gaussian.EvenAction,
            fw.proportional.ScalarSmooth,
        )
        or kind in (fw.ensembles.DenseGaussian, fw.ensembles.LazyGaussian)
    )
]
NEITHER = [
    kind
    for kind in public_classes()
    if kind not in RESULTS + DESCRIPTIONS and not issubclass(kind, enum.Enum) and not is_abstract(kind)
]
