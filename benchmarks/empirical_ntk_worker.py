"""One case for neural-tangents' `empirical_ntk_fn`, run by `empirical_ntk.py` inside that package's own environment."""

import json
import resource
import sys
import time

import jax

jax.config.update("jax_enable_x64", sys.argv[4] == "float64")

import jax.interpreters.ad  # noqa: E402
import neural_tangents as nt  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import config, source_info_util  # noqa: E402
from jax._src.interpreters import ad  # noqa: E402

from empirical_functions import case  # noqa: E402

# Structured derivatives look for names that have gone from `jax.interpreters.ad`: give them back, to measure its best.
for name, value in {**vars(ad), "source_info_util": source_info_util, "config": config.config}.items():
    if not hasattr(jax.interpreters.ad, name):
        setattr(jax.interpreters.ad, name, value)


def main(name: str, samples: int, repeats: int, dtype: str, implementation: str) -> dict:
    function, params, x = case(name, samples)
    params, x = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, dtype), (params, x))
    kernel = nt.empirical_ntk_fn(
        function, trace_axes=(), vmap_axes=0, implementation=nt.NtkImplementation[implementation]
    )
    run = jax.jit(lambda x, params: kernel(x, None, params))
    cpu = time.process_time()
    compiled = run.lower(x, params).compile()
    compile_cpu = time.process_time() - cpu
    result = compiled(x, params).block_until_ready()
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        compiled(x, params).block_until_ready()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        "cpu": min(r[0] for r in runs),
        "wall": min(r[1] for r in runs),
        "compile_cpu": compile_cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "check": float(np.asarray(result, dtype=np.float64).reshape(-1)[:: result.size // 97 or 1].sum()),
        "shape": list(result.shape),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])))
