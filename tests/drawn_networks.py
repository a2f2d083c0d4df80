"""Weights of networks that were drawn, written out: what training is compared with."""

import numpy as np

from finitewidth.realised.parameters import Parameters


def completed(lazy, random):
    r"""All entries of a lazy matrix at its start; those that no answer has fixed are drawn now. With directions as rows,

    $$W = Y^{\mathsf T}U + V^{\mathsf T}X - V^{\mathsf T}VY^{\mathsf T}U + (1-V^{\mathsf T}V)\,Z\,(1-U^{\mathsf T}U).$$
    """
    U, Y = np.asarray(lazy.right.directions.rows), np.asarray(lazy.right.images)
    V, X = np.asarray(lazy.left.directions.rows), np.asarray(lazy.left.images)
    rest = lazy._deviation * random.standard_normal((V.shape[1], U.shape[1]))
    rest = rest - V.T @ (V @ rest)
    rest = rest - (rest @ U.T) @ U
    return Y.T @ U + V.T @ X - V.T @ (V @ Y.T) @ U + rest


def as_parameters(network):
    """The weights of a network with stored weights, layer by layer."""
    return Parameters(
        tuple(W for stage in network.stages for W in np.asarray(stage.weights.entries)),
        tuple(b for stage in network.stages for b in np.asarray(stage.biases)),
    )
