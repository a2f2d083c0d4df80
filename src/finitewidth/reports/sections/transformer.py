"""What a report on a shaped Transformer is about."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError
from ...networks.shaped import BlockNetwork, ShapedAttention, ShapedResNet
from ..plain import plain
from ..section import Section, Words


def about_transformer(net: BlockNetwork, V0: Float[np.ndarray, "m m"]) -> Section:
    """The head of a report."""
    config = _config(net, V0)
    return Section("config", "shaped Transformer", plain(config), (Words(sentence(config)),))


def attention_of(net: BlockNetwork) -> ShapedAttention:
    """The first attention block of a network; refused if there is none."""
    found = [part for part in net.block.parts if isinstance(part, ShapedAttention)]
    if not found:
        raise ArgumentError(
            "net", f"a network of {type(net.block).__name__}", "one with attention: it is a Transformer"
        )
    return found[0]


def _config(net: BlockNetwork, V0: Float[np.ndarray, "m m"]) -> dict[str, Any]:
    attention = attention_of(net)
    ratios = [part.hidden_ratio for part in net.block.parts if isinstance(part, ShapedResNet)]
    return {
        "tokens": len(V0),
        "width": net.width,
        "depth": net.depth,
        "heads": attention.heads,
        "gamma": float(attention.gamma),
        "tau0": float(attention.tau0),
        "mask": attention.mask,
        "correlation": _mean_correlation(V0),
        "hidden_ratio": max(ratios, default=None),
        "depth_to_width": net.depth_over_width,
    }


def _mean_correlation(V0: Float[np.ndarray, "m m"]) -> float | None:
    """Of different tokens; `None` where there is one alone, or where a token is zero."""
    norms, between = np.sqrt(np.diagonal(V0)), np.triu_indices(len(V0), 1)
    if len(V0) == 1 or not norms.all():
        return None
    return float(np.mean((V0 / np.outer(norms, norms))[between]))


def sentence(config: dict[str, Any]) -> str:
    """The Transformer in one line."""
    mask = {"causal": "causal", None: "unmasked"}.get(config["mask"], "with a mask of its own")
    alike = "" if config["correlation"] is None else f" of mean correlation {config['correlation']:.3g}"
    heads = f"{config['heads']} head{'s' if config['heads'] > 1 else ''}"
    return (
        f"Shaped Transformer, {mask}: {config['depth']} blocks of width {config['width']}, {heads}, "
        f"gamma = {config['gamma']:g}, tau0 = {config['tau0']:g}; {config['tokens']} tokens{alike}; "
        f"depth over width {config['depth_to_width']:.3g}"
    )
