"""Learning: what training does to a network and its kernels."""

from .losses import LOSSES as LOSSES, Loss as Loss
from .step import (
    gradient_step as gradient_step,
    predicted_change as predicted_change,
    predicted_loss_change as predicted_loss_change,
)
