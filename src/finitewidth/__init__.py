"""finitewidth: the theory of neural networks of finite width and depth, as something one runs.

The names here are what most people need. The rest is in the rooms, each a namespace: `fw.gaussian`, `fw.activations`,
`fw.shaped`, `fw.kernels`, `fw.realised`, `fw.results`, `fw.expansion`, `fw.exact`, `fw.proportional`, `fw.ensembles`, `fw.critical`,
`fw.entropies`, `fw.learning`, `fw.advice`, `fw.figures`, `fw.reports`.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from ._lazy import offered as _offered

if TYPE_CHECKING:  # a room is loaded when a name of it is first used
    from . import (
        activations as activations,
        advice as advice,
        critical as critical,
        ensembles as ensembles,
        entropies as entropies,
        exact as exact,
        expansion as expansion,
        figures as figures,
        gaussian as gaussian,
        kernels as kernels,
        learning as learning,
        networks as networks,
        proportional as proportional,
        realised as realised,
        reports as reports,
        results as results,
    )
    from ._compile import compilation_cache as compilation_cache
    from ._errors import (
        ArgumentError as ArgumentError,
        BlowUpError as BlowUpError,
        DomainError as DomainError,
        FileError as FileError,
        NotTunableError as NotTunableError,
        ShapeError as ShapeError,
        UnknownArgumentError as UnknownArgumentError,
        UnknownNameError as UnknownNameError,
        ValidityWarning as ValidityWarning,
    )
    from ._files import load as load, save as save
    from .activations import (
        ACTIVATIONS as ACTIVATIONS,
        Activation as Activation,
        gaussian_expectation as gaussian_expectation,
    )
    from .advice import (
        diagnose as diagnose,
        diagnose_gradients as diagnose_gradients,
        learning_rates as learning_rates,
        tune as tune,
    )
    from .critical import (
        criticality as criticality,
        phase_diagram as phase_diagram,
        susceptibilities as susceptibilities,
    )
    from .ensembles import ntk_samples as ntk_samples, simulate as simulate
    from .entropies import aspect_ratio as aspect_ratio, information as information
    from .expansion import flow as flow
    from .kernels import frozen_ntk as frozen_ntk, kernel as kernel
    from .learning import (
        bayes as bayes,
        compare_models as compare_models,
        gradient_step as gradient_step,
        nearly_kernel as nearly_kernel,
        predict as predict,
        predict_one as predict_one,
        train as train,
    )
    from .networks import MLP as MLP, ResidualMLP as ResidualMLP, shaped as shaped
    from .networks.shaped import (
        ShapedAttention as ShapedAttention,
        ShapedMLP as ShapedMLP,
        ShapedResNet as ShapedResNet,
        ShapedTransformer as ShapedTransformer,
    )
    from .proportional import (
        covariance_sde as covariance_sde,
        feature_learning_sde as feature_learning_sde,
        ntk_law as ntk_law,
    )
    from .realised import (
        ddntk as ddntk,
        dntk as dntk,
        draw_parameters as draw_parameters,
        empirical_ntk as empirical_ntk,
        ntk as ntk,
    )
    from .reports import (
        compare as compare,
        recommend as recommend,
        report as report,
        transformer_report as transformer_report,
    )

_NAMES = {
    ".": (
        "activations advice critical ensembles entropies exact expansion figures gaussian kernels learning networks "
        "proportional realised reports results"
    ),
    "._compile": "compilation_cache",
    "._errors": (
        "ArgumentError BlowUpError DomainError FileError NotTunableError ShapeError UnknownArgumentError UnknownNameError "
        "ValidityWarning"
    ),
    "._files": "load save",
    ".activations": "ACTIVATIONS Activation gaussian_expectation",
    ".advice": "diagnose diagnose_gradients learning_rates tune",
    ".critical": "criticality phase_diagram susceptibilities",
    ".ensembles": "ntk_samples simulate",
    ".entropies": "aspect_ratio information",
    ".expansion": "flow",
    ".kernels": "frozen_ntk kernel",
    ".learning": "bayes compare_models gradient_step nearly_kernel predict predict_one train",
    ".networks": "MLP ResidualMLP shaped",
    ".networks.shaped": "ShapedAttention ShapedMLP ShapedResNet ShapedTransformer",
    ".proportional": "covariance_sde feature_learning_sde ntk_law",
    ".realised": "ddntk dntk draw_parameters empirical_ntk ntk",
    ".reports": "compare recommend report transformer_report",
}
__all__ = _offered(__name__, _NAMES)
__version__ = _version("finitewidth")
