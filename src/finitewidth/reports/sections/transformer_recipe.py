"""A shaped Transformer as lines to copy: with every factor, for one left out makes another network."""

from ...networks.shaped import BlockNetwork, ShapedAttention, ShapedMLP, ShapedReLU, ShapedResNet
from ...networks.shaped.activation import ShapedActivation, ShapedSmooth
from ...networks.shaped.finite import Block
from ...networks.shaped.sublayers import columns_per_head, hidden_units

_START = """\
import torch

width = {width}


def draw(inputs, outputs):  # variance 1/inputs; there are no biases
    return torch.randn(inputs, outputs) / inputs**0.5
"""
_ATTENTION = """

def new_{name}():  # tau0 = {tau0:.9g}
    heads = {heads}
    each = width, {key_width}  # of queries and keys
    values = width, {columns}
    W = [(draw(*each), draw(*each), draw(*values)) for _ in range(heads)]{projection}
    tau = {tau0:.9g} * width**{exponent:g} * {key_width}**0.5

    def {name}(x):
        m = len(x)
        seen = {seen}
        uniform = seen / seen.sum(1)[:, None]
        out = []
        for W_q, W_k, W_v in W:
            logits = (x @ W_q) @ (x @ W_k).T / tau
            logits = torch.where(seen > 0, logits, -torch.inf)
            A = torch.eye(m) + torch.softmax(logits, 1) - uniform
            out.append(A @ (x @ W_v))
        return torch.cat(out, 1){projected}

    return {name}
"""
_FEEDFORWARD = """

def new_{name}():
    W_in, W_out = draw(width, {units}), draw({units}, width)
{shape}
    def {name}(x):
        z = x @ W_in
        z = {shaped}
        return z @ W_out

    return {name}
"""
_LAYER = """

def new_{name}():
    W = draw(width, width)
{shape}
    def {name}(x):
        z = x @ W
        return {shaped}

    return {name}
"""
_RELU = "c**0.5 * (right * torch.relu(z) - left * torch.relu(-z))"
_SMOOTH = "c**0.5 * (S / {slope:.9g} * (activation(z / S) - {offset:.9g}))"


def recipe(net: BlockNetwork) -> str:
    """PyTorch's lines for the whole network: its weights, and `forward` of tokens, one a row."""
    names = names_of(net.block)
    parts = list(zip(names, net.block.parts, strict=True))
    new = "".join(f"        new_{name}(),\n" for name in names)
    text = [_START.format(width=net.width), *(_part(name, part, net.width) for name, part in parts)]
    text.append(
        f"\n\nblocks = [\n    (\n{new}    )\n    for _ in range({net.depth})\n]\n\n\ndef forward(x):  # tokens, one a row\n"
    )
    text.append(f"    for {', '.join(names)}{',' * (len(names) == 1)} in blocks:\n")
    text += [f"        {_applied(name, part)}\n" for name, part in parts]
    return "".join([*text, "    return x"])


def names_of(block: Block) -> list[str]:
    """Of its parts: `attention`, or `attention_2` where there are several."""
    kinds = [_kind(part) for part in block.parts]
    number = [f"_{kinds[: i + 1].count(kind)}" if kinds.count(kind) > 1 else "" for i, kind in enumerate(kinds)]
    return [kind + each for kind, each in zip(kinds, number, strict=True)]


def _kind(part: Block) -> str:
    if isinstance(part, ShapedAttention):
        return "attention"
    return "feedforward" if isinstance(part, ShapedResNet) else "layer"


def _applied(name: str, part: Block) -> str:
    if isinstance(part, ShapedMLP):
        return f"x = {name}(x)"
    gamma = f"{float(part.gamma):.9g}"  # type: ignore[attr-defined]  # of attention and feedforward layers
    return f"x = (1 - {gamma}**2) ** 0.5 * x + {gamma} * {name}(x)"


def _part(name: str, part: Block, width: int) -> str:
    if isinstance(part, ShapedAttention):
        return _attention(name, part, width)
    assert isinstance(part, ShapedResNet | ShapedMLP)
    shape, shaped = _activation(part.activation, width)
    if isinstance(part, ShapedMLP):
        return _LAYER.format(name=name, shape=shape, shaped=shaped)
    units = hidden_units(part.hidden_ratio, width)
    return _FEEDFORWARD.format(name=name, units=units, shape=shape, shaped=shaped)


def _attention(name: str, part: ShapedAttention, width: int) -> str:
    columns = columns_per_head(part.heads, width)
    return _ATTENTION.format(
        name=name,
        tau0=float(part.tau0),
        heads=part.heads,
        columns=columns,
        key_width=columns if part.key_width is None else part.key_width,
        exponent=part.exponent,
        seen=_seen(part.mask),
        projection="\n    W_o = draw(width, width)" if part.output_projection else "",
        projected=" @ W_o" if part.output_projection else "",
    )


def _seen(mask: object) -> str:
    if mask is None:
        return "torch.ones(m, m)"
    if mask == "causal":
        return "torch.tril(torch.ones(m, m))"
    if isinstance(mask, str):
        return f"torch.triu(torch.tril(torch.ones(m, m)), {1 - int(mask.partition(':')[2])})"
    return "mask  # yours: 1 where a token (row) sees another, else 0"


def _activation(activation: ShapedActivation, width: int) -> tuple[str, str]:
    """The lines that say its constants, and what it makes of `z`, with the factor that keeps the mean square."""
    if isinstance(activation, ShapedReLU):
        power = f"width**-{activation.exponent:g}"
        lines = (
            f"    right = 1 + {activation.c_plus:.9g} * {power}\n"
            f"    left = 1 + {activation.c_minus:.9g} * {power}\n"
            "    c = 2 / (right**2 + left**2)\n"
        )
        return lines, _RELU
    assert isinstance(activation, ShapedSmooth)
    inner = activation.activation
    lines = (
        f"    S = {activation.a:.9g} * width**{activation.exponent:g}  # activation: {inner.name}\n"
        f"    c = {float(activation.normalisation(width)):.9g}  # 1/E[(S ...)^2], z normal\n"
    )
    return lines, _SMOOTH.format(slope=activation.slope, offset=activation.offset)
