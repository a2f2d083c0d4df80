"""`finitewidth recommend`: how to initialise and train a network of a shape."""

import argparse

from .options import add_inputs, parser, read_inputs
from .outputs import STANDARD_OUTPUT, add_json, check_writable, write

_ABOUT = "Recommend initialisation, scale of inputs, learning rates and shape, with reasons"
_MORE = """\
Every number comes with what it means, why, its equation and how far to trust it. Where the network would be too deep for
its width, skip connections that make networks drawn alike more alike are part of the advice.

examples:
  finitewidth recommend
  finitewidth recommend --activation relu --depth 64 --width 64 --outputs 10
  finitewidth recommend --inputs data.csv --html advice.html     own inputs; a page with maps
  finitewidth recommend --json > advice.json                     for machines"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "recommend", _ABOUT, _MORE)
    command.add_argument("--activation", default="gelu", metavar="NAME", help="default: gelu")
    command.add_argument("--depth", type=int, default=32, metavar="L", help="layers, the output included; default: 32")
    command.add_argument("--width", type=int, default=512, metavar="n", help="of every hidden layer; default: 512")
    command.add_argument("--outputs", type=int, default=1, metavar="n_L", help="default: 1")
    add_inputs(command, "two generic ones of 64 features")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="of networks drawn; default: 0")
    command.add_argument("--html", metavar="FILE", help="write a self-contained page with maps")
    add_json(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Ask for the advice and show it."""
    check_writable(html=args.html, json=args.json)
    from .._validation import as_count
    from ..reports import recommend

    shape = {name: as_count(getattr(args, name), f"--{name}") for name in ("depth", "width", "outputs")}
    data = None if args.inputs is None else read_inputs(args.inputs)
    result = recommend(activation=args.activation, data=data, seed=args.seed, **shape)
    if args.json != STANDARD_OUTPUT:
        from ..reports.terminal import show

        show(result)
    if args.html is not None:
        write(args.html, result.to_html())
    if args.json is not None:
        write(args.json, result.to_json())
