"""The differentials of the tangent kernel against depth, with the laws of each class."""

import numpy as np
from save import panels, save

from finitewidth.critical import criticality, differential_asymptotics, differential_single_input_flow
from finitewidth.figures import differential_ratios

layers = np.arange(1, 2001)
drawn = (("relu", "ReLU: P = 0", "dntk"), ("tanh", "tanh", "ddntk"))
for axes, (activation, name, through) in zip(panels(1, 2, 10.4, 4.2), drawn, strict=True):
    point = criticality(activation).point
    assert point is not None
    rates = 1.0 if activation == "relu" else 1 / layers
    flow = differential_single_input_flow(
        activation, 1.0, len(layers), point.C_b, point.C_W, rates, 1.0, through=through
    )
    differential_ratios(
        flow, differential_asymptotics(activation, layers).slopes, axes, title=f"{name}, at criticality"
    )
save("differential_ratios")
