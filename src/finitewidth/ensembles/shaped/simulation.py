"""Real networks of shaped blocks, and the law of their covariances."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._precision import in_float64
from ..._progress import ProgressBar
from ..._validation import as_count, as_covariance, as_ensemble, as_number
from ...gaussian.root import covariance_root
from ...networks.shaped import CovarianceLaw, PathStatus, ShapedBlock
from ...networks.shaped.law import saved_intervals
from .ablations import FiniteBlock
from .chain import ChainNetwork
from .dense import DenseNetwork
from .sublayers import FullyConnected, Sublayer, sublayers
from .walk import LARGEST_NORM, walk

METHODS: dict[str, Callable[..., ChainNetwork | DenseNetwork]] = {"chain": ChainNetwork, "dense": DenseNetwork}

_CACHE = 2**22  # bytes that networks drawn side by side take together


@in_float64
def simulate_block(
    block: ShapedBlock | FiniteBlock,
    V0: Any,
    width: int,
    depth: int,
    networks: int = 4096,
    seed: int = 0,
    method: str = "chain",
    save: int | None = None,
    radius: float = LARGEST_NORM,
    progress: bool | None = None,
) -> CovarianceLaw:
    r"""Draw networks of `block`, `depth` times on top of itself, and follow the covariance of their tokens.

    The result has the fields of the limit's, `covariance_sde`, at depth times $\ell/n$. A unit of depth is one passage
    through all parts of a stack.

    **Arguments:**

    - `V0`: the covariance of the inputs, $X_0X_0^{\mathsf T}/n$, shape (m, m). It may be singular, and must be so if there are
      more inputs than columns: of rank at most `width`, unless the block starts with a fully connected layer.
      Where the columns matter (several heads, layer normalisation) $X_0$ is rotated at random.
    - `seed`: network $i$ of a seed is the same in every run with the same `method`.
    - `method`: `"chain"` draws each layer through the covariance alone, $O(m^3)$ or $O(nm^2)$; `"dense"` draws all matrices. Both
      have the same law.
    - `save`: the number of intervals of depth after which covariances are kept; by default 50, or fewer where that would
      take more than a gigabyte.
    - `radius`: a network is stopped when the Frobenius norm of $V$ reaches it, and frozen there. Networks are also
      stopped before their covariance vanishes from the range of floating-point numbers.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    """
    start = np.asarray(as_covariance(V0, "V0"))
    width, depth = as_count(width, "width"), as_count(depth, "depth")
    networks, seed = as_ensemble(networks, seed)
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    norm = float(np.linalg.norm(start))
    if not norm < as_number(radius, "radius", low=0.0, high=LARGEST_NORM):
        raise DomainError("radius", radius, f"more than the norm of V0, {norm:.3g}")
    layers = _layers(block, width, len(start))
    root = _root(start, width, method == "chain" and isinstance(layers[0], FullyConnected))
    network = METHODS[method](layers, root, width)

    intervals = saved_intervals(save, depth, networks, len(start))
    saved = np.round(np.linspace(0, depth, intervals + 1)).astype(int)
    lane, key, pieces = _lane_size(network, networks), jax.random.key(seed), []
    with ProgressBar(networks, progress) as bar:
        for first in range(0, networks, lane):
            found = walk(network, key, first, lane, jnp.asarray(saved), radius)
            pieces.append([np.asarray(piece)[: networks - first] for piece in found])
            bar.advance_to(min(first + lane, networks))
    V, status, stopped_at = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
    V[:, 0] = start  # to the last digit
    per_layer = float(width) ** -block.time_exponent
    return CovarianceLaw(
        block=block,
        times=saved * per_layer,
        V=V,
        stopping_times=np.where(status == PathStatus.RUNNING, np.inf, stopped_at * per_layer),
        status=status,
        depth_to_width=depth * per_layer,
        seed=seed,
        method=method,
        width=width,
        depth=depth,
    )


def _layers(block: ShapedBlock | FiniteBlock, width: int, tokens: int) -> tuple[Sublayer, ...]:
    if not isinstance(block, ShapedBlock | FiniteBlock):
        raise ArgumentError("block", type(block).__name__, "a block such as ShapedMLP or ShapedAttention")
    return tuple(layer for part in block.parts for layer in sublayers(part, width, tokens))


def _root(V0: Float[np.ndarray, "m m"], width: int, any_rank: bool) -> Float[Array, "m m"]:
    root = covariance_root(jnp.asarray(V0))
    rank = int(np.count_nonzero(np.any(np.asarray(root) != 0, axis=0)))
    if rank > width and not any_rank:
        raise DomainError("V0", f"a matrix of rank {rank}", f"rank at most {width}: tokens are vectors of that width")
    return root


def _lane_size(network: ChainNetwork | DenseNetwork, networks: int) -> int:
    """How many networks to draw side by side: a power of two that fits the cache, or that holds all of them."""
    fits = max(1, min(4096, _CACHE // (8 * network.numbers())))
    return 2 ** min(fits.bit_length() - 1, (networks - 1).bit_length())
