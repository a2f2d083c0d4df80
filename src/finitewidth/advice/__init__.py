"""Advice: what to do with a network."""

from .._errors import NotTunableError as NotTunableError
from .equivalence import equivalence_rates as equivalence_rates
from .gradients import GradientDiagnosis as GradientDiagnosis, diagnose_gradients as diagnose_gradients
from .learning_rates import (
    LearningRates as LearningRates,
    learning_rates as learning_rates,
    standard_rates as standard_rates,
)
from .token_fates import (
    Fates as Fates,
    ShapingAdvice as ShapingAdvice,
    recommend_shaping as recommend_shaping,
    token_fates as token_fates,
)
from .tune import tune as tune
