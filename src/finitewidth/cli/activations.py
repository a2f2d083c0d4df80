"""`finitewidth activations`: what there is, and how to initialise it."""

import argparse
import os
from typing import TYPE_CHECKING

from .options import parser

if TYPE_CHECKING:
    from ..critical import Criticality

_ABOUT = "List activations with their class and critical initialisation"
_MORE = """\
Every verdict is computed anew, which takes a second or two for each activation; lines appear as they are known.
C_b and C_W are those of the critical point to initialise at; K* is the kernel there.

examples:
  finitewidth activations
  finitewidth activations gelu swish"""

_LINE = "{:<18}{:<28}{:<18}{:>12}{:>12}{:>12}"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "activations", _ABOUT, _MORE)
    command.add_argument("names", nargs="*", metavar="NAME", help="only these; default: all")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print the table line by line."""
    from concurrent.futures import ThreadPoolExecutor

    from ..activations import ACTIVATIONS, as_activation
    from ..critical import criticality

    names = args.names or sorted(ACTIVATIONS)
    chosen = [as_activation(name) for name in names]
    print(_LINE.format("name", "formula", "class", "C_b", "C_W", "K*"), flush=True)
    pool = ThreadPoolExecutor(os.cpu_count())  # nearly all of it is compilation, which runs in parallel
    try:
        for name, activation, verdict in zip(names, chosen, pool.map(criticality, chosen), strict=True):
            print(_LINE.format(name, activation.formula, verdict.universality_class, *_point(verdict)), flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _point(verdict: "Criticality") -> tuple[str, str, str]:
    point = verdict.point
    if point is None:
        return "-", "-", "-"
    return f"{point.C_b:.8g}", f"{point.C_W:.8g}", "any" if point.K_star is None else f"{point.K_star:.8g}"
