"""Whether a product of functions of Gaussian variables has an average at all."""

import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .._errors import DomainError
from .derivatives import evaluated
from .function import Function

_RADII = np.linspace(0.25, 13.0, 52)
_REACH = {1: 12.0, 2: 9.0}  # deviations to which averages of one and of two variables are taken; of more:
_REACH_OF_MORE = 10.0
_LARGEST_TAIL = 1e-9  # of the integrand, beyond


def check_has_average(functions: Sequence[Function], K: Float[np.ndarray, "n n"]) -> None:
    r"""`DomainError` where a function is not finite, or $\prod_i f_i(z_i)$ grows so fast that its average does not exist, or lies too
    far out for quadratures to find.

    The integrand is followed outwards along the directions in which sums and differences of the variables grow fastest.
    """
    deviations = np.sqrt(np.diagonal(K))
    for i, (function, deviation) in enumerate(zip(functions, deviations, strict=True)):
        z = np.concatenate([np.linspace(-9.0, 9.0, 721) * deviation, function.kinks])
        finite = np.isfinite(evaluated(function.value, z))
        if not finite.all():
            got = f"a function, number {i}, that is NaN or infinite at {z[np.argmin(finite)]:.3g}"
            raise DomainError("functions", got, "functions finite wherever their variables go")
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=len(K))))
    directions = signs @ root
    lengths = np.linalg.norm(directions, axis=1)
    unit = directions[lengths > 1e-12 * lengths.max()] / lengths[lengths > 1e-12 * lengths.max(), None]
    z = np.einsum("r,du,iu->ird", _RADII, unit, root)
    with np.errstate(all="ignore"):
        sizes = [np.log(np.abs(evaluated(f.value, of_one))) for f, of_one in zip(functions, z, strict=True)]
        # Where one factor vanishes and another is infinite, their product is left to the other directions.
        integrand = np.nan_to_num(sum(sizes), nan=-np.inf, posinf=np.inf) - _RADII[:, None] ** 2 / 2
        along = np.max(integrand, axis=1) + (len(K) - 1) * np.log(_RADII)
    beyond = _REACH.get(len(K), _REACH_OF_MORE) <= _RADII
    if np.max(along[beyond]) > np.max(along) + np.log(_LARGEST_TAIL):
        raise DomainError(
            "functions",
            "functions whose product grows too fast to have an average under this covariance, or has it more than "
            f"{_REACH.get(len(K), _REACH_OF_MORE):g} deviations out",
            "slower growth, smaller variances, or functions that do not vanish nearer by",
        )
