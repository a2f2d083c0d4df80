r"""Algorithm projectors: how differentials of the tangent kernel and errors of training make a prediction, in the eigenbasis.

Let $h_a$ be the eigenvalues of the tangent kernel of training inputs and $\mu_a = 1-\eta h_a$. Differentials of the tangent kernel push the
output on an input $p$ by

$$\tau_p = (dH_{apb}Z_A^{ab} + dH_{pab}Z_B^{ab})\,\epsilon_a\epsilon_b + (dd_IH_{apbc}Z_{IA}^{abc} + dd_IH_{pabc}Z_{IB}^{abc}
  + dd_{II}H_{abpc}Z_{IIA}^{abc} + dd_{II}H_{pabc}Z_{IIB}^{abc})\,\epsilon_a\epsilon_b\epsilon_c,$$

indices summed over eigendirections, of which a test output $p = \beta$ feels $\tau_\beta - H_{\beta a}\widetilde H^{-1}\tau_a$,
PDLT (∞.141). Each projector is a sum of chains over the moments at which the errors were felt; at the end of training these
are products of inverse rates, PDLT (∞.142)-(∞.147), free of the cancellations of the printed forms, and no tensor with six indices
is ever made.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .chains import Pace


@dataclass(frozen=True, eq=False)
class Projectors:
    """All projectors of one way to train, as arrays over eigendirections, and over the inputs that are asked along the last axis.

    Inputs are the eigendirections of training first and `tests` others. What a training input contributes to a test
    input passes through what the network still learns afterwards, so that entries of training inputs have one more rate in
    their chains; at the end of training that divides them by their eigenvalue.
    """

    values: Float[np.ndarray, " A"]
    tests: int
    pace: Pace
    direct: bool = False
    """Whether parameters are set by two second-order steps instead of gradients, PDLT (∞.148)."""

    def first(self) -> Float[np.ndarray, "A D"]:
        r"""$\tilde H^{-1}$ of the free part, at finite time $\sum_s\eta\mu^s$, PDLT (∞.92)."""
        return self._asked(lambda after: self.pace.chain(self.values[:, None], after=after), 1)

    def second(self) -> Float[np.ndarray, "A A D"]:
        r"""$\tilde H^{-1}\tilde H^{-1}$ with a fluctuation between."""
        a, b = self._grid(2)
        return self._asked(lambda after: self.pace.chain(a, b, after=after), 2)

    def Z_A(self) -> Float[np.ndarray, "A A D"]:
        r"""Of $dH_{apb}$, PDLT (∞.142): $\frac{\eta^2\mu_a}{(1-\mu_a)(1-\mu_a\mu_b)}$ at the end of training."""
        return self._asked(self._later_earlier, 2, gradients_only=True)

    def Z_B(self) -> Float[np.ndarray, "A A D"]:
        r"""Of $dH_{pab}$, symmetrised, PDLT (∞.143): $\frac1{2h_ah_b}$ at the end of training whatever the algorithm."""
        if self._ended:
            a, b = self._grid(2)
            return self._asked(lambda after: 0.5 * self.pace.chain(a, b, after=after), 2)

        def both(after: Any) -> Any:
            a, b = self._grid(2)
            ordered = self._later_earlier(after)
            at_once = self.pace.rate * self.pace.chain(self.pace.together(a, b), after=after)
            return (ordered + np.swapaxes(ordered, 0, 1) + at_once) / 2

        return self._asked(both, 2)

    def Z_IA(self) -> Float[np.ndarray, "A A A D"]:
        r"""Of $dd_IH_{apbc}$, PDLT (∞.144)."""
        return self._asked(lambda after: -self._three(after) - self._last_then_two(after) / 2, 3, gradients_only=True)

    def Z_IB(self) -> Float[np.ndarray, "A A A D"]:
        r"""Of $dd_IH_{pabc}$, symmetrised, PDLT (∞.145): $-\frac1{6h_ah_bh_c}$ at the end of training whatever the algorithm."""
        if self._ended:
            a, b, c = self._grid(3)
            return self._asked(lambda after: -self.pace.chain(a, b, c, after=after) / 6, 3)

        def every(after: Any) -> Any:
            a, b, c = self._grid(3)
            at_once = self.pace.rate**2 * self.pace.chain(self.pace.together(a, b, c), after=after)
            one = -self._three(after) - (self._last_then_two(after) + self._two_then_last(after)) / 2 - at_once / 6
            rest = range(3, np.ndim(one))
            return sum(np.transpose(one, (*order, *rest)) for order in itertools.permutations(range(3))) / 6

        return self._asked(every, 3)

    def Z_IIA(self) -> Float[np.ndarray, "A A A D"]:
        r"""Of $dd_{II}H_{abpc}$, PDLT (∞.146)."""
        return self._asked(lambda after: -self._three(after), 3, gradients_only=True)

    def Z_IIB(self) -> Float[np.ndarray, "A A A D"]:
        r"""Of $dd_{II}H_{pabc}$, PDLT (∞.147): $-Z_A^{ac}/h_b$ at the end of training."""
        if self._ended:

            def settled(after: Any) -> Any:
                a, b, c = self._grid(3)
                return -self.pace.left(a) * self.pace.chain(self.pace.together(a, c), a, b, after=after)

            return self._asked(settled, 3, gradients_only=True)

        def whole(after: Any) -> Any:
            three = self._three(after)
            ordered = three + np.swapaxes(three, 0, 1) + np.swapaxes(three, 1, 2)
            return -ordered - self._last_then_two(after) - self._two_then_last(after)

        return self._asked(whole, 3, gradients_only=True)

    @property
    def _ended(self) -> bool:
        return math.isinf(self.pace.time)

    def _grid(self, count: int) -> list[Any]:
        """The eigenvalues along each of so many axes, and one axis of length one behind them for the inputs."""
        shapes = [[len(self.values) if axis == at else 1 for axis in range(count + 1)] for at in range(count)]
        return [self.values.reshape(shape) for shape in shapes]

    def _asked(self, made: Any, count: int, *, gradients_only: bool = False) -> Any:
        shape = (len(self.values),) * count
        if self.direct and gradients_only:
            return np.zeros((*shape, len(self.values) + self.tests))
        of_training = np.broadcast_to(made(self.values), (*shape, len(self.values)))
        of_tests = np.broadcast_to(made(None), (*shape, self.tests))
        return np.concatenate([of_training, of_tests], axis=-1)

    def _later_earlier(self, after: Any) -> Any:
        r"""$\eta^2\sum_{v<s}\mu_a^s\mu_b^v$."""
        a, b = self._grid(2)
        return self.pace.left(a) * self.pace.chain(self.pace.together(a, b), a, after=after)

    def _three(self, after: Any) -> Any:
        r"""$\eta^3\sum_{v<u<s}\mu_a^s\mu_b^u\mu_c^v$."""
        a, b, c = self._grid(3)
        ab = self.pace.together(a, b)
        chain = self.pace.chain(self.pace.together(ab, c), ab, a, after=after)
        return self.pace.left(a) ** 2 * self.pace.left(b) * chain

    def _last_then_two(self, after: Any) -> Any:
        r"""$\eta^3\sum_{u<s}\mu_a^s(\mu_b\mu_c)^u$."""
        a, b, c = self._grid(3)
        return self.pace.rate * self.pace.left(a) * self.pace.chain(self.pace.together(a, b, c), a, after=after)

    def _two_then_last(self, after: Any) -> Any:
        r"""$\eta^3\sum_{v<s}(\mu_a\mu_b)^s\mu_c^v$."""
        a, b, c = self._grid(3)
        ab = self.pace.together(a, b)
        return self.pace.rate * self.pace.left(ab) * self.pace.chain(self.pace.together(ab, c), ab, after=after)
