"""Paths per second of the covariance SDE of shaped attention, against diffrax and torchsde.

    python benchmarks/sde_peers.py --peer sdebench/bin/python [--tokens 2 4 8 16]

The peers get the same SDE on the m(m+1)/2 entries of V with a dense root of its diffusion matrix and plain Euler steps
(which leave the positive cone; ours do not). Float64, the same number of steps, each case in a process of its own, ours and
the peers' in turn. The peers' environment needs `diffrax`, `torchsde` and a CPU build of `torch`.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from peers import measured_by
from timing import best, exponent, table

HERE = Path(__file__).parent
GAMMA, TAU0, TIME, STEPS = 0.5, 1.0, 0.75, 75  # as in the worker
PEERS = ("diffrax", "torchsde")


def ours(tokens: int, paths: int, repeats: int) -> dict:
    import finitewidth as fw

    block = fw.ShapedAttention(gamma=GAMMA, tau0=TAU0)
    V0 = 0.8 * np.eye(tokens) + 0.2

    def solve() -> "fw.results.CovarianceLaw":
        return fw.covariance_sde(block, V0, depth_to_width=TIME, paths=paths, steps=STEPS, save=1)

    law = solve()
    cpu, wall = best(solve, repeats)
    return {"cpu": cpu, "wall": wall, "median V01": float(np.median(law.final[:, 0, 1]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="python of an environment with diffrax and torchsde")
    parser.add_argument("--tokens", nargs="+", type=int, default=[2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(ours(*options.one, options.repeats)))
        return
    rows = []
    for tokens in options.tokens:
        many, few = max(256, 16384 // tokens**2), max(16, 8192 // tokens**3)
        mine = measured_by([sys.executable, __file__, "--one", tokens, many, "--repeats", options.repeats])
        row = {"m": tokens, "paths/cpu s": many / mine["cpu"], "median V01": mine["median V01"]}
        for peer in PEERS if options.peer else ():
            worker = [options.peer, HERE / "sde_peers_worker.py", peer, tokens, few, options.repeats]
            theirs = measured_by(worker)
            row[f"{peer} paths/cpu s"] = few / theirs["cpu"]
            row[f"ratio to {peer}"] = row["paths/cpu s"] / row[f"{peer} paths/cpu s"]
            row[f"{peer} median V01"] = theirs["median V01"]
        rows.append(row)
        print(row, flush=True)
    print(table(rows))
    print(f"our cost ~ m^{exponent(options.tokens, [1 / row['paths/cpu s'] for row in rows]):.2f}")


if __name__ == "__main__":
    main()
