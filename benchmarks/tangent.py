"""The tangent kernel's flow, all of K, V, Theta, A, B, D, F: time and accuracy over inputs and depth.

    python benchmarks/tangent.py [--samples 2 4 8] [--depth 10] [--activation tanh]

Accuracy is measured against the same flow with the quadrature for twice the variance.
"""

import argparse
from functools import partial

import jax
import numpy as np

import finitewidth as fw
from finitewidth.expansion.tangent import tangent_flow
from finitewidth.kernels.kernel_map import largest_variance
from timing import best, exponent, table, timed


def finer(net: fw.MLP, x: np.ndarray) -> fw.results.Flow:
    """Everything with the quadrature for twice the variance."""
    with jax.enable_x64(True):
        K1 = net.first_kernel(x)
        return fw.results.Flow(net, *tangent_flow(net, K1, net.overlap(x), 2 * largest_variance(net, K1)))


def relative_error(theory: fw.results.Flow, reference: fw.results.Flow) -> float:
    """The largest error of any tensor in any layer, relative to that tensor's largest entry there."""
    worst = 0.0
    for name in ("V", "Theta", "A", "B", "D", "F"):
        found, expected = (np.asarray(getattr(flow, name))[1:] for flow in (theory, reference))
        axes = tuple(range(1, found.ndim))
        worst = max(worst, float((np.abs(found - expected).max(axes) / np.abs(expected).max(axes)).max()))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--activation", default="tanh")
    parser.add_argument("--samples", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--depth", type=int, default=10)
    options = parser.parse_args()

    def network(depth: int) -> fw.MLP:
        return fw.MLP(options.activation, (16, *[128] * (depth - 1), 1), C_W=1.0)

    net, rows = network(options.depth), []
    for samples in options.samples:
        x = np.random.default_rng(samples).normal(size=(samples, 16))
        jax.clear_caches()
        run = partial(fw.flow, net, x, through="ntk")
        cold_cpu, cold_wall, theory = timed(run)
        cpu, wall = best(run, 3)
        error = relative_error(theory, finer(net, x))
        rows.append(
            {"N": samples, "L": options.depth, "cold wall": cold_wall, "cold cpu": cold_cpu, "wall": wall, "cpu": cpu}
            | {"relative error": error, "cpu / N^4": cpu / samples**4}
        )
        print(rows[-1], flush=True)
    print(table(rows))
    print("the number of integrals is a polynomial of degree 4 in N that grows faster than N^4 while N is small")
    print(f"cost ~ N^{exponent(options.samples, [row['cpu'] for row in rows]):.2f}")
    x, depths = np.random.default_rng(0).normal(size=(4, 16)), (20, 80)
    costs = [best(partial(fw.flow, network(depth), x, through="ntk"), 3)[0] for depth in depths]
    print(f"cost ~ L^{exponent(depths, costs):.2f}")


if __name__ == "__main__":
    main()
