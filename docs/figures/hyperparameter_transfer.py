"""Training shaped networks of one depth over width, without their matrices: the best rate is the same for all sizes if it shrinks as
one over the depth. A few minutes."""

import warnings

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, ORANGE

STEPS, PAIRS = 6, 10
SIZES = {(32, 8): BLUE, (64, 16): ORANGE, (128, 32): GREEN}
RATES = np.geomspace(0.2, 3.2, 7)
SHOWN = 2  # of the rates, times the number of matrices, for the learning curves
MIDDLE = 17  # matrices of the middle size, at which the fixed rate is tuned

block = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
x = np.array([[1.0, 1.0], [1.4, -0.2]])
y = np.array([[1.0], [-1.0]])


def losses(size: tuple[int, int], rate: float) -> np.ndarray:
    """Mean losses of pairs of networks after every step; those of pairs that diverge are infinite."""
    curves = []
    for seed in range(PAIRS):
        try:  # some rates are meant to be too large
            warnings.simplefilter("ignore", fw.ValidityWarning)
            how = {"networks": 2, "rate": rate, "steps": STEPS, "method": "lazy", "seed": seed, "progress": False}
            curves.append(fw.train(block.at(*size), x, y, x[:1], **how).loss.mean)
        except fw.BlowUpError:
            curves.append(np.full(STEPS + 1, np.inf))
    return np.array(curves)


def draw(axes, pairs: np.ndarray, color: str, label: str) -> None:
    """Geometric means, with a band of two standard errors."""
    logs = np.log(pairs)
    middle, error = logs.mean(axis=0), 2 * logs.std(axis=0, ddof=1) / np.sqrt(PAIRS)
    axes.plot(np.exp(middle), color=color, label=label)
    axes.fill_between(np.arange(STEPS + 1), np.exp(middle - error), np.exp(middle + error), color=color, alpha=0.15)


curves, shrinking, fixed = panels(1, 3, 13.0, 3.9)
for size, color in SIZES.items():
    width, depth = size
    matrices, label = depth + 1, f"n = {width}, d = {depth}"
    scanned = [losses(size, rate / matrices) for rate in RATES]
    draw(curves, scanned[SHOWN], color, label)
    if matrices != MIDDLE:
        at_fixed = losses(size, RATES[SHOWN] / MIDDLE)
        curves.plot(np.exp(np.log(at_fixed).mean(axis=0)), color=color, linestyle=":")
    ends = np.array([np.median(each[:, -1]) for each in scanned])
    best = np.argmin(ends)
    # The same networks, against the rate over that of a network of one matrix, and against the rate itself.
    for axes, rates in ((shrinking, RATES), (fixed, RATES / matrices)):
        axes.plot(rates, ends, color=color, label=label)
        axes.plot(rates[best], ends[best], "o", color=color)
tuned = f"{RATES[SHOWN]:.1f}"
curves.set(
    xlabel="step", ylabel="loss", yscale="log", title=rf"$\eta = {tuned}/(d+1)$; dotted: $\eta = {tuned}/{MIDDLE}$"
)
curves.legend()
what = f"loss after {STEPS} steps"
limits = {"xscale": "log", "yscale": "log", "ylim": (0.01, 30)}
shrinking.set(
    xlabel=r"$\eta_0 = \eta\,(d+1)$", ylabel=what, title="against $\\eta\\,(d+1)$ all sizes fall together", **limits
)
fixed.set(xlabel=r"$\eta$", ylabel=what, title="against the rate itself they do not", **limits)
shrinking.set_xticks(ticks := [0.2, 0.4, 0.8, 1.6, 3.2], [f"{tick:g}" for tick in ticks])
shrinking.set_xticks([], minor=True)
save("hyperparameter_transfer")
