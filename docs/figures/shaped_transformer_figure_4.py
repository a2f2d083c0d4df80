"""Shaped Transformer figure 4: what each part of shaped attention is for (n = 300, d = 150, gamma = 1/sqrt(2)).

Four tokens and n_k = 50 keys, which the paper does not state. Covariances have heavy tails, so the right panel shows medians
where the paper has means.
"""

import numpy as np
from save import panels, save

from finitewidth.ensembles import simulate
from finitewidth.figures.style import BLUE, GREEN, ORANGE
from finitewidth.networks.shaped import AblatedAttention, ShapedAttention, equal_tokens

WIDTH, DEPTH, NETWORKS = 300, 150, 2**9
VARIANTS = {
    "all": ((True, True, True), BLUE, "-"),
    r"id, centred, $\tau^2 = n_k$": ((True, True, False), ORANGE, "-"),
    r"id, $\tau^2 = n\,n_k$": ((True, False, True), GREEN, "-"),
    r"centred, $\tau^2 = n\,n_k$": ((False, True, True), "#CC79A7", "-"),
    r"only $\tau^2 = n\,n_k$": ((False, False, True), "#56B4E9", "--"),
    r"plain, $\tau^2 = n_k$": ((False, False, False), "#000000", ":"),
}

left, right = panels(1, 2, 10.4, 4.1)
attention = ShapedAttention(2**-0.5, key_width=50)
layers = np.arange(DEPTH + 1)
for name, (switches, color, line) in VARIANTS.items():
    law = simulate(AblatedAttention(attention, *switches).at(WIDTH, DEPTH), equal_tokens(4, 0.2), NETWORKS, save=DEPTH)
    left.plot(layers, np.abs(law.correlation()[:, :, 0, 1]).mean(axis=0), color=color, linestyle=line, label=name)
    right.plot(layers, np.median(np.abs(law.V[:, :, 0, 1]), axis=0), color=color, linestyle=line, label=name)
left.set(xlabel=r"layer $\ell$", ylabel=r"mean $|\rho|$", title="Correlation", ylim=(0, 1.05))
right.set(xlabel=r"layer $\ell$", ylabel=r"median $|V(0,1)|$", title="Covariance", yscale="log", ylim=(1e-20, 1e20))
right.legend(loc="lower right", fontsize=8)
save("shaped_transformer_figure_4")
