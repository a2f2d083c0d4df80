"""Infinite-width kernels against neural-tangents, both in float64, in one run.

    python benchmarks/kernels.py --peer ntbench/bin/python [--samples 500 1000] [--depths 3 10 50]

Each case runs in a process of its own, ours and the peer's in turn. The peer is called in its fastest form,
`stax.repeat`; for tanh it has only its own quadrature, which is measured at one small size and extrapolated (its cost is
proportional to samples squared times depth).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from peers import measured_by
from timing import best, exponent, table, timed

HERE = Path(__file__).parent
SETTINGS = {"relu": (2.0, 0.0), "erf": (2.25, 0.0025), "gelu": (2.25, 0.0025), "tanh": (1.0, 0.0)}
FEATURES = 100


def inputs(samples: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(samples, FEATURES))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * FEATURES**0.5


def ours(activation: str, depth: int, samples: int, repeats: int) -> dict:
    """`kernel`: the last layer's Gram matrix, as the peer returns it; validation, choice of quadrature and all."""
    import finitewidth as fw

    C_W, C_b = SETTINGS[activation]
    net = fw.MLP(activation, (FEATURES, *[1000] * depth, 1), C_W=C_W, C_b=C_b)
    x = inputs(samples)
    cold_cpu, cold_wall, K = timed(lambda: fw.kernel(net, x))
    cpu, wall = best(lambda: fw.kernel(net, x), repeats)
    return {"cold_cpu": cold_cpu, "cold_wall": cold_wall, "cpu": cpu, "wall": wall, "K_01": float(K[0, 1])}


def peer(python: str, activation: str, depth: int, samples: int, repeats: int) -> dict:
    return measured_by([python, str(HERE / "neural_tangents_worker.py"), activation, depth, samples, repeats])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="python of an environment with neural-tangents 0.6.5")
    parser.add_argument("--activations", nargs="+", default=list(SETTINGS))
    parser.add_argument("--samples", nargs="+", type=int, default=[500, 1000])
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 10, 50])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        activation, depth, samples = options.one
        print(json.dumps(ours(activation, int(depth), int(samples), options.repeats)))
        return
    rows = []
    for activation in options.activations:
        for samples in options.samples:
            for depth in options.depths:
                command = [sys.executable, __file__, "--one", activation, depth, samples, "--repeats", options.repeats]
                mine = measured_by(command)
                row = {"activation": activation, "N": samples, "L": depth} | mine
                if options.peer:
                    small = (3, 200) if activation == "tanh" else (depth, samples)
                    theirs = peer(options.peer, activation, *small, 1 if activation == "tanh" else options.repeats)
                    scale = (depth * samples**2) / (small[0] * small[1] ** 2)
                    row["peer cpu"] = theirs["cpu"] * scale
                    row["peer wall"] = theirs["wall"] * scale
                    row["peer compile cpu"] = theirs["compile_cpu"]
                    row["speed-up cpu"] = row["peer cpu"] / mine["cpu"]
                    row["speed-up wall"] = row["peer wall"] / mine["wall"]
                    row["difference"] = abs(theirs["K_01"] / mine["K_01"] - 1) if scale == 1 else float("nan")
                rows.append(row)
                print(json.dumps(row), flush=True)
    print(table(rows))
    for activation in options.activations:
        chosen = [row for row in rows if row["activation"] == activation]
        by_depth = [row for row in chosen if row["N"] == options.samples[-1]]
        by_samples = [row for row in chosen if row["L"] == options.depths[-1]]
        in_samples = exponent(options.samples, [row["cpu"] for row in by_samples])
        in_depth = exponent(options.depths, [row["cpu"] for row in by_depth])
        cold = ", ".join(f"{row['cold_cpu'] - row['cpu']:.2f} s at L = {row['L']}" for row in by_depth)
        print(f"{activation}: cost ~ N^{in_samples:.2f} L^{in_depth:.2f}; cold minus warm {cold}")


if __name__ == "__main__":
    main()
