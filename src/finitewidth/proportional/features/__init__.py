"""Backward kernels and feature learning in the proportional limit."""
