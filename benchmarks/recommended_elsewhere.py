"""The ways of `docs/figures/recommended_on_digits.py`, on data that no advice was made with: arguments such as `relu 16 64`.

Budget, rates, seeds and the choice of a rate by training loss are those of the figure. Beside its ways stand defaults with the skips that
`recommend` advises, so that what is left is what initialisation and rates add. Prints the median over seeds of training loss and test
accuracy.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "figures"))

from recommended_on_digits import (  # pyright: ignore[reportMissingImports]  # beside the figures
    WAYS,
    WIDTH,
    Way,
    best_of,
    results,
)

SHOWN = (*WAYS, *(Way(name, optimizer, "advised") for optimizer in ("sgd", "adam") for name in ("He", "Xavier")))


def tumours():
    """30 measurements of 569 tumours, standardised and turned into as many features as the width, which changes no product of two."""
    x, y = load_breast_cancer(return_X_y=True)
    random = np.random.default_rng(0)
    order = random.permutation(len(x))
    x, y = ((x - x.mean(axis=0)) / x.std(axis=0))[order], y[order]
    turn = np.linalg.qr(random.normal(size=(WIDTH, x.shape[1])))[0].T * (WIDTH / x.shape[1]) ** 0.5
    x = x @ turn
    return (x[:400], y[:400]), (x[400:], y[400:])


def main(activation: str, depths: list[int]) -> None:
    """A line for every depth and way."""
    for depth in depths:
        found = [results(activation, depth, *tumours(), SHOWN)]
        for place, way in enumerate(SHOWN):
            loss, accuracy = (float(np.median(values[0])) for values in best_of(found, place))
            print(
                f"{activation:8s} depth {depth:3d}  {way.name:24s} loss {loss:8.4f}  accuracy {accuracy:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1], [int(depth) for depth in sys.argv[2:]])
