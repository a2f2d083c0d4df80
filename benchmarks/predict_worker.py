"""One case for neural-tangents, run by `predict.py` inside that package's own environment."""

import json
import sys
import time
from collections import namedtuple

import jax

jax.config.update("jax_enable_x64", True)

import neural_tangents as nt  # noqa: E402
import numpy as np  # noqa: E402


def main(file: str, repeats: int, finite: float) -> dict:
    data = {name: jax.numpy.asarray(array) for name, array in np.load(file).items()}
    trained = len(data["y"])

    parts = {"train": slice(0, trained), "test": slice(trained, None)}
    matrices = {"ntk": data["Theta"], "nngp": data["K"]}

    def kernel_fn(x1, x2, get, **_):
        """What `predict` asks of a kernel function, answered from the matrices."""
        rows, columns = (parts["train"] if len(x) == trained else parts["test"] for x in (x1, x1 if x2 is None else x2))
        if isinstance(get, str):
            return matrices[get][rows, columns]
        return namedtuple("Kernels", get)(*(matrices[name][rows, columns] for name in get))

    rows = jax.numpy.arange(len(data["K"]), dtype=float)[:, None]
    x_train, x_test = rows[:trained], rows[trained:]

    def run(t):
        # rates of the peer divide the loss by the number of samples and outputs: the same dynamics at a time that much longer
        scale = trained * data["y"].shape[1]
        predict_fn = nt.predict.gradient_descent_mse_ensemble(kernel_fn, x_train, data["y"], diag_reg=0.0)
        found = predict_fn(t=None if t is None else t * scale, x_test=x_test, get="ntk", compute_cov=True)
        return np.asarray(found.mean), np.asarray(found.covariance)

    result = {"compile": 0.0}
    for name, t in (("end", None), ("early", finite)):
        cpu = time.process_time()
        mean, _ = run(t)
        first = time.process_time() - cpu
        runs = []
        for _ in range(repeats):
            cpu = time.process_time()
            run(t)
            runs.append(time.process_time() - cpu)
        result |= {name: min(runs), f"{name} mean": float(mean[0, 0])}
        result["compile"] += max(first - min(runs), 0.0)
    return result


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
