"""finitewidth: the theory of neural networks of finite width and depth, as something one runs."""

from importlib.metadata import version as _version

from ._errors import (
    ArgumentError as ArgumentError,
    BlowUpError as BlowUpError,
    DomainError as DomainError,
    ShapeError as ShapeError,
    UnknownNameError as UnknownNameError,
    ValidityWarning as ValidityWarning,
)
from .activations import (
    ACTIVATIONS as ACTIVATIONS,
    Activation as Activation,
    exponential as exponential,
    leaky_relu as leaky_relu,
    monomial as monomial,
    scale_invariant as scale_invariant,
)
from .advice import (
    diagnose_gradients as diagnose_gradients,
    equivalence_rates as equivalence_rates,
    learning_rates as learning_rates,
    tune as tune,
)
from .criticality import (
    angle_flow as angle_flow,
    asymptotics as asymptotics,
    criticality as criticality,
    fixed_points as fixed_points,
    perturbed_pair_flow as perturbed_pair_flow,
    phase_diagram as phase_diagram,
    renormalised_C_W as renormalised_C_W,
    susceptibilities as susceptibilities,
    tangent_asymptotics as tangent_asymptotics,
    tangent_fixed_points as tangent_fixed_points,
)
from .ensembles import (
    DenseGaussian as DenseGaussian,
    LazyGaussian as LazyGaussian,
    MeasuredFlow as MeasuredFlow,
    Measurement as Measurement,
    ntk_samples as ntk_samples,
    simulate as simulate,
)
from .ensembles.shaped import (
    AblatedAttention as AblatedAttention,
    FiniteStack as FiniteStack,
    LayerNormTransformer as LayerNormTransformer,
)
from .flow import (
    Flow as Flow,
    connected_correlator as connected_correlator,
    correlator as correlator,
    covariance_between_neurons as covariance_between_neurons,
    deep_linear as deep_linear,
    exact_tangent_flow as exact_tangent_flow,
    expectation_to_first_order as expectation_to_first_order,
    flow as flow,
    observable_with_tangent as observable_with_tangent,
    tangent_contributions as tangent_contributions,
    tangent_correlator as tangent_correlator,
    tangent_preactivation_correlator as tangent_preactivation_correlator,
)
from .gaussian import gaussian_expectation as gaussian_expectation
from .learning import (
    gradient_step as gradient_step,
    predicted_change as predicted_change,
    predicted_loss_change as predicted_loss_change,
)
from .networks import (
    MLP as MLP,
    draw_parameters as draw_parameters,
    empirical_ntk as empirical_ntk,
    frozen_ntk as frozen_ntk,
    kernel as kernel,
    ntk as ntk,
    ntk_contributions as ntk_contributions,
)
from .networks.shaped import (
    CovarianceLaw as CovarianceLaw,
    ShapedAttention as ShapedAttention,
    ShapedMLP as ShapedMLP,
    ShapedResNet as ShapedResNet,
    ShapedTransformer as ShapedTransformer,
    shaped as shaped,
    shaped_relu as shaped_relu,
)
from .proportional import (
    correlation_sde as correlation_sde,
    covariance_sde as covariance_sde,
    drift_ode as drift_ode,
    residual_ode as residual_ode,
    scalar_smooth as scalar_smooth,
    scaling_regime as scaling_regime,
    step_advice as step_advice,
)
from .report import (
    Comparison as Comparison,
    LawComparison as LawComparison,
    Report as Report,
    TransformerConfig as TransformerConfig,
    TransformerReport as TransformerReport,
    compare as compare,
    report as report,
    transformer_report as transformer_report,
)

__version__ = _version("finitewidth")
