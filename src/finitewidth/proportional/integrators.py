"""The integrators by name."""

from .._errors import UnknownNameError
from .euler_step import EulerStep
from .exponential_step import ExponentialStep
from .kernel_wishart_step import KernelWishartStep
from .scheme import Scheme

METHODS: dict[str, Scheme] = {
    "exponential": ExponentialStep(),
    "kernel-wishart": KernelWishartStep(),
    "euler": EulerStep(),
}


def as_scheme(method: str) -> Scheme:
    """The integrator of that name."""
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    return METHODS[method]
