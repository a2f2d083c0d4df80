"""Every public call once, on small problems: what it returns is recorded, so that code can move and numbers stay.

`python calls.py --record recorded.npz` writes down what the installed code gives. Names of the library are met in two places
only: the imports, and the functions `of_...` that take results apart.
"""

import argparse
import functools
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib import pyplot

from finitewidth import (
    ACTIVATIONS,
    MLP,
    Activation,
    ArgumentError,
    BlowUpError,
    DomainError,
    ShapedAttention,
    ShapedMLP,
    ShapedResNet,
    ShapedTransformer,
    ShapeError,
    UnknownNameError,
    ValidityWarning,
    compare,
    covariance_sde,
    criticality,
    diagnose_gradients,
    draw_parameters,
    empirical_ntk,
    flow,
    frozen_ntk,
    gaussian_expectation,
    gradient_step,
    kernel,
    learning_rates,
    ntk,
    ntk_samples,
    phase_diagram,
    report,
    simulate,
    susceptibilities,
    transformer_report,
    tune,
)
from finitewidth.activations import exponential, leaky_relu, monomial, scale_invariant
from finitewidth.advice import equivalence_rates, standard_rates
from finitewidth.critical import (
    angle_flow,
    angle_moments,
    asymptotics,
    corner_strength,
    crossover_depth,
    effective_exponents,
    first_layer_components,
    fixed_points,
    gamma_components,
    kernel_series,
    near_coincidence_average,
    perturbed_pair_flow,
    renormalised_C_W,
    semi_critical_asymptotics,
    single_input_flow,
    tangent_angle_flow,
    tangent_asymptotics,
    tangent_fixed_points,
    tangent_single_input_flow,
)
from finitewidth.ensembles import DenseGaussian, LazyGaussian
from finitewidth.ensembles.forward_backward import backward, draw, forward
from finitewidth.exact import (
    c_2m,
    deep_linear,
    exact_tangent_flow,
    fixed_ratio_connected,
    fixed_ratio_moment,
    linear_connected_correlator,
    linear_correlator,
    linear_phase,
    log_kernel_statistics,
    moment_ratio,
    sample_scale_invariant,
    scale_invariant_flow as exact_single_input_flow,
)
from finitewidth.expansion import (
    averaged_tangent_covariance,
    connected_correlator,
    correlator,
    covariance_between_neurons,
    expectation_to_first_order,
    observable_with_tangent,
    tangent_contributions,
    tangent_correlator,
    tangent_preactivation_correlator,
    two_weight_insertions,
    weight_generating_function,
)
from finitewidth.expansion.metric_fluctuations import (
    coupling_trend,
    expanded_determinant,
    expanded_exponential,
    expanded_inverse,
    interlayer_log_density,
    joint_log_density,
    layer_log_density,
)
from finitewidth.expansion.running_couplings import (
    effective_action,
    marginalise_neurons,
    metric_from_couplings,
    quadratic_coupling,
    quartic_coupling,
    running_metric,
    vertex_from_couplings,
)
from finitewidth.figures import (
    comparison as comparison_figure,
    flow_by_depth,
    law_densities,
    phase_diagram as phase_diagram_figure,
    ratio_of_susceptibilities,
    tangent_contributions as tangent_contributions_figure,
    tangent_ratios,
    tokens_by_depth,
)
from finitewidth.gaussian import Function
from finitewidth.gaussian.actions import EvenAction
from finitewidth.gaussian.cumulants import (
    connected_from_even_moments,
    connected_from_moments,
    excess_kurtosis,
    moments_from_connected,
    sample_cumulants,
)
from finitewidth.gaussian.line import line_average
from finitewidth.gaussian.nearly_gaussian import (
    covariance_between_neurons as nearly_gaussian_covariance,
    density,
    density_correction,
    expectation as nearly_gaussian_expectation,
    marginalise_samples,
)
from finitewidth.gaussian.orthants import sign_product, step_product
from finitewidth.gaussian.pairs import pair_moment, square_average
from finitewidth.gaussian.products import product_moment
from finitewidth.gaussian.sign_moments import two_slope_average
from finitewidth.gaussian.wick import (
    gaussian_log_density,
    gaussian_moment,
    log_normaliser,
    log_source_generating_function,
    pairings,
    wick_moment,
)
from finitewidth.kernels.kernel_map import kernel_recursion
from finitewidth.learning import predicted_change, predicted_loss_change
from finitewidth.learning.transformer import (
    LanguageModel,
    Text,
    entropy_at_initialisation,
    gradient_norms,
    recover,
    train,
)
from finitewidth.networks.shaped import (
    AblatedAttention,
    FiniteStack,
    LayerNormTransformer,
    equal_tokens,
    shaped_relu,
    shaped_smooth,
)
from finitewidth.proportional import (
    correlation_coefficients,
    correlation_sde,
    drift_ode,
    residual_ode,
    scalar_smooth,
    scaling_regime,
    step_advice,
)
from finitewidth.proportional.linear import (
    finite_log_determinant,
    log_determinant,
    log_norm,
    sample_finite_log_determinant,
    second_moments,
)
from finitewidth.proportional.regimes import collapse, fluctuation, unshaped_relu_collapse
from finitewidth.realised import apply, ntk_contributions
from finitewidth.reports import Comparison, LawComparison, Report, TransformerReport
from finitewidth.reports.sections.validity import regime
from finitewidth.results import CovarianceLaw, Flow, Measurement

mpl.use("Agg")

MADE_BY = "8f3aaad"  # the commit whose code made the record
MOST_ENTRIES = 40  # of an array that is kept whole
PROSE = {
    "headline",
    "lines",
    "reason",
    "meaning",
    "verdict",
    "formula",
    "network",
}  # of a report: words, and what it is about

# Results taken apart.


def of_flow(flow):
    return {"K": flow.K, "V": flow.V, "G1": flow.G1, "G": flow.G, "fluctuation": flow.relative_fluctuation}


def of_next_order(flow):
    return of_flow(flow) | {"U": flow.six_point, "V1": flow.V1, "G2": flow.G2}


def of_tangent_flow(flow):
    means = {"Theta": flow.Theta, "H1": flow.H1, "H": flow.H, "fluctuation": flow.relative_tangent_fluctuation}
    return {"K": flow.K, "V": flow.V, "A": flow.A, "B": flow.B, "D": flow.D, "F": flow.F} | means


