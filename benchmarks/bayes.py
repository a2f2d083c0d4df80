"""Bayesian regression at infinite width against scikit-learn's Gaussian process with the same kernel, in one run.

    python benchmarks/bayes.py [--samples 400 1000 4000] [--activation relu]

The data are scikit-learn's digits, class numbers as targets, repeated with noise on the inputs where more are asked for. Both get the same
kernel matrix, so that what is compared is the regression: factor, mean, standard deviation, evidence. Times are of the second call.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

import finitewidth as fw
from timing import table, timed

TEST = 200


class Precomputed(Kernel):
    """A kernel of scikit-learn that looks entries up: samples are their own numbers."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None, eval_gradient: bool = False) -> np.ndarray:
        """Between samples, by their numbers."""
        rows = X[:, 0].astype(int)
        return self.matrix[np.ix_(rows, rows if Y is None else Y[:, 0].astype(int))]

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Of each sample with itself."""
        return np.diagonal(self.matrix)[X[:, 0].astype(int)].copy()

    def is_stationary(self) -> bool:
        """No: it knows samples, not distances."""
        return False


def data(samples: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.arange(samples) % len(x)
    noisy = x[rows] + rng.normal(size=(samples, x.shape[1])) * (np.arange(samples) >= len(x))[:, None]
    order = rng.permutation(samples)
    return (noisy / noisy.std())[order], ((y[rows] - y.mean()) / y.std())[order]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="+", type=int, default=[400, 1000, 4000])
    parser.add_argument("--activation", default="relu")
    parser.add_argument("--noise", type=float, default=0.1)
    options = parser.parse_args()
    rows = []
    for samples in options.samples:
        x, y = data(samples + TEST)
        net = fw.MLP(options.activation, (x.shape[1], 1, 1, 1), C_b=0.1, C_W=2.0)
        kernel_cpu, _, K = timed(lambda net=net, x=x: np.array(fw.kernel(net, x)))
        numbers = np.arange(len(K), dtype=float)[:, None]

        def ours(K=K, y=y):
            return fw.bayes(kernel=K, y_train=y[:-TEST], noise=options.noise, order=0)

        def theirs(K=K, y=y, numbers=numbers):
            process = GaussianProcessRegressor(Precomputed(K), alpha=options.noise, optimizer=None)
            process.fit(numbers[:-TEST], y[:-TEST])
            return process.predict(numbers[-TEST:], return_std=True), process.log_marginal_likelihood_value_

        ours(), theirs()
        cpu, wall, found = timed(ours)
        their_cpu, their_wall, ((mean, deviation), evidence) = timed(theirs)
        rows.append(
            {
                "N": samples,
                "kernel cpu": kernel_cpu,
                "cpu": cpu,
                "wall": wall,
                "scikit-learn cpu": their_cpu,
                "scikit-learn wall": their_wall,
                "mean differs": float(np.abs(found.mean[:, 0] - mean).max()),
                "deviation differs": float(np.abs(found.standard_deviation[:, 0] - deviation).max()),
                "log evidence differs": abs(float(found.log_evidence) - evidence),
            }
        )
    print(table(rows))


if __name__ == "__main__":
    main()
