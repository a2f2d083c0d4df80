"""Shaped Transformer figure 6 at a size for two processors: attention entropy and loss while training.

n = 64, d = 8, four heads, 64 characters of Python's own manual, Adam with three learning rates, 400 steps. Shaped models
follow Recover over the first 200 steps. A run that diverges ends where it does.
"""

import jax
import numpy as np
from save import panels, save

from finitewidth import BlowUpError
from finitewidth.figures.style import BLUE, GREEN, ORANGE
from finitewidth.learning.transformer import LanguageModel, python_manual, recover, train
from finitewidth.networks.shaped import LayerNormTransformer, ShapedAttention, ShapedResNet, ShapedTransformer

STEPS, WINDOW = 400, 20
text = python_manual()


def smooth(curve: np.ndarray) -> np.ndarray:
    return np.convolve(curve, np.ones(WINDOW) / WINDOW, mode="valid")


axes = panels(2, 2, 9.0, 6.0)
shaped = ShapedTransformer(ShapedAttention(0.2, heads=4, mask="causal"), ShapedResNet(0.2, hidden_ratio=4))
pre_ln = LayerNormTransformer("pre", heads=4, mask="causal", hidden_ratio=4)
for row, (block, name) in enumerate(((shaped, "shaped, Recover"), (pre_ln, "Pre-LN"))):
    schedule = recover(STEPS // 2) if block is shaped else None
    for rate, color in ((1e-3, BLUE), (5e-3, GREEN), (2e-2, ORANGE)):
        model = LanguageModel(block.at(64, 8), len(text.alphabet), 64, jax.random.key(0))
        try:
            run = train(model, text, STEPS, rate, batch=8, warmup=50, schedule=schedule)
        except BlowUpError:
            continue
        steps = np.arange(WINDOW - 1, STEPS)
        axes[row, 0].plot(steps, smooth(run.entropy[:, 0]), color=color, label=f"rate {rate:g}, layer 1")
        axes[row, 0].plot(steps, smooth(run.entropy[:, -1]), color=color, linestyle="--")
        axes[row, 1].plot(steps, smooth(run.loss), color=color, label=f"rate {rate:g}")
    axes[row, 0].set(ylabel="attention entropy", title=f"{name} (dashed: last layer)", ylim=(0, 3.5))
    axes[row, 1].set(ylabel="loss, nats per character", title=name, ylim=(1.5, 4.5))
    for panel in axes[row]:
        panel.set_xlabel("step")
        panel.legend(fontsize=8)
save("shaped_transformer_figure_6")
