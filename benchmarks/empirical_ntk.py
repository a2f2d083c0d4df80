"""Tangent kernels of given functions against every implementation of neural-tangents, in one run.

    python benchmarks/empirical_ntk.py --peer ntbench/bin/python [--samples 16 64] [--dtype float32]

Each case runs in a process of its own, ours and the peer's in turn: an MLP, a small convolutional network, two blocks of
attention; all pairs of ten outputs. Ours is timed with its validation; the peer's compiled program is timed alone.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from empirical_functions import case
from timing import best, table, timed

HERE = Path(__file__).parent
CASES = ("mlp", "conv", "attention")
# Its `AUTO` would pick one of these by counting operations; it does not run on the jax that the others run on.
IMPLEMENTATIONS = ("JACOBIAN_CONTRACTION", "NTK_VECTOR_PRODUCTS", "STRUCTURED_DERIVATIVES")


def ours(name: str, samples: int, repeats: int, dtype: str) -> dict:
    import jax

    from finitewidth import empirical_ntk

    jax.config.update("jax_enable_x64", dtype == "float64")
    function, params, x = case(name, samples)
    params, x = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, dtype), (params, x))
    cold_cpu, _, kernel = timed(lambda: empirical_ntk(function, params, x))
    cpu, wall = best(lambda: empirical_ntk(function, params, x), repeats)
    return {
        "cold_cpu": cold_cpu,
        "cpu": cpu,
        "wall": wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "check": float(np.asarray(kernel, dtype=np.float64).reshape(-1)[:: kernel.size // 97 or 1].sum()),
    }


def run(command: list) -> dict | None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=HERE)
    return None if done.returncode else json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=lambda path: Path(path).absolute(), help="python with neural-tangents 0.6.5")
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--samples", nargs="+", type=int, default=[16, 48])
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--implementations", nargs="+", default=list(IMPLEMENTATIONS), help="of the peer")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(ours(options.one[0], int(options.one[1]), options.repeats, options.dtype)))
        return
    rows = []
    for name in options.cases:
        for samples in options.samples:
            shared = ["--repeats", options.repeats, "--dtype", options.dtype]
            mine = run([sys.executable, __file__, "--one", name, samples, *shared])
            if mine is None:
                sys.exit(f"{name} with {samples} samples failed")
            row = {"case": name, "N": samples} | mine
            if options.peer:
                worker = [options.peer, HERE / "empirical_ntk_worker.py", name, samples, options.repeats, options.dtype]
                theirs = {each: run([*worker, each]) for each in options.implementations}
                working = {each: found for each, found in theirs.items() if found is not None}
                for each in options.implementations:
                    row[f"{each.lower()} wall"] = working[each]["wall"] if each in working else float("nan")
                fastest = min(working, key=lambda each: working[each]["wall"])
                row["best peer"] = fastest.lower()
                row["speed-up wall"] = working[fastest]["wall"] / mine["wall"]
                row["speed-up cpu"] = min(found["cpu"] for found in working.values()) / mine["cpu"]
                row["peer peak_mb"] = working[fastest]["peak_mb"]
                row["difference"] = abs(working[fastest]["check"] / mine["check"] - 1)
            rows.append(row)
            print(json.dumps(row), flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
