"""Off criticality: fixed points of kernel and tangent kernel, and the phases of networks over their hyperparameters."""