def of_exact_tangent_flow(flow):
    means = {"K": flow.K, "Theta": flow.Theta}
    return means | {"V": flow.V, "D": flow.D, "F": flow.F, "B": flow.B, "A": flow.A}


def of_deep_linear(flow):
    moments = {"second moments": flow.second_moments, "layer averages": flow.layer_average_covariance}
    return {"G": flow.G, "V": flow.V} | moments


def of_linear_phase(phase):
    return {"name": phase.name, "fixed point": phase.fixed_point, "depth scale": phase.depth_scale}


def of_measurement(measurement):
    return np.stack([measurement.mean, measurement.standard_error])


def of_measured_flow(measured):
    fields = {"K": measured.G, "V": measured.V, "G1": measured.G1}  # by the names they had when they were recorded
    return {name: of_measurement(field) for name, field in fields.items()}


def of_measured_tangent_flow(measured):
    tangent = measured.tangent
    fields = {"Theta": tangent.H, "H1": tangent.H1, "A": tangent.A, "B": tangent.B, "D": tangent.D, "F": tangent.F}
    found = {name: of_measurement(field) for name, field in fields.items()}
    return of_measured_flow(measured) | found | {"layers": np.asarray(tangent.layers)}


def of_law(law):
    ends = {"stopping times": law.stopping_times, "status": law.status, "stopped": law.stopped_fraction}
    return {"times": law.times, "V": law.V, "median": law.quantile(0.5)} | ends


def of_parameters(parameters):
    return {"weights": joined(parameters.weights), "biases": joined(parameters.biases)}


def of_contributions(contributions):
    return {"biases": contributions.biases, "weights": contributions.weights}


def of_tangent_contributions(split):
    parts = {"bias": split.bias, "weight": split.weight, "chain": split.chain, "overlap": split.overlap}
    return parts | {"total": split.total}


def of_critical_point(point):
    return [point.C_b, point.C_W, math.nan if point.K_star is None else point.K_star, point.a1_tilde, point.order]


def of_criticality(verdict):
    exponents, coefficients = verdict.exponents, [verdict.a1, verdict.a2, verdict.b1]
    names = ("p_0", "p_parallel", "p_perp", "p_psi", "p_V", "p_1", "nu")
    return {
        "class": str(verdict.universality_class),
        "points": [of_critical_point(point) for point in verdict.critical_points],
        "stability": " ".join(str(point.stability) for point in verdict.critical_points),
        "coefficients": [numbered(value) for value in coefficients],
        "exponents": [numbered(getattr(exponents, name)) for name in names] if exponents else [],
    }


def of_asymptotics(late):
    parts = {"K": late.K, "parallel": late.parallel, "V": late.V, "G1": late.G1}
    optional = {"perp": late.perp, "G1 renormalised": late.G1_renormalised, "l_0": late.l_0}
    return parts | {name: value for name, value in optional.items() if value is not None}


def of_tangent_asymptotics(late):
    names = ("K", "Theta", "V", "D", "F", "B", "A")
    exponents = late.exponents
    powers = [getattr(exponents, f"p_{name}") for name in ("0", "Theta", "V", "D", "F", "B", "A")]
    slopes = [] if late.slopes is None else list(late.slopes)
    return {name: getattr(late, name) for name in names} | {"exponents": powers, "slopes": slopes}


def of_fixed_points(points):
    return {
        "numbers": [[numbered(p.K_star), p.chi_parallel, p.chi_perp] for p in points],
        "stability": " ".join(str(p.stability) for p in points),
    }


def of_tangent_fixed_points(points):
    names = ("K_star", "chi_parallel", "chi_perp", "Theta", "V", "D", "F", "B", "A")
    return {"numbers": [[getattr(point, name) for name in names] for point in points]}


def of_phase_diagram(diagram):
    lines = (diagram.perp_line, diagram.parallel_line)
    return {
        "phase": " ".join(map(str, diagram.phase.ravel())),
        "K_star": diagram.K_star,
        "chi": np.stack([diagram.chi_parallel, diagram.chi_perp]),
        "depths": np.stack([diagram.depth_parallel, diagram.depth_perp]),
        "fixed points": diagram.fixed_points,
        "lines": joined([np.stack([line.K, line.C_W, line.C_b]) for line in lines]),
    }


def of_susceptibilities(at):
    return {"chi": np.stack([at.chi_parallel, at.chi_perp]), "h, j": np.stack([at.h, at.j]), "ratio": at.ratio}


def of_single_input_flow(flow):
    return {"K": flow.K, "V": flow.V, "G1": flow.G1, "chi": np.stack([flow.chi_parallel, flow.chi_perp])}


def of_tangent_single_input_flow(flow):
    names = ("K", "Theta", "V", "D", "F", "B", "A")
    return {name: getattr(flow, name) for name in names} | {"ratios": np.stack(flow.ratios)}


def of_exact_single_input_flow(flow):
    return {"moments": flow.moments, "V": flow.V}


def of_angle_flow(flow):
    return {"psi": flow.psi, "K_0": flow.K_0, "K_2": flow.K_2}


def of_tangent_angle_flow(flow):
    return {"psi": flow.psi, "diagonal": flow.diagonal, "between": flow.between, "correlation": flow.correlation}


def of_angle_moments(moments):
    return np.stack([moments.values, moments.slopes, moments.squares, moments.cube])


def of_perturbed_pair(pair):
    parts = {"K_00": pair.K_00, "K_1": pair.delta_K_1, "K_2": pair.deltadelta_K_2, "K_0": pair.deltadelta_K_0}
    return parts | {"jacobian": pair.jacobian_norm, "eigenvalues": pair.eigenvalues, "eigenvectors": pair.eigenvectors}


def of_gamma_components(components):
    return np.stack([components.K_0, components.K_1, components.K_2])


def of_kernel_series(series):
    numbers = [series.sigma_0, series.A2, series.A4, series.a1, series.a2, series.b1]
    return {"derivatives": series.right, "mean square": series.mean_square, "numbers": numbers}


def of_network(net):
    return {"C_b": net.C_b, "C_W": net.C_W, "lambda_b": net.lambda_b, "lambda_W": net.lambda_W}


def of_learning_rates(rates):
    return {"bias": rates.bias, "weight": rates.weight, "rate": rates.rate}


def of_diagnosis(found):
    numbers = {"chi": np.stack([found.chi_parallel, found.chi_perp]), "error": found.error, "healthy": found.healthy}
    return numbers | {"by layer": np.stack([found.chain_rule, found.trivial, found.bias, found.weight])}


