r"""Between and beyond two training inputs: predictions along the line $x_{(2s-1)} = sx_++(1-s)x_-$."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._validation import as_floats
from ...kernels.tangent_map import output_kernels
from ...networks import MLP, as_mlp
from .predict import predict
from .train_test import as_targets

_NODES = 16  # of the polynomial of the tangent kernel along the line, in each input


class Line(Result, eqx.Module):
    r"""Predictions on the line through two training inputs, at $s$; $s = 1$ is $x_+$ and $s = 0$ is $x_-$."""

    s: Float[Array, " S"]
    weights: Float[Array, "S 2"]
    r"""$w_+, w_-$ of the targets: $m = w_+y_+ + w_-y_-$, PDLT (10.40)."""
    mean: Float[Array, "S n_L"]
    standard_deviation: Float[Array, " S"]
    """Over initialisations, of each output."""
    straight: Float[Array, "S n_L"]
    r"""$sy_++(1-s)y_-$: what deep linear networks predict, PDLT (10.104)."""


@entry()
def predict_along_line(net: MLP, x_plus: Any, x_minus: Any, y_plus: Any, y_minus: Any, s: Any) -> Line:
    r"""Inter- and extrapolation by networks of infinite width that learned two inputs, exactly, PDLT (10.99)-(10.109):
    the generalised posterior, PDLT (10.40)-(10.41), on $sx_++(1-s)x_-$.

    **Arguments:**

    - `net`: the network with its rates.
    - `x_plus`, `x_minus`: the training inputs, vectors of length n_0, and `y_plus`, `y_minus` their targets, numbers or vectors of
      length n_L.
    - `s`: where to ask; in [0, 1] between the two, elsewhere beyond.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.learning.predict_along_line(net, [1.0, 0.5], [0.3, -1.0], 1.0, 0.0, 0.5).mean.round(4).tolist()
        [[0.4307]]
    """
    plus, minus = _two_inputs(as_mlp(net), x_plus, x_minus)
    where = np.atleast_1d(np.asarray(as_floats(s, "s")))
    if where.ndim != 1:
        raise ShapeError("s", f"shape {where.shape}", "one number or a list of them")
    targets = as_targets(
        [np.atleast_1d(as_floats(y_plus, "y_plus")), np.atleast_1d(as_floats(y_minus, "y_minus"))], 2, net.widths[-1]
    )
    asked = where[:, None] * plus + (1 - where[:, None]) * minus
    found = predict(net, np.stack([plus, minus]), targets, asked)
    weights = predict(net.replace(widths=(*net.widths[:-1], 2)), np.stack([plus, minus]), np.eye(2), asked).mean
    straight = where[:, None] * targets[0] + (1 - where[:, None]) * targets[1]
    return Line(
        where, np.asarray(weights), np.asarray(found.mean), np.asarray(found.standard_deviation)[:, 0], straight
    )


class LineSeries(Result, eqx.Module):
    r"""The tangent kernel along the line to the orders that predictions of nearby inputs feel,

    $$\Theta_{\epsilon_1\epsilon_2} = \Theta_{00} + t_1(\epsilon_1+\epsilon_2) + t_2(\epsilon_1^2+\epsilon_2^2) + s_2\epsilon_1\epsilon_2$$

    $$\qquad + t_3(\epsilon_1^3+\epsilon_2^3) + s_3(\epsilon_1^2\epsilon_2+\epsilon_1\epsilon_2^2) +
      s_4(\epsilon_1^3\epsilon_2+\epsilon_1\epsilon_2^3) + \dots,$$

    $\epsilon = 2s-1$; $t_1 = \frac12\delta\Theta_{[1]}$, $t_2 = \frac12\delta\delta\Theta_{[0]}$, $s_2 = \delta\delta\Theta_{[2]}$ of
    `critical.tangent_pair_flow`, PDLT (10.110).
    """

    Theta_00: float
    t_1: float
    t_2: float
    s_2: float
    t_3: float
    s_3: float
    s_4: float

    def curvature(self, s: float | Float[Array, "*s"]) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
        r"""$p', q'$ of the weights $w_+ = s+\frac12(p'+q')$, $w_- = 1-s+\frac12(p'-q')$, to the next order in $\delta$:

        $$p' = 4s(1-s)\frac{t_1(s_3+\varepsilon s_4)-s_2(t_2+\varepsilon t_3)}{\Theta_{00}s_2-t_1^2},\qquad
          q' = 4s(1-s)\frac{t_1(t_2+\varepsilon t_3)-\Theta_{00}(s_3+\varepsilon s_4)}{\Theta_{00}s_2-t_1^2},$$

        $\varepsilon = 2s-1$. This replaces PDLT (10.113)-(10.115), which are four times too large and lack $t_3, s_3, s_4$.
        """
        where = np.asarray(s, dtype=float)
        e, factor = 2 * where - 1, 4 * where * (1 - where)
        even, odd = self.t_2 + e * self.t_3, self.s_3 + e * self.s_4
        determinant = self.Theta_00 * self.s_2 - self.t_1**2
        p = factor * (self.t_1 * odd - self.s_2 * even) / determinant
        q = factor * (self.t_1 * even - self.Theta_00 * odd) / determinant
        return np.asarray(p), np.asarray(q)

    def weights(self, s: float | Float[Array, "*s"]) -> Float[Array, "*s 2"]:
        r"""$w_+, w_-$ of the targets, to the order of `curvature`."""
        where = np.asarray(s, dtype=float)
        p, q = self.curvature(where)
        return np.stack([where + (p + q) / 2, 1 - where + (p - q) / 2], axis=-1)


@entry()
def line_series(net: MLP, x_plus: Any, x_minus: Any) -> LineSeries:
    r"""Coefficients of $\Theta$ along the line through two nearby inputs, for smooth activations: a polynomial through Chebyshev nodes
    that reach half as far from the midpoint as that is from zero, so that rounding of the kernel is not felt however near they are.

    Examples:
        >>> net = fw.MLP("erf", (2, 8, 8, 1))
        >>> series = fw.learning.line_series(net, [1.0, 0.5], [0.9, 0.6])
        >>> series.weights(0.5).round(6).tolist()
        [0.504459, 0.496696]
    """
    plus, minus = _two_inputs(as_mlp(net), x_plus, x_minus)
    middle, half = (plus + minus) / 2, (plus - minus) / 2
    size, distance = (float(np.linalg.norm(each)) for each in (middle, half))
    if size == 0:
        raise DomainError("x_plus, x_minus", "opposite inputs", "inputs near one another")
    widest = max(1.0, 0.5 * size / distance)
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    theta = np.asarray(output_kernels(net, middle + widest * nodes[:, None] * half)[1])
    powers = np.linalg.inv(np.polynomial.polynomial.polyvander(nodes, _NODES - 1))
    c = powers @ theta @ powers.T / widest ** np.add.outer(np.arange(_NODES), np.arange(_NODES))
    if not math.isfinite(float(c[1, 3])) or c[0, 0] * c[1, 1] - c[0, 1] ** 2 <= 0:
        raise DomainError("x_plus, x_minus", "inputs whose tangent kernels are parallel", "inputs that differ")
    return LineSeries(*(float(each) for each in (c[0, 0], c[0, 1], c[0, 2], c[1, 1], c[0, 3], c[1, 2], c[1, 3])))


def _two_inputs(net: MLP, x_plus: Any, x_minus: Any) -> tuple[Float[np.ndarray, " n_0"], Float[np.ndarray, " n_0"]]:
    plus, minus = (np.asarray(as_floats(x, name)) for x, name in ((x_plus, "x_plus"), (x_minus, "x_minus")))
    if plus.shape != (net.widths[0],) or minus.shape != plus.shape:
        got = f"shapes {plus.shape} and {minus.shape}"
        raise ShapeError("x_plus, x_minus", got, f"two vectors of length {net.widths[0]}")
    if (plus == minus).all():
        raise DomainError("x_minus", "the same input as x_plus", "another one")
    return plus, minus
