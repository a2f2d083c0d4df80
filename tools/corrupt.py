"""Damaged files, and what `load` and checkpoints make of them: `python tools/corrupt.py`.

Networks, results and a checkpoint are saved, and spoilt: bits flipped, pieces cut out, zeroed, doubled or put in, the end cut off; and, as
a program that is not ours may write them, with a value of the head replaced or an array exchanged in an archive that is whole.
What happens is counted:

- refused: a `FileError` that names the path;
- same: the very thing that was saved, for some bytes say nothing, as the date of a member;
- another: a thing of the right kinds with other values, which only a file whose archive is whole may give;
- silent: another thing from a file whose bytes were spoilt;
- unclear: any other error.

The last two must be zero; each is printed, and the exit code is one.
"""

import argparse
import collections
import io
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import finitewidth as fw
from finitewidth.runs.checkpoint import Checkpoint

EMPTY = {"sum": np.zeros((4, 3)), "count": np.zeros((), int)}
WRONG = (
    "a",
    -3,
    None,
    True,
    2.5,
    10**30,
    [],
    {},
    [[1]],
    {"tuple": [1, "b"]},
    {"array": 0, "of": "numpy"},
    {"float": "nan"},
)
ARRAYS = (
    np.ones(2),
    np.ones((3, 3)),
    np.array("a"),
    np.array([1, 2]),
    np.array(np.nan),
    np.zeros((0, 2)),
    np.array([True]),
)


def things() -> dict[str, Any]:
    """What is saved."""
    net = fw.MLP("gelu", (3, 8, 8, 2), C_b=[0.0, 0.1, 0.2], C_W=1.8)
    block = fw.ShapedTransformer(fw.ShapedAttention(0.3, heads=2, mask="causal"), fw.ShapedResNet(0.3))
    K = np.arange(12.0).reshape(3, 2, 2)
    return {
        "mlp": net,
        "residual": fw.ResidualMLP("relu", width=8, depth=4, gamma=0.7, outputs=2, norm="rms"),
        "flow": fw.results.Flow(net, K, metric=fw.results.Metric(K, 2 * K, np.ones((3, 2, 2, 2, 2)))),
        "transformer": block.at(width=8, depth=3),
        "several": {
            "a": (fw.activations.monomial(3), 1.5),
            "b": [np.float32(2), 1j, np.random.default_rng(0).normal(size=300)],
        },
    }


def spoilt(content: bytes, generator: random.Random) -> tuple[str, bytes]:
    """The bytes with a few of them changed."""
    at, length = generator.randrange(len(content)), generator.randrange(1, 40)
    piece = bytes(generator.randrange(256) for _ in range(length))
    match kind := generator.choice(("flip", "flip", "cut off", "cut out", "put in", "zero", "double")):
        case "flip":
            changed = bytearray(content)
            for _ in range(generator.randrange(1, 9)):
                changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            return kind, bytes(changed)
        case "cut off":
            return kind, content[:at]
        case "cut out":
            return kind, content[:at] + content[at + length :]
        case "put in":
            return kind, content[:at] + piece + content[at:]
        case "zero":
            return kind, content[:at] + bytes(length) + content[at + length :]
    return kind, content[: at + length] + content[at:]


def rewritten(content: bytes, generator: random.Random) -> tuple[str, bytes]:
    """A whole archive with another head, or another array."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    name = generator.choice(sorted(parts))
    if name.endswith(".json"):
        head = json.loads(parts[name])
        places = list(_places(head))
        holder, key = generator.choice(places)
        holder[key] = generator.choice((*WRONG, generator.choice(places)[0]))
        try:
            parts[name] = json.dumps(head).encode()
        except ValueError:  # a piece of the head within itself
            parts[name] = b"{}"
    else:
        sink = io.BytesIO()
        np.save(sink, generator.choice(ARRAYS))
        parts[name] = sink.getvalue()
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for each, part in parts.items():
            file.writestr(each, part)
    return f"other {name}", sink.getvalue()


def _places(node: Any) -> Any:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def outcome(
    load: Callable[[], Any], path: Path, said: Callable[[Any], Any], right: Any, whole: bool
) -> tuple[str, str]:
    """What becomes of a spoilt file, and the message."""
    try:
        found = said(load())
    except fw.FileError as error:
        return ("refused" if str(path) in str(error) else "unclear"), str(error)
    except fw.ArgumentError as error:  # of another run than this one
        return ("refused" if whole and error.argument == "checkpoint" else "unclear"), str(error)
    except BaseException as error:
        return "unclear", f"{type(error).__name__}: {error}"
    return ("same" if found == right else "another" if whole else "silent"), ""


def content_of(thing: Any) -> tuple[Any, ...]:
    """All that a file says of a thing, for two to be compared."""
    with tempfile.TemporaryDirectory() as folder:
        fw.save(thing, Path(folder) / "thing.fw")
        with zipfile.ZipFile(Path(folder) / "thing.fw") as file:
            return tuple((name, file.read(name)) for name in file.namelist())


def fuzz(count: int, seed: int, tell: Callable[[str], object] = print) -> collections.Counter[str]:
    """Counts of outcomes, of so many files."""
    generator, counts = random.Random(seed), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path, saved = Path(folder) / "thing.fw", []
        for name, thing in things().items():
            fw.save(thing, path)
            saved.append((name, path.read_bytes(), lambda: fw.load(path), content_of, content_of(thing)))
        path.unlink()
        run = Checkpoint(path, "a problem")
        run.save(5, EMPTY)

        def state(found: Any) -> Any:
            return found[0], *(np.asarray(found[1][name]).tolist() for name in EMPTY)

        saved.append(("checkpoint", path.read_bytes(), lambda: run.load(EMPTY, 10), state, state((5, EMPTY))))
        for number in range(count):
            name, content, load, said, right = saved[number % len(saved)]
            whole = generator.random() < 0.3
            what, changed = (rewritten if whole else spoilt)(content, generator)
            path.write_bytes(changed)
            found, message = outcome(load, path, said, right, whole)
            counts[found] += 1
            if found in ("silent", "unclear"):
                tell(f"{found}: {name}, {what}: {message[:200]}")
    return counts


def main() -> int:
    """Counts, and what is wrong."""
    parser = argparse.ArgumentParser(description="Damaged files, and what becomes of them.")
    parser.add_argument("--files", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = fuzz(options.files, options.seed)
    kinds = ("refused", "same", "another", "silent", "unclear")
    print(f"{sum(counts.values())} files: " + ", ".join(f"{counts[kind]} {kind}" for kind in kinds))
    return int(counts["silent"] + counts["unclear"] > 0)


if __name__ == "__main__":
    sys.exit(main())
