r"""Control variates: what trained networks have in common with the first terms of theory, whose law is known, taken off before averaging.

To first order in its own fluctuation $\Delta H = \widehat H - H$ a network has learned

$$c_\beta = c^0_\beta + c^1_\beta,\qquad c^0 = z_\beta - H_{\beta a}C_a\epsilon_a,\qquad
  c^1 = -\Delta H_{\beta a}C_a\epsilon_a + H_{\beta d}C_{ad}\Delta H_{da}\epsilon_a,$$

whose mean is $H_{\beta a}C_ay_a$, for an odd number of last-layer weights averages to nothing, and whose covariances, of $c^0$ with
itself and with $c^1$, follow from $G$, $D$ and $F$. What is left of a trained network is of order $1/n$, and so is its noise. Means and
covariances used are exact with one hidden layer, and to order $1/n$ with more.
"""

import numpy as np
from jaxtyping import Float

from ...expansion import flow
from ...results import Measurement, OutputMoments
from ..end_of_training.ensemble import moments_at
from ..end_of_training.statistics import Statistics
from .outcome import Outcome, measured_mean
from .plan import Plan


def controlled_moments(plan: Plan, outcome: Outcome) -> OutputMoments[Measurement]:
    """Mean and covariance of the outputs on test inputs after the last step, with control variates."""
    trained, outputs = len(plan.x_train), plan.y_train.shape[1]
    theory = flow(plan.drawn, np.concatenate([plan.x_train, plan.x_test]), through="ntk")
    n, z = float(theory.previous_widths[-1]), np.asarray(outcome.first_outputs)
    fluctuates = 0.0 if plan.drawn.depth == 1 else 1 / n
    nothing = np.zeros_like(np.asarray(theory.A)[-1])
    known = {name: np.asarray(getattr(theory, name))[-1] * fluctuates for name in "DF"}
    tensors = {name: known.get(name, nothing) for name in "ABDFPQRSTU"}
    K, G, H = (np.asarray(each)[-1] for each in (theory.K, theory.G, theory.H))
    seen, vectors = Statistics(K, G, H, tensors, trained).turned()
    moments = moments_at(seen, vectors.T @ plan.y_train, plan.rate, plan.rate * plan.steps[-1])
    turn = np.eye(len(seen.H))
    turn[:trained, :trained] = vectors
    error = np.einsum("ak,mai->mki", vectors, z[:, :trained]) - moments.y
    first = np.einsum("bp,pq,mqi->mbi", moments.linear, turn.T, z, optimize=True)
    first = first + seen.cross @ (moments.projectors.first()[:, -1:] * moments.y)
    second = _pushed(np.asarray(outcome.first_kernel), H, turn, error, moments.projectors.first(), moments.readout)
    learned = np.asarray(outcome.outputs)[:, -1]
    mean = measured_mean(learned - first - second)
    own, wiring = moments.covariance()  # of D and F alone: what is known of the first two terms
    exact = own[..., None, None] * np.eye(outputs) + wiring
    parts = [each - each.mean(axis=0) for each in (learned, first, second)]
    products = _product(parts[0], parts[0]) - _product(parts[1], parts[1])
    crossed = _product(parts[1], parts[2])
    products = products - crossed - np.transpose(crossed, (0, 2, 1, 4, 3))
    rest = measured_mean(products * len(learned) / (len(learned) - 1))
    return OutputMoments(
        Measurement(mean.mean + moments.kernel_mean(), mean.standard_error),
        whole_covariance=Measurement(rest.mean + exact, rest.standard_error),
    )


def _pushed(
    kernels: Float[np.ndarray, "m n n D D"],
    H: Float[np.ndarray, "D D"],
    turn: Float[np.ndarray, "D D"],
    error: Float[np.ndarray, "m A n"],
    gain: Float[np.ndarray, "A D"],
    readout: Float[np.ndarray, "B D"],
) -> Float[np.ndarray, "m B n"]:
    """What each network's own fluctuation of its tangent kernel does to its outputs, to first order."""
    fluctuation = kernels - np.eye(kernels.shape[1])[:, :, None, None] * H
    turned = np.einsum("mijpq,pr,qs->mijrs", fluctuation, turn, turn, optimize=True)[..., : error.shape[1]]
    return -np.einsum("bp,mijpa,ap,maj->mbi", readout, turned, gain, error, optimize=True)


def _product(one: Float[np.ndarray, "m B n"], other: Float[np.ndarray, "m B n"]) -> Float[np.ndarray, "m B B n n"]:
    return np.einsum("mbi,mcj->mbcij", one, other)
