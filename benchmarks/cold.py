"""What a user waits for at the first call: seconds of a fresh process, without and with programs kept from the run before.

    python benchmarks/cold.py [scenario ...]
    python benchmarks/cold.py --against OTHER/src [scenario ...]

Seconds of wall clock and of all processors, the interpreter's start and imports included. The second form runs another version of the
library as well, in turn, without programs kept, and gives the ratio. Nothing is compared with a peer here: other scripts do that warm.
"""

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

_NETWORK = """
import numpy as np, finitewidth as fw
net = fw.tune(fw.MLP(activation={activation!r}, widths=(8, *[64] * 9, 1)))
x = np.random.default_rng(0).normal(size=({inputs}, 8))
"""
_SIMPLE = _NETWORK.format(activation="tanh", inputs=2)
_README = SOURCE.parent.joinpath("README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
_JAX = "import jax.numpy as jnp; (jnp.ones(3) + 1).block_until_ready()"
_CLI = "from finitewidth.cli import main; raise SystemExit(main({arguments!r}.split()))"

SCENARIOS = {
    "jax alone": _JAX,
    "import": "import finitewidth",
    "flow, tanh": _SIMPLE + "fw.flow(net, x)",
    "flow, relu": _NETWORK.format(activation="relu", inputs=2) + "fw.flow(net, x)",
    "flow, tangent kernel, tanh": _SIMPLE + "fw.flow(net, x, through='ntk')",
    "flow, tangent kernel, relu": _NETWORK.format(activation="relu", inputs=2) + "fw.flow(net, x, through='ntk')",
    "simulate": _SIMPLE + "fw.simulate(net, x, networks=100)",
    "criticality of a callable": "import jax.numpy as jnp, finitewidth as fw\nfw.criticality(lambda z: jnp.tanh(z) + 0.1 * z)",
    "covariance_sde": """
import numpy as np, finitewidth as fw
fw.covariance_sde(fw.ShapedAttention(0.5), 0.8 * np.eye(4) + 0.2, 0.5, paths=256)
""",
    "README's first block": _README,
    "report": _CLI.format(arguments="report"),
    "report --transformer": _CLI.format(arguments="report --transformer"),
    "activations": _CLI.format(arguments="activations"),
}


def seconds(code: str, cache: str, source: Path = SOURCE) -> tuple[float, float]:
    """Of a fresh process that keeps its programs in `cache`; wall clock and processors."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_and_next(chosen: list[str]) -> None:
    """The table of this version."""
    print(f"{'':28}{'first run':>20}{'next run':>20}")
    print(f"{'':28}{'wall':>10}{'CPU':>10}{'wall':>10}{'CPU':>10}")
    for name in chosen:
        with tempfile.TemporaryDirectory() as cache:
            runs = [seconds(SCENARIOS[name], cache) for _ in range(2)]
        print(f"{name:28}" + "".join(f"{value:10.1f}" for run in runs for value in run), flush=True)


def against(other: Path, chosen: list[str]) -> None:
    """The table of both versions: processors' seconds of the first run, the smaller of two."""
    print(f"{'':28}{'other':>10}{'this':>10}{'ratio':>10}")
    for name in chosen:
        took = {source: [] for source in (other, SOURCE)}
        for source in (other, SOURCE) * 2:
            with tempfile.TemporaryDirectory() as cache:
                took[source].append(seconds(SCENARIOS[name], cache, source)[1])
        before, now = (min(took[source]) for source in (other, SOURCE))
        print(f"{name:28}{before:10.1f}{now:10.1f}{before / now:10.1f}", flush=True)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenario", nargs="*", help=f"all, or some of: {'; '.join(SCENARIOS)}")
    parser.add_argument("--against", type=Path, help="the folder `src` of another version")
    options = parser.parse_args()
    chosen = options.scenario or list(SCENARIOS)
    if unknown := [name for name in chosen if name not in SCENARIOS]:
        parser.error(f"no scenario {unknown[0]!r}: {'; '.join(SCENARIOS)}")
    for source in filter(None, (SOURCE, options.against)):
        compileall.compile_dir(source, quiet=1)  # as pip does when it installs
    if options.against is None:
        first_and_next(chosen)
    else:
        against(options.against.resolve(), chosen)


if __name__ == "__main__":
    main()
