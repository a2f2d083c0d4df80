"""What a user waits for at the first call: seconds of a fresh process, without and with programs kept from the run before.

    python benchmarks/cold.py [scenario ...]

Seconds of wall clock and of all processors, the interpreter's start and imports included. Nothing is compared with a peer here:
`expansion.py` and others do that warm.

Seconds of all processors of the first run, without a cache, before and after rooms load the files that are used and programs are compiled
with few of the compiler's passes. Both trees in turn, once each, on two cores that were busy with other work (load 15 to 18):

                                before   after
    flow, tanh                     4.0     2.8
    flow, tangent kernel, tanh     4.8     3.6
    README's first block           9.2     6.0
    covariance_sde                 9.4     4.7
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_NETWORK = """
import numpy as np, finitewidth as fw
net = fw.tune(fw.MLP(activation={activation!r}, widths=(8, *[64] * 9, 1)))
x = np.random.default_rng(0).normal(size=({inputs}, 8))
"""
_SIMPLE = _NETWORK.format(activation="tanh", inputs=2)
_README = Path(__file__).parents[1].joinpath("README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
_CLI = "from finitewidth.cli import main; raise SystemExit(main({arguments!r}.split()))"

SCENARIOS = {
    "import": "import finitewidth",
    "flow, tanh": _SIMPLE + "fw.flow(net, x)",
    "flow, relu": _NETWORK.format(activation="relu", inputs=2) + "fw.flow(net, x)",
    "flow, tangent kernel, tanh": _SIMPLE + "fw.flow(net, x, through='ntk')",
    "flow, tangent kernel, relu": _NETWORK.format(activation="relu", inputs=2) + "fw.flow(net, x, through='ntk')",
    "simulate": _SIMPLE + "fw.simulate(net, x, networks=100)",
    "criticality of a callable": "import jax.numpy as jnp, finitewidth as fw\nfw.criticality(lambda z: jnp.tanh(z) + 0.1 * z)",
    "covariance_sde": """
import finitewidth as fw
fw.covariance_sde(fw.ShapedAttention(0.5), fw.shaped.equal_tokens(4, 0.2), 0.5, paths=256)
""",
    "README's first block": _README,
    "report": _CLI.format(arguments="report"),
    "report --transformer": _CLI.format(arguments="report --transformer"),
    "activations": _CLI.format(arguments="activations"),
}


def seconds(code: str, cache: str) -> tuple[float, float]:
    """Of a fresh process that keeps its programs in `cache`."""
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(chosen: list[str]) -> None:
    """The table."""
    print(f"{'':28}{'first run':>20}{'next run':>20}")
    print(f"{'':28}{'wall':>10}{'CPU':>10}{'wall':>10}{'CPU':>10}")
    for name in chosen or SCENARIOS:
        with tempfile.TemporaryDirectory() as cache:
            runs = [seconds(SCENARIOS[name], cache) for _ in range(2)]
        print(f"{name:28}" + "".join(f"{value:10.1f}" for run in runs for value in run), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
