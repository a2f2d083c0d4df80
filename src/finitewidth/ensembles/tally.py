"""What is carried from network to network."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array
from ..kernels.pairs import pair_index
from . import means
from .means import Means, no_samples
from .moments import Moments, add_replicas, empty
from .samplers import Sample, TangentSample
from .tails import Tails, add_tails, no_tails


class TangentTally(eqx.Module):
    """Sums for the tangent kernel, over the layers measured."""

    joint: Moments
    """Of metric and mean kernel together, on unordered pairs of samples: P entries each."""
    tails: Tails
    """Of the mean kernel, averaged over replicas."""
    B: Means
    F: Means
    tails_of_B: Tails
    tails_of_F: Tails


class Tally(eqx.Module):
    """All sums so far, and whether all that went into them was finite."""

    moments: Moments
    tails: Tails
    """Of the metric."""
    finite: Bool[Array, " later"]
    tangent: TangentTally | None = None
    differentials: Means | None = None
    """Of P, Q and so on in the last layer."""
    tails_of_differentials: Tails | None = None

    def checks(self) -> dict[str, Bool[np.ndarray, " layers"]]:
        """Whether what has been summed is finite: by name, layer by layer up to the last one."""
        found = {"metric": self.finite, "fourth moment of the metric": _finite(self.moments.dddd)}
        if self.tangent is not None:
            found["tangent kernel"] = _finite(self.tangent.joint.d)
            squares = self.tangent.joint.dddd, self.tangent.B.squares, self.tangent.F.squares
            found["square of the tangent kernel's statistics"] = np.asarray(
                np.stack(list(map(_finite, squares))).all(axis=0)
            )
        if self.differentials is not None:
            found["square of the tangent kernel's differentials"] = jnp.isfinite(self.differentials.squares).all()[None]
        return {what: np.asarray(finite) for what, finite in found.items()}


def new_tally(shapes: Sample, kernels: Float[Array, "L N N"], limit: Float[Array, "L N N"] | None) -> Tally:
    """Nothing yet; sums will be about infinite width: about `kernels`, and about the `limit` of the tangent kernel."""
    pairs = pair_index(kernels.shape[-1])
    metric = pairs.pack(kernels[1:])
    tally = Tally(empty(metric), no_tails(metric.shape, orders=6), np.ones(len(metric), dtype=bool))
    if limit is None or shapes.tangent is None:
        return tally
    measured = len(shapes.tangent.kernels)
    reference = jnp.concatenate([pairs.pack(kernels), pairs.pack(limit)], axis=-1)[-measured:]
    shape = shapes.tangent.B.shape  # that of F too
    kinds = None if shapes.differentials is None else shapes.differentials.shape
    return Tally(
        tally.moments,
        tally.tails,
        tally.finite,
        TangentTally(
            empty(reference),
            no_tails((measured, len(pairs.a)), orders=6),
            no_samples(shape),
            no_samples(shape),
            no_tails(shape, orders=3),
            no_tails(shape, orders=3),
        ),
        None if kinds is None else no_samples(kinds),
        None if kinds is None else no_tails(kinds, orders=3),
    )


def add_samples(tally: Tally, samples: Sample, counted: Bool[Array, " B"]) -> Tally:
    """The tally with those `samples`, stacked along a leading axis, that are `counted`."""
    packed = pair_index(samples.metrics.shape[-1]).pack(samples.metrics)
    finite = jnp.isfinite(packed).all(axis=-1) | ~counted[:, None]
    seen = packed[:, :, None] if samples.neurons is None else samples.neurons
    tangent = tally.tangent
    if tangent is not None and samples.tangent is not None:
        tangent = _add_tangent(tangent, seen, samples.tangent, counted)
    differentials, tails = tally.differentials, tally.tails_of_differentials
    if differentials is not None and tails is not None and samples.differentials is not None:
        differentials = means.add_samples(differentials, samples.differentials, counted)
        tails = add_tails(tails, samples.differentials, counted)
    return Tally(
        add_replicas(tally.moments, seen, counted),
        add_tails(tally.tails, packed, counted),
        tally.finite & finite.all(axis=0),
        tangent,
        differentials,
        tails,
    )


def _add_tangent(
    tally: TangentTally, metrics: Float[Array, "B later R_or_1 P"], samples: TangentSample, counted: Bool[Array, " B"]
) -> TangentTally:
    kernels = pair_index(samples.kernels.shape[-1]).pack(samples.kernels)
    same = jnp.broadcast_to(metrics[:, -kernels.shape[1] :], kernels.shape)
    return TangentTally(
        add_replicas(tally.joint, jnp.concatenate([same, kernels], axis=-1), counted),
        add_tails(tally.tails, jnp.mean(kernels, axis=-2), counted),
        means.add_samples(tally.B, samples.B, counted),
        means.add_samples(tally.F, samples.F, counted),
        add_tails(tally.tails_of_B, samples.B, counted),
        add_tails(tally.tails_of_F, samples.F, counted),
    )


def _finite(values: Array) -> Bool[Array, " layers"]:
    return np.asarray(np.isfinite(np.asarray(values)).all(axis=tuple(range(1, values.ndim))))
