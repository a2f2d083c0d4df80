"""Networks per second of the chain and of lazy weights against dense weights, over width; and one pass at width 10^6.

python benchmarks/ensembles.py [--widths 64 256 1024] [--wide 1000000]
"""

import argparse
import resource

import jax
import numpy as np

import finitewidth as fw
from finitewidth.ensembles.forward_backward import backward, draw, forward
from timing import best, exponent, table, timed

METHODS = ("dense", "lazy", "chain")
FEATURES, SAMPLES, LAYERS = 8, 2, 5


def networks_per_second(width: int, method: str, seconds: float) -> float:
    net = fw.MLP("tanh", (FEATURES, *[width] * (LAYERS - 1), 1), C_W=1.2)
    x = np.random.default_rng(0).normal(size=(SAMPLES, FEATURES))
    networks = 64
    while True:  # enough networks that compiling and set-up do not count
        cpu, _ = best(lambda n=networks: fw.simulate(net, x, networks=n, seed=0, method=method), 2)
        if cpu > seconds or networks >= 2**20:
            return networks / cpu
        networks *= 4


def wide_pass(width: int) -> str:
    net = fw.MLP("tanh", (FEATURES, width, width, width, 1), C_W=1.2, C_b=0.1)
    x = np.random.default_rng(0).normal(size=(SAMPLES, FEATURES))

    @jax.jit
    def both_ways(net, key, x):
        passed, network = forward(draw(net, key, fw.ensembles.LazyGaussian), x)
        gradients, _ = backward(network, passed)
        return passed.metrics, gradients.inputs

    with jax.enable_x64(True):
        call = lambda: jax.block_until_ready(both_ways(net, jax.random.key(0), x))  # noqa: E731
        _, cold, _ = timed(call)
        _, warm, _ = timed(call)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"forward and backward at width {width:,}: {warm:.1f} s ({cold:.1f} s cold), peak {peak:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", nargs="+", type=int, default=[64, 256, 1024])
    parser.add_argument("--wide", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    print(wide_pass(options.wide), flush=True)  # first, while memory is fresh
    rows = []
    for width in options.widths:
        rates = {method: networks_per_second(width, method, options.seconds) for method in METHODS}
        speed = {f"{method} / dense": rates[method] / rates["dense"] for method in METHODS[1:]}
        rows.append({"width": width} | {f"{m} networks/cpu s": rate for m, rate in rates.items()} | speed)
        print(rows[-1], flush=True)
    print(table(rows))
    for method in METHODS:
        costs = [1 / row[f"{method} networks/cpu s"] for row in rows]
        print(f"{method}: cost ~ n^{exponent(options.widths, costs):.2f}")


if __name__ == "__main__":
    main()
