"""Two inputs: nearby ones to second order in their difference, and any angle for scale-invariant activations."""
