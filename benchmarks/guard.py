"""Has anything become slower? Costs of the verbs, cold and warm, over a unit of the same run, beside the last record.

    python benchmarks/guard.py [--only WORD ...] [--record] [--against OTHER/src]

Every row is a process of its own, without kept programs. *Cold* are the CPU seconds from its start until the first call has
returned, over those of `import jax` and one small scan; *warm* those of a later call, over a product of matrices and a plain scan of
the ReLU kernel in the same process. So records of different machines and days can be compared, within ten or twenty per cent.
`--record` appends the run to `results/guard.csv`; `--against` measures another version in turn, instead of reading its record.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
RECORDS = HERE / "results" / "guard.csv"
SLOWER = 1.25  # than the last record: worth a look
_NOISE = 0.02  # units: calls that are shorter are not compared


def _mlp(activation: str, inputs: int, depth: int = 10) -> str:
    C_W = {"relu": 2.0, "gelu": 2.0}.get(activation, 1.0)
    return _network(inputs, f"MLP({activation!r}, (8, *[64] * {depth - 1}, 1), C_b=0.05, C_W={C_W})")


def _residual(activation: str, depth: int) -> str:
    return _network(2, f"ResidualMLP({activation!r}, width=64, depth={depth}, gamma=0.8)")


def _network(inputs: int, network: str) -> str:
    return (
        "import numpy as np, finitewidth as fw\n"
        f"x = np.random.default_rng(0).normal(size=({inputs}, 8))\n"
        f"net = fw.{network}\n"
    )


def _trained(activation: str, train: int, test: int, depth: int = 10) -> str:
    return (
        _mlp(activation, train + test, depth) + f"train, test, y = x[:{train}], x[{train}:], np.sin(x[:{train}, :1])\n"
    )


def _tokens(count: int) -> str:
    return f"import numpy as np, finitewidth as fw\nV0 = 0.8 * np.eye({count}) + 0.2\n"


def _printed(arguments: str) -> tuple[str, str]:
    before = "import contextlib, io\nfrom finitewidth.cli import main\n"
    return before, f"\n    with contextlib.redirect_stdout(io.StringIO()): main({arguments!r}.split())"


# name: what comes before, and the call
ROWS: dict[str, tuple[str, str]] = {
    "kernel, relu, 1000 inputs": (_mlp("relu", 1000), "fw.kernel(net, x)"),
    "kernel, erf, 1000 inputs": (_mlp("erf", 1000), "fw.kernel(net, x)"),
    "kernel, tanh, 300 inputs": (_mlp("tanh", 300), "fw.kernel(net, x)"),
    "frozen_ntk, relu, 1000 inputs": (_mlp("relu", 1000), "fw.kernels.frozen_ntk(net, x)"),
    "frozen_ntk, gelu, 1000 inputs": (_mlp("gelu", 1000), "fw.kernels.frozen_ntk(net, x)"),
    "frozen_ntk, tanh, 300 inputs": (_mlp("tanh", 300), "fw.kernels.frozen_ntk(net, x)"),
    "flow, tanh, 2 inputs": (_mlp("tanh", 2), "fw.flow(net, x)"),
    "flow, relu, 2 inputs": (_mlp("relu", 2), "fw.flow(net, x)"),
    "flow, tanh, 8 inputs": (_mlp("tanh", 8), "fw.flow(net, x)"),
    "flow, hardtanh, 3 inputs": (_mlp("hardtanh", 3), "fw.flow(net, x)"),
    "flow ntk, tanh, 2 inputs": (_mlp("tanh", 2), "fw.flow(net, x, through='ntk')"),
    "flow ntk, relu, 4 inputs": (_mlp("relu", 4), "fw.flow(net, x, through='ntk')"),
    "flow dntk, tanh, 2 inputs": (_mlp("tanh", 2, 5), "fw.flow(net, x, through='dntk')"),
    "flow ddntk, tanh, 6 inputs": (_mlp("tanh", 6, 5), "fw.flow(net, x, through='ddntk')"),
    "flow, residual tanh, depth 16": (_residual("tanh", 16), "fw.flow(net, x)"),
    "flow ntk, residual relu, depth 8": (_residual("relu", 8), "fw.flow(net, x, through='ntk')"),
    "simulate, chain": (_mlp("tanh", 2), "fw.simulate(net, x, networks=1000)"),
    "simulate, dense": (_mlp("tanh", 2), "fw.simulate(net, x, networks=200, method='dense')"),
    "simulate ntk": (_mlp("relu", 2), "fw.simulate(net, x, networks=500, through='ntk')"),
    "criticality, tanh": ("import finitewidth as fw\n", "fw.criticality('tanh')"),
    "criticality of a callable": (
        "import jax.numpy as jnp, finitewidth as fw\nown = lambda z: jnp.tanh(z) + 0.1 * z\n",
        "fw.criticality(own)",
    ),
    "tune, gelu": (_mlp("gelu", 2), "fw.tune(net)"),
    "bayes, 500 inputs": (_trained("relu", 500, 20), "fw.bayes(net, train, y, test, noise=0.1, order=0)"),
    "bayes, order 1, 4 + 1 inputs": (_trained("tanh", 4, 1, 4), "fw.bayes(net, train, y, test, noise=0.1)"),
    "predict, 500 inputs": (_trained("relu", 500, 20), "fw.predict(net, train, y, test)"),
    "predict, order 1, 4 + 2 inputs": (_trained("tanh", 4, 2, 4), "fw.predict(net, train, y, test, order=1)"),
    "covariance_sde, 2 tokens, 256 paths": (
        _tokens(2),
        "fw.covariance_sde(fw.ShapedAttention(0.5), V0, 0.5, paths=256)",
    ),
    "covariance_sde, 4 tokens, 4096 paths": (
        _tokens(4),
        "fw.covariance_sde(fw.ShapedAttention(0.5), V0, 0.5, paths=4096)",
    ),
    "empirical_ntk": (
        "import jax.numpy as jnp, numpy as np, finitewidth as fw\n"
        "W, x = np.random.default_rng(0).normal(size=(8, 64, 64)) / 8, np.ones((16, 64)) + np.eye(16, 64)\n"
        "def f(W, x):\n    for each in W: x = jnp.tanh(x @ each)\n    return x[..., :1]\n",
        "fw.empirical_ntk(f, W, x)",
    ),
    "recommend": _printed("recommend"),
    "report": _printed("report"),
    "report --transformer": _printed("report --transformer"),
    "activations": _printed("activations"),
}

_MEASURE = """
import json, time
cold = time.process_time()
def seconds(function, enough):
    total, least = 0.0, float("inf")
    while total < enough:
        start = time.process_time(); function(); took = time.process_time() - start
        total, least = total + took, min(least, took)
    return least
