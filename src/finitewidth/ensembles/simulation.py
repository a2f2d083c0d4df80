"""Real networks, many of them, and what they show."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Array, Float, Key

from .._errors import ArgumentError, BlowUpError, UnknownNameError
from .._precision import in_float64
from .._progress import ProgressBar
from .._validation import as_count, as_ensemble, as_inputs
from ..networks import MLP, as_mlp
from ..networks.kernel_map import kernel_recursion
from ..networks.tangent_map import tangent_kernel_recursion
from .checkpoint import Checkpoint, fingerprint
from .measured import MeasuredFlow, measured_flow, measured_tangent_kernel
from .samplers import METHODS, Sampler, lane_size
from .tally import Tally, add_samples, new_tally
from .tangent_samplers import TANGENT_METHODS

Through = Literal["vertex", "ntk"]

_LANES_PER_CHUNK = 16
_WIDEST_DENSE = 256  # the width from which tangent kernels are measured lazily unless said otherwise
_METHODS: dict[str, dict[str, Callable[[MLP, Float[Array, "N n_0"]], Sampler]]] = {
    "vertex": METHODS,
    "ntk": TANGENT_METHODS,
}


@in_float64
def simulate_mlp(
    net: MLP,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    *,
    through: Through = "vertex",
) -> MeasuredFlow:
    r"""Mean and covariance of the metrics $\widehat G^{(\ell)}$, PDLT (4.70), and of the tangent kernels $\widehat H^{(\ell)}$,
    PDLT (8.5), over an ensemble of networks.

    The result has the field names of `flow`'s, each with `.mean` and `.standard_error`; all estimators are unbiased.

    **Arguments:**

    - `x`: inputs, shape (N, n_0).
    - `networks`: how many networks to draw, at least two.
    - `seed`: network $i$ of a seed is the same network in every run with the same `method`, and results are
      bit-identical whatever `chunk_size`, whether or not a run was interrupted.
    - `method`: `"chain"`, the metric's own Markov chain, needs no weights and is by far the fastest; `"dense"` draws
      all weights; `"lazy"` draws only the products with weights that are asked for. All have the same law. By default the
      chain for metrics; for tangent kernels, which have no chain, dense weights up to width 256 and lazy ones beyond.
    - `chunk_size`: networks between two updates of the progress bar and of the checkpoint.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written after every chunk, and from which a killed run resumes.
    - `through`: how far to measure: `"vertex"` stops at the metric, with `K`, `V` and `G1`; `"ntk"` adds the tangent kernel's
      `Theta`, `H1`, `A`, `B`, `D` and `F`. With dense weights it measures every layer, the $n\times n$ kernels of all pairs of
      inputs being stored; with lazy ones only the last layer, at any width (`layers` of the result says which: to measure
      another layer, make it the last).
    """
    as_mlp(net)
    inputs = as_inputs(x, "x", net.widths[0])
    networks, seed = as_ensemble(networks, seed, at_least=2)  # one network has no standard error
    if not isinstance(through, str) or through not in get_args(Through):
        raise UnknownNameError("through", through, get_args(Through))
    method = _method(net, method, through)
    if chunk_size is not None:
        chunk_size = as_count(chunk_size, "chunk_size")

    first = net.first_kernel(inputs)
    about = {"networks": networks, "seed": seed, "method": method}
    kernels = kernel_recursion(net, first)
    limit = tangent_kernel_recursion(net, inputs, kernels) if through == "ntk" else None
    if net.depth == 1:
        known = None if limit is None else measured_tangent_kernel(net, limit, None)
        return measured_flow(net, kernels, None, **about, tangent_kernel=known)

    sampler = _METHODS[through][method](net, inputs)
    lane, key = lane_size(sampler, networks), jax.random.key(seed)
    chunk = lane * _LANES_PER_CHUNK if chunk_size is None else -(-chunk_size // lane) * lane
    settings = {"lane": lane, "through": through, **about}
    record = None if checkpoint is None else Checkpoint(checkpoint, fingerprint(net, inputs, **settings))
    tally = new_tally(jax.eval_shape(sampler, key), kernels, limit)
    done, tally = (0, tally) if record is None else record.load(tally)
    with ProgressBar(networks, progress, done) as bar:
        for first in range(done, networks, chunk):
            end = min(first + chunk, networks)
            for start in range(first, end, lane):
                tally = add_lane(tally, sampler, key, start, networks, lane)
            _check_finite(tally, net)
            if record is not None:
                record.save(end, tally)
            bar.advance_to(end)
    tangent = None if limit is None else measured_tangent_kernel(net, limit, tally.tangent)
    return measured_flow(net, kernels, tally.moments, **about, tangent_kernel=tangent)


@partial(jax.jit, static_argnames="lane")
def add_lane(tally: Tally, sampler: Sampler, key: Key[Array, ""], start: Array, networks: Array, lane: int) -> Tally:
    """The next `lane` networks. The number is part of the compiled code, so that rounding never depends on chunks."""
    indices = start + jnp.arange(lane)
    samples = jax.vmap(lambda i: sampler(fold_in(key, i)))(indices)
    return add_samples(tally, samples, indices < networks)


def _method(net: MLP, method: Any, through: Through) -> str:
    known = _METHODS[through]
    if method is None:
        wide = max(net.hidden_widths, default=1) > _WIDEST_DENSE
        return "chain" if through == "vertex" else "lazy" if wide else "dense"
    if isinstance(method, str) and method in METHODS and method not in known:
        raise ArgumentError(
            "method", f"{method!r}, under which weights do not exist", "'dense' or 'lazy' for through='ntk'"
        )
    if not isinstance(method, str) or method not in known:
        raise UnknownNameError("method", method, known)
    return method


def _check_finite(tally: Tally, net: MLP) -> None:
    for what, finite in tally.checks().items():
        if not finite.all():
            layer = net.depth - len(finite) + int(np.argmin(finite)) + 1
            raise BlowUpError(f"The {what} of layer {layer} of {net!r} overflows: lower C_W or the depth.")
