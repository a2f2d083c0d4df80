"""Evidence of two targets against the variance of weights, by depth: ReLU peaks at criticality, tanh does not."""

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth import figures, learning

x = np.sqrt(2) * np.array([[np.cos(0.3), np.sin(0.3)], [np.cos(0.3), -np.sin(0.3)]])
for axes, activation, critical in zip(panels(1, 2, 10.4, 4.2), ("relu", "tanh"), (2.0, 1.0), strict=True):
    scan = learning.evidence_scan(
        fw.MLP(activation, (2, 64, 1)), x, [1.0, 0.5], C_W=np.linspace(0.6, 3.4, 57), depths=(2, 5, 20, 80)
    )
    figures.evidence_by_weights(scan, axes)
    axes.axvline(critical, color="#808080", linewidth=0.8, linestyle="--")
    axes.set(ylim=(-20, 0), title=f"{activation}, critical at $C_W$ = {critical:g}")
save("evidence_by_weights")
