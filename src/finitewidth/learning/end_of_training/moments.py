r"""Mean and covariance over initialisations of what networks of finite width have learned, to order $1/n$.

A network's output on a test input is, to the order at which ensembles feel it and with $p$ over all inputs,

$$z_\beta(t) = z_\beta - H_{\beta a}C_a\epsilon_a + \big(\delta_\beta{}^p - H_{\beta d}\delta_d{}^p\big)\Big[-\Delta H_{pa}C_a\epsilon_a
  + \Delta H_{pa}\Delta H_{ab}C_{ab}\epsilon_b + \tau_p\Big],$$

PDLT (∞.154) with its signs corrected, in the eigenbasis of $\widetilde H$ and at any time: $C$ and the projectors of $\tau$ are
`Projectors`, whose last axis is $p$. Averages over $\epsilon = z - y$ follow by pairing $z$'s with each other and with fluctuations.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .projectors import Projectors
from .statistics import Statistics
from .wired import NOTHING, Contracted, Factor, Wired, contracted

PARTS = ("fluctuation", "dntk", "ddntk_I", "ddntk_II")


class Covariance(NamedTuple):
    """What every output has alone, and what binds outputs together."""

    own: Float[np.ndarray, "B B"]
    wiring: Float[np.ndarray, "B B n_L n_L"]


@dataclass(frozen=True, eq=False)
class Moments:
    """Of an ensemble seen from the eigendirections, that was trained to `y` in an algorithm's way."""

    seen: Statistics
    projectors: Projectors
    y: Float[np.ndarray, "A n_L"]
    """In the eigenbasis."""

    @property
    def outputs(self) -> int:
        """$n_L$."""
        return self.y.shape[1]

    @property
    def readout(self) -> Float[np.ndarray, "B D"]:
        r"""$\delta_\beta{}^p - H_{\beta d}\delta_d{}^p$."""
        return np.concatenate([-self.seen.cross, np.eye(len(self.seen.cross))], axis=1)

    @property
    def linear(self) -> Float[np.ndarray, "B D"]:
        r"""$\delta_\beta{}^q - H_{\beta a}C_a\delta_a{}^q$, which takes first outputs to those that a frozen kernel has learned."""
        gain = self.projectors.first()[:, -1]
        return np.concatenate([-self.seen.cross * gain, np.eye(len(self.seen.cross))], axis=1)

    def kernel_mean(self) -> Float[np.ndarray, "B n_L"]:
        r"""$m^{NTK} = H_{\beta a}C_ay_a$, PDLT (∞.161), $H$ being the mean at this width."""
        return self.seen.cross @ (self.projectors.first()[:, -1:] * self.y)

    def mean_parts(self) -> dict[str, Float[np.ndarray, "B n_L"]]:
        """The four corrections of PDLT (∞.160), corrected, on test inputs."""
        return {name: self.readout @ pushed for name, pushed in self.pushes().items()}

    def pushes(self) -> dict[str, Float[np.ndarray, "D n_L"]]:
        r"""What each of the four adds on any input $p$, before the kernel passes it on."""
        Z, dHz, dd_I, dd_II = self.projectors, self.seen.dHz, self.seen.ddH_I, self.seen.ddH_II
        y = Factor(self.y, "b")
        fluctuation = self._sum(self.seen.HH, "paab", Factor(Z.second(), "abp"), [[y]])
        dntk = self._of_two(dHz, "apb", Factor(Z.Z_A(), "abp")) + self._of_two(dHz, "pab", Factor(Z.Z_B(), "abp"))
        first = self._of_three(dd_I, "apbc", Z.Z_IA()) + self._of_three(dd_I, "pabc", Z.Z_IB())
        second = self._of_three(dd_II, "abpc", Z.Z_IIA()) + self._of_three(dd_II, "pabc", Z.Z_IIB())
        return dict(zip(PARTS, (-np.asarray(part.lines) for part in (fluctuation, dntk, first, second)), strict=True))

    def covariance(self) -> Covariance:
        """Over initialisations of outputs on test inputs, PDLT (∞.166) in full, with the wiring of outputs."""
        L, R, outputs = self.linear, self.readout, self.outputs
        pushed, twice = self._push_and_output(), self.squared_fluctuation()
        half = R @ pushed.own @ L.T if np.ndim(pushed.own) else np.zeros((len(R), len(R)))
        own = L @ self.seen.G @ L.T + half + half.T + R @ np.asarray(twice.own) @ R.T
        wiring = np.zeros((len(R), len(R), outputs, outputs))
        if np.ndim(pushed.lines):
            bound = np.einsum("bp,pqij,cq->bcij", R, pushed.lines, L, optimize=True)
            wiring = wiring + bound + np.transpose(bound, (1, 0, 3, 2))
        if np.ndim(twice.lines):
            wiring = wiring + np.einsum("bp,pqij,cq->bcij", R, twice.lines, R, optimize=True)
        return Covariance(own, wiring)

    def squared_fluctuation(self) -> Contracted:
        r"""$E[\Delta H_{pa}C_a\epsilon_a\,\Delta H_{qb}C_b\epsilon_b]$."""
        gain = self.projectors.first()
        weights = [Factor(gain, "ap"), Factor(gain, "bq")]
        return self._every(self.seen.HH, "paqb", weights, self._errors("a", "b"), "pq")

    def _push_and_output(self) -> Contracted:
        r"""What is pushed on $p$, times the first output on $q$."""
        Z, dHz, dd_I, dd_II, K = self.projectors, self.seen.dHz, self.seen.ddH_I, self.seen.ddH_II, self.seen.K
        A = self.seen.trained

        def met(letter: str) -> Factor:
            return Factor(K[:A], f"{letter}q")

        minus = self._every(self.seen.zzH, "qapa", [Factor(Z.first(), "ap")], [[]], "pq")
        total = Contracted(-np.asarray(minus.own), -np.asarray(minus.lines))
        total += self._every(self.seen.HH, "paab", [Factor(Z.second(), "abp")], [[met("b")]], "pq")
        for slots, projector in (("apb", Z.Z_A()), ("pab", Z.Z_B())):
            weight = [Factor(projector, "abp")]
            total += self._every(dHz, slots + "q", weight, self._errors("a", "b"), "pq")
            total += self._every(dHz, slots + "a", weight, [[met("b")]], "pq")
            total += self._every(dHz, slots + "b", weight, [[met("a")]], "pq")
        pairs = [(letter, *(other for other in "abc" if other != letter)) for letter in "abc"]
        left = [[met(one), *rest] for one, two, three in pairs for rest in self._errors(two, three)]
        for tensor, slots, projector in (
            (dd_I, "apbc", Z.Z_IA()),
            (dd_I, "pabc", Z.Z_IB()),
            (dd_II, "abpc", Z.Z_IIA()),
            (dd_II, "pabc", Z.Z_IIB()),
        ):
            total += self._every(tensor, slots, [Factor(projector, "abcp")], left, "pq")
        return total

    def _errors(self, one: str, other: str) -> list[list[Factor]]:
        r"""$E[\epsilon_a\epsilon_b] = K_{ab} + y_ay_b$."""
        A = self.seen.trained
        return [[Factor(self.seen.K[:A, :A], one + other)], [Factor(self.y, one), Factor(self.y, other)]]

    def _of_two(self, dHz: Wired, slots: str, weight: Factor) -> Contracted:
        r"""$-E[dH\,\epsilon_a\epsilon_b]$."""
        with_a = self._sum(dHz, slots + "a", weight, [[Factor(self.y, "b")]])
        return with_a + self._sum(dHz, slots + "b", weight, [[Factor(self.y, "a")]])

    def _of_three(self, tensor: Wired, slots: str, projector: Float[np.ndarray, "A A A D"]) -> Contracted:
        r"""$-E[ddH]\,E[\epsilon_a\epsilon_b\epsilon_c]$."""
        products = [[Factor(self.y, "a"), *rest] for rest in self._errors("b", "c")]
        K = self.seen.K[: self.seen.trained, : self.seen.trained]
        products += [[Factor(self.y, "b"), Factor(K, "ac")], [Factor(self.y, "c"), Factor(K, "ab")]]
        return self._sum(tensor, slots, Factor(projector, "abcp"), products)

    def _sum(self, tensor: Wired, slots: str, weight: Factor, products: list[list[Factor]]) -> Contracted:
        return self._every(tensor, slots, [weight], products, "p")

    def _every(
        self, tensor: Wired, slots: str, weights: list[Factor], products: list[list[Factor]], asked: str
    ) -> Contracted:
        """Summed over products; letters but p and q run over training inputs."""
        A = self.seen.trained
        part = tuple(slice(None) if letter in "pq" else slice(A) for letter in slots)
        chosen = Wired(tensor.s[part], tensor.t[part], tensor.u[part])
        total = NOTHING
        for factors in products:
            total = total + contracted(chosen, slots, weights, factors, self.outputs, asked)
        return total
