"""One network: its parameters, its outputs, its tangent kernel and how that will change."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .convolution import convolution as convolution, convolution_parameters as convolution_parameters
    from .differentials import ddntk as ddntk, dntk as dntk
    from .empirical_ntk import empirical_ntk as empirical_ntk
    from .observable import Observable as Observable
    from .one_step import OneStep as OneStep, one_step as one_step
    from .parameters import Parameters as Parameters, apply as apply, draw_parameters as draw_parameters
    from .tangent_kernel import ntk as ntk, ntk_contributions as ntk_contributions

_NAMES = {
    ".convolution": "convolution convolution_parameters",
    ".differentials": "ddntk dntk",
    ".empirical_ntk": "empirical_ntk",
    ".observable": "Observable",
    ".one_step": "OneStep one_step",
    ".parameters": "Parameters apply draw_parameters",
    ".tangent_kernel": "ntk ntk_contributions",
}
__all__ = _offered(__name__, _NAMES)
