"""The four-point vertex: time and accuracy over inputs and depth, against Monte Carlo of the same accuracy.

    python benchmarks/vertex.py [--samples 2 4 8 16] [--depth 10]

Accuracy is measured against the same flow with a finer quadrature (variances doubled in the choice of the rule). Monte
Carlo is the chain sampler: from the standard errors and the time of a short run, the time at which they would equal the
quadrature's error (they fall as the root of the number of networks).
"""

import argparse

import jax
import numpy as np

import finitewidth as fw
from finitewidth.expansion.recursion import metric_flow
from finitewidth.kernels.kernel_map import largest_variance
from timing import best, exponent, table, timed


def finer(net: fw.MLP, x: np.ndarray) -> np.ndarray:
    """The vertex with the quadrature for twice the variance."""
    with jax.enable_x64(True):
        K1 = net.first_kernel(x)
        return np.asarray(metric_flow(net, K1, 2 * largest_variance(net, K1))[1].V)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--activation", default="tanh")
    parser.add_argument("--samples", nargs="+", type=int, default=[2, 4, 8, 16])
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--width", type=int, default=128)
    options = parser.parse_args()
    net = fw.MLP(options.activation, (16, *[options.width] * (options.depth - 1), 1), C_W=1.0, C_b=0.0)
    rows = []
    for samples in options.samples:
        x = np.random.default_rng(samples).normal(size=(samples, 16))
        jax.clear_caches()
        cold_cpu, cold_wall, theory = timed(lambda x=x: fw.flow(net, x))
        cpu, wall = best(lambda x=x: fw.flow(net, x), 3)
        reference = finer(net, x)
        scale = np.abs(reference[1:]).max(axis=(1, 2, 3, 4))
        error = float((np.abs(theory.V - reference)[1:].max(axis=(1, 2, 3, 4)) / scale).max())
        networks = 2000
        fw.simulate(net, x, networks=networks, seed=1)
        _, seconds, measured = timed(lambda x=x, n=networks: fw.simulate(net, x, networks=n, seed=0))
        noise = float((measured.V.standard_error[1:].max(axis=(1, 2, 3, 4)) / scale).max())
        rows.append(
            {"N": samples, "L": options.depth, "cold wall": cold_wall, "cold cpu": cold_cpu, "wall": wall, "cpu": cpu}
            | {"relative error": error, "Monte Carlo error": noise, "Monte Carlo wall": seconds}
            | {"Monte Carlo years to the same": seconds * (noise / max(error, 1e-16)) ** 2 / 3.15e7}
        )
        print(rows[-1], flush=True)
    print(table(rows))
    print(f"cost ~ N^{exponent(options.samples, [row['cpu'] for row in rows]):.2f}")
    x = np.random.default_rng(0).normal(size=(4, 16))
    costs, depths = [], (20, 80)
    for depth in depths:
        deep = fw.MLP(options.activation, (16, *[options.width] * (depth - 1), 1), C_W=1.0)
        costs.append(best(lambda deep=deep: fw.flow(deep, x), 3)[0])
    print(f"cost ~ L^{exponent(depths, costs):.2f}")


if __name__ == "__main__":
    main()
