"""Bias and variance of the mean test loss by depth, at criticality and off it."""

import jax
import numpy as np
from save import panels, save

from finitewidth.figures import generalisation_by_depth
from finitewidth.kernels.tangent_map import tangent_kernel_recursion
from finitewidth.learning import generalisation_error, predict
from finitewidth.networks import MLP

DEPTH = 64
DEPTHS = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, DEPTH]
random = np.random.default_rng(0)
x = random.normal(size=(40, 2))
x *= np.sqrt(2) / np.linalg.norm(x, axis=1, keepdims=True)
y = np.sin(2 * np.arctan2(x[:, 1], x[:, 0]))

for axes, C_W in zip(panels(1, 3, 11.5, 3.9), (0.8, 1.0, 2.0), strict=True):
    rates = 1 / np.arange(1.0, DEPTH + 1)  # of biases, so that all layers learn alike
    net = MLP("tanh", (2, *[1] * DEPTH), C_W=C_W, lambda_b=rates, lambda_W=1.0)
    # A layer of this network is the last of a shallower one.
    with jax.enable_x64(True):  # kernels of all layers are asked for without going through a door
        K, Theta = (np.asarray(each) for each in tangent_kernel_recursion(net, x))
    errors = [
        generalisation_error(predict(kernel=(Theta[depth - 1], K[depth - 1]), y_train=y[:20]), y[20:])
        for depth in DEPTHS
    ]
    generalisation_by_depth(DEPTHS, errors, axes)
    axes.set(title=rf"tanh, $C_W = {C_W:g}$" + (", critical" if C_W == 1 else ""), yscale="log", ylim=(1e-4, 30))
save("generalisation_by_depth")
