"""What a layer of a network costs with its backward pass and velocities: drawn without matrices, and with all of them, over width.

    python benchmarks/features.py [--widths 64 128 256 512 1024 2048] [--layers 8] [--widest-dense 1024]

CPU microseconds a network and layer of two inputs, after compiling. The matrix-free sampler costs in proportion to the width as soon as
vectors outweigh what is done once a layer; exponents are fitted to the upper half of the widths.
"""

import argparse
import math

import numpy as np

import finitewidth as fw
from timing import best, table

PHI, TARGETS = np.array([[1.0, 0.3], [0.3, 0.8]]), [1.0, -0.5]
BLOCK = fw.ShapedMLP(fw.shaped.shaped_relu(1.5, -1.5))


def microseconds(width: int, layers: int, method: str, repeats: int) -> float:
    """A network and layer."""
    networks = max(2, 2**21 // (width * (1 if method == "chain" else width)) // layers)

    def draw() -> fw.results.FeatureLaw:
        return fw.simulate(
            BLOCK.at(width, layers), PHI, networks, method=method, through="features", targets=TARGETS, save=1
        )

    return 1e6 * best(draw, repeats)[0] / (networks * layers)


def fitted(widths: list[int], costs: list[float]) -> float:
    """The least-squares exponent of the cost over the upper half of the widths that were measured."""
    known = [(width, cost) for width, cost in zip(widths, costs, strict=True) if not math.isnan(cost)]
    upper = np.log(known[-max(2, math.ceil(len(known) / 2)) :])
    return float(np.polyfit(*upper.T, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", nargs="+", type=int, default=[64, 128, 256, 512, 1024, 2048])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--widest-dense", type=int, default=2048, help="no dense networks beyond this width")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for width in options.widths:
        costs = {
            method: microseconds(width, options.layers, method, options.repeats)
            if method == "chain" or width <= options.widest_dense
            else math.nan
            for method in ("chain", "dense")
        }
        rows.append({"width": width} | costs | {"dense / chain": costs["dense"] / costs["chain"]})
        print(rows[-1], flush=True)
    print(f"\nCPU microseconds a network and layer\n{table(rows)}")
    for method in ("chain", "dense"):
        print(f"{method}: cost ~ n^{fitted(options.widths, [row[method] for row in rows]):.2f}")


if __name__ == "__main__":
    main()
