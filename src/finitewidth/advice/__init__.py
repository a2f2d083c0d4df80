"""Advice: what to do with a network."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .._errors import NotTunableError as NotTunableError
    from .block_scale import BlockScale as BlockScale, preserving_scale as preserving_scale, tune_block as tune_block
    from .diagnose import Diagnosis as Diagnosis, diagnose as diagnose
    from .equivalence import equivalence_rates as equivalence_rates
    from .global_rate import Number as Number, global_rate as global_rate
    from .gradients import GradientDiagnosis as GradientDiagnosis, diagnose_gradients as diagnose_gradients
    from .learning_rates import (
        LearningRates as LearningRates,
        learning_rates as learning_rates,
        standard_rates as standard_rates,
        with_slow_biases as with_slow_biases,
    )
    from .numbers import DepthCurves as DepthCurves, depth_curves as depth_curves
    from .scaling import (
        GroupScaling as GroupScaling,
        ScalingRule as ScalingRule,
        TransformerScaling as TransformerScaling,
        scaling_rule as scaling_rule,
        transformer_scaling as transformer_scaling,
    )
    from .token_fates import (
        Fates as Fates,
        ShapingAdvice as ShapingAdvice,
        recommend_shaping as recommend_shaping,
        token_fates as token_fates,
    )
    from .tune import tune as tune

_NAMES = {
    ".._errors": "NotTunableError",
    ".block_scale": "BlockScale preserving_scale tune_block",
    ".diagnose": "Diagnosis diagnose",
    ".equivalence": "equivalence_rates",
    ".global_rate": "Number global_rate",
    ".gradients": "GradientDiagnosis diagnose_gradients",
    ".learning_rates": "LearningRates learning_rates standard_rates with_slow_biases",
    ".numbers": "DepthCurves depth_curves",
    ".scaling": "GroupScaling ScalingRule TransformerScaling scaling_rule transformer_scaling",
    ".token_fates": "Fates ShapingAdvice recommend_shaping token_fates",
    ".tune": "tune",
}
__all__ = _offered(__name__, _NAMES)