warm = seconds(call, 0.3)
import jax, jax.numpy as jnp, numpy as np
A, K = np.ones((384, 384), np.float32), np.full((128, 128), np.float32(0.5))
layer = lambda K, _: (jnp.sqrt(1 - K * K) / 4 + K * jnp.arcsin(K) / 4, None)
plain = jax.jit(lambda K, A: (jax.lax.scan(layer, K, None, 20)[0], A @ A))
unit = lambda: jax.block_until_ready(plain(K, A))
unit()
print(json.dumps({"cold": cold, "warm": warm, "unit": seconds(unit, 0.1)}))
"""
_UNIT = (
    "import jax\ndef call(): jax.jit(lambda x: jax.lax.scan(lambda x, _: (x + 1, None), x, None, 3)[0])(1.0)\ncall()\n"
)


@dataclass(frozen=True)
class Cost:
    """Of one row, in units."""

    cold: float
    warm: float


def _seconds(code: str, source: Path) -> dict[str, float]:
    """What a fresh process prints of itself; an error in it ends the run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment = {**kept, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    program = [sys.executable, "-W", "ignore", "-c", code + _MEASURE]
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{code}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(name: str, source: Path, unit: float) -> Cost:
    """Of the row `name`; `unit` are the seconds of `import jax` and one small scan."""
    before, call = ROWS[name]
    took = _seconds(f"{before}def call(): {call}\ncall()\n", source)
    return Cost(took["cold"] / unit, took["warm"] / took["unit"])


def last_record() -> tuple[str, dict[str, Cost]]:
    """The commit measured last, and its rows."""
    with RECORDS.open() as file:
        rows = list(csv.DictReader(file))
    commit = rows[-1]["commit"]
    return commit, {row["row"]: Cost(float(row["cold"]), float(row["warm"])) for row in rows if row["commit"] == commit}


def record(costs: dict[str, Cost]) -> None:
    """Append a run."""
    describe = ["git", "describe", "--always", "--dirty=+"]
    commit = subprocess.run(describe, capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()
    new = not RECORDS.exists()
    with RECORDS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["commit", "jax", "row", "cold", "warm"])
        for name, cost in costs.items():
            writer.writerow([commit, version("jax"), name, f"{cost.cold:.3g}", f"{cost.warm:.3g}"])


def ratio(now: float, before: float | None) -> float | None:
    """To what it was; `None` where there is nothing to compare."""
    return None if before is None or max(now, before) < _NOISE else now / before


def _shown(value: float | None) -> str:
    return f"{'':8}" if value is None else f"{value:7.2f}{'!' if value > SLOWER else ' '}"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="rows with one of these words in their names")
    parser.add_argument("--record", action="store_true", help=f"append to {RECORDS.relative_to(HERE)}")
    parser.add_argument("--against", type=Path, help="the folder `src` of another version")
    options = parser.parse_args()
    chosen = [name for name in ROWS if not options.only or any(word in name for word in options.only)]
    beside, known = str(options.against or "nothing, for there is no record"), dict[str, Cost]()
    if options.against is None and RECORDS.exists():
        beside, known = last_record()
    print(f"{'':38}{'cold':>8}{'ratio':>8} {'warm':>9}{'ratio':>8}   ratios to {beside}")
    costs, slower, unit = dict[str, Cost](), list[str](), 1.0
    for number, name in enumerate(chosen):
        if number % 8 == 0:
            unit = min(_seconds(_UNIT, SOURCE)["cold"] for _ in range(2))
        if options.against is not None:
            known[name] = measured(name, options.against.resolve(), unit)
        now = costs[name] = measured(name, SOURCE, unit)
        then = known.get(name)
        cold, warm = ratio(now.cold, then and then.cold), ratio(now.warm, then and then.warm)
        print(f"{name:38}{now.cold:8.2f}{_shown(cold)} {now.warm:9.4g}{_shown(warm)}", flush=True)
        if max(cold or 0.0, warm or 0.0) > SLOWER:
            slower.append(name)
    if known:
        print(f"Slower than {beside} by more than a quarter: {'; '.join(slower) or 'nothing'}.")
    if options.record:
        record(costs)


if __name__ == "__main__":
    main()
