"""What a report on a shaped Transformer is about."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError
from ...networks.shaped import BlockNetwork, ShapedAttention, ShapedReLU, ShapedResNet
from ...networks.shaped.finite import Block
from ..plain import plain
from ..section import Section, Words
from .transformer_recipe import names_of


def about_transformer(net: BlockNetwork, V0: Float[np.ndarray, "m m"]) -> Section:
    """The head of a report."""
    config = _config(net, V0)
    return Section("config", "shaped Transformer", plain(config), (Words(sentence(config, shaping_of(net.block))),))


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
        "parts": {name: _settings(part) for name, part in zip(names_of(net.block), net.block.parts, strict=True)},
        "mask": attention.mask,
        "correlation": _mean_correlation(V0),
        "hidden_ratio": max(ratios, default=None),
        "depth_to_width": net.depth_over_width,
    }


def _settings(part: Block) -> dict[str, float]:
    """What shapes a part, by name."""
    found = {name: float(getattr(part, name)) for name in ("gamma", "tau0", "hidden_ratio") if hasattr(part, name)}
    relu = getattr(part, "activation", None)
    if isinstance(relu, ShapedReLU):
        found |= {"c_plus": float(relu.c_plus), "c_minus": float(relu.c_minus)}
    return found


def shaping_of(block: Block) -> str:
    """Weights and temperatures, `gamma = 0.2, tau0 = 1`; part by part where they differ."""
    parts = {name: _settings(part) for name, part in zip(names_of(block), block.parts, strict=True)}
    return ", ".join(
        _said(name, {part: of[name] for part, of in parts.items() if name in of}) for name in ("gamma", "tau0")
    )


def _said(name: str, values: dict[str, float]) -> str:
    if len(set(values.values())) == 1:
        return f"{name} = {next(iter(values.values())):g}"
    return f"{name} = " + " and ".join(f"{value:g} in {part}" for part, value in values.items())


def _mean_correlation(V0: Float[np.ndarray, "m m"]) -> float | None:
    """Of different tokens; `None` where there is one alone, or where a token is zero."""
    norms, between = np.sqrt(np.diagonal(V0)), np.triu_indices(len(V0), 1)
    if len(V0) == 1 or not norms.all():
        return None
    return float(np.mean((V0 / np.outer(norms, norms))[between]))


def sentence(config: dict[str, Any], shaping: str) -> str:
    """The Transformer in one line."""
    mask = {"causal": "causal", None: "unmasked"}.get(config["mask"], "with a mask of its own")
    alike = "" if config["correlation"] is None else f" of mean correlation {config['correlation']:.3g}"
    heads = f"{config['heads']} head{'s' if config['heads'] > 1 else ''}"
    return (
        f"Shaped Transformer, {mask}: {config['depth']} blocks of width {config['width']}, {heads}, "
        f"{shaping}; {config['tokens']} tokens{alike}; "
        f"depth over width {config['depth_to_width']:.3g}"
    )
