"""Expectations under Gaussians and nearly-Gaussian laws."""

from .expectation import gaussian_expectation as gaussian_expectation
from .function import Function as Function