def of_block(block, V):
    coefficients = {"drift": block.drift(V), "diffusion": block.diffusion(V)}
    return coefficients | {"noise": float(block.value_noise), "largest step": float(block.largest_step)}


def of_shaped_activation(activation, V, width):
    shape = activation.at_width(width)
    return {"drift": activation.drift(V), "values": shape(POINTS), "norm": activation.normalisation(width)}


def of_step_advice(advice):
    means = {"mean": advice.mean, "error": advice.standard_error, "extrapolated": advice.extrapolated}
    weak = {"weak error": advice.weak_error, "uncertainty": advice.weak_error_uncertainty}
    return means | weak | {"steps": advice.steps, "suggested": advice.suggested_steps}


def of_paths(paths):
    return {"times": paths.times, "rho": paths.rho}


def of_scalar_paths(paths):
    return {"times": paths.times, "X": paths.X, "blow-up times": paths.blow_up_times}


def of_normal(law):
    return [law.mean, law.variance]


def of_comparison(found):
    numbers = {"theory": found.theory, "measured": found.measured, "error": found.standard_error}
    old = {"G": "K", "H": "Theta"}  # what means were called when they were recorded
    names = {
        "quantities": " ".join(old.get(name, name) for name in found.quantities),
        "components": " ".join(
            re.sub(r"^[GH]\(", lambda m: f"{old[m[0][0]]}(", name) for name in found.component.tolist()
        ),
    }
    return numbers | {"deviation": found.deviation, "worst": found.worst.deviation} | names


def of_law_comparison(found):
    return {
        "entries": " ".join(row.entry for row in found.rows),
        "quantiles": [[row.first, row.second] for row in found.rows],
        "distances": [row.distance for row in found.rows],
        "p values": [row.p_value for row in found.rows],
    }


def of_document(document):
    """All of a report but its prose, and the versions of what made it."""
    found = {name: without_prose(part) for name, part in document.data.items() if name != "meta"}
    if "layers" in found:  # the mean metric was called K when it was recorded
        measured = found["layers"]["measured"]
        found["layers"]["measured"] = {"K" if name == "G" else name: part for name, part in measured.items()}
        found["agreement"]["summary"]["quantity"] = re.sub(r"\bG\b", "K", found["agreement"]["summary"]["quantity"])
    return found


def of_even_action(action):
    sizes = action.sizes()
    return {
        "values": action(POINTS[:6].reshape(3, 2)),
        "log normaliser": action.log_normaliser(),
        "connected": joined([action.connected(2), action.connected(4)]),
        "moment": action.moment((0, 0, 1, 1)),
        "size": sizes.sizes[4],
        "judged": [sizes.nearly_gaussian, sizes.hierarchical],
    }


def of_training(training):
    model = {"embedding": training.model.embedding, "values": training.model.blocks.value}
    return {"loss": training.loss, "entropy": training.entropy} | model


def of_axes(axes):
    """What is drawn: the lines of one pair of axes or of several."""
    lines = [line for one in np.atleast_1d(np.asarray(axes, dtype=object)).ravel() for line in one.get_lines()]
    data = [np.stack([np.asarray(part, dtype=float) for part in line.get_data()]) for line in lines]
    pyplot.close("all")
    return {"lines": len(lines), "data": joined([part for part in data if part.size])}


# Problems.

X = np.array([[1.0, -0.5, 0.3], [0.4, 0.8, -1.1], [-0.7, 0.2, 0.9]])
TWO, ONE = X[:2], X[:1]
Y = np.array([[0.5, -0.2], [-1.0, 0.3], [0.1, 0.7]])
POINTS = np.array([-2.3, -1.0, -0.4, 0.0, 0.3, 1.0, 1.7])
K2 = np.array([[1.3, 0.4], [0.4, 0.8]])
K3 = np.array([[1.1, 0.3, -0.2], [0.3, 0.9, 0.4], [-0.2, 0.4, 1.2]])
K4 = np.array([[1.0, 0.3, -0.2, 0.1], [0.3, 0.9, 0.4, 0.2], [-0.2, 0.4, 1.2, 0.3], [0.1, 0.2, 0.3, 0.8]])
V0 = np.array([[1.0, 0.3], [0.3, 1.2]])
LAYERS = np.array([2.0, 10.0, 1000.0])
WIDTHS = (3, 20, 16, 24, 2)


def network(activation="tanh", scale=1.0):
    """Four layers, each with hyperparameters of its own."""
    return MLP(
        activation,
        WIDTHS,
        C_b=(0.1, 0.2, 0.05, 0.15),
        C_W=tuple(scale * C for C in (1.2, 1.4, 1.1, 1.3)),
        lambda_b=(0.5, 0.7, 0.2, 0.9),
        lambda_W=(1.1, 0.6, 1.4, 0.8),
    )


def drawn_network(activation="tanh"):
    """The same with equal widths, so that fewer shapes are compiled where networks are drawn."""
    return network(activation).replace(widths=(3, 16, 16, 16, 2))


def without_biases(activation):
    return network(activation, 1.5).replace(C_b=0.0)


def bump(z):
    """A smooth function that nobody has named."""
    return 0.5 * z + z * jnp.exp(-(z**2) / 2)


def clipped(z):
    """A function with two kinks."""
    return jnp.clip(z, -1.0, 1.0)


HARD = Activation(clipped, (-1.0, 1.0), name="hard tanh")
ATTENTION = ShapedAttention(0.4, tau0=0.8, heads=2, mask="causal")
RESNET = ShapedResNet(0.5, hidden_ratio=2.0)
TRANSFORMER = ShapedTransformer(ATTENTION, RESNET)
USUAL = ShapedTransformer(ShapedAttention(0.2, heads=2, mask="causal"), ShapedResNet(0.2, hidden_ratio=4.0))
VERTEX = 0.05 * (np.einsum("ac,bd->abcd", K2, K2) + np.einsum("ad,bc->abcd", K2, K2))
SHIFT = np.array([[0.03, -0.01], [-0.01, 0.02]])
NEURONS = np.array([[[0.5, -0.3], [0.2, 0.7]], [[-0.4, 0.6], [1.1, 0.1]]])
QUARTIC = np.arange(16.0).reshape((2,) * 4) / 100


@functools.cache
def tanh_flow():
    return flow(network(), X)


@functools.cache
def tangent_flow():
    return flow(drawn_network(), TWO, through="ntk")


@functools.cache
def measured_chain():
    return simulate(network(), X, networks=128, seed=3, method="chain")


