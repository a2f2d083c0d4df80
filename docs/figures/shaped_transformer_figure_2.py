"""Shaped Transformer figure 2 at a size for two processors: gradient norms by layer at initialisation.

Causal next-token prediction on Python's own manual: n = 64, d = 48, four heads, eight sequences of 64 characters.
"""

import jax
import numpy as np
from save import panels, save

from finitewidth.figures.style import BLUE, GREEN, ORANGE
from finitewidth.learning.transformer import LanguageModel, gradient_norms, python_manual
from finitewidth.networks.shaped import LayerNormTransformer, ShapedAttention, ShapedResNet, ShapedTransformer

text = python_manual()
left, right = panels(1, 2, 10.0, 3.9)
shaped = ShapedTransformer(ShapedAttention(8**-0.5, heads=4, mask="causal"), ShapedResNet(8**-0.5))
pre_ln, post_ln = (LayerNormTransformer(position, heads=4, mask="causal") for position in ("pre", "post"))
with jax.enable_x64(True):  # in single precision the smallest gradients of Post-LN are rounding
    tokens = text.batch(jax.random.key(1), 8, 65)
    for block, name, color in ((shaped, "shaped", BLUE), (pre_ln, "Pre-LN", GREEN), (post_ln, "Post-LN", ORANGE)):
        models = [LanguageModel(block.at(64, 48), len(text.alphabet), 64, jax.random.key(seed)) for seed in range(4)]
        runs = [gradient_norms(model, tokens) for model in models]
        for axes, matrix in ((left, "value"), (right, "query")):
            norms = np.exp(np.mean([np.log(run[matrix] + 1e-30) for run in runs], axis=0))
            axes.plot(np.arange(1, 49), norms, color=color, label=name)
left.set(xlabel=r"layer $\ell$", ylabel="norm of the gradient", title=r"Values $W^V_\ell$", yscale="log")
right.set(xlabel=r"layer $\ell$", title=r"Queries $W^Q_\ell$", yscale="log")
left.legend()
save("shaped_transformer_figure_2")
