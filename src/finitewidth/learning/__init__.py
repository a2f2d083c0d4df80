"""Learning: what training does to a network and its kernels."""

from .kernel import predict as predict, smooth_labels as smooth_labels
from .losses import LOSSES as LOSSES, Loss as Loss
from .step import (
    gradient_step as gradient_step,
    predicted_change as predicted_change,
    predicted_loss_change as predicted_loss_change,
)
