"""Predictions to order 1/n for 4, 8, 16, 32 training inputs: seconds, memory, and how both grow.

    python benchmarks/order_one.py [--samples 4 8 16 32] [--activation sin]

Every number of inputs in a process of its own, so that memory is its own: the first call, which compiles, and the second.
"""

import argparse
import json
import subprocess
import sys

from timing import exponent, table, timed


def measure(samples: int, activation: str) -> dict[str, float]:
    """CPU seconds of the first and the second call, and the largest memory of the process in gigabytes."""
    import resource

    import numpy as np

    import finitewidth as fw

    random = np.random.default_rng(0)
    x, y = random.normal(size=(samples + 1, 20)), random.normal(size=(samples, 1))
    net = fw.MLP(activation, (20, 4000 * samples, 4000 * samples, 1), C_b=0.1, C_W=1.2)

    def run() -> object:
        return fw.predict(net, x[:samples], y, x[samples:], order=1)

    cold, warm = timed(run)[0], timed(run)[0]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"N": samples, "first cpu": cold, "second cpu": warm, "GB": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="+", type=int, default=[4, 8, 16, 32])
    parser.add_argument("--activation", default="sin")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.one, options.activation)))
        return
    rows = []
    for samples in options.samples:
        command = [sys.executable, __file__, "--one", str(samples), "--activation", options.activation]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(rows[-1], flush=True)
    print(table(rows))
    for name in ("second cpu", "GB"):
        print(f"{name} grows as N^{exponent(options.samples, [row[name] for row in rows]):.2g}")


if __name__ == "__main__":
    sys.exit(main())
