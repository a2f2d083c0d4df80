"""The expansion in 1/n, the limit of depth in proportion to width, and networks, as L/n grows: which to use when.

A network of shaped ReLUs (c = ±1, two inputs of correlation 0.2) at widths 32 and 128.
"""

import warnings

import numpy as np
from save import panels, save

from finitewidth import ValidityWarning
from finitewidth.activations import scale_invariant
from finitewidth.ensembles import simulate
from finitewidth.expansion import flow
from finitewidth.figures.style import BLUE, GREEN, ORANGE
from finitewidth.networks import MLP
from finitewidth.networks.shaped import ShapedMLP, equal_tokens, shaped_relu
from finitewidth.proportional import covariance_sde

DEPTH_TO_WIDTH, PATHS = 0.625, 40_000

left, right = panels(1, 2, 10.2, 4.0)
activation = shaped_relu(1.0, -1.0)
block = ShapedMLP(activation)
limit = covariance_sde(block, equal_tokens(2, 0.2), DEPTH_TO_WIDTH, paths=PATHS, steps=125)


def relative_variance(V: np.ndarray) -> np.ndarray:
    """Of the first input's norm, by depth."""
    return V[:, :, 0, 0].var(axis=0) / V[:, :, 0, 0].mean(axis=0) ** 2


left.plot(limit.times, np.expm1(2 * limit.times), color=ORANGE, linestyle="--", label="limit of L ∝ n")
right.plot(limit.times, limit.V[:, :, 0, 1].mean(axis=0), color=ORANGE, linestyle="--", label="limit of L ∝ n")
for width, color in ((32, GREEN), (128, BLUE)):
    slopes = activation.slopes(width)
    sigma = scale_invariant(*(float(slope) for slope in slopes))
    depth = int(DEPTH_TO_WIDTH * width)
    # The flow counts layers from the first preactivation, whose kernel is that of the inputs.
    net = MLP(sigma, (2, *[width] * depth, 1), C_W=1 / sigma.A2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)  # to show where the expansion fails is the point
        theory = flow(net, kernel=equal_tokens(2, 0.2))
    times = np.arange(depth + 1) / width
    left.plot(
        times, theory.relative_fluctuation[:, 0], color=color, linewidth=1.0, label=f"expansion in 1/n, n = {width}"
    )
    right.plot(times, theory.G[:, 0, 1], color=color, linewidth=1.0, label=f"expansion in 1/n, n = {width}")
    law = simulate(block.at(width, depth), equal_tokens(2, 0.2), networks=PATHS, save=10)
    left.plot(law.times, relative_variance(law.V), "o", color=color, markersize=4, label=f"networks, n = {width}")
    right.plot(
        law.times, law.V[:, :, 0, 1].mean(axis=0), "o", color=color, markersize=4, label=f"networks, n = {width}"
    )
left.set(xlabel=r"depth over width $L/n$", ylabel=r"relative variance of $V(0,0)$", title="Fluctuation", ylim=(0, 3))
right.set(xlabel=r"depth over width $L/n$", ylabel=r"mean $V(0,1)$", title="Covariance of two inputs")
left.legend(fontsize=8)
save("which_limit")
