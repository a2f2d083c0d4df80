"""Training shaped networks of one depth over width: the best rate is the same for all sizes if it shrinks as one over the depth."""

import warnings

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, ORANGE

STEPS, NETWORKS = 10, 96
SIZES = {(16, 4): BLUE, (32, 8): ORANGE, (64, 16): GREEN}
SHOWN = 0.4  # the rate, times the number of matrices, of the learning curves
RATES = np.geomspace(0.05, 3.2, 13)

block = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
random = np.random.default_rng(0)
x = random.normal(size=(4, 4))
x *= 2 / np.linalg.norm(x, axis=1, keepdims=True)
y = np.array([[1.0], [-1.0], [1.0], [-1.0]])


def losses(size: tuple[int, int], rate: float) -> np.ndarray:
    """Medians over groups of networks of the mean loss after every step: one network that diverges is not all."""
    net = block.as_mlp(*size, inputs=4)
    curves = []
    for seed in range(12):
        try:  # some rates are meant to be too large
            warnings.simplefilter("ignore", fw.ValidityWarning)
            trained = fw.train(
                net, x, y, x[:1], networks=NETWORKS // 12, rate=rate, steps=STEPS, seed=seed, progress=False
            )
            curves.append(trained.loss.mean)
        except fw.BlowUpError:
            curves.append(np.full(STEPS + 1, np.inf))
    return np.median(curves, axis=0)


curves, shrinking, fixed = panels(1, 3, 13.0, 3.9)
for size, color in SIZES.items():
    width, depth = size
    matrices = depth + 1
    label = f"n = {width}, d = {depth}"
    curves.plot(losses(size, SHOWN / matrices), color=color, label=label)
    curves.plot(losses(size, SHOWN / 9), color=color, linestyle=":")
    ends = np.array([losses(size, rate / matrices)[-1] for rate in RATES])
    shrinking.plot(RATES, ends, color=color, label=label)
    shrinking.plot(RATES[np.argmin(ends)], ends.min(), "o", color=color)
    # The same networks and rates, against the rate itself.
    fixed.plot(RATES / matrices, ends, color=color, label=label)
    fixed.plot(RATES[np.argmin(ends)] / matrices, ends.min(), "o", color=color)
curves.set(
    xlabel="step", ylabel="loss", yscale="log", ylim=(0.1, 10), title=r"$\eta = 0.4/(d+1)$; dotted: $\eta = 0.4/9$"
)
curves.legend()
what = f"loss after {STEPS} steps"
limits = {"xscale": "log", "yscale": "log", "ylim": (0.05, 10)}
shrinking.set(xlabel=r"$\eta_0 = \eta\,(d+1)$", ylabel=what, title="the best rate transfers", **limits)
fixed.set(xlabel=r"$\eta$", ylabel=what, title="and would not at fixed rate", **limits)
save("hyperparameter_transfer")
