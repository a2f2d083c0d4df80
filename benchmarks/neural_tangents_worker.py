"""One case for neural-tangents, run by `kernels.py` inside that package's own environment."""

import json
import sys
import time

import jax

jax.config.update("jax_enable_x64", True)

import neural_tangents.stax as stax  # noqa: E402
import numpy as np  # noqa: E402

ACTIVATIONS = {
    "relu": (stax.Relu, 2.0**0.5, None),
    "erf": (stax.Erf, 1.5, 0.05),
    "gelu": (stax.Gelu, 1.5, 0.05),
    "tanh": (lambda: stax.ElementwiseNumerical(jax.numpy.tanh, deg=25), 1.0, None),
}


def main(activation: str, depth: int, samples: int, repeats: int) -> dict:
    layer, w_std, b_std = ACTIVATIONS[activation]

    def dense():
        return stax.Dense(1, W_std=w_std, b_std=b_std)

    if activation == "tanh":  # its quadrature does not go through `stax.repeat`
        layers = [part for _ in range(depth) for part in (dense(), layer())]
        _, _, kernel = stax.serial(*layers, dense())
    else:
        _, _, kernel = stax.serial(dense(), stax.repeat(stax.serial(layer(), dense()), depth))
    x = np.random.default_rng(0).normal(size=(samples, 100))
    x = jax.numpy.asarray(x / np.linalg.norm(x, axis=1, keepdims=True) * 10.0)
    function = jax.jit(lambda x: kernel(x, None, "nngp"))
    cpu = time.process_time()
    compiled = function.lower(x).compile()
    compile_cpu = time.process_time() - cpu
    result = compiled(x).block_until_ready()
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        compiled(x).block_until_ready()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    best = {"cpu": min(r[0] for r in runs), "wall": min(r[1] for r in runs)}
    return best | {"compile_cpu": compile_cpu, "K_01": float(result[0, 1])}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:5]))))
