"""Full-batch training: dense and lazy weights against a plain JAX loop and PyTorch; growth with width, steps and samples.

    python benchmarks/training.py [--peer torchbench/bin/python] [--width 4096] [--wide 100000]

One tanh network of four layers learns eight points, in float64; each case in a process of its own, seconds of a step with
compilation apart. The plain loop is what one writes by hand: `jax.grad` of the loss, compiled, parameters given up to the
next step. The peer's environment needs a CPU build of `torch`.
"""

import argparse
import itertools
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers import measured_by
from timing import exponent, table

HERE = Path(__file__).parent
FEATURES, LAYERS, RATE = 4, 4, 0.04  # as in the worker


def data(samples: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(samples, FEATURES)), random.normal(size=(samples, 1))


def clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def report(start: tuple[float, float], first: tuple[float, float], steps: int, loss: float, **more: Any) -> dict:
    (cpu, wall), (cpu_first, wall_first) = np.subtract(clocks(), first), np.subtract(first, start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "cpu": cpu / steps, "wall": wall / steps, "cpu before": cpu_first, "wall before": wall_first, "loss": loss, "GB": peak,
    } | more  # fmt: skip


def by_hand(width: int, steps: int, samples: int) -> dict:
    """The plain loop."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y = data(samples)
    widths = (FEATURES, *[width] * (LAYERS - 1), 1)
    keys = jax.random.split(jax.random.key(0), LAYERS)
    weights = [
        jax.random.normal(key, (n, m)) * np.sqrt(1.5 / m)
        for key, (m, n) in zip(keys, itertools.pairwise(widths), strict=True)
    ]

    def loss(weights: list) -> Any:
        z = x @ weights[0].T
        for W in weights[1:]:
            z = jnp.tanh(z) @ W.T
        return jnp.sum((z - y) ** 2) / 2

    def step(weights: list) -> tuple[list, Any]:
        value, slopes = jax.value_and_grad(loss)(weights)
        return [W - RATE / W.shape[1] * slope for W, slope in zip(weights, slopes, strict=True)], value

    step = jax.jit(step, donate_argnums=0)
    start = clocks()
    weights, value = step(weights)
    value.block_until_ready()
    first = clocks()
    for _ in range(steps):
        weights, value = step(weights)
    return report(start, first, steps, float(value))


def dense(width: int, steps: int, samples: int) -> dict:
    """Ours, with all weights."""
    import jax

    with jax.enable_x64(True):
        from finitewidth.learning.training.dense import train_dense

        start = clocks()
        plan = planned(width, steps, samples)
        jax.block_until_ready(train_dense(plan, 0, 0, 1))
        first = clocks()
        outcome = train_dense(plan, 0, 0, 1)
        losses = np.asarray(outcome.losses)
        return report(start, first, steps, float(losses[0, -1]))


def lazy(width: int, steps: int, samples: int) -> dict:
    """Ours, with weights that are never stored."""
    import jax

    with jax.enable_x64(True):
        from finitewidth.learning.training.lazy import train_lazy

        start = clocks()
        plan = planned(width, steps, samples)
        train_lazy(shortened(plan), 0, 0)
        first = clocks()
        outcome = train_lazy(plan, 0, 1)
        losses, overlap = np.asarray(outcome.losses), float(outcome.worst_overlap[0])
        return report(start, first, steps, float(losses[0, -1]), overlap=overlap, directions=int(outcome.directions[0]))


def planned(width: int, steps: int, samples: int) -> Any:
    import finitewidth as fw
    from finitewidth.learning.training.plan import plan_training

    net = fw.MLP("tanh", (FEATURES, *[width] * (LAYERS - 1), 1), C_W=1.5, lambda_b=0.0)
    x, y = data(samples)
    return plan_training(net, x, y, x[:1], RATE, steps, "mse", None, 0, None)[0]


def shortened(plan: Any) -> Any:
    import dataclasses

    return dataclasses.replace(plan, steps=(0, 2))


CASES = {"plain JAX loop": by_hand, "dense": dense, "lazy": lazy}


def run(case: str, width: int, steps: int, samples: int) -> dict:
    return measured_by([sys.executable, __file__, "--one", case, width, steps, samples])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="python of an environment with torch")
    parser.add_argument("--width", type=int, default=4096, help="of the comparison")
    parser.add_argument("--wide", type=int, default=100_000, help="of the lazy network of 100 steps")
    parser.add_argument("--growth", type=int, default=20_000, help="width of the tables of growth")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        case, *sizes = options.one
        print(json.dumps(CASES[case](*map(int, sizes))))
        return

    rows = []
    for case in CASES:
        rows.append({"n": options.width, "case": case} | _short(run(case, options.width, 40, 8)))
    if options.peer:
        rows.append(
            {"n": options.width, "case": "PyTorch"}
            | _short(measured_by([options.peer, HERE / "training_worker.py", options.width, 40, 8]))
        )
    for row in rows:
        row["cpu / plain"] = row["cpu s/step"] / rows[0]["cpu s/step"]
        row["wall / plain"] = row["wall s/step"] / rows[0]["wall s/step"]
    print(table(rows), flush=True)

    n = options.growth
    grown = {
        "n": [(width, 40, 8) for width in (n, 2 * n, 4 * n)],
        "steps": [(n, steps, 8) for steps in (25, 50, 100, 200)],
        "N": [(n, 40, samples) for samples in (4, 8, 16, 32)],
    }
    for axis, (name, sizes) in enumerate(grown.items()):
        found = [run("lazy", *each) for each in sizes]
        rows = [
            {"n": width, "steps": steps, "N": samples, "cpu s": one["cpu"] * steps, "GB": one["GB"],
             "directions": one["directions"], "questions": 2 * samples * steps + samples}
            for (width, steps, samples), one in zip(sizes, found, strict=True)
        ]  # fmt: skip
        print(table(rows))
        costs = [row["cpu s"] for row in rows]
        print(f"lazy: cost ~ {name}^{exponent([each[axis] for each in sizes], costs):.2f}\n", flush=True)

    wide = run("lazy", options.wide, 100, 8)
    print(
        f"100 steps of {LAYERS} layers of {options.wide:,} neurons on 8 points: {100 * wide['cpu']:.0f} s of CPU, "
        f"{100 * wide['wall']:.0f} s by the clock, peak {wide['GB']:.2f} GB ({wide['directions']} directions in the larger matrix, "
        f"worst overlap {wide['overlap']:.0e}); its stored weights would take {2 * 8e-9 * options.wide**2:.0f} GB"
    )


def _short(found: dict) -> dict:
    return {
        "cpu s/step": found["cpu"],
        "wall s/step": found["wall"],
        "cpu s before": found["cpu before"],
        "GB": found["GB"],
        "loss": found["loss"],
    }


if __name__ == "__main__":
    main()
