"""PDLT figure 5.2: sigmoid and softplus, whose ratio of susceptibilities is never one."""

from save import panels, save

from finitewidth.figures import ratio_of_susceptibilities

for axes, activation in zip(panels(1, 2, 9.6, 3.6), ("sigmoid", "softplus"), strict=True):
    ratio_of_susceptibilities(activation, axes, K_max=3)
    axes.set_ylim(0, 2)
save("pdlt_figure_5_2")