@functools.cache
def measured_tangent():
    return simulate(drawn_network(), TWO, networks=32, seed=3, method="dense", through="ntk")


@functools.cache
def law_of_limit():
    return covariance_sde(TRANSFORMER, V0, 0.5, paths=96, seed=2, steps=20, save=4)


@functools.cache
def law_of_networks():
    return simulate(TRANSFORMER.at(16, 8), V0, networks=96, seed=2, save=4)


@functools.cache
def tanh_report():
    return report(network(), X, networks=128, seed=3)


@functools.cache
def report_on_transformer():
    return transformer_report(USUAL.at(16, 4), equal_tokens(2, 0.2), networks=32, paths=64)


@functools.cache
def parameters():
    return draw_parameters(drawn_network(), 5)


@functools.cache
def tanh_phases():
    return phase_diagram("tanh", [0.0, 0.1, 0.3], [0.5, 1.0, 1.5, 2.5])


@functools.cache
def tanh_tangent():
    return tangent_single_input_flow("tanh", 0.9, 12, 0.0, 1.0, lambda_b=0.7, lambda_W=1.2)


@functools.cache
def language_model():
    return LanguageModel(USUAL.at(8, 2), vocabulary=5, length=6, key=jax.random.key(1))


def observable(z):
    return jnp.sin(z[0, 0]) * z[1, 0]


def product_of_samples(z):
    return z[0, 0] * z[1, 0]


def product_of_neurons(z):
    return jnp.cos(z[0, 0]) * z[0, 1] ** 2


def loss_of_hidden(z):
    return jnp.sin(z[0, 0]) * z[1, 2] + z[2, 1] ** 2


def perceptron(params, x):
    return jnp.tanh(x @ params["into"] + params["bias"]) @ params["out"]


def cube_average(K):
    return jnp.trace(K @ K @ K)


def products_with(matrix):
    """Products with a random matrix, one after the other."""
    u, v = jnp.asarray([[1.0, 0.5, -0.2, 0.3], [0.1, -1.0, 0.4, 0.2]]), jnp.asarray([[0.3, -0.6, 1.0]])
    first, matrix = matrix.times(u)
    second, matrix = matrix.transpose_times(v)
    third, _ = matrix.times(u[:1] + 2 * u[1:])
    return {"Wu": first, "W'v": second, "W(u + 2 u')": third}


def passes(kind):
    """One random network, forwards and backwards."""

    @jax.jit
    def both(key):
        passed, asked = forward(draw(drawn_network(), key, kind), jnp.asarray(TWO))
        return passed.metrics, passed.preactivations[-1], backward(asked, passed, (0, 1))[0].inputs

    return dict(zip(("metrics", "outputs", "gradients"), both(jax.random.key(4)), strict=True))


def refused(error, call):
    """Whether a call is refused as it was."""
    try:
        call()
    except error:
        return {"refused": True}
    return {"refused": False}


