"""Shaped Transformer figure 3: correlation in shaped ResNets for several weights gamma of the branch.

Left, densities after n = 300, d = 100; right, the 95th percentile of its absolute value against gamma.
"""

import numpy as np
from matplotlib.lines import Line2D
from save import panels, save

from finitewidth.ensembles import simulate
from finitewidth.figures.law_densities import density
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE
from finitewidth.networks.shaped import ShapedResNet, equal_tokens
from finitewidth.proportional import covariance_sde

WIDTH, DEPTH, PATHS = 300, 100, 2**13
AT = np.linspace(-1, 1, 400)

left, right = panels(1, 2, 10.0, 3.9)
colors = {DEPTH**-0.5: GREEN, 0.25: BLUE, 0.5: "#CC79A7", 1.0: ORANGE}
percentiles: dict[str, list[float]] = {"networks": [], "limit": []}
gammas = sorted({*colors, 0.1, 0.375, 0.625, 0.75, 0.875})
for gamma in gammas:
    block = ShapedResNet(gamma)
    laws = {
        "networks": simulate(block.at(WIDTH, DEPTH), equal_tokens(2, 0.2), networks=PATHS, save=1),
        "limit": covariance_sde(block, equal_tokens(2, 0.2), DEPTH / WIDTH, paths=PATHS, save=1),
    }
    for name, law in laws.items():
        rho = law.correlation()[:, -1, 0, 1]
        percentiles[name].append(float(np.quantile(np.abs(rho), 0.95)))
        if gamma in colors:
            label = r"$1/\sqrt{d}$" if gamma == DEPTH**-0.5 else f"{gamma:g}"
            style = {"linestyle": "--"} if name == "limit" else {"label": rf"$\gamma$ = {label}"}
            left.plot(AT, density(rho, AT), color=colors[gamma], **style)
left.legend(handles=[*left.get_legend_handles_labels()[0], Line2D([], [], color=GREY, linestyle="--", label="limit")])
left.set(xlabel=r"$\rho$", ylabel="density", title=f"Correlation after {DEPTH} layers of width {WIDTH}", ylim=(0, 6))
right.plot(gammas, percentiles["networks"], "o", color=BLUE, markerfacecolor="none", label="networks")
right.plot(gammas, percentiles["limit"], "--", color=ORANGE, label="limit")
right.set(xlabel=r"$\gamma$", ylabel=r"95th percentile of $|\rho|$", title="Spread of the correlation", ylim=(0, 1))
right.legend()
save("shaped_transformer_figure_3")
