"""The covariance SDE: seconds a step of one path, against the number of tokens.

    python benchmarks/proportional.py [--tokens 8 16 32 64 128 256 512] [--steps 20]

Each size runs as many paths at once as fit in a few megabytes; compilation is reported apart. The exponent is fitted to
the larger sizes, where matrix products dominate.
"""

import argparse

import jax
import numpy as np

from finitewidth import ShapedAttention, ShapedMLP, ShapedResNet, ShapedTransformer, covariance_sde
from finitewidth.networks.shaped import shaped_relu
from timing import best, table, timed

BLOCKS = {
    "linear": ShapedMLP(shaped_relu(0, 0)),
    "shaped ReLU": ShapedMLP(shaped_relu()),
    "attention": ShapedAttention(0.35),
    "causal Transformer": ShapedTransformer(ShapedAttention(0.35, mask="causal"), ShapedResNet(0.35)),
}


def fitted_exponent(sizes: list[int], costs: list[float]) -> float:
    """The least-squares slope of log cost against log size over the upper half of the sizes."""
    upper = slice(len(sizes) // 2, None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(costs[upper]), 1)[0]) if len(sizes) > 2 else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", nargs="+", type=int, default=[8, 16, 32, 64, 128, 256, 512])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    exponents = {}
    for name, block in BLOCKS.items():
        rows = []
        for m in options.tokens:
            paths = max(1, 2**16 // m**2)
            V0 = 0.8 * np.eye(m) + 0.2

            def run(m=m, paths=paths, V0=V0, block=block):
                return covariance_sde(block, V0, 0.2 / m, paths=paths, steps=options.steps, save=1)

            jax.clear_caches()
            _, cold, law = timed(run)
            cpu, wall = best(run, options.repeats)
            each = paths * options.steps
            rows.append(
                {"tokens": m, "paths": paths, "cold wall": cold, "cpu us/step": 1e6 * cpu / each}
                | {"wall us/step": 1e6 * wall / each, "stopped": law.counts["stopped"]}
            )
        exponents[name] = fitted_exponent(options.tokens, [row["cpu us/step"] for row in rows])
        print(f"\n{name}\n{table(rows)}\ncost ~ tokens^{exponents[name]:.2f}", flush=True)
    print("\nlargest exponent:", f"{max(exponents.values()):.2f}")


if __name__ == "__main__":
    main()
