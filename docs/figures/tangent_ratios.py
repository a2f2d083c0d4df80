"""Relative fluctuations of the tangent kernel against depth, with the laws of each class."""

import numpy as np
from save import panels, save

from finitewidth.critical import criticality
from finitewidth.critical.large_depth.tangent_asymptotics import tangent_asymptotics
from finitewidth.critical.one_input.tangent_single_input import tangent_single_input_flow
from finitewidth.figures.tangent_ratios import tangent_ratios

layers = np.arange(1, 2001)
for axes, activation, name in zip(panels(1, 2, 10.4, 4.2), ("relu", "tanh"), ("ReLU", "tanh"), strict=True):
    point = criticality(activation).point
    assert point is not None
    law = tangent_asymptotics(activation, layers)
    p = 0.0 if activation == "relu" else 1 + law.exponents.p_Theta
    lambda_W = 1.0 if activation == "relu" else layers ** (1 - p)
    flow = tangent_single_input_flow(activation, 1.0, len(layers), point.C_b, point.C_W, layers**-p, lambda_W)
    tangent_ratios(flow, law.slopes, axes, title=f"{name} at criticality")
save("tangent_ratios")
