r"""What theory knows of an ensemble at initialisation, seen from the eigendirections of its mean tangent kernel."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ..._errors import DomainError
from ...results import Flow
from .algorithm import positive_spectrum
from .wired import Wired

Matrix = Float[np.ndarray, "D D"]
Four = Float[np.ndarray, "D D D D"]
NAMES = ("A", "B", "D", "F", "P", "Q", "R", "S", "T", "U")


@dataclass(frozen=True, eq=False)
class Statistics:
    """Tensors of one layer, taken as outputs, on training inputs, which stand first, and others; factors of 1/n included."""

    K: Matrix
    """The kernel of infinite width, with which corrections are averaged."""
    G: Matrix
    """The mean metric at this width."""
    H: Matrix
    """The mean tangent kernel at this width."""
    tensors: dict[str, Four]
    """By their letters, axes as `Flow` stores them."""
    trained: int

    @cached_property
    def values(self) -> Float[np.ndarray, " A"]:
        """Eigenvalues of the mean tangent kernel of training inputs, once they are turned."""
        return np.diagonal(self.H)[: self.trained]

    @property
    def cross(self) -> Float[np.ndarray, "B A"]:
        r"""$H_{\mathcal{BA}}$."""
        return self.H[self.trained :, : self.trained]

    def turned(self) -> tuple["Statistics", Float[np.ndarray, "A A"]]:
        """Training inputs replaced by eigendirections, and these, in columns."""
        try:
            _, vectors = positive_spectrum(self.H[: self.trained, : self.trained], "x_train")
        except DomainError as error:
            want = "a positive one: training inputs that differ, and widths at which the correction H1/n is small"
            raise DomainError("x_train", f"{error.got}, to order 1/n", want) from None
        turn = np.eye(len(self.H))
        turn[: self.trained, : self.trained] = vectors
        tensors = {name: _four_times(turn, tensor) for name, tensor in self.tensors.items()}
        K, G, H = (turn.T @ matrix @ turn for matrix in (self.K, self.G, self.H))
        return Statistics(K, G, H, tensors, self.trained), vectors

    def chosen(self, inputs: Int[np.ndarray, " M"]) -> "Statistics":
        """Of these inputs only, in this order, some perhaps twice."""
        two, four = np.ix_(inputs, inputs), np.ix_(inputs, inputs, inputs, inputs)
        tensors = {name: tensor[four] for name, tensor in self.tensors.items()}
        return replace(self, K=self.K[two], G=self.G[two], H=self.H[two], tensors=tensors)

    @property
    def HH(self) -> Wired:
        r"""$E[\widehat{\Delta H}_{12}\widehat{\Delta H}_{34}]$, PDLT (8.82)."""
        A, B = self.tensors["A"], self.tensors["B"]
        return Wired(A, np.einsum("acbd->abcd", B), np.einsum("adbc->abcd", B))

    @property
    def zzH(self) -> Wired:
        r"""$E[z_1z_2\widehat{\Delta H}_{34}]$, PDLT (8.67)."""
        D, F = self.tensors["D"], self.tensors["F"]
        return Wired(D, np.einsum("acbd->abcd", F), np.einsum("adbc->abcd", F))

    @property
    def dHz(self) -> Wired:
        r"""$E[\widehat{dH}_{012}z_3]$, PDLT (11.45)."""
        P, Q = self.tensors["P"], self.tensors["Q"]
        return Wired(Q, np.einsum("acbd->abcd", Q), P)

    @property
    def ddH_I(self) -> Wired:
        r"""$E[\widehat{dd_IH}_{0123}]$, PDLT (∞.11)."""
        R = self.tensors["R"]
        return Wired(R, np.einsum("acdb->abcd", R), np.einsum("adbc->abcd", R))

    @property
    def ddH_II(self) -> Wired:
        r"""$E[\widehat{dd_{II}H}_{1234}]$, PDLT (∞.12)."""
        S, T, U = (self.tensors[name] for name in "STU")
        return Wired(S, np.einsum("acdb->abcd", T), np.einsum("adbc->abcd", U))


def statistics_of(flow: Flow, trained: int, layer: int) -> Statistics:
    """Of the flow's layer number `layer`, counted from one, where it goes through the second differential."""
    n, at = float(flow.previous_widths[layer - 1]), layer - 1
    fluctuates = 0.0 if layer == 1 else 1 / n
    tensors = {name: np.asarray(getattr(flow, name))[at] * fluctuates for name in NAMES}
    K, G, H = (np.asarray(each)[at] for each in (flow.K, flow.G, flow.H))
    return Statistics(K, G, H, tensors, trained)


def _four_times(turn: Matrix, tensor: Four) -> Four:
    for _ in range(4):  # each turns the first axis and puts it last
        tensor = np.tensordot(tensor, turn, axes=(0, 0))
    return tensor
