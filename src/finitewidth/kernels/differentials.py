r"""Which activations have differentials of the tangent kernel, and why others have none.

A slope that jumps makes $\sigma''$ a delta function. In the first differential it occurs once, and its averages are finite. In the
second it occurs squared, $\langle\sigma''\sigma''\rangle = \infty$, and there is nothing to expand: a step of any size $\eta$ may carry
a neuron across the kink, PDLT (∞.39)-(∞.44).
"""

from .._errors import DomainError
from ..activations import Activation, ScaleInvariant
from .tangent_map import check_has_tangent_kernel


def check_has_differential(activation: Activation) -> None:
    r"""`DomainError` where the averages of $\sigma''$ with three other factors are not known."""
    check_has_tangent_kernel(activation)
    if activation.has_jump(1) and not isinstance(activation, ScaleInvariant):
        got = f"{activation.name}, whose slope jumps: its second derivative holds delta functions"
        raise DomainError(
            "activation",
            got,
            "a continuous slope, or one kink at zero between two lines (`scale_invariant`), for through='dntk'",
        )


def check_has_second_differential(activation: Activation) -> None:
    """`DomainError` for slopes that jump, whose second differentials are infinite, and for curvatures that jump."""
    check_has_tangent_kernel(activation)
    if activation.has_jump(1):
        got = (
            f"{activation.name}, whose slope jumps: <sigma'' sigma''> is infinite, and a step of any size may cross the kink, "
            "so that nothing can be expanded in its size, PDLT (∞.39)-(∞.44)"
        )
        raise DomainError("activation", got, "an activation with a continuous slope, such as gelu or swish")
    if activation.has_jump(2):
        got = f"{activation.name}, whose second derivative jumps: its third holds delta functions, whose averages are not known here"
        raise DomainError("activation", got, "an activation with two continuous derivatives, such as gelu or swish")
