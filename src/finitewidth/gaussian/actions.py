r"""Even actions and their first-order perturbation theory.

$$S(z) = \tfrac12 K^{\mu\nu}z_\mu z_\nu
  + \sum_{m\ge2}\tfrac{1}{(2m)!}\,s^{\mu_1\cdots\mu_{2m}}z_{\mu_1}\cdots z_{\mu_{2m}}
  \quad\text{PDLT (1.81)}$$

The quartic action of PDLT (1.71) is the case $s^{\mu_1\cdots\mu_4} = \epsilon V^{\mu_1\cdots\mu_4}$. By Wick's theorem
all first-order corrections come from the *vertices*: a coupling with $j$ legs lowered by $K$ and the other $2k = 2m-j$
legs closed on themselves, which can happen in as many ways as leave the factor $1/(2^k k!)$.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Float

from .._arrays import Array, at_hand
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._result import Result
from .._table import Table
from .._validation import as_count, as_floats, is_concrete
from .wick import as_invertible, log_normaliser, wick_moment, wick_sum

# Where "much smaller than one" and "of order one" of PDLT (1.82)-(1.83) end.
_SMALL = 0.1
_ORDER_ONE = 10.0


@jax.jit
def symmetrise(tensor: Float[Array, "..."]) -> Float[Array, "..."]:
    """The part of a tensor that is symmetric in all its axes."""
    # Each new axis is swapped with those before it, which are symmetric already: a few swaps, not order! of them.
    for last in range(1, tensor.ndim):
        tensor = (tensor + sum(jnp.swapaxes(tensor, axis, last) for axis in range(last))) / (last + 1)
    return tensor


@dataclass(frozen=True, repr=False)
class CouplingSizes(Result):
    r"""How far an action is from Gaussian.

    `sizes` holds, for each order $2m$, the norm of $s^{\mu_1\cdots\mu_{2m}}$ in the basis in which $K$ is the identity:
    for one variable $|s|\,K^m$, and the same in every basis and unit.
    """

    sizes: dict[int, float]

    def table(self) -> Table:
        """One row for each order."""
        columns = {"order": np.array(list(self.sizes)), "size": np.array(list(self.sizes.values()))}
        return Table({"nearly_gaussian": self.nearly_gaussian}, columns)

    @property
    def nearly_gaussian(self) -> bool:
        """Whether all sizes are below 0.1, PDLT (1.82)."""
        return all(size < _SMALL for size in self.sizes.values())

    @property
    def hierarchical(self) -> bool:
        r"""Whether order $2m$ is at most $10\,\epsilon^{m-1}$, with $\epsilon$ the quartic size, PDLT (1.83).

        If so, the couplings up to order $2k$ give the correlators through $O(\epsilon^{k-1})$.
        """
        quartic = self.sizes.get(4, 0.0)
        return all(size <= _ORDER_ONE * quartic ** (order // 2 - 1) for order, size in self.sizes.items())


class EvenAction(eqx.Module):
    r"""The action of PDLT (1.81), with expectations to first order in its couplings.

    **Arguments:**

    - `K`: the covariance $K_{\mu\nu}$ of the Gaussian part, whose inverse stands in the action. Invertible.
    - `couplings`: tensors $s^{\mu_1\cdots\mu_{2m}}$ with upper indices, at most one for each even order from 4 on; the
      number of axes is the order. Only their symmetric part acts, and it is what is kept.
    """

    K: Float[Array, "N N"]
    couplings: tuple[Float[Array, "..."], ...]

    @entry()
    def __init__(self, K: Float[Array, "N N"] | Any, couplings: Sequence[Float[Array, "..."] | Any]):
        self.K = as_invertible(K, "K")
        tensors = [as_floats(tensor, f"couplings[{i}]") for i, tensor in enumerate(couplings)]
        for i, tensor in enumerate(tensors):
            if tensor.ndim < 4 or tensor.ndim % 2 or set(tensor.shape) != {len(self.K)}:
                want = f"4, 6, 8, ... axes of length {len(self.K)}, as in `K`"
                raise ShapeError(f"couplings[{i}]", f"shape {tensor.shape}", want)
        if len({tensor.ndim for tensor in tensors}) < len(tensors):
            raise ShapeError("couplings", "two tensors of the same order", "at most one tensor for each order")
        self.couplings = tuple(at_hand(symmetrise(tensor)) for tensor in tensors)  # 64 bits, also in a copy

    @entry()
    def __call__(self, z: Float[Array, "*batch N"] | Any) -> Float[Array, "*batch"]:
        r"""$S(z)$, PDLT (1.71), PDLT (1.81)."""
        points = as_floats(z, "z")
        if points.ndim == 0 or points.shape[-1] != len(self.K):
            raise ShapeError("z", f"shape {points.shape}", f"a last axis of length {len(self.K)}, as in `K`")
        return self._values(points.reshape(-1, len(self.K))).reshape(points.shape[:-1])

    @eqx.filter_jit
    def _values(self, points: Float[Array, "points N"]) -> Float[Array, " points"]:
        total = 0.5 * jnp.sum(points * cho_solve((jnp.linalg.cholesky(self.K), True), points.T).T, axis=-1)
        for coupling in self.couplings:
            # The first leg gives every point its own tensor, the others wear it down to a number.
            term = jnp.tensordot(points, coupling, axes=1)
            for _ in range(coupling.ndim - 1):
                term = jnp.einsum("p...a,pa->p...", term, points)
            total = total + term / math.factorial(coupling.ndim)
        return total

    @entry()
    def log_normaliser(self) -> Float[Array, ""]:
        r"""$\log Z$ to first order: $Z = \sqrt{|2\pi K|}\,[1 - \tfrac{\epsilon}{8}V^{\rho_1\cdots\rho_4}
        K_{\rho_1\rho_2}K_{\rho_3\rho_4}]$ for a quartic coupling, PDLT (1.72)-(1.73)."""
        return log_normaliser(self.K) - self._vertex(0)

    @entry()
    def connected(self, order: int) -> Float[Array, "..."]:
        r"""The connected correlators of one order as a tensor, to first order. For a quartic coupling

        $$E[z_1z_2] = K_{12} - \tfrac\epsilon2 V^{\rho_1\cdots\rho_4}K_{1\rho_1}K_{2\rho_2}K_{\rho_3\rho_4}
          \quad\text{PDLT (1.74)}$$


        $$E[z_1\cdots z_4]_{\mathrm{conn}}
          = -\epsilon V^{\rho_1\cdots\rho_4}K_{1\rho_1}K_{2\rho_2}K_{3\rho_3}K_{4\rho_4}
          \quad\text{PDLT (1.78)}$$
        """
        legs = as_count(order, "order")
        return self.K - self._vertex(2) if legs == 2 else -self._vertex(legs)

    @entry()
    def moment(self, indices: Sequence[int]) -> Float[Array, ""] | float:
        r"""The full moment $E[z_{\mu_1}\cdots z_{\mu_k}]$ to first order, PDLT (1.74)-(1.77).

        $\langle z\cdots z\rangle_K$ minus the sum over the non-empty sets of legs that a coupling can catch, the other
        legs being averaged by Wick's theorem.
        """
        legs = tuple(indices)
        total = wick_moment(self.K, legs)
        highest = max((coupling.ndim for coupling in self.couplings), default=0)
        for caught in range(2, min(len(legs), highest) + 1, 2):
            vertex = self._vertex(caught)
            vertex = np.asarray(vertex) if is_concrete(vertex) else vertex
            for chosen in itertools.combinations(range(len(legs)), caught):
                rest = [legs[i] for i in range(len(legs)) if i not in chosen]
                total = total - vertex[tuple(legs[i] for i in chosen)] * wick_sum(self.K, rest)
        return total

    @entry()
    def sizes(self) -> CouplingSizes:
        """The couplings in units of the Gaussian part: is perturbation theory allowed? PDLT (1.82)-(1.83)."""
        if not is_concrete(self.K):
            raise DomainError("K", "a traced array", "numbers: the sizes are judged outside `jit` and `grad`")
        root = jnp.linalg.cholesky(self.K)
        return CouplingSizes({s.ndim: float(jnp.linalg.norm(_on_every_axis(s, root).ravel())) for s in self.couplings})

    @eqx.filter_jit
    def _vertex(self, legs: int) -> Float[Array, "..."]:
        """All couplings with `legs` legs lowered by K and the others closed on themselves."""
        total = jnp.zeros((len(self.K),) * legs)
        for coupling in self.couplings:
            if coupling.ndim < legs or (coupling.ndim - legs) % 2:
                continue
            loops = (coupling.ndim - legs) // 2
            closed = coupling
            for _ in range(loops):
                closed = jnp.tensordot(closed, self.K, axes=2)
            total = total + _on_every_axis(closed, self.K) / (2**loops * math.factorial(loops))
        return total


def _on_every_axis(tensor: Float[Array, "..."], matrix: Float[Array, "N N"]) -> Float[Array, "..."]:
    """Contract every axis of `tensor` with the first axis of `matrix`."""
    # Each product takes the leading axis and appends the new one, so a full turn restores the order.
    for _ in range(tensor.ndim):
        tensor = jnp.tensordot(tensor, matrix, axes=(0, 0))
    return tensor
