"""What networks of finite width predict when they are trained, and how far that can be trusted."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import warn
from ..._result import Result
from ...results import Prediction
from ..digits import TOLERANCE, lost
from ..kernel.bias_and_variance import GeneralisationError, generalisation_error
from .moments import Moments

UNTRUSTED = 0.3
"""The small parameter beyond which a warning is due. Ensembles that were trained at 0.3, of tanh with two hidden layers and of sin with
one, had means that differed from order $1/n$ by 16 to 35 per cent of the correction (standard errors 2 to 24), and at 0.1 by 6 to 21
(2 to 20): what is left out is about two thirds of the parameter times the correction. Measured, not a bound."""

_ROUNDING = 1e-9  # of the variance before training: a variance below zero by less is zero


class Trust(Result, eqx.Module):
    """How small what is expanded in is. It grows with depth over width, with targets, and as the tangent kernel nears a singular one."""

    spread: float = eqx.field(static=True)
    r"""$E|\widehat{\Delta H}\widetilde H^{-1}\epsilon|^2/E|\epsilon|^2$ on training inputs: how much kernels of single networks miss
    their targets, relative to the errors that they have to learn."""
    push: float = eqx.field(static=True)
    """The four corrections of the mean on training inputs, before they are learned away, relative to the targets; their sizes added."""
    depth_over_width: float = eqx.field(static=True)
    r"""$\sum_\ell1/n_\ell$."""
    conditioning: float = eqx.field(static=True)
    r"""$h_{\max}/h_{\min}$ of the mean tangent kernel of training inputs."""
    error: float = eqx.field(static=True, default=0.0)
    """Of computing: how much corrections differ, relative to each, when they are computed again with inputs rounded anew. Zero where the
    condition number is too small for errors to be seen, so that nobody looked; one where no digit is left."""

    @property
    def small_parameter(self) -> float:
        """The larger of `spread` and `push`: what the expansion is one in. What is left out is small where this is."""
        return max(self.spread, self.push)

    @property
    def holds(self) -> bool:
        """Whether the next order can be expected to be small, and corrections have their digits."""
        return self.small_parameter <= UNTRUSTED and self.error <= TOLERANCE


class FinitePrediction(Prediction[Array]):
    r"""The result of `predict` at order 1. The mean is in parts, PDLT (∞.160), which add up:
    `mean = mean_kernel + mean_fluctuation + mean_dntk + mean_ddntk_I + mean_ddntk_II`."""

    mean_limit: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    r"""At infinite width, $\Theta_{\mathcal{BA}}\widetilde\Theta^{-1}y$."""
    mean_kernel: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    r"""$m^{NTK} = H_{\mathcal{BA}}\widetilde H^{-1}y$ with the mean tangent kernel $H = \Theta + H^{\{1\}}/n$, PDLT (∞.161)."""
    mean_fluctuation: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    """From tangent kernels that differ from network to network, PDLT (∞.162)."""
    mean_dntk: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    """From tangent kernels that change as networks learn, PDLT (∞.163)."""
    mean_ddntk_I: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    """From the first second differential, PDLT (∞.164)."""
    mean_ddntk_II: Float[Array, "N_test n_L"] = eqx.field(kw_only=True)
    """From the other second differential, PDLT (∞.165)."""
    trust: Trust = eqx.field(kw_only=True)

    @property
    def mean_representation(self) -> Float[Array, "N_test n_L"]:
        """What learned representations do to the mean: all that comes from differentials of the tangent kernel."""
        return self.mean_dntk + self.mean_ddntk_I + self.mean_ddntk_II

    def test_loss(self, y: Any) -> GeneralisationError:
        r"""$E[\mathcal L_{\mathcal B}]$ over initialisations as a bias and a variance, PDLT (10.52), (∞.172), to order $1/n$ in each."""
        return generalisation_error(self, y)


def trust_of(moments: Moments, depth_over_width: float, error: float) -> Trust:
    """Measured at the end of training of squared errors, or at the moment that `moments` belong to."""
    seen, A = moments.seen, moments.seen.trained
    h, errors = seen.values, float(np.sum(moments.y**2) + moments.outputs * np.trace(seen.K[:A, :A]))
    missed = moments.squared_fluctuation()
    own = float(np.sum(h**2 * np.diagonal(missed.own)[:A])) * moments.outputs if np.ndim(missed.own) else 0.0
    bound = float(np.einsum("a,aaii->", h**2, np.asarray(missed.lines)[:A, :A])) if np.ndim(missed.lines) else 0.0
    targets = float(np.linalg.norm(moments.y))
    pushes = sum(float(np.linalg.norm(h[:, None] * part[:A])) for part in moments.pushes().values())
    push = pushes / targets if targets else 0.0
    return Trust((own + bound) / errors, push, depth_over_width, float(h.max() / h.min()), error)


def said(
    prediction: FinitePrediction, prior: Float[np.ndarray, " N_test"], kernel: Float[np.ndarray, "N_train N_train"]
) -> FinitePrediction:
    """The prediction, having said where it cannot be trusted, and for which reason: lost digits first, which make the other figures, too.

    `prior` variances are what rounding is relative to; `kernel` is the tangent kernel of training inputs.
    """
    trust = prediction.trust
    negative = int((np.asarray(prediction.variance) < -_ROUNDING * prior[:, None]).sum())
    if trust.error > TOLERANCE:
        warn(
            f"{lost(trust.error, trust.conditioning, kernel)} Leave out inputs that say the same, make one of near copies, with the mean "
            "of their targets, use `bayes` with `noise`, or order=0. Wider networks do not help."
        )
    elif not trust.holds:
        warn(
            f"Order 1/n is not to be trusted here: the parameter it expands in is {trust.small_parameter:.2g}, where {UNTRUSTED:g} "
            f"is the most{f', and {negative} variances are negative' if negative else ''} "
            f"(sum of 1/n = {trust.depth_over_width:.2g}, condition of the tangent kernel {trust.conditioning:.2g}). Take widths "
            f"{trust.small_parameter / UNTRUSTED:.2g} times as large, smaller targets or fewer training inputs, or measure with `train`."
        )
    elif negative:
        warn(
            f"Order 1/n makes {negative} variances negative: there its correction is larger than the variance of infinite width, which is "
            "small next to inputs of training. Take wider networks, or measure with `train`."
        )
    return prediction
