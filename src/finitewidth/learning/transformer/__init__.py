"""A small language model with shaped, Pre-LN or Post-LN blocks, and its training."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .diagnostics import entropy_at_initialisation as entropy_at_initialisation, gradient_norms as gradient_norms
    from .model import LanguageModel as LanguageModel, Shaping as Shaping
    from .schedules import recover as recover
    from .text import Text as Text, python_manual as python_manual
    from .training import Training as Training, train as train

_NAMES = {
    ".diagnostics": "entropy_at_initialisation gradient_norms",
    ".model": "LanguageModel Shaping",
    ".schedules": "recover",
    ".text": "Text python_manual",
    ".training": "Training train",
}
__all__ = _offered(__name__, _NAMES)
