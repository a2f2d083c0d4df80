"""The door: reads the command line, runs a command, turns what goes wrong into one line and an exit code.

Nothing heavy is imported here, nor at the top of the commands' files: help must appear at once.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from . import activations, phase_diagram, recommend, report, sde, simulate

_DESCRIPTION = """\
The theory of neural networks of finite width and depth, as something one runs:
what theory says of a network at initialisation, what real networks do, and the
difference in standard errors."""

_EXAMPLES = """\
examples:
  finitewidth report                                    a default network, in the terminal
  finitewidth report --activation tanh --depth 20 --width 128 --html report.html
  finitewidth recommend --activation relu --depth 64 --width 64 --html advice.html
  finitewidth activations                               names, classes, critical hyperparameters
  finitewidth phase-diagram --activation tanh --output tanh.png
  finitewidth simulate --activation relu --widths 3,64,64,1 --networks 100000
  finitewidth sde --block attention --tokens 4 --depth-to-width 0.5 --width 200

exit codes: 0 done, 2 bad input, 130 interrupted.
`finitewidth COMMAND --help` tells more about a command."""

_COMMANDS = (report, recommend, activations, phase_diagram, simulate, sde)
_BAD_INPUT, _INTERRUPTED = 2, 130
_OBJECTS = 100_000  # made before Python looks for garbage: a command makes little, and JAX many objects that stay


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return its exit code."""
    try:
        args = _parser().parse_args(argv)
    except SystemExit as done:  # argparse has said all there is to say
        return int(done.code or 0)
    if sys.stderr.isatty():
        print("finitewidth: working; the first run of a kind compiles, later ones do not ...", file=sys.stderr)
    return _guarded(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="finitewidth",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from ..reports.plain import version

        print(f"finitewidth {version('finitewidth')}")
        parser.exit()


def _guarded(args: argparse.Namespace) -> int:
    if "jax" not in sys.modules:  # in a process of its own
        gc.set_threshold(_OBJECTS)
    from .._compile import compilation_cache
    from .._errors import ArgumentError, BlowUpError

    compilation_cache()
    try:
        args.run(args)
        sys.stdout.flush()
    except (ArgumentError, BlowUpError) as error:
        print(f"finitewidth: {error}", file=sys.stderr)
        return _BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"finitewidth: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("finitewidth: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return 0
