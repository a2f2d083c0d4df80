"""How strongly a residual block of any kind should speak: measured on the block itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Key

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._random import key_of
from .._result import Result
from .._validation import as_count, as_floats, as_number, as_seed


@dataclass(frozen=True, repr=False)
class BlockScale(Result):
    r"""What was measured of a block $z' = \xi R(z) + \gamma z$, averaged over neurons, samples and initialisations, PDLT (B.42)-(B.43).

    - `G_zz`, `G_RR`, `G_Rz`: $\langle z^2\rangle$, $\langle R^2\rangle$, $\langle Rz\rangle$.
    - `xi`: $\xi(\gamma)$ with which $\langle z'^2\rangle = \langle z^2\rangle$, and `standard_error`, its error from the initialisations.
    - `xi_of_differences`: the same for differences of neighbouring samples, which decide how far two inputs stay apart; `None` for
      a single sample. The closer it is to `xi`, the better one number serves both.
    """

    gamma: float
    G_zz: float
    G_RR: float
    G_Rz: float
    xi: float
    standard_error: float
    xi_of_differences: float | None


@entry()
def preserving_scale(G_zz: float, G_RR: float, G_Rz: float, gamma: float) -> float:
    r"""$\xi$ with $\gamma^2G_{zz} + 2\gamma\xi G_{Rz} + \xi^2G_{RR} = G_{zz}$, PDLT (B.44)-(B.45), the root that is positive for
    $|\gamma| < 1$:

    $$\xi = \frac{-\gamma G_{Rz} + \sqrt{\gamma^2G_{Rz}^2 + (1-\gamma^2)\,G_{RR}G_{zz}}}{G_{RR}} .$$

    Examples:
        >>> fw.advice.preserving_scale(G_zz=1.0, G_RR=0.25, G_Rz=0.0, gamma=0.6)
        1.6
    """
    zz, RR, Rz, g = (
        as_number(value, name) for value, name in ((G_zz, "G_zz"), (G_RR, "G_RR"), (G_Rz, "G_Rz"), (gamma, "gamma"))
    )
    if not (zz > 0 and RR > 0):
        raise DomainError("G_RR", f"G_zz = {zz:g} and G_RR = {RR:g}", "positive squares: a block that says something")
    if Rz**2 > zz * RR * (1 + 1e-9):
        raise DomainError("G_Rz", Rz, "a mean product with G_Rz^2 <= G_zz G_RR")
    inside = g**2 * Rz**2 + (1 - g**2) * RR * zz
    if inside < 0:
        raise DomainError("gamma", g, "|gamma| <= 1: what the skip passes on is larger than what came in")
    return float((-g * Rz + np.sqrt(inside)) / RR)


@entry()
def tune_block(
    block: Callable[[Key[Array, ""], Array], Array], z: Any, gamma: float, *, initialisations: int = 16, seed: int = 0
) -> BlockScale:
    r"""$\xi(\gamma)$ of a residual block of your own, $z' = \xi R(z;\theta) + \gamma z$, PDLT (B.39)-(B.45): the scale with which it keeps
    the size of its inputs.

    Tune the inside of the block first, so that $G_{RR}/G_{zz}$ is of order one; $\xi$ sets how much of it is added.

    **Arguments:**

    - `block`: a function of `(key, z)` in JAX that draws the block's parameters with the random `key` and returns $R(z)$, of the
      shape of `z`.
    - `z`: what the block receives, samples along the first axis: take it from a forward pass through the blocks before.
    - `gamma`: the strength of the skip connection.
    - `initialisations`, `seed`: how many draws of the parameters to average over.

    Examples:
        >>> import jax
        >>> block = lambda key, z: jax.nn.relu(z) @ jax.random.normal(key, (z.shape[1], z.shape[1])) / z.shape[1] ** 0.5
        >>> found = fw.advice.tune_block(block, np.random.default_rng(0).normal(size=(8, 32)), gamma=0.6)
        >>> bool(abs(found.xi - 0.8 * 2**0.5) < 0.1)
        True
    """
    stream, g = jnp.asarray(as_floats(z, "z")), as_number(gamma, "gamma")
    if stream.ndim < 2:
        raise ShapeError("z", f"shape {stream.shape}", "samples along the first axis, neurons along the others")
    if not callable(block):
        raise ArgumentError("block", type(block).__name__, "a function of (key, z)")
    count = as_count(initialisations, "initialisations", at_least=2)
    keys = jax.random.split(key_of(as_seed(seed)), count)
    sizes, differences = [], []
    for key in keys:
        out = as_floats(_said(block, key, stream), "block")
        if out.shape != stream.shape:
            raise ShapeError("block", f"outputs of shape {out.shape}", f"{stream.shape}, that of `z`")
        sizes.append(_sizes(np.asarray(stream), np.asarray(out)))
        differences.append(_sizes(np.diff(np.asarray(stream), axis=0), np.diff(np.asarray(out), axis=0)))
    found = np.array(sizes)
    zz, RR, Rz = (float(size) for size in found.mean(axis=0))
    xi = preserving_scale(zz, RR, Rz, g)
    # Each draw left out in turn: the jackknife.
    left_out = [_scale((found.sum(axis=0) - one) / (count - 1), g) for one in found]
    error = float(np.sqrt((count - 1) * np.var(left_out)))
    apart = None if len(stream) == 1 else _scale(np.mean(differences, axis=0), g)
    return BlockScale(g, zz, RR, Rz, xi, error, apart)


def _said(block: Callable[..., Any], key: Key[Array, ""], z: Array) -> Any:
    try:
        return block(key, z)
    except Exception as error:  # of a function that is not ours
        got = f"a function that fails ({type(error).__name__}: {error})"
        raise ArgumentError("block", got, f"a function of a random key and of z, shape {z.shape}") from error


def _sizes(z: np.ndarray, R: np.ndarray) -> tuple[float, float, float]:
    r"""$\langle z^2\rangle$, $\langle R^2\rangle$, $\langle Rz\rangle$."""
    if not z.size:
        return 0.0, 0.0, 0.0
    return float(np.mean(z**2)), float(np.mean(R**2)), float(np.mean(R * z))


def _scale(sizes: np.ndarray, gamma: float) -> float:
    zz, RR, Rz = (float(size) for size in sizes)
    return preserving_scale(zz, RR, Rz, gamma)
