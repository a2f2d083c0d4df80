"""Predictions between and beyond two training inputs, for three activations."""

import numpy as np
from save import panels, save

from finitewidth.figures import along_line
from finitewidth.learning import predict_along_line
from finitewidth.networks import MLP

S = np.linspace(-1.0, 2.0, 121)
plus, minus = np.array([1.0, 0.7]), np.array([-0.4, 1.1])
for axes, (activation, C_W) in zip(
    panels(1, 3, 11.5, 3.7), (("linear", 1.0), ("tanh", 1.0), ("relu", 2.0)), strict=True
):
    net = MLP(activation, (2, 1, 1, 1), C_b=0.0, C_W=C_W)
    along_line(predict_along_line(net, plus, minus, 1.0, -0.5, S), axes)
    axes.plot([1, 0], [1.0, -0.5], "o", color="black", markersize=5)
    axes.set(title=f"{activation}, three layers", ylim=(-2.6, 2.6))
save("interpolation")
