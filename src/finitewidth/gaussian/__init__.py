"""Expectations under Gaussians and nearly-Gaussian laws."""
