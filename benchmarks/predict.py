"""Predictions of infinite width against neural-tangents and scikit-learn, on one and the same kernels, in one run.

    python benchmarks/predict.py [--peer ntbench/bin/python] [--samples 500 1000 2000]

Everybody gets the same matrices: Theta and K of a ReLU network on N training inputs and N/4 test inputs. Asked are mean and
covariance at the end of training and, of neural-tangents and of us, at a finite time, which takes the eigenvectors. scikit-learn
knows the Bayesian end alone, one kernel for both. All in float64; the peer in its own environment.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from peers import measured_by
from timing import best, table

HERE = Path(__file__).parent
FEATURES, OUTPUTS, TIME = 20, 3, 5.0


def problem(samples: int) -> dict[str, np.ndarray]:
    import finitewidth as fw

    random = np.random.default_rng(0)
    x, y = random.normal(size=(samples + samples // 4, FEATURES)), random.normal(size=(samples, OUTPUTS))
    net = fw.MLP("relu", (FEATURES, 1, 1, 1), C_W=2.0, C_b=0.1)
    return {"Theta": fw.frozen_ntk(net, x), "K": fw.kernel(net, x), "y": y}


def ours(data: dict[str, np.ndarray], repeats: int) -> dict[str, float]:
    import finitewidth as fw

    def end() -> np.ndarray:
        return fw.predict(kernel=(data["Theta"], data["K"]), y_train=data["y"]).mean

    def early() -> np.ndarray:
        return fw.predict(kernel=(data["Theta"], data["K"]), y_train=data["y"], time=TIME).mean

    def bayes() -> np.ndarray:
        return fw.predict(kernel=data["K"], y_train=data["y"]).mean

    found = {name: best(function, repeats)[0] for name, function in (("end", end), ("early", early), ("bayes", bayes))}
    return found | {
        f"{name} mean": float(function()[0, 0]) for name, function in (("end", end), ("early", early), ("bayes", bayes))
    }


def scikit_learn(data: dict[str, np.ndarray], repeats: int) -> dict[str, float]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Kernel

    K, trained = data["K"], len(data["y"])

    class Given(Kernel):
        """The matrix itself; inputs are row numbers."""

        def __init__(self):  # scikit-learn wants to see one
            pass

        def __call__(self, X, Y=None, eval_gradient=False):
            rows = X[:, 0].astype(int)
            return K[np.ix_(rows, rows if Y is None else Y[:, 0].astype(int))]

        def diag(self, X):
            return np.diag(K)[X[:, 0].astype(int)]

        def is_stationary(self) -> bool:
            return False

    rows = np.arange(len(K))[:, None]

    def run() -> np.ndarray:
        model = GaussianProcessRegressor(Given(), alpha=0.0, optimizer=None).fit(rows[:trained], data["y"])
        return model.predict(rows[trained:], return_cov=True)[0]

    return {"bayes": best(run, repeats)[0], "bayes mean": float(run()[0, 0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="python of an environment with neural-tangents 0.6.5")
    parser.add_argument("--samples", nargs="+", type=int, default=[500, 1000, 2000])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for samples in options.samples:
        data = problem(samples)
        mine, theirs = ours(data, options.repeats), scikit_learn(data, options.repeats)
        row = {"N": samples} | {f"{name} cpu": mine[name] for name in ("end", "early", "bayes")}
        row |= {"sklearn bayes cpu": theirs["bayes"], "difference": abs(theirs["bayes mean"] - mine["bayes mean"])}
        if options.peer:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "problem.npz"
                np.savez(file, **data)
                peer = measured_by([options.peer, HERE / "predict_worker.py", file, options.repeats, TIME])
            row |= {f"peer {name} cpu": peer[name] for name in ("end", "early")} | {"peer compile cpu": peer["compile"]}
            row["peer difference"] = max(abs(peer[f"{name} mean"] - mine[f"{name} mean"]) for name in ("end", "early"))
        rows.append(row)
        print(json.dumps(row), flush=True)
    print(table(rows))


if __name__ == "__main__":
    sys.exit(main())
