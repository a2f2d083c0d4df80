"""One network: its parameters, its outputs, its tangent kernel and how that will change."""

from .convolution import convolution as convolution, convolution_parameters as convolution_parameters
from .differentials import ddntk as ddntk, dntk as dntk
from .empirical_ntk import empirical_ntk as empirical_ntk
from .observable import Observable as Observable
from .one_step import OneStep as OneStep, one_step as one_step
from .parameters import Parameters as Parameters, apply as apply, draw_parameters as draw_parameters
from .tangent_kernel import ntk as ntk, ntk_contributions as ntk_contributions
