"""Shaped Transformer figure 5: networks that start a hundred times too large. Left, largest eigenvalues; right, stopping times."""

import numpy as np
from save import panels, save
from stopping import DEPTH, HIGH, WIDTH, adversarial, eigenvalues, stopping_times

from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE

left, right = panels(1, 2, 10.0, 3.9)
for gamma, color in ((0.1, BLUE), (0.2, GREEN), (0.3, ORANGE)):
    largest = np.minimum(eigenvalues(adversarial(gamma))[:8, :, -1], 10 * HIGH)
    label = [rf"$\gamma$ = {gamma:g}", *[None] * (len(largest) - 1)]
    for path, name in zip(largest, label, strict=True):
        left.plot(np.arange(DEPTH + 1), path, color=color, linewidth=1.0, label=name)
left.axhline(HIGH, color=GREY, linestyle="--")
left.set(
    xlabel=r"layer $\ell$",
    ylabel="largest eigenvalue of V",
    title=f"n = d = {WIDTH}",
    yscale="log",
    ylim=(10, 5 * HIGH),
)
left.legend(loc="upper left")

gammas = np.linspace(0.1, 0.9, 9)
times = np.array([np.quantile(stopping_times(adversarial(gamma)), [0.5, 0.1]) for gamma in gammas])
right.plot(gammas, times[:, 0], color=BLUE, label="median")
right.plot(gammas, times[:, 1], color=ORANGE, linestyle="--", label="10th percentile")
right.set(
    xlabel=r"$\gamma$",
    ylabel=r"stopping time $d^*/n$",
    title="Depth until an eigenvalue leaves the range",
    ylim=(0, 1.05),
)
right.legend()
save("shaped_transformer_figure_5")
