"""Shaped Transformer figure 1, left: correlation by depth with and without shaping.

Four tokens and n_k = 50 keys, which the paper does not state.
"""

import numpy as np
from save import panels, save

from finitewidth.ensembles import simulate
from finitewidth.figures.style import BLUE, GREEN, ORANGE
from finitewidth.networks.shaped import (
    AblatedAttention,
    FiniteStack,
    LayerNormTransformer,
    ShapedAttention,
    ShapedResNet,
    ShapedTransformer,
    equal_tokens,
)

WIDTH, DEPTH, GAMMA, NETWORKS = 200, 150, 8**-0.5, 2**10

axes = panels(1, 1, 5.6, 4.0)
attention, feedforward = ShapedAttention(GAMMA, key_width=50), ShapedResNet(GAMMA)
unshaped = AblatedAttention(attention, identity=False, centred=False, shaped_temperature=False)
curves = {
    "shaped Transformer": (ShapedTransformer(attention, feedforward), BLUE),
    "unshaped attention": (FiniteStack(unshaped, feedforward), ORANGE),
    "Pre-LN": (LayerNormTransformer("pre", key_width=50), GREEN),
}
for name, (block, color) in curves.items():
    law = simulate(block.at(WIDTH, DEPTH), equal_tokens(4, 0.2), networks=NETWORKS, save=DEPTH)
    a, b = np.triu_indices(4, 1)
    axes.plot(np.arange(DEPTH + 1), law.correlation()[:, :, a, b].mean(axis=(0, 2)), color=color, label=name)
axes.set(xlabel=r"layer $\ell$", ylabel=r"mean correlation $\rho$", title="Correlation by depth", ylim=(0, 1.05))
axes.legend(loc="center right")
save("shaped_transformer_figure_1")
