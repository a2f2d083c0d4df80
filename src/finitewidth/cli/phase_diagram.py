"""`finitewidth phase-diagram`: what deep networks do over a grid of hyperparameters."""

import argparse
import sys
from typing import TYPE_CHECKING

from .options import parser
from .outputs import PICTURES, check_picture

if TYPE_CHECKING:
    from ..critical import Criticality, PhaseDiagram

_ABOUT = "Map the phases of an activation over C_W and C_b"
_MORE = """\
In the ordered phase two inputs become the same with depth, in the chaotic phase they become unrelated; at a critical
point neither happens, or only slowly. Columns are C_W, rows C_b.

examples:
  finitewidth phase-diagram --activation tanh
  finitewidth phase-diagram --activation gelu --C-W-max 4 --C-b-max 1
  finitewidth phase-diagram --activation tanh --output tanh.png    a picture too (.png, .svg or .pdf)"""

_ROWS, _COLUMNS = 16, 61
_FINE = 151  # points a side of the picture
_MARKS = {
    "ordered": "·",
    "chaotic": "#",
    "critical": "*",
    "vanishing": "0",
    "exploding": "^",
    "semi-critical": "+",
    "unresolved": "?",
}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "phase-diagram", _ABOUT, _MORE)
    command.add_argument("--activation", required=True, metavar="NAME", help="`finitewidth activations` lists them")
    command.add_argument("--C-b-max", dest="C_b_max", type=float, default=0.5, metavar="X", help="default: 0.5")
    command.add_argument("--C-W-max", dest="C_W_max", type=float, default=3.0, metavar="X", help="default: 3")
    command.add_argument("--output", metavar="FILE", help=f"write a picture ({', '.join(PICTURES)})")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print the map, and draw it if asked."""
    check_picture(args.output)
    import numpy as np

    from .._validation import as_number
    from ..critical import criticality, phase_diagram

    tiny = np.finfo(float).tiny
    C_b, C_W = as_number(args.C_b_max, "--C-b-max", low=tiny), as_number(args.C_W_max, "--C-W-max", low=tiny)
    verdict = criticality(args.activation)
    print(_map(phase_diagram(args.activation, np.linspace(0, C_b, _ROWS + 1), np.linspace(0, C_W, _COLUMNS))))
    print(_points(verdict))
    if args.output is not None:
        fine = phase_diagram(args.activation, np.linspace(0, C_b, _FINE), np.linspace(0, C_W, _FINE))
        _draw(fine, verdict, args.output)


def _map(diagram: "PhaseDiagram") -> str:
    lines = [f"phases of {diagram.activation}"]
    for C_b, row in zip(diagram.C_b[::-1], diagram.phase[::-1], strict=True):
        lines.append(f"{C_b:7.3g} │{''.join(_MARKS[str(phase)] for phase in row)}")
    lines.append("    C_b └" + "─" * len(diagram.C_W))
    middle = diagram.C_W[len(diagram.C_W) // 2]
    lines.append(" " * 9 + f"{0:<30g}{f'C_W = {middle:.3g}':<22}{diagram.C_W[-1]:>9.3g}")
    seen = [f"{mark} {name}" for name, mark in _MARKS.items() if (diagram.phase == name).any()]
    return "\n".join([*lines, "", "   ".join(seen)])


def _points(verdict: "Criticality") -> str:
    points = [f"critical point: {point}" for point in verdict.critical_points]
    return "\n".join(points or [f"no critical point: {verdict.reason}"])


def _draw(diagram: "PhaseDiagram", verdict: "Criticality", path: str) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..figures import STYLE, phase_diagram

    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.8))
        phase_diagram(diagram, figure.subplots(), verdict=verdict)
        figure.savefig(path)
    print(f"written: {path}", file=sys.stderr)
