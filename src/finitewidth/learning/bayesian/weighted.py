"""Sums over weighted networks, in groups, so that the error of any figure made of them is that of leaving groups out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from ..._arrays import Array

GROUPS = 64


class WeightedSums(eqx.Module):
    """Weights are relative to the largest so far, `exp(top)`; all but the last field are summed with them, by group."""

    top: Float[Array, ""]
    squares: Float[Array, ""]
    """Of weights."""
    weight: Float[Array, " G"]
    mean: Float[Array, "G B n_L"]
    product: Float[Array, "G B B n_L n_L"]
    covariance: Float[Array, "G B B"]
    metrics: Float[Array, "G later D D"]
    unweighted: Float[Array, "G later D D"]
    count: Float[Array, " G"]

    @property
    def effective_networks(self) -> float:
        r"""$(\sum w)^2/\sum w^2$."""
        total = float(np.sum(self.weight))
        return total**2 / float(self.squares) if total > 0 else 0.0


def no_networks(later: int, samples: int, train: int, outputs: int) -> WeightedSums:
    """Nothing yet."""
    B, D, G = samples - train, samples, GROUPS
    shapes = (G,), (G, B, outputs), (G, B, B, outputs, outputs), (G, B, B), (G, later, D, D), (G, later, D, D), (G,)
    return WeightedSums(jnp.asarray(-jnp.inf), jnp.zeros(()), *(jnp.zeros(shape) for shape in shapes))


def add_networks(
    sums: WeightedSums,
    metrics: Float[Array, "lane later D D"],
    y: Float[Array, "A n_L"],
    noise: float | Array,
    indices: Int[Array, " lane"],
    counted: Bool[Array, " lane"],
) -> WeightedSums:
    """The sums with those networks that are `counted`; the group of a network is its number modulo the number of groups."""
    log_weight, mean, covariance = jax.vmap(lambda metric: _conditional(metric, y, noise))(metrics[:, -1])
    log_weight = jnp.where(counted, log_weight, -jnp.inf)
    top = jnp.maximum(sums.top, jnp.max(log_weight))
    reference = jnp.where(jnp.isfinite(top), top, 0.0)  # nobody has agreed with the data yet
    old, weight = jnp.exp(jnp.minimum(sums.top - reference, 0.0)), jnp.exp(log_weight - reference)
    group = indices % GROUPS

    def summed(before: Array, values: Array, weights: Array, keep: Array | float) -> Array:
        return keep * before + jnp.zeros_like(before).at[group].add(
            values * weights.reshape(-1, *[1] * (values.ndim - 1))
        )

    ones, plain = jnp.ones_like(weight), counted.astype(weight.dtype)
    product = jnp.einsum("sbi,scj->sbcij", mean, mean)
    return WeightedSums(
        top,
        old**2 * sums.squares + jnp.sum(weight**2),
        summed(sums.weight, ones, weight, old),
        summed(sums.mean, mean, weight, old),
        summed(sums.product, product, weight, old),
        summed(sums.covariance, covariance, weight, old),
        summed(sums.metrics, metrics, weight, old),
        summed(sums.unweighted, metrics, plain, 1.0),
        summed(sums.count, ones, plain, 1.0),
    )


def _conditional(
    metric: Float[Array, "D D"], y: Float[Array, "A n_L"], noise: float | Array
) -> tuple[Float[Array, ""], Float[Array, "B n_L"], Float[Array, "B B"]]:
    r"""$\log p(y|\widehat G)$ and the mean and covariance of outputs on test samples given $\widehat G$. A metric that is singular to
    rounding does not agree with the data: its weight is zero."""
    A, outputs = y.shape
    root = jnp.linalg.cholesky(metric[:A, :A] + noise * jnp.eye(A))
    regular = jnp.isfinite(root).all()
    root = jnp.where(regular, root, jnp.eye(A))
    half = jax.scipy.linalg.solve_triangular(root, jnp.concatenate([y, metric[:A, A:]], axis=1), lower=True)
    targets, cross = half[:, :outputs], half[:, outputs:]
    log_volume = A / 2 * jnp.log(2 * jnp.pi) + jnp.sum(jnp.log(jnp.diagonal(root)))
    log_weight = -outputs * log_volume - jnp.sum(targets**2) / 2
    return jnp.where(regular, log_weight, -jnp.inf), cross.T @ targets, metric[A:, A:] - cross.T @ cross


def jackknife(sums: WeightedSums, name: str) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """A figure and its standard error, by leaving out one group after the other."""
    by_group = {field: np.asarray(getattr(sums, field)) for field in _SUMMED}
    totals = {field: values.sum(axis=0) for field, values in by_group.items()}
    value = np.asarray(_figure(name, totals, float(sums.top)))
    without = np.stack(
        [
            _figure(name, {field: totals[field] - by_group[field][group] for field in _SUMMED}, float(sums.top))
            for group in range(GROUPS)
        ]
    )
    spread = without - without.mean(axis=0)
    return value, np.asarray(np.sqrt((GROUPS - 1) / GROUPS * np.sum(spread**2, axis=0)))


_SUMMED = ("weight", "mean", "product", "covariance", "metrics", "unweighted", "count")


def _figure(name: str, sums: dict[str, Array], top: float) -> Array:
    """What the sums over some networks say of a field of the posterior."""
    weight = sums["weight"]
    match name:
        case "mean":
            return sums["mean"] / weight
        case "sample_covariance":
            return sums["covariance"] / weight
        case "wiring":
            mean = sums["mean"] / weight
            return sums["product"] / weight - np.einsum("bi,cj->bcij", mean, mean)
        case "whole_covariance":
            alone = _figure("sample_covariance", sums, top)[:, :, None, None]
            return alone * np.eye(sums["mean"].shape[-1]) + _figure("wiring", sums, top)
        case "log_evidence":
            return np.asarray(top + np.log(weight / sums["count"]))
        case "prior":
            return sums["unweighted"] / sums["count"]
        case "posterior":
            return sums["metrics"] / weight
        case _:
            return sums["metrics"] / weight - sums["unweighted"] / sums["count"]
