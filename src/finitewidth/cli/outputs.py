"""Where results go."""

import argparse
import sys
from pathlib import Path

STANDARD_OUTPUT = "-"
PICTURES = (".png", ".svg", ".pdf")


def add_json(command: argparse.ArgumentParser) -> None:
    """`--json [FILE]`."""
    command.add_argument(
        "--json",
        nargs="?",
        const=STANDARD_OUTPUT,
        metavar="FILE",
        help="write the results as JSON to a file, or to standard output instead of the table",
    )


def check_writable(**options: str | None) -> None:
    """`ArgumentError` naming the option whose file cannot be written, before any work is done."""
    from .._errors import ArgumentError

    for name, given in options.items():
        if given is None or given == STANDARD_OUTPUT:
            continue
        path = Path(given)
        try:
            if path.is_dir():
                raise IsADirectoryError("it is a directory")
            existed = path.exists()
            path.open("a").close()
            if not existed:
                path.unlink()
        except OSError as error:
            reason = error.strerror or str(error)
            raise ArgumentError(f"--{name}", f"{given!r} ({reason})", "a file that can be written") from error


def check_picture(given: str | None) -> None:
    """`ArgumentError` naming `--output` if it is no picture that can be written."""
    from .._errors import ArgumentError

    if given is not None and not given.lower().endswith(PICTURES):
        raise ArgumentError("--output", repr(given), f"a name that ends in {', '.join(PICTURES)}")
    check_writable(output=given)


def write(path: str, text: str) -> None:
    """Text to a file, or to standard output."""
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text + "\n")
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")
        print(f"written: {path}", file=sys.stderr)
