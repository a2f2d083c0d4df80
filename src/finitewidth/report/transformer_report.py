"""`transformer_report`: what depth does to the tokens of a shaped Transformer."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import ArgumentError, DomainError
from .._precision import in_float64
from .._validation import as_count
from ..advice.token_fates import ShapingAdvice, recommend_gamma, recommend_tau0, token_fates
from ..ensembles.shaped import simulate_block
from ..networks.shaped import CovarianceLaw, ShapedAttention, ShapedResNet, ShapedTransformer, equal_tokens
from ..proportional import covariance_sde
from ..proportional.covariance_sde import default_steps
from .compare_laws import LawComparison, compare_laws
from .document import Document
from .plain import meta, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

_LEVELS = (0.05, 0.5, 0.95)
_NETWORK_NEURONS = 30_000_000  # hidden units drawn in all: a few seconds
_FEWEST, _MOST = 32, 1024
_FINE_STEPS = 1000


@dataclass(frozen=True)
class TransformerConfig:
    """A shaped Transformer and its inputs: `tokens` of unit mean square and equal `correlation`."""

    tokens: int = 8
    width: int = 512
    depth: int = 24
    heads: int = 8
    gamma: float = 0.2
    tau0: float = 1.0
    mask: str | None = "causal"
    correlation: float = 0.2
    hidden_ratio: float = 4.0

    def __post_init__(self) -> None:
        for name in ("tokens", "width", "depth", "heads"):
            as_count(getattr(self, name), name)
        if self.width % self.heads:
            raise DomainError("heads", self.heads, f"a divisor of the width {self.width}")
        _ = self.V0, self.block()  # which check the rest

    @property
    def depth_to_width(self) -> float:
        """Blocks over width."""
        return self.depth / self.width

    @property
    def V0(self) -> np.ndarray:
        """The covariance of the inputs."""
        return equal_tokens(self.tokens, self.correlation)

    def block(self, gamma: float | None = None, tau0: float | None = None) -> ShapedTransformer:
        """Attention and feedforward layer, with other shaping if given."""
        gamma, tau0 = self.gamma if gamma is None else gamma, self.tau0 if tau0 is None else tau0
        attention = ShapedAttention(gamma, tau0, self.heads, self.mask)
        return ShapedTransformer(attention, ShapedResNet(gamma, hidden_ratio=self.hidden_ratio))


@dataclass(frozen=True, eq=False, repr=False)
class TransformerReport(Document):
    """A report on a shaped Transformer. `data` is all of it in types that JSON knows; print it, or ask for `to_json()` or
    `to_html()`.

    - `data["config"]`: what it is about. `data["meta"]`: versions, seed, paths.
    - `data["by_depth"]`: quantiles of the mean square norm and of the mean correlation of the tokens.
    - `data["fates"]`: shares of networks whose tokens explode, vanish or collapse, in the limit and measured.
    - `data["advice"]`: the same over `gamma` and `tau0`, and the values to choose.
    - `data["agreement"]`: distances between the limit's law and that of networks.
    """

    limit: CovarianceLaw
    networks: CovarianceLaw
    comparison: LawComparison

    def to_html(self) -> str:
        """A page that needs nothing but itself."""
        from .transformer_html import page

        return page(self)

    def __rich__(self) -> "RenderableType":
        from .transformer_terminal import renderable

        return renderable(self.data)


@in_float64
def transformer_report(
    config: TransformerConfig | None = None, *, networks: int | None = None, paths: int = 2048, seed: int = 0
) -> TransformerReport:
    r"""Where the correlations of tokens go in a shaped Transformer, how likely they collapse or explode, and what to change.

    **Arguments:**

    - `config`: the Transformer; by default a causal one with eight tokens, width 512, 24 blocks and eight heads.
    - `networks`: how many networks of this width to draw beside the limit; by default what a few seconds allow.
    - `paths`: of the limit.
    """
    config = TransformerConfig() if config is None else config
    if not isinstance(config, TransformerConfig):
        raise ArgumentError("config", type(config).__name__, "a TransformerConfig")
    limit = covariance_sde(config.block(), config.V0, config.depth_to_width, paths, seed, _steps(config))
    count = _quick(config) if networks is None else as_count(networks, "networks", at_least=2)
    drawn = simulate_block(config.block(), config.V0, config.width, config.depth, networks=count, seed=seed)
    comparison = compare_laws(limit, drawn)
    data = {
        "meta": meta(seed=seed, paths=paths, networks=count),
        "config": asdict(config) | {"depth_to_width": config.depth_to_width},
        "by_depth": _by_depth(limit),
        "fates": {"limit": asdict(token_fates(limit)), "networks": asdict(token_fates(drawn))},
        "advice": [
            _advice(recommend_gamma(lambda gamma: config.block(gamma=gamma), config.V0, config.depth_to_width, seed)),
            _advice(recommend_tau0(lambda tau0: config.block(tau0=tau0), config.V0, config.depth_to_width, seed)),
        ],
        "agreement": {"worst": comparison.worst._asdict(), "entries": len(comparison.rows)},
    }
    return TransformerReport(plain(data), limit, drawn, comparison)


def _steps(config: TransformerConfig) -> int:
    """Of the limit: short by default, but beyond a thousand no shorter than the layers of the networks beside it."""
    fine = default_steps(config.block(), config.V0, config.depth_to_width)
    return min(fine, max(_FINE_STEPS, config.depth))


def _quick(config: TransformerConfig) -> int:
    units = config.depth * config.width * config.hidden_ratio * config.tokens
    return int(np.clip(_NETWORK_NEURONS // units, _FEWEST, _MOST))


def _by_depth(law: CovarianceLaw) -> dict[str, Any]:
    size = np.trace(law.V, axis1=2, axis2=3) / law.V.shape[-1]
    columns: dict[str, Any] = {
        "depth_to_width": law.times,
        "levels": _LEVELS,
        "norm": np.quantile(size, _LEVELS, axis=0),
    }
    a, b = np.triu_indices(law.V.shape[-1], 1)
    if len(a):
        columns["correlation"] = np.quantile(law.correlation()[:, :, a, b].mean(axis=2), _LEVELS, axis=0)
    return columns


def _advice(advice: ShapingAdvice) -> dict[str, Any]:
    return {
        "parameter": advice.parameter,
        "values": advice.values,
        "fates": [asdict(fate) for fate in advice.fates],
        "chosen": advice.chosen,
    }
