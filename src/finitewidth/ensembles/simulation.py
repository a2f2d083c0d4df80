"""Real networks, many of them, and what they show."""

import os
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Array, Bool, Float, Key

from .._errors import ArgumentError, BlowUpError, DomainError, UnknownNameError
from .._precision import in_float64
from .._validation import as_count, as_inputs
from ..networks import MLP
from ..networks.kernel_map import kernel_recursion
from .checkpoint import Checkpoint, fingerprint
from .measured import MeasuredFlow, measured_flow, pairs_of
from .moments import Moments, add, empty
from .progress import ProgressBar
from .samplers import METHODS, Sampler, lane_size

_LANES_PER_CHUNK = 16


class Tally(eqx.Module):
    """What is carried from network to network."""

    moments: Moments
    finite: Bool[Array, " later"]


@in_float64
def simulate(
    net: MLP,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str = "chain",
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> MeasuredFlow:
    r"""Mean and covariance of the metrics $\widehat G^{(\ell)}$, PDLT (4.70), over an ensemble of networks.

    The result has the field names of `flow`'s, each with `.mean` and `.standard_error`.

    **Arguments:**

    - `x`: inputs, shape (N, n_0).
    - `networks`: how many networks to draw, at least two.
    - `seed`: network $i$ of a seed is the same network in every run with the same `method`, and results are
      bit-identical whatever `chunk_size`, whether or not a run was interrupted.
    - `method`: `"chain"`, the metric's own Markov chain, needs no weights and is by far the fastest; `"dense"` draws
      all weights; `"lazy"` draws only the products with weights that a forward pass asks for. All have the same law.
    - `chunk_size`: networks between two updates of the progress bar and of the checkpoint.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written after every chunk, and from which a killed run resumes.
    """
    if not isinstance(net, MLP):
        raise ArgumentError("net", type(net).__name__, "an MLP")
    inputs = as_inputs(x, "x", net.widths[0])
    networks = as_count(networks, "networks", at_least=2)  # one network has no standard error
    seed = as_count(seed, "seed", at_least=0)
    for value, argument, bits in ((networks, "networks", 32), (seed, "seed", 63)):
        if value >= 2**bits:
            raise DomainError(argument, value, f"less than 2^{bits}")
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    if chunk_size is not None:
        chunk_size = as_count(chunk_size, "chunk_size")

    first = net.first_kernel(inputs)
    about = {"networks": networks, "seed": seed, "method": method}
    if net.depth == 1:
        return measured_flow(net, first[None], None, **about)

    sampler = METHODS[method](net, inputs)
    lane = lane_size(sampler, networks)
    chunk = lane * _LANES_PER_CHUNK if chunk_size is None else -(-chunk_size // lane) * lane
    record = None if checkpoint is None else Checkpoint(checkpoint, fingerprint(net, inputs, lane=lane, **about))

    kernels = kernel_recursion(net, first)
    a, b = pairs_of(len(inputs))
    tally = Tally(empty(kernels[1:, a, b]), jnp.ones(net.depth - 1, dtype=bool))
    done, tally = (0, tally) if record is None else record.load(tally)

    key = jax.random.key(seed)
    with ProgressBar(networks, done, progress) as bar:
        while done < networks:
            end = min(done + chunk, networks)
            for start in range(done, end, lane):
                tally = add_lane(tally, sampler, key, start, networks, lane)
            _check_finite(tally, net)
            done = end
            if record is not None:
                record.save(done, tally)
            bar.advance_to(done)
    return measured_flow(net, kernels, tally.moments, **about)


@partial(jax.jit, static_argnames="lane")
def add_lane(tally: Tally, sampler: Sampler, key: Key[Array, ""], start: Array, networks: Array, lane: int) -> Tally:
    """The next `lane` networks. The number is part of the compiled code, so that rounding never depends on chunks."""
    indices = start + jnp.arange(lane)
    counted = indices < networks
    metrics: Float[Array, "lane later N N"] = jax.vmap(lambda i: sampler(fold_in(key, i)))(indices)
    packed = metrics[(..., *pairs_of(metrics.shape[-1]))]
    finite = jnp.isfinite(packed).all(axis=-1) | ~counted[:, None]
    return Tally(add(tally.moments, packed, counted), tally.finite & finite.all(axis=0))


def _check_finite(tally: Tally, net: MLP) -> None:
    metrics = np.asarray(tally.finite)
    moments = np.isfinite(np.asarray(tally.moments.dddd)).all(axis=(1, 2))
    for finite, what in ((metrics, "metric"), (moments, "fourth moment of the metric")):
        if not finite.all():
            layer = int(np.argmin(finite)) + 2
            raise BlowUpError(f"The {what} of layer {layer} of {net!r} overflows: lower C_W or the depth.")
