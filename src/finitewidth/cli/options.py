"""Options that commands share, and what they mean."""

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..networks import MLP, ResidualMLP

_NO_SKIP = "--depth 3 or more: the first layer and the last have no skip"
_FALLBACK = {"C_b": 0.0, "C_W": 1.0}


def parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, about: str, more: str):
    """A new command with its help: a line for the list of commands, and the page of its own."""
    return commands.add_parser(
        name,
        help=about[0].lower() + about[1:],
        description=f"{about}.",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_hyperparameters(command: argparse.ArgumentParser) -> None:
    """`--C-b` and `--C-W`."""
    group = command.add_argument_group("initialisation (by default critical, if the activation has a critical point)")
    group.add_argument(
        "--C-b", dest="C_b", type=float, metavar="X", help="variance of the biases; zero if only --C-W is given"
    )
    group.add_argument("--C-W", dest="C_W", type=float, metavar="X", help="variance of the weights, times the width")


def add_inputs(command: argparse.ArgumentParser, otherwise: str) -> None:
    """`--inputs`."""
    command.add_argument(
        "--inputs", metavar="FILE", help=f"inputs, one a row: a .npy file, or text with commas; by default {otherwise}"
    )


def refuse_changed(command: argparse.ArgumentParser, args: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """`ArgumentError` for options that were set but do not apply: ignored, they would mislead."""
    from .._errors import ArgumentError

    for name in names:
        value = getattr(args, name)
        if value != command.get_default(name):
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(option, f"{value}, {why}", f"the command without {option}")


def widths(text: str) -> tuple[int, ...]:
    """`3,64,64,1` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected numbers with commas, such as 3,64,64,1") from None


def read_inputs(path: str) -> "np.ndarray":
    """The inputs of a file; `ArgumentError` if it holds none."""
    import numpy as np

    from .._errors import ArgumentError

    try:
        if path.endswith(".npy"):
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise ArgumentError("--inputs", f"{path!r} ({reason})", "a .npy file, or text with commas") from error


def network(
    activation: str, widths: tuple[int, ...], C_b: float | None, C_W: float | None, residual: float | None = None
) -> "MLP | ResidualMLP":
    """The network described: as asked, or critical, or, when that cannot be, with a stated choice; with skips of strength `residual`."""
    from .._errors import ArgumentError
    from ..advice import NotTunableError, tune
    from ..networks import MLP, ResidualMLP

    def described(C_b: float, C_W: float) -> MLP | ResidualMLP:
        if residual is None:
            return MLP(activation, widths, C_b, C_W)
        depth = len(widths) - 1
        return ResidualMLP(activation, widths[1], depth, residual, C_b, C_W, inputs=widths[0], outputs=widths[-1])

    if residual is not None and len(widths) < 4:
        raise ArgumentError("--residual", f"{residual:g} with --depth {len(widths) - 1}", _NO_SKIP)
    if C_W is not None:
        return described(_FALLBACK["C_b"] if C_b is None else C_b, C_W)
    if C_b is not None:
        raise ArgumentError(
            "--C-b", "no --C-W beside it", "both, --C-W alone for zero biases, or neither for criticality"
        )
    net = described(**_FALLBACK)
    try:
        return tune(net)
    except NotTunableError as error:
        chosen = ", ".join(f"{name} = {value:g}" for name, value in _FALLBACK.items())
        print(f"finitewidth: {activation} cannot be tuned ({error.reason}); using {chosen}", file=sys.stderr)
        return net
