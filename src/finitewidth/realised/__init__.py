"""One network: its parameters, its outputs, and its tangent kernel."""

from .empirical_ntk import empirical_ntk as empirical_ntk
from .observable import Observable as Observable
from .parameters import Parameters as Parameters, apply as apply, draw_parameters as draw_parameters
from .tangent_kernel import ntk as ntk, ntk_contributions as ntk_contributions
