"""PDLT figure 5.3: SWISH and GELU, critical at zero and at one more kernel each."""

from save import panels, save

from finitewidth.critical import criticality
from finitewidth.figures import ratio_of_susceptibilities

for axes, activation in zip(panels(1, 2, 9.6, 3.6), ("swish", "gelu"), strict=True):
    ratio_of_susceptibilities(activation, axes, K_max=20, verdict=criticality(activation))
    axes.set_ylim(0.85, 1.05)
save("pdlt_figure_5_3")
