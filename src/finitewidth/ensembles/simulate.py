"""`simulate`: real networks, many of them, and what they show."""

import os
from typing import Any, Literal, overload

from .._entry import entry
from .._errors import ArgumentError
from ..networks import LayeredNetwork, Network
from ..networks.shaped import Block, BlockNetwork
from ..results import CovarianceLaw, FeatureLaw, Flow, Measurement
from .features.simulation import simulate_features
from .shaped.simulation import LARGEST_NORM, simulate_block
from .simulation import simulate_layers

Through = Literal["vertex", "ntk", "dntk", "ddntk", "features"]


@overload
def simulate(
    net: LayeredNetwork,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str | None = None,
    *,
    through: Through | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Flow[Measurement]: ...
@overload
def simulate(
    net: BlockNetwork,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str | None = None,
    *,
    save: int | None = None,
    radius: float | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> CovarianceLaw: ...
@overload
def simulate(
    net: BlockNetwork,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str | None = None,
    *,
    through: Literal["features"],
    targets: Any = None,
    rate: float | None = None,
    outputs: int | None = None,
    save: int | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FeatureLaw: ...
@entry()
def simulate(
    net: Network,
    x: Any,
    networks: int = 10_000,
    seed: int = 0,
    method: str | None = None,
    *,
    through: Through | None = None,
    targets: Any = None,
    rate: float | None = None,
    outputs: int | None = None,
    save: int | None = None,
    radius: float | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Flow[Measurement] | CovarianceLaw | FeatureLaw:
    r"""Draw networks and measure what theory predicts.

    For an `MLP`: mean and covariance of the metrics $\widehat G^{(\ell)}$, PDLT (4.70), and of the tangent kernels
    $\widehat H^{(\ell)}$, PDLT (8.5), as a [`Flow`][finitewidth.results.flow.Flow] like that of `flow`, each field with `.mean` and
    `.standard_error`; all estimators are unbiased. Where a few networks decide a standard error, as in deep and narrow networks,
    a `ValidityWarning` says so, and `.trustworthy` marks the entries. For a block at a width and a depth,
    `block.at(width, depth)`: paths of the covariance of its tokens, as a
    [`CovarianceLaw`][finitewidth.results.covariance_law.CovarianceLaw]
    like that of `covariance_sde`; with `through="features"` also their backward pass and the first instant of their training, as a
    [`FeatureLaw`][finitewidth.results.feature_law.FeatureLaw] like that of `feature_learning_sde`.

    **Arguments:**

    - `net`: an `MLP`, a `ResidualMLP` (whose `V` is that of different neurons, and whose tangent kernels take dense weights), or
      `block.at(width, depth)`.
    - `x`: inputs of an MLP, shape (N, n_0); for a block the covariance of its input tokens, $X_0X_0^{\mathsf T}/n$, shape (m, m). That
      may be singular, and must be so if there are more inputs than columns: of rank at most the width, unless the block starts
      with a fully connected layer. Where columns matter (several heads, layer normalisation) $X_0$ is rotated at random.
    - `networks`: how many networks to draw; at least two of an MLP.
    - `seed`: network $i$ of a seed is the same network in every run with the same `method`, and results are
      bit-identical whatever `chunk_size`, whether or not a run was interrupted.
    - `method`: `"chain"` follows the metric, or the covariance, by its own Markov chain, needs no weights and is by far the
      fastest; `"dense"` draws all weights; `"lazy"` (MLPs) draws only the products with weights that are asked for. All have
      the same law. `"population"` (MLPs, without tangent kernels) follows the chain in populations that favour the rare networks
      of which covariances are made: the same averages with far smaller errors where tails are heavy, as many networks or a few
      more, so that populations have one size; use at least a thousand.
      By default the chain; for tangent kernels, which have none, dense weights up to width 256, lazy ones beyond.
    - `through` (MLPs): how far to measure: `"vertex"`, the default, stops at the group `metric`, with `G`, `G1` and `V`; `"ntk"`
      adds the group `tangent`. With dense weights it measures every layer, the $n\times n$ kernels of all pairs of inputs being
      stored; with lazy ones only the last layer, at any width (`tangent.layers` says which: to measure another layer, make
      it the last). `"dntk"` adds the group `differential` and `"ddntk"` also `second_differential`, of the last layer, by automatic
      differentiation of dense networks.
      For blocks `"features"`: kernels, gradients, tangent kernel and, with targets, velocities of features.
    - `targets`, `rate`, `outputs` (features): $y$, shape (m,) or (m, outputs), of the loss $\tfrac12(f - y)^2$, $\eta_0$ of the rate
      $\eta_0/(d + 1)$, and the number of outputs where there are no targets.
    - `save` (blocks): the number of intervals of depth after which covariances are kept; by default 50, or fewer where
      that would take more than a gigabyte.
    - `radius` (blocks): a network is stopped when the Frobenius norm of its covariance reaches it, and frozen there.
      Networks are also stopped before their covariance vanishes from the range of floating-point numbers.
    - `chunk_size`: networks between two updates of the progress bar and of the checkpoint.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written as it goes, and from which a killed run resumes.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> measured = fw.simulate(net, [[1.0, 0.5], [0.3, -1.0]], networks=1000)
        >>> measured.G.mean.shape
        (3, 2, 2)
    """
    how: dict[str, Any] = {"chunk_size": chunk_size, "progress": progress, "checkpoint": checkpoint}
    if isinstance(net, LayeredNetwork):
        _refuse("a block at a width and depth", save=save, radius=radius)
        _refuse("features of a block", targets=targets, rate=rate, outputs=outputs)
        if through == "features":
            raise ArgumentError(
                "through", "'features'", "'vertex' or 'ntk': features are those of `block.at(width, depth)`"
            )
        return simulate_layers(net, x, networks, seed, method, through="vertex" if through is None else through, **how)
    if isinstance(net, BlockNetwork):
        if through == "features":
            _refuse("covariances without gradients", radius=radius)
            method, rate = "chain" if method is None else method, 1.0 if rate is None else rate
            return simulate_features(
                net, x, networks, seed, method, targets=targets, rate=rate, outputs=outputs, save=save, **how
            )
        if through is not None:
            raise ArgumentError("through", repr(through), "'features' or nothing: the rest is for an MLP")
        _refuse('`through="features"`', targets=targets, rate=rate, outputs=outputs)
        method, radius = "chain" if method is None else method, LARGEST_NORM if radius is None else radius
        return simulate_block(net, x, networks, seed, method, save=save, radius=radius, **how)
    want = "an MLP or a block at a width and a depth, `block.at(width, depth)`"
    raise ArgumentError("net", f"a {type(net).__name__}{' without a width' if isinstance(net, Block) else ''}", want)


def _refuse(kind: str, **given: Any) -> None:
    """Arguments that mean nothing for this network are errors, not ignored."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(name, repr(value), f"nothing: it is for {kind}")
