"""Shaped Transformer figure 8: median stopping time over gamma and tau_0, in the setting of figure 5."""

import numpy as np
from save import panels, save
from stopping import adversarial, stopping_times

axes = panels(1, 1, 5.8, 4.2)
gammas, temperatures = np.linspace(0.1, 0.9, 9), np.array([0.25, 0.5, 1.0, 2.0, 4.0])
times = np.array([[np.median(stopping_times(adversarial(g, tau0))) for g in gammas] for tau0 in temperatures])
mesh = axes.pcolormesh(gammas, np.arange(len(temperatures)), times, vmin=0, vmax=1, cmap="viridis")
axes.figure.colorbar(mesh, ax=axes, label=r"median stopping time $d^*/n$")
axes.set_yticks(np.arange(len(temperatures)), [f"{tau0:g}" for tau0 in temperatures])
axes.set(xlabel=r"$\gamma$", ylabel=r"$\tau_0$", title="Networks that start a hundred times too large")
axes.grid(False)
save("shaped_transformer_figure_8")
