"""`transformer_report`: what depth does to the tokens of a shaped Transformer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError
from .._validation import as_count, as_covariance
from ..ensembles import simulate
from ..networks.shaped import (
    BlockNetwork,
    ShapedAttention,
    ShapedBlock,
    ShapedResNet,
    ShapedTransformer,
    equal_tokens,
)
from ..proportional import covariance_sde
from ..proportional.covariance_sde import default_steps
from ..results import CovarianceLaw
from .comparison.laws import LawComparison, compare_laws
from .document import Document
from .plain import meta, plain
from .section import Section
from .sections.agreement_of_laws import about_agreement_of_laws
from .sections.fates import about_fates
from .sections.shaping import about_shaping
from .sections.tokens import about_tokens
from .sections.transformer import about_transformer
from .sections.vocabulary import about_words_of_transformers

_NETWORK_NEURONS = 30_000_000  # hidden units drawn in all: a few seconds
_FEWEST, _MOST = 32, 1024
_FINE_STEPS = 1000
_SAVED = 16  # depths at which the limit is looked at; no more, so that it shares a program with the advice, which looks at the last

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class TransformerReport(Document):
    """A report on a shaped Transformer. `data` is all of it in types that JSON knows; print it, or ask for `to_json()`
    or `to_html()`.

    - `data["config"]`: what it is about. `data["meta"]`: versions, seed, paths.
    - `data["by_depth"]`: quantiles of the mean square norm and of the mean correlation of the tokens.
    - `data["fates"]`: shares of networks whose tokens explode, vanish or collapse, in the limit and measured.
    - `data["advice"]`: the same over `gamma` and `tau0`, and the values to choose.
    - `data["agreement"]`: distances between the limit's law and that of networks.
    """

    limit: CovarianceLaw
    networks: CovarianceLaw
    comparison: LawComparison

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """That of `limit`."""
        return self.limit.plot(ax)


@entry()
def transformer_report(
    net: BlockNetwork | None = None,
    V0: Any = None,
    *,
    networks: int | None = None,
    paths: int = 2048,
    seed: int = 0,
) -> TransformerReport:
    """Where the tokens of a shaped Transformer go with depth, how likely they collapse or explode, and what to change.

    **Arguments:**

    - `net`: a shaped Transformer at a width and a depth, `ShapedTransformer(...).at(width, depth)`; by default a causal one of
      width 512 with 24 blocks, eight heads, gamma = 0.2 and four hidden units for each column.
    - `V0`: the covariance of its input tokens, shape (m, m); by default eight tokens of correlation 0.2.
    - `networks`: how many networks of this width to draw beside the limit; by default what a few seconds allow.
    - `paths`: of the limit.

    Examples:
        >>> net = fw.ShapedTransformer(fw.ShapedAttention(0.1), fw.ShapedResNet(0.1)).at(width=32, depth=4)
        >>> fw.transformer_report(net, paths=32, networks=32).limit.paths
        32
    """
    net = default_transformer() if net is None else net
    if not isinstance(net, BlockNetwork) or not isinstance(net.block, ShapedBlock):
        raise ArgumentError(
            "net", type(net).__name__, "a shaped block at a width and a depth, `block.at(width, depth)`"
        )
    start = equal_tokens(8, 0.2) if V0 is None else np.asarray(as_covariance(V0, "V0"))
    count = _quick(net, len(start)) if networks is None else as_count(networks, "networks", at_least=2)
    head = about_transformer(net, start)
    limit = covariance_sde(net.block, start, net.depth_time, paths, seed, _steps(net, start), _SAVED)
    drawn = simulate(net, start, networks=count, seed=seed)
    comparison = compare_laws(limit, drawn)
    sections = (
        about_fates(limit, drawn),
        about_tokens(limit, drawn, net.width),
        about_agreement_of_laws(comparison),
        about_words_of_transformers(),
        about_shaping(net, start, seed),
    )
    made = Section("meta", "How this was made", plain(meta(seed=seed, paths=paths, networks=count)))
    return TransformerReport(head, sections, made, limit, drawn, comparison)


def default_transformer() -> BlockNetwork:
    """The Transformer of a report that nobody has given one to."""
    attention = ShapedAttention(gamma=0.2, heads=8, mask="causal")
    return ShapedTransformer(attention, ShapedResNet(gamma=0.2, hidden_ratio=4.0)).at(width=512, depth=24)


def _steps(net: BlockNetwork, V0: Float[np.ndarray, "m m"]) -> int:
    """Of the limit: short by default, but beyond a thousand no shorter than the layers of the networks beside it."""
    assert isinstance(net.block, ShapedBlock)
    return max(_SAVED, min(default_steps(net.block, V0, net.depth_time), max(_FINE_STEPS, net.depth)))


def _quick(net: BlockNetwork, tokens: int) -> int:
    ratio = max(getattr(part, "hidden_ratio", 1.0) for part in net.block.parts)
    return int(np.clip(_NETWORK_NEURONS // (net.depth * net.width * ratio * tokens), _FEWEST, _MOST))