def warned():
    """Whether fluctuations as large as the kernel are warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        flow(MLP("tanh", (3, 1, 1, 1, 1), C_W=1.5), ONE)
    return {"warned": any(issubclass(one.category, ValidityWarning) for one in found)}


# Calls, room by room.

NAMES = [
    "linear",
    "relu",
    "leaky_relu",
    "abs",
    "perceptron",
    "sigmoid",
    "centered_sigmoid",
    "tanh",
    "sin",
    "softplus",
    "centered_softplus",
    "swish",
    "gelu",
    "erf",
    "arctan",
    "softsign",
    "z^2",
    "z^3",
    "exp",
    "expm1",
    "silu",
]

ACTIVATION_CALLS = {
    "activations by name": lambda: {
        "names": " ".join(NAMES),
        "values": [ACTIVATIONS[name](POINTS) for name in NAMES],
        "slopes": [ACTIVATIONS[name].derivative(1)(POINTS) for name in NAMES],
        "kinks": [len(ACTIVATIONS[name].kinks) for name in NAMES],
    },
    "activation families": lambda: {
        "values": [one(POINTS) for one in (leaky_relu(0.2), scale_invariant(1.5, -0.5), monomial(4), exponential(0.5))],
        "second derivatives": [one.derivative(2)(POINTS) for one in (monomial(4), exponential(0.5))],
        "taylor": [ACTIVATIONS[name].taylor() for name in ("tanh", "gelu", "sin")],
    },
    "kinks found and declared": lambda: {
        "found": MLP(clipped, WIDTHS).activation.kinks,
        "declared": HARD.kinks,
        "jumps": HARD.jumps(1),
    },
}

GAUSSIAN_CALLS = {
    "gaussian expectation tanh": lambda: {
        "one": gaussian_expectation([lambda z: jnp.tanh(z) ** 2], K2[:1, :1]),
        "two": gaussian_expectation([jnp.tanh] * 2, K2),
        "four": gaussian_expectation([ACTIVATIONS["tanh"]] * 4, K4),
    },
    "gaussian expectation relu": lambda: {
        "two": gaussian_expectation([ACTIVATIONS["relu"]] * 2, K2),
        "four": gaussian_expectation([ACTIVATIONS["relu"]] * 4, K4),
    },
    "gaussian expectation sin": lambda: {"four": gaussian_expectation([ACTIVATIONS["sin"]] * 4, K4)},
    "gaussian expectation kinked": lambda: {
        "two": gaussian_expectation([Function(clipped, (-1.0, 1.0)), jnp.sin], K2),
        "three": gaussian_expectation([Function(clipped, (-1.0, 1.0))] * 2 + [jnp.cos], K3),
    },
    "gaussian expectation slope": lambda: {
        "dK": jax.grad(lambda K: gaussian_expectation([ACTIVATIONS["gelu"]] * 2, K))(jnp.asarray(K2))
    },
    "line average": lambda: {
        "smooth": line_average(jnp.cos, K2),
        "kinked": line_average(lambda z: clipped(z) ** 2, K2 + 1, (-1.0, 1.0)),
    },
    "pair moments": lambda: {
        name: [pair_moment(ACTIVATIONS[name], i, i, 1.3, jnp.asarray([0.4, -0.9]), 0.8) for i in (0, 1)]
        for name in ("relu", "gelu", "erf", "sin", "z^3")
    },
    "square averages": lambda: {
        name: square_average(ACTIVATIONS[name], jnp.asarray([0.5, 2.0]))
        for name in ("tanh", "relu", "swish", "softsign")
    },
    "product moment": lambda: {
        "sin": product_moment(((ACTIVATIONS["sin"], 0),) * 2 + ((ACTIVATIONS["sin"], 1),) * 2, None, jnp.asarray(K4))
    },
    "orthant products": lambda: {
        "sign": sign_product(K4),
        "step": step_product(K4),
        "two slopes": two_slope_average(1.0, 0.2, ((1, 0), (1, 1), (0, 1)), jnp.asarray(K3)),
    },
    "wick": lambda: {
        "log normaliser": log_normaliser(K3),
        "log density": gaussian_log_density(X, K3, mean=0.1),
        "generating function": log_source_generating_function(K3, X),
        "moment": gaussian_moment([0.5, 1.5], 3),
        "wick": wick_moment(K3, (0, 1, 1, 2, 2, 2)),
        "pairings": len(list(pairings(8))),
    },
    "cumulants": lambda: {
        "moments": joined(moments_from_connected([POINTS[:2], K2, QUARTIC[0]])),
        "connected": joined(connected_from_moments([POINTS[:2], K2, QUARTIC[0]])),
        "even": joined(connected_from_even_moments([K2, QUARTIC])),
        "samples": joined(sample_cumulants(X, 3)),
        "kurtosis": excess_kurtosis(K2, QUARTIC),
    },
    "even action": lambda: of_even_action(EvenAction(K2, [QUARTIC])),
    "nearly gaussian": lambda: {
        "density": density(NEURONS, K2, VERTEX, SHIFT),
        "correction": density_correction(NEURONS, K2, VERTEX, SHIFT),
        "expectation": nearly_gaussian_expectation(cube_average, K2, VERTEX, SHIFT),
        "covariance": nearly_gaussian_covariance(cube_average, jnp.trace, K2, VERTEX),
        "one sample": joined(marginalise_samples(K2, VERTEX, SHIFT, [1])),
    },
    "running couplings": lambda: {
        "metric": running_metric(K2, VERTEX, SHIFT, 3),
        "quadratic": quadratic_coupling(K2, VERTEX, SHIFT, 3),
        "quartic": quartic_coupling(K2, VERTEX),
        "back": metric_from_couplings(K2, VERTEX, 3),
        "vertex": vertex_from_couplings(K2, VERTEX),
        "fewer neurons": marginalise_neurons(K2, VERTEX, 3, 1),
        "action": effective_action(NEURONS, K2, VERTEX),
    },
    "metric fluctuations": lambda: {
        "inverse": expanded_inverse(K2, SHIFT),
        "exponential": expanded_exponential(NEURONS, K2, SHIFT),
        "determinant": expanded_determinant(K2, SHIFT, 3),
        "layer": layer_log_density(NEURONS[0], K2),
        "interlayer": interlayer_log_density(NEURONS[0], NEURONS[1], jnp.tanh, 0.2, 1.5),
        "joint": joint_log_density([NEURONS[0], NEURONS[1]], K2, jnp.tanh, 0.2, 1.5),
        "trend": coupling_trend(np.arange(1.0, 9.0)),
    },
}


NETWORK_CALLS = {
    "network": lambda: {
        "parameters": network().parameters,
        "depth over width": network().depth_over_width,
        "first kernel": network().first_kernel(X),
        "overlap": network().overlap(X),
    },
    "kernel": lambda: {name: kernel(network(name), X) for name in ("tanh", "relu")},
    "kernel recursion": lambda: {"gelu": kernel_recursion(network("gelu"), jnp.asarray(K2))},
    "frozen ntk": lambda: {name: frozen_ntk(network(name), X) for name in ("tanh", "relu")},
    "draw parameters": lambda: of_parameters(parameters()),
    "preactivations": lambda: {"z": joined(apply(drawn_network(), parameters(), X))},
    "ntk of one network": lambda: {"H": joined(ntk(drawn_network(), parameters(), X, TWO))},
    "ntk contributions of one network": lambda: of_contributions(ntk_contributions(drawn_network(), parameters(), TWO)),
    "empirical ntk": lambda: {
        outputs: empirical_ntk(perceptron, {"into": K3, "bias": Y[:, 0], "out": Y}, X, outputs=outputs)
        for outputs in ("full", "trace")
    },
    "empirical ntk with rates": lambda: {
        "H": empirical_ntk(
            perceptron, {"into": K3, "bias": Y[:, 0], "out": Y}, X, TWO, rates={"into": 0.5, "bias": 1.0, "out": 2.0}
        )
    },
}

FLOW_CALLS = {
    "flow tanh kernel": lambda: {"K": flow(network(), X, through="kernel").K},
    "flow tanh vertex": lambda: of_flow(tanh_flow()),
    "flow tanh ntk": lambda: of_tangent_flow(flow(network(), TWO, through="ntk")),
    "flow sin next": lambda: of_next_order(flow(network("sin"), TWO, next_order=True)),
    "flow sin ntk": lambda: of_tangent_flow(flow(network("sin"), ONE, through="ntk")),
    "flow relu vertex": lambda: of_flow(flow(network("relu", 1.6), TWO)),
    "flow relu ntk": lambda: of_tangent_flow(flow(network("relu", 1.6), ONE, through="ntk")),
    "flow gelu vertex": lambda: of_flow(flow(network("gelu", 1.6), kernel=K2)),
    "flow callable vertex": lambda: of_flow(flow(network(bump), ONE)),
    "flow hard tanh vertex": lambda: of_flow(flow(network(HARD), ONE)),
    "correlators": lambda: {
        "two": correlator(tanh_flow(), 3, [(0, 0), (0, 1)]),
        "four": correlator(tanh_flow(), 3, [(0, 0), (0, 1), (1, 2), (1, 2)]),
        "connected": connected_correlator(tanh_flow(), 4, [(0, 0), (0, 1), (0, 2), (0, 2)]),
    },
    "observables": lambda: {
        "expectation": expectation_to_first_order(tanh_flow(), 3, product_of_neurons, samples=(1,), neurons=2),
        "covariance": covariance_between_neurons(
            tanh_flow(), 3, product_of_samples, product_of_samples, samples=(0, 2)
        ),
    },
    "tangent correlators": lambda: {
        "tangent": tangent_correlator(tangent_flow(), 3, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        "crossed": tangent_correlator(tangent_flow(), 3, [(0, 0), (1, 1), (0, 0), (1, 1)]),
        "preactivations": tangent_preactivation_correlator(tangent_flow(), 3, [(0, 0), (0, 1), (0, 0), (0, 1)]),
        "averaged": averaged_tangent_covariance(tangent_flow()),
        "observable": observable_with_tangent(tangent_flow(), 3, observable, ((0, 0), (0, 1)), samples=(0, 1)),
    },
    "tangent contributions": lambda: of_tangent_contributions(tangent_contributions(network(), X)),
    "weight insertions": lambda: {
        "generating": weight_generating_function(observable, TWO, ONE, C_b=0.3, C_W=1.5),
        "two": two_weight_insertions(observable, TWO, ((0, 1), (0, 1)), C_b=0.3, C_W=1.5),
        "crossed": two_weight_insertions(observable, TWO, ((0, 1), (0, 2)), C_b=0.3, C_W=1.5),
    },
    "deep linear": lambda: of_deep_linear(deep_linear(network("linear"), TWO)),
    "linear correlators": lambda: {
        "full": linear_correlator(network("linear"), [(0, 0), (0, 1), (1, 0), (1, 1)], TWO),
        "connected": linear_connected_correlator(network("linear"), [(0, 0), (0, 1), (1, 0), (1, 1)], TWO),
    },
    "linear phase": lambda: of_linear_phase(linear_phase(0.8)),
    "exact tangent flow": lambda: of_exact_tangent_flow(exact_tangent_flow(network("relu", 1.6), X)),
    "exact single input flow": lambda: of_exact_single_input_flow(exact_single_input_flow(network("relu"), X, order=3)),
    "scale-invariant moments": lambda: {
        "c_2m": c_2m(3, [4, 10]),
        "ratio": moment_ratio(3, [20, 16, 24]),
        "fixed ratio": fixed_ratio_moment(3, [0.1, 0.5]),
        "fixed ratio connected": fixed_ratio_connected(3, [0.1, 0.5]),
    },
    "scale-invariant log kernel": lambda: {"statistics": log_kernel_statistics(without_biases("abs"))},
    "scale-invariant samples": lambda: {
        "kernels": sample_scale_invariant(network("leaky_relu"), ONE, networks=64, seed=6)
    },
}


CRITICALITY_CALLS = {
    **{
        f"criticality {name}": functools.partial(lambda name: of_criticality(criticality(name)), name)
        for name in ("tanh", "relu", "gelu", "softsign", "sigmoid")
    },
    "criticality callable": lambda: of_criticality(criticality(bump)),
    "criticality hard tanh": lambda: of_criticality(criticality(HARD)),
    "asymptotics": lambda: {
        "tanh": of_asymptotics(asymptotics("tanh", LAYERS, 0.8)),
        "relu": of_asymptotics(asymptotics("relu", LAYERS, 0.8)),
        "gelu": of_asymptotics(asymptotics("gelu", LAYERS, 4.5)),
        "semi-critical": of_asymptotics(semi_critical_asymptotics("relu", LAYERS, 0.2)),
    },
    "asymptotics softsign": lambda: of_asymptotics(asymptotics("softsign", LAYERS)),
    "tangent asymptotics": lambda: {
        name: of_tangent_asymptotics(tangent_asymptotics(name, LAYERS)) for name in ("tanh", "relu", "gelu")
    },
    "fixed points": lambda: {name: of_fixed_points(fixed_points(name, 0.1, 1.5)) for name in ("tanh", "gelu")},
    "tangent fixed points": lambda: of_tangent_fixed_points(tangent_fixed_points("tanh", 0.1, 1.5)),
    "phase diagram": lambda: of_phase_diagram(tanh_phases()),
    "susceptibilities": lambda: {
        "tanh": of_susceptibilities(susceptibilities("tanh", [0.3, 1.0, 4.0], 1.3)),
        "hard tanh": of_susceptibilities(susceptibilities(HARD, [0.3, 1.0, 4.0], 1.3)),
    },
    "renormalised C_W": lambda: {name: renormalised_C_W(name, 64) for name in ("tanh", "relu", "sin")},
    "angle flow": lambda: of_angle_flow(angle_flow("relu", [0.3, 1.5], 12)),
    "angle moments": lambda: {
        "moments": of_angle_moments(angle_moments(leaky_relu(0.2), jnp.asarray([0.3, 1.5]))),
        "corner": corner_strength(leaky_relu(0.2)),
        "crossover": crossover_depth("relu", 0.1),
    },
    "perturbed pair": lambda: of_perturbed_pair(perturbed_pair_flow("tanh", 0.9, 0.05, 0.02, 6, 0.1, 1.4)),
    "gamma components": lambda: {
        "of kernel": of_gamma_components(gamma_components(K2)),
        "of inputs": of_gamma_components(first_layer_components(X[0], X[1] / 10, 0.1, 1.4)),
    },
    "near coincidence": lambda: {
        "average": near_coincidence_average(lambda a, b: jnp.tanh(a) * jnp.tanh(b), jnp.asarray(0.9), 0.05, -0.01, 0.02)
    },
    "kernel series": lambda: {
        name: of_kernel_series(kernel_series(ACTIVATIONS[name])) for name in ("tanh", "swish", "sin")
    },
    "single input flow": lambda: {
        "tanh": of_single_input_flow(single_input_flow("tanh", [0.5, 2.0], 12, 0.1, 1.4, c_W1=0.3)),
    },
    "tangent single input flow": lambda: of_tangent_single_input_flow(tanh_tangent()),
    "effective exponents": lambda: {"of Theta": effective_exponents(tanh_tangent().Theta)},
    "tangent angle flow": lambda: of_tangent_angle_flow(tangent_angle_flow("relu", 0.8, 12)),
}

ENSEMBLE_CALLS = {
    "simulate chain": lambda: of_measured_flow(measured_chain()),
    "simulate dense": lambda: of_measured_flow(
        simulate(drawn_network("relu"), TWO, networks=64, seed=3, method="dense")
    ),
    "simulate lazy": lambda: of_measured_flow(simulate(drawn_network(), TWO, networks=64, seed=3, method="lazy")),
    "simulate dense ntk": lambda: of_measured_tangent_flow(measured_tangent()),
    "simulate lazy ntk": lambda: of_measured_tangent_flow(
        simulate(drawn_network(), TWO, networks=32, seed=3, method="lazy", through="ntk")
    ),
    "ntk samples": lambda: {"H": ntk_samples(drawn_network(), TWO, networks=3, seed=7)},
    "dense matrix": lambda: products_with(DenseGaussian(jax.random.key(2), (3, 4), 0.5)),
    "lazy matrix": lambda: products_with(LazyGaussian(jax.random.key(2), (3, 4), 0.5)),
    "forwards and backwards": lambda: passes(DenseGaussian),
    "simulate mlp chain": lambda: of_law(simulate(ShapedMLP().at(16, 8), V0, networks=64, save=2)),
    "simulate smooth mlp dense": lambda: of_law(
        simulate(ShapedMLP(shaped_smooth("tanh")).at(16, 8), V0, networks=64, save=2, method="dense")
    ),
    "simulate transformer chain": lambda: of_law(law_of_networks()),
    "simulate transformer dense": lambda: of_law(
        simulate(TRANSFORMER.at(16, 8), V0, networks=32, seed=2, save=2, method="dense")
    ),
    "simulate ablated": lambda: of_law(
        simulate(
            FiniteStack(
                AblatedAttention(ShapedAttention(0.4), centred=False, shaped_temperature=False), ShapedResNet(0.5)
            ).at(16, 8),
            V0,
            networks=32,
            save=2,
            method="dense",
        )
    ),
    "simulate layer norm": lambda: of_law(
        simulate(LayerNormTransformer("pre", gamma=0.7).at(16, 6), V0, networks=32, save=2)
    ),
}

PROPORTIONAL_CALLS = {
    "blocks": lambda: {
        "mlp": of_block(ShapedMLP(), V0),
        "smooth": of_block(ShapedMLP(shaped_smooth("gelu", a=0.8)), V0),
        "resnet": of_block(RESNET, V0),
        "attention": of_block(ATTENTION, V0),
        "unmasked": of_block(ShapedAttention(0.4, output_projection=True), V0),
        "transformer": of_block(TRANSFORMER, V0),
    },
    "shaped activations": lambda: {
        "relu": of_shaped_activation(shaped_relu(0.5, -1.0), V0, 16),
        "gelu": of_shaped_activation(shaped_smooth("gelu", a=0.8), V0, 16),
        "kernel": shaped_relu(0.5, -1.0).kernel(jnp.asarray([-0.5, 0.2, 0.9]), 16),
        "nu": shaped_relu(0.5, -1.0).nu(jnp.asarray([-0.5, 0.2, 0.9])),
    },
    "covariance sde exponential": lambda: of_law(law_of_limit()),
    "covariance sde kernel-wishart": lambda: of_law(
        covariance_sde(ShapedMLP(), V0, 0.5, paths=64, seed=1, steps=20, save=2, method="kernel-wishart")
    ),
    "covariance sde euler": lambda: of_law(
        covariance_sde(ShapedMLP(), V0, 0.5, paths=64, seed=1, steps=20, save=2, method="euler")
    ),
    "covariance sde smooth": lambda: of_law(
        covariance_sde(ShapedMLP(shaped_smooth("tanh")), V0, 0.5, paths=64, seed=1, steps=20, save=2)
    ),
    "law of covariances": lambda: {
        "correlation": law_of_limit().correlation(),
        "outputs": law_of_limit().output_samples(2, seed=4),
        "ended": list(law_of_limit().counts.values()),
    },
    "correlation sde": lambda: of_paths(correlation_sde(ShapedMLP(), 0.3, 0.5, paths=32, seed=1, steps=20)),
    "correlation coefficients": lambda: {"numbers": tuple(correlation_coefficients(RESNET))},
    "drift ode": lambda: {"V": drift_ode(shaped_relu(0.5, -1.0, exponent=0.3), V0, 1.5, steps=30)},
    "residual ode": lambda: {
        "relu": residual_ode("relu", V0, steps=10),
        "plain": residual_ode("relu", V0, steps=10, normalised=False),
    },
    "scalar smooth": lambda: {
        **of_scalar_paths(scalar_smooth(shaped_smooth("gelu")).sample(1.3, 0.5, paths=32, steps=20, seed=1)),
        "b": [scalar_smooth(shaped_smooth(name)).b for name in ("tanh", "gelu", "softplus")],
        "noiseless": scalar_smooth(shaped_smooth("gelu")).noiseless(1.3, [0.1, 0.4]),
        "blow-up": scalar_smooth(shaped_smooth("gelu")).blow_up_probability(1.3),
        "inverse": scalar_smooth(shaped_smooth("tanh")).mean_inverse(1.3, 0.4),
        "stationary": scalar_smooth(shaped_smooth("tanh")).stationary().mean(),
    },
    "scaling regime": lambda: {
        "regimes": " ".join(
            str(scaling_regime(p, q)) for p, q in ((0.5, 1), (0.3, 0.6), (0.7, 1), (0.2, 0.1), (0.2, 2))
        )
    },
    "laws beside the limit": lambda: {
        "fluctuation": fluctuation(0.3, 1.5, 100),
        "collapse": collapse(shaped_relu(0.5, -1.0, exponent=0.3), 100, 500),
        "unshaped": unshaped_relu_collapse(50),
    },
    "linear networks": lambda: {
        "log norm": of_normal(log_norm(0.5, 0.3)),
        "log determinant": of_normal(log_determinant(3, 0.5)),
        "finite": of_normal(finite_log_determinant(3, 16, 8)),
        "samples": sample_finite_log_determinant(3, 16, 8, 32, seed=1),
        "second moments": second_moments(V0, 0.5),
    },
    "step advice": lambda: of_step_advice(step_advice(ShapedMLP(), V0, 0.5, steps=8, paths=64, seed=1, method="euler")),
}

ADVICE_CALLS = {
    "tune": lambda: {
        "tanh": of_network(tune(network())),
        "renormalised": of_network(tune(network(), renormalised=True)),
        "gelu": of_network(tune(network("gelu"))),
    },
    "learning rates": lambda: {
        "sgd": of_learning_rates(learning_rates(network(), rate=0.3)),
        "adam": of_learning_rates(learning_rates(network(), "adam", x=X)),
    },
    "standard rates": lambda: of_network(standard_rates(network())),
    "equivalence rates": lambda: {
        "tanh": equivalence_rates(network()),
        "relu": equivalence_rates(network("relu")),
        "inputs": equivalence_rates(network(), X),
    },
    "diagnose gradients": lambda: {
        "tanh": of_diagnosis(diagnose_gradients(network(), X, Y)),
        "relu": of_diagnosis(diagnose_gradients(network("relu", 5.0), X)),
    },
}

LEARNING_CALLS = {
    "gradient step": lambda: {
        "mse": of_parameters(gradient_step(drawn_network(), parameters(), X, Y, 0.3)),
        "batch": of_parameters(
            gradient_step(drawn_network(), parameters(), X, abs(Y), 0.3, loss="cross_entropy", batch=[2, 0])
        ),
    },
    "predicted change": lambda: {
        "loss": predicted_loss_change(drawn_network(), parameters(), X, Y, 0.3),
        "batch": predicted_loss_change(drawn_network(), parameters(), X, Y, 0.3, batch=[1]),
        "observable": predicted_change(drawn_network(), parameters(), X, Y, 0.3, loss_of_hidden, layer=2),
    },
    "language model": lambda: {
        "passed": joined(language_model().passed(jnp.arange(5))),
        "gradients": list(gradient_norms(language_model(), jnp.arange(10).reshape(2, 5) % 5).values()),
        "entropy": entropy_at_initialisation(V0, 16, 0.7),
        "recover": recover(10)(jnp.arange(0, 15, 3)),
    },
    "train": lambda: of_training(
        train(language_model(), Text.of("abcde" * 12), 4, 0.01, batch=4, warmup=2, schedule=recover(10))
    ),
}

REPORT_CALLS = {
    "compare flows": lambda: of_comparison(compare(tanh_flow(), measured_chain())),
    "compare tangent flows": lambda: of_comparison(compare(tangent_flow(), measured_tangent())),
    "compare laws": lambda: of_law_comparison(compare(law_of_limit(), law_of_networks())),
    "report": lambda: of_document(tanh_report()),
    "transformer report": lambda: of_document(report_on_transformer()),
    "validity": lambda: {"regimes": " ".join(regime(f).label for f in (0.001, 0.05, 0.3, 2.0))},
    "kinds of results": lambda: {
        "flow": isinstance(tanh_flow(), Flow),
        "measured": isinstance(measured_chain(), Flow) and isinstance(measured_chain().G, Measurement),
        "law": isinstance(law_of_limit(), CovarianceLaw),
        "comparison": isinstance(compare(tanh_flow(), measured_chain()), Comparison),
        "of laws": isinstance(compare(law_of_limit(), law_of_networks()), LawComparison),
        "report": isinstance(tanh_report(), Report),
        "transformer report": isinstance(report_on_transformer(), TransformerReport),
    },
}

FIGURE_CALLS = {
    "figure of a flow": lambda: of_axes(flow_by_depth(tanh_flow(), measured_chain())),
    "figure of a comparison": lambda: of_axes(comparison_figure(compare(tanh_flow(), measured_chain()))),
    "figure of phases": lambda: of_axes(phase_diagram_figure(tanh_phases(), verdict=criticality("tanh"))),
    "figure of susceptibilities": lambda: of_axes(ratio_of_susceptibilities("tanh")),
    "figure of tangent ratios": lambda: of_axes(tangent_ratios(tanh_tangent())),
    "figure of contributions": lambda: of_axes(tangent_contributions_figure(tangent_contributions(network(), X))),
    "figure of laws": lambda: of_axes(law_densities(law_of_limit(), law_of_networks())),
    "figure of tokens": lambda: of_axes(tokens_by_depth(law_of_limit(), law_of_networks())),
}

REFUSAL_CALLS = {
    "refuses an unknown name": lambda: refused(UnknownNameError, lambda: MLP("tanhh", WIDTHS)),
    "refuses a shape": lambda: refused(ShapeError, lambda: flow(network(), X[:, :2])),
    "refuses a value": lambda: refused(DomainError, lambda: flow(network(), kernel=-K3)),
    "refuses an argument": lambda: refused(ArgumentError, lambda: flow(network(), X, kernel=K3)),
    "refuses to overflow": lambda: refused(BlowUpError, lambda: flow(network("relu", 1e100), ONE, through="kernel")),
    "warns of strong fluctuations": warned,
}

CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    **ACTIVATION_CALLS,
    **GAUSSIAN_CALLS,
    **NETWORK_CALLS,
    **FLOW_CALLS,
    **CRITICALITY_CALLS,
    **ENSEMBLE_CALLS,
    **PROPORTIONAL_CALLS,
    **ADVICE_CALLS,
    **LEARNING_CALLS,
    **REPORT_CALLS,
    **FIGURE_CALLS,
    **REFUSAL_CALLS,
}


# Numbers to keep.


def joined(arrays):
    """Arrays of all shapes, one after the other."""
    return np.concatenate([np.ravel(array) for array in arrays])


def numbered(value):
    """A number, and NaN where there is none."""
    return math.nan if value is None else float(value)


def without_prose(part):
    """A part of a report without its sentences; a list of rows as columns."""
    if isinstance(part, dict):
        return {name: without_prose(value) for name, value in part.items() if name not in PROSE and value is not None}
    if isinstance(part, list) and part and isinstance(part[0], list) and isinstance(part[0][0], dict):
        return {str(number): without_prose(row) for number, row in enumerate(part)}
    rows = isinstance(part, list) and part and isinstance(part[0], dict)
    if rows and any(isinstance(value, list) for value in part[0].values()):
        return {str(number): without_prose(row) for number, row in enumerate(part)}
    if rows:
        return {name: without_prose([row[name] for row in part]) for name in part[0] if name not in PROSE}
    if isinstance(part, list) and part and isinstance(part[0], str):
        return " ".join(part)
    return part


def thinned(array):
    """A small array; of a large one every so many entries, and the mean size of all."""
    if array.size <= MOST_ENTRIES:
        return array
    step = array.size // MOST_ENTRIES
    while any(math.gcd(step, length) > 1 for length in array.shape):
        step += 1
    return np.append(array.ravel()[::step], np.abs(array[np.isfinite(array)]).sum() / array.size)


def as_array(value):
    """Text, integers or float64."""
    if isinstance(value, str):
        return np.asarray(str(value))
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    return thinned(array.astype(np.float64))


def flat(result, before=""):
    """`{"outer.inner": value}` of nested dictionaries."""
    found = {}
    for name, value in result.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return found


def results(name: str) -> dict[str, np.ndarray]:
    """What a call gives, field by field, as it is recorded."""
    return {field: as_array(value) for field, value in flat(CALLS[name]()).items()}


def record(path: Path) -> None:
    """Write down what every call gives."""
    fields = {f"{name}/{field}": value for name in CALLS for field, value in results(name).items()}
    made_by = np.asarray(f"made by the code at commit {MADE_BY}")
    np.savez_compressed(path, meta=made_by, **fields)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True, help="the file to write")
    record(parser.parse_args().record)
