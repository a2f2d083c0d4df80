"""Networks per second of the exact reduced sampler against networks with all their matrices, over width.

python benchmarks/shaped_networks.py [--widths 64 256 1024 4096] [--tokens 4] [--layers 4]
"""

import argparse
import math

import numpy as np

from finitewidth import ShapedAttention, ShapedMLP, ShapedResNet, ShapedTransformer, simulate
from finitewidth.networks.shaped import shaped_relu
from timing import best, exponent, table, timed

BLOCKS = {
    "linear MLP": ShapedMLP(shaped_relu(0.0, 0.0)),
    "MLP": ShapedMLP(shaped_relu(0.0, -1.0)),
    "attention": ShapedAttention(8**-0.5, heads=1),
    "attention, 8 heads": ShapedAttention(8**-0.5, heads=8),
    "Transformer": ShapedTransformer(ShapedAttention(8**-0.5, heads=8), ShapedResNet(8**-0.5, hidden_ratio=4)),
}


def microseconds(block, tokens: int, width: int, layers: int, method: str, seconds: float) -> float:
    """CPU microseconds a network and layer, with enough networks that set-up does not count."""
    V0, net = 0.8 * np.eye(tokens) + 0.2, block.at(width, layers)
    networks = 2 if method == "dense" and width > 1024 else 64
    while True:
        call = lambda n=networks: simulate(net, V0, networks=n, method=method, save=1)  # noqa: E731
        cpu, _ = best(call, 1)
        if cpu > seconds or networks >= 2**17:
            return 1e6 * cpu / (networks * layers)
        networks *= 8 if cpu < seconds / 8 else 2


def figure_one() -> None:
    """The run behind figure 1 of the Shaped Transformer: 4096 networks, width 200, depth 150."""
    net = ShapedAttention(8**-0.5).at(width=200, depth=150)
    for tokens in (2, 4, 8):
        V0 = 0.8 * np.eye(tokens) + 0.2
        call = lambda V0=V0: simulate(net, V0, networks=4096)  # noqa: E731
        _, cold, _ = timed(call)
        cpu, wall, _ = timed(call)
        print(f"figure 1, {tokens} tokens: {wall:.1f} s ({cpu:.1f} CPU s; {cold:.1f} s with compiling)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", nargs="+", type=int, default=[64, 256, 1024, 4096])
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=list(BLOCKS))
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--widest-dense", type=int, default=4096, help="no dense networks beyond this width")
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    figure_one()
    for name in options.blocks:
        rows = []
        for width in options.widths:
            cost = {"chain": math.nan, "dense": math.nan}
            for method in ("chain", "dense") if width <= options.widest_dense else ("chain",):
                arguments = options.tokens, width, options.layers, method, options.seconds
                cost[method] = microseconds(BLOCKS[name], *arguments)
            row = {f"{method}, cpu µs a layer": value for method, value in cost.items()}
            rows.append({"width": width} | row | {"dense / chain": cost["dense"] / cost["chain"]})
            print(rows[-1], flush=True)
        print(f"\n{name}, {options.tokens} tokens\n{table(rows)}")
        for method in ("chain", "dense"):
            pairs = [(row["width"], row[f"{method}, cpu µs a layer"]) for row in rows]
            sizes, costs = zip(*[(width, cost) for width, cost in pairs if not math.isnan(cost)], strict=True)
            print(f"{method}: cost ~ n^{exponent(sizes, costs):.2f}")
        print(flush=True)


if __name__ == "__main__":
    main()
