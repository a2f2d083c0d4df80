"""A theory and a measurement made up by hand, so that every deviation is known."""

import matplotlib as mpl
import numpy as np

from finitewidth.ensembles import MeasuredFlow, Measurement
from finitewidth.flow import Flow
from finitewidth.networks import MLP

mpl.use("Agg")  # whoever compares or draws made-up results does so without a screen

ERRORS = {"K": 0.01, "G1": 0.1, "V": 0.05}


def theory(widths=(2, 8, 4, 1), samples=2, seed=0):
    """A flow of random numbers; nothing fluctuates in the first layer."""
    net = MLP("tanh", widths)
    random = np.random.default_rng(seed)
    layers, pairs = net.depth, samples * (samples + 1) // 2
    K = 1 + random.uniform(size=(layers, samples, samples))
    vertex = random.uniform(size=(layers, pairs, pairs))
    correction = random.normal(size=(layers, pairs))
    vertex[0], correction[0] = 0, 0
    return Flow(net, (K + K.mT) / 2, (vertex + vertex.mT) / 2, correction)


def perfect(flow, networks=100):
    """Networks that do exactly what theory says, known to the errors above; the first layer without error."""

    def measurement(mean, error):
        errors = np.full(mean.shape, error)
        errors[0] = 0
        return Measurement(np.array(mean), errors)

    fields = {"K": flow.G, "G1": flow.G1, "V": flow.V}
    parts = {name: measurement(field, ERRORS[name]) for name, field in fields.items()}
    return MeasuredFlow(**parts, widths=flow.net.widths, networks=networks, seed=7, method="chain")
