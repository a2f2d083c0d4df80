"""`finitewidth sde`: the law of token covariances at a depth in proportion to width."""

import argparse
import sys
from typing import TYPE_CHECKING

from .blocks import add_shaping, add_tokens, attention, feedforward, token_covariance, transformer
from .options import add_inputs, parser
from .outputs import PICTURES, STANDARD_OUTPUT, add_json, check_picture, check_writable, write

if TYPE_CHECKING:
    from ..networks.shaped import ShapedBlock
    from ..results import CovarianceLaw

_ABOUT = "Sample the covariance of tokens in the limit of depth in proportion to width"
_MORE = """\
Networks of shaped blocks keep random covariances when depth grows with width; these obey a stochastic differential
equation in depth over width. Shown are quantiles at the last depth; with --width, networks of that width are drawn too
and laid over it, both at the depth over width that a whole number of layers has.

blocks:
  mlp           shaped ReLU layers
  resnet        residual blocks of two matrices
  attention     shaped attention
  transformer   attention and a residual block in turn

examples:
  finitewidth sde --block attention --tokens 2 --gamma 0.354 --depth-to-width 0.75
  finitewidth sde --block transformer --tokens 4 --heads 8 --mask causal --depth-to-width 0.3 --width 200
  finitewidth sde --block resnet --gamma 0.5 --depth-to-width 0.333 --width 300 --output resnet.png"""

_BLOCKS = ("mlp", "resnet", "attention", "transformer")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "sde", _ABOUT, _MORE)
    command.add_argument(
        "--block", default="transformer", metavar="NAME", help=f"{', '.join(_BLOCKS)}; default: transformer"
    )
    command.add_argument("--depth-to-width", type=float, required=True, metavar="T", help="depth over width at the end")
    add_tokens(command, tokens=2)
    add_inputs(command, "--tokens equally correlated ones")
    add_shaping(command, gamma=0.35, hidden_ratio=1.0)
    command.add_argument("--paths", type=int, default=4096, metavar="M", help="default: 4096")
    command.add_argument("--steps", type=int, metavar="K", help="steps in depth; default: small enough")
    command.add_argument("--width", type=int, metavar="n", help="also draw as many networks of this width")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    command.add_argument(
        "--output", metavar="FILE", help=f"a picture of the densities of the first two tokens ({', '.join(PICTURES)})"
    )
    add_json(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Sample the law and show it."""
    check_picture(args.output)
    check_writable(json=args.json)
    from ..ensembles import simulate
    from ..proportional import covariance_sde
    from ..reports.comparison.law import law_data
    from ..reports.comparison.laws import compare_laws

    block, V0 = _block(args), token_covariance(args)
    depth, depth_to_width = _depth(args)
    limit = covariance_sde(block, V0, depth_to_width, args.paths, args.seed, args.steps)
    networks = None
    if depth is not None:
        networks = simulate(block.at(args.width, depth), V0, networks=args.paths, seed=args.seed)
    if args.output is not None:
        _draw(limit, networks, args.output)
    comparison = None if networks is None else compare_laws(limit, networks)
    if args.json is not None:
        import json

        data = law_data(limit) if comparison is None else comparison.to_dict()
        write(args.json, json.dumps(data, indent=2, allow_nan=False))
    if args.json != STANDARD_OUTPUT:
        from ..reports.comparison.law_tables import law_parts
        from ..reports.terminal import show, stacked

        show(stacked(law_parts(limit)) if comparison is None else comparison)


def _depth(args: argparse.Namespace) -> tuple[int | None, float]:
    """The layers of the networks, if some are drawn, and depth over width of all: that of whole layers, said if it differs."""
    from .._errors import DomainError
    from .._validation import as_count, as_number

    asked = as_number(args.depth_to_width, "--depth-to-width", low=0.0)
    if asked == 0:
        raise DomainError("--depth-to-width", asked, "a positive number")
    if args.width is None:
        return None, asked
    width = as_count(args.width, "--width")
    depth = max(1, round(asked * width))
    if abs(depth / width - asked) <= 1e-9 * asked:
        return depth, asked
    layers = "1 layer" if depth == 1 else f"{depth} layers"
    used = f"networks of width {width} have {layers}; using depth over width {depth / width:.4g}"
    print(f"finitewidth: {used} instead of {asked:.4g}", file=sys.stderr)
    return depth, depth / width


def _draw(limit: "CovarianceLaw", networks: "CovarianceLaw | None", path: str) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..figures import STYLE, law_densities

    with rc_context(STYLE):
        figure = Figure(figsize=(10, 3.9))
        law_densities(limit, networks, tuple(figure.subplots(1, 2)))
        figure.savefig(path)
    print(f"written: {path}", file=sys.stderr)


def _block(args: argparse.Namespace) -> "ShapedBlock":
    from .._errors import UnknownNameError
    from ..networks.shaped import ShapedMLP, shaped_relu

    if args.block not in _BLOCKS:
        raise UnknownNameError("--block", args.block, _BLOCKS)
    if args.block == "mlp":
        return ShapedMLP(shaped_relu(args.c_plus, args.c_minus))
    return {"resnet": feedforward, "attention": attention, "transformer": transformer}[args.block](args)
