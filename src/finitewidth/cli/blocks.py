"""Shaped blocks and their tokens on the command line: options, and what they mean."""

import argparse
from typing import TYPE_CHECKING

from .options import read_inputs

if TYPE_CHECKING:
    import numpy as np

    from ..networks.shaped import ShapedAttention, ShapedResNet, ShapedTransformer

UNMASKED = "none"


def add_tokens(command: argparse._ActionsContainer, tokens: int) -> None:
    """`--tokens` and `--correlation`."""
    command.add_argument("--tokens", type=int, default=tokens, metavar="m", help=f"default: {tokens}")
    command.add_argument("--correlation", type=float, default=0.2, metavar="R", help="of the inputs; default: 0.2")


def token_covariance(args: argparse.Namespace) -> "np.ndarray":
    """The covariance of the tokens in `--inputs`, one a row, or of `--tokens` equally correlated ones."""
    from ..networks.shaped import equal_tokens

    if args.inputs is None:
        return equal_tokens(args.tokens, args.correlation)
    embeddings = read_inputs(args.inputs)
    return embeddings @ embeddings.T / embeddings.shape[1]


def add_shaping(command: argparse._ActionsContainer, gamma: float, hidden_ratio: float, mask: str = UNMASKED) -> None:
    """What shapes attention and feedforward layers."""
    command.add_argument(
        "--gamma", type=float, default=gamma, metavar="G", help=f"weight of branches; default: {gamma:g}"
    )
    command.add_argument(
        "--gamma-feedforward", type=float, metavar="G", help="of feedforward branches, if it is another"
    )
    command.add_argument("--tau0", type=float, default=1.0, metavar="T", help="temperature of attention; default: 1")
    command.add_argument("--heads", type=int, default=1, metavar="H", help="of attention; default: 1")
    command.add_argument(
        "--mask",
        type=lambda name: None if name == UNMASKED else name,
        default=mask,
        metavar="NAME",
        help=f"causal, window:K (itself and the K - 1 before), or {UNMASKED}: every token sees all; default: {mask}",
    )
    command.add_argument("--projection", action="store_true", help="attention ends in a matrix of its own")
    command.add_argument(
        "--hidden-ratio",
        type=float,
        default=hidden_ratio,
        metavar="R",
        help=f"hidden units of feedforward layers for each column; default: {hidden_ratio:g}",
    )
    command.add_argument(
        "--c-plus", type=float, default=0.0, metavar="C", help="slope of shaped ReLU, right; default: 0"
    )
    command.add_argument(
        "--c-minus", type=float, default=-1.0, metavar="C", help="slope of shaped ReLU, left; default: -1"
    )


def attention(args: argparse.Namespace) -> "ShapedAttention":
    """The attention asked for."""
    from ..networks.shaped import ShapedAttention

    return ShapedAttention(args.gamma, args.tau0, args.heads, args.mask, output_projection=args.projection)


def feedforward(args: argparse.Namespace) -> "ShapedResNet":
    """The feedforward layers asked for."""
    from ..networks.shaped import ShapedResNet

    gamma = args.gamma if args.gamma_feedforward is None else args.gamma_feedforward
    return ShapedResNet(gamma, args.c_plus, args.c_minus, args.hidden_ratio)


def transformer(args: argparse.Namespace) -> "ShapedTransformer":
    """Both, one after the other."""
    from ..networks.shaped import ShapedTransformer

    return ShapedTransformer(attention(args), feedforward(args))
