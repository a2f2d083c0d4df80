"""`finitewidth report`: the main job."""

import argparse
import functools
from typing import TYPE_CHECKING

from .blocks import add_shaping, add_tokens, token_covariance, transformer
from .options import add_hyperparameters, add_inputs, network, parser, read_inputs, refuse_changed
from .outputs import STANDARD_OUTPUT, add_json, check_writable, write

if TYPE_CHECKING:
    from ..reports import Report, TransformerReport

_OF_MLPS = ("activation", "input_width", "C_b", "C_W", "residual")
_ABOUT = "Report on a network: criticality, kernel and fluctuations by depth, over a quick simulation"
_MORE = """\
The report says whether the activation can be tuned to criticality and with which C_b and C_W; the kernel and
its fluctuation from network to network in every layer, by theory and measured; what depth over width means for
the use of theory; how far theory and networks are apart, in standard errors; and what to do.

With --transformer it is about a shaped Transformer instead: where the correlations of its tokens go with depth, how
likely they explode, vanish or collapse, and which gamma and tau0 keep them safe.

examples:
  finitewidth report
  finitewidth report --activation relu --depth 20 --width 256
  finitewidth report --activation tanh --C-b 0.05 --C-W 1.5     away from criticality
  finitewidth report --activation relu --C-W 2                  He initialisation, zero biases
  finitewidth report --activation relu --residual 0.7           with skips
  finitewidth report --inputs data.csv --html report.html       own inputs; a page with plots
  finitewidth report --json > report.json                       for machines
  finitewidth report --transformer --tokens 8 --depth 48 --width 512 --heads 8 --gamma 0.3"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "report", _ABOUT, _MORE)
    command.add_argument("--activation", default="gelu", metavar="NAME", help="default: gelu")
    command.add_argument("--depth", type=int, default=32, metavar="L", help="layers, the output included; default: 32")
    command.add_argument("--width", type=int, default=512, metavar="n", help="of every hidden layer; default: 512")
    command.add_argument(
        "--input-width", type=int, metavar="n_0", help="features of an input; default: 64, or as in --inputs"
    )
    command.add_argument(
        "--residual",
        type=float,
        metavar="GAMMA",
        help="skips of this strength around all layers but the first and the last",
    )
    add_hyperparameters(command)
    add_inputs(command, "two generic ones")
    command.add_argument("--networks", type=int, metavar="M", help="to simulate; default: what a few seconds allow")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="of the simulation; default: 0")
    command.add_argument("--html", metavar="FILE", help="write a self-contained page with plots")
    add_json(command)
    group = command.add_argument_group("a shaped Transformer instead of an MLP")
    group.add_argument("--transformer", action="store_true", help="report on a Transformer; --depth counts blocks")
    add_tokens(group, tokens=8)
    add_shaping(group, gamma=0.2, hidden_ratio=4.0, mask="causal")
    of_transformers = [action.dest for action in group._group_actions if action.dest != "transformer"]
    command.set_defaults(run=functools.partial(run, command, of_transformers))


def run(command: argparse.ArgumentParser, of_transformers: list[str], args: argparse.Namespace) -> None:
    """Make the report and show it."""
    if args.transformer:
        refuse_changed(command, args, _OF_MLPS, "which a Transformer does not have")
    else:
        refuse_changed(command, args, of_transformers, "without --transformer")
    check_writable(html=args.html, json=args.json)
    result = _transformer(args) if args.transformer else _mlp(args)
    if args.json != STANDARD_OUTPUT:
        from ..reports.terminal import show

        show(result)
    if args.html is not None:
        write(args.html, result.to_html())
    if args.json is not None:
        write(args.json, result.to_json())


def _mlp(args: argparse.Namespace) -> "Report":
    from .._memory import check_layers
    from .._validation import as_count
    from ..reports import report

    depth, width = as_count(args.depth, "--depth"), as_count(args.width, "--width")
    check_layers(depth, "--depth")
    x = None if args.inputs is None else read_inputs(args.inputs)
    features = args.input_width if args.input_width is not None else (64 if x is None else x.shape[-1])
    net = network(args.activation, (features, *[width] * (depth - 1), 1), args.C_b, args.C_W, args.residual)
    return report(net, x, networks=args.networks, seed=args.seed)


def _transformer(args: argparse.Namespace) -> "TransformerReport":
    from ..reports import transformer_report

    net = transformer(args).at(args.width, args.depth)
    return transformer_report(net, token_covariance(args), networks=args.networks, seed=args.seed)
