"""One network trained by PyTorch: `python training_worker.py WIDTH STEPS SAMPLES`, for `training.py`."""

import itertools
import json
import resource
import sys
import time

import numpy as np
import torch

FEATURES, LAYERS, RATE = 4, 4, 0.04


def main() -> None:
    width, steps, samples = map(int, sys.argv[1:])
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    x, y = (torch.tensor(random.normal(size=(samples, size))) for size in (FEATURES, 1))
    widths = (FEATURES, *[width] * (LAYERS - 1), 1)
    weights = [(torch.randn(n, m) * (1.5 / m) ** 0.5).requires_grad_() for m, n in itertools.pairwise(widths)]
    # A rate for each matrix, as parameter groups give it.
    optimiser = torch.optim.SGD([{"params": [W], "lr": RATE / W.shape[1]} for W in weights], lr=RATE)

    def step() -> float:
        z = x @ weights[0].T
        for W in weights[1:]:
            z = torch.tanh(z) @ W.T
        loss = ((z - y) ** 2).sum() / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss.item()

    start = time.process_time(), time.perf_counter()
    step()
    first = time.process_time(), time.perf_counter()
    loss = 0.0
    for _ in range(steps):
        loss = step()
    last = time.process_time(), time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        json.dumps(
            {
                "cpu": (last[0] - first[0]) / steps,
                "wall": (last[1] - first[1]) / steps,
                "cpu before": first[0] - start[0],
                "loss": loss,
                "GB": peak,
            }
        )
    )


if __name__ == "__main__":
    main()
