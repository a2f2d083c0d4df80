"""The picture of the README: theory laid over measured networks for three activations."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from save import panels, save

from finitewidth.critical import criticality
from finitewidth.ensembles import simulate
from finitewidth.expansion import flow
from finitewidth.figures import flow_by_depth
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE
from finitewidth.networks import MLP

DEPTH, WIDTH, NETWORKS = 32, 2048, 4000

kernel, fluctuation = panels(1, 2, 10.4, 4.1)
for activation, name, color in (("gelu", "GELU", GREEN), ("relu", "ReLU", ORANGE), ("tanh", "tanh", BLUE)):
    point = criticality(activation).point
    assert point is not None
    net = MLP(activation, (16, *[WIDTH] * (DEPTH - 1), 1), C_b=point.C_b, C_W=point.C_W)
    first = point.K_star or 1.0  # where the kernel starts: at the fixed point if there is a finite one
    x = np.full((1, net.widths[0]), np.sqrt((first - point.C_b) / point.C_W))
    measured = simulate(net, x, networks=NETWORKS)
    flow_by_depth(flow(net, x), measured, (kernel, fluctuation), label=name, color=color)

kernel.set(yscale="log", ylim=(0.012, 8), title="Kernel at critical initialisation")
kernel.legend(
    handles=[
        Line2D([], [], color=GREY, label="theory, to order 1/n"),
        Patch(color=GREY, alpha=0.3, linewidth=0, label="spread of networks"),
        Line2D([], [], color=GREY, marker="o", markerfacecolor="none", linestyle="none", label=f"{NETWORKS} networks"),
    ],
    loc="lower left",
)
fluctuation.set_title(f"Relative variance of the kernel, width {WIDTH}")
save("overview")
