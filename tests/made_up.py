"""A theory and a measurement made up by hand, so that every deviation is known."""

import matplotlib as mpl
import numpy as np

from finitewidth.kernels.pairs import pair_index
from finitewidth.networks import MLP
from finitewidth.results import Ensemble, Flow, Measurement, Metric

mpl.use("Agg")  # whoever compares or draws made-up results does so without a screen

ERRORS = {"G": 0.01, "G1": 0.1, "V": 0.05}


def theory(widths=(2, 8, 4, 1), samples=2, seed=0):
    """A flow of random numbers; nothing fluctuates in the first layer."""
    net = MLP("tanh", widths)
    random = np.random.default_rng(seed)
    pairs = pair_index(samples)
    layers, count = net.depth, len(pairs.a)
    K = 1 + random.uniform(size=(layers, samples, samples))
    K = (K + K.mT) / 2
    v = random.uniform(size=(layers, count, count))
    g1 = random.normal(size=(layers, count))
    v[0], g1[0] = 0, 0
    n = np.asarray(widths[:-1], dtype=float)
    V = pairs.unpack_twice((v + v.mT) / 2) * n[:, None, None, None, None]
    g1 = pairs.unpack(g1)
    return Flow(net, K, Metric(G1=g1 * n[:, None, None], G=K + g1, V=V))


def perfect(flow, networks=10_000_000):
    """Networks that do exactly what theory says, known to the errors above; the first layer without error. So many
    are enough for any variance in the made-up theory."""

    def measurement(name):
        mean = np.array(getattr(flow, name))
        errors = np.full(mean.shape, ERRORS[name])
        errors[0] = 0
        return Measurement(mean, errors)

    metric = Metric(**{name: measurement(name) for name in ERRORS})
    return Flow(flow.net, flow.K, metric, ensemble=Ensemble(networks, seed=7, method="chain"))
