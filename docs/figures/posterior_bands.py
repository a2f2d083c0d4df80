"""Posteriors of a narrow network along a line of inputs: infinite width, the 1/n correction, and real networks."""

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth import figures, learning

at = np.linspace(-2, 2, 12)
known, told = np.array([-1.0, 0.5, 1.2]), np.array([[0.9], [-0.6], [0.4]])


def line(places: np.ndarray) -> np.ndarray:
    """Inputs on a line that misses the origin."""
    return np.stack([places, np.ones_like(places)], axis=1)


for axes, activation in zip(panels(1, 2, 10.4, 4.2), ("relu", "tanh"), strict=True):
    net = fw.MLP(activation, (2, 24, 24, 1), C_b=0.1, C_W=2.0 if activation == "relu" else 1.5)
    data = net, line(known), told, line(at)
    found = [fw.bayes(*data, noise=0.05, order=order) for order in (0, 1)]
    found.append(learning.exact_posterior(*data, noise=0.05, networks=20_000))
    figures.posterior_bands(found, at, axes, train=np.concatenate([known[:, None], told], axis=1))
    axes.set_title(f"{activation}, two hidden layers of 24")
save("posterior_bands")
