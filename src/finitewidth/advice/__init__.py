"""Advice: what to do with a network."""

from .equivalence import equivalence_rates as equivalence_rates
from .gradients import GradientDiagnosis as GradientDiagnosis, diagnose_gradients as diagnose_gradients
from .learning_rates import (
    LearningRates as LearningRates,
    learning_rates as learning_rates,
    standard_rates as standard_rates,
)
from .tune import NotTunableError as NotTunableError, tune as tune
