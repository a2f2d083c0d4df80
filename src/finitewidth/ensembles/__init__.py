"""Ensembles of real networks: sampled exactly, measured with standard errors."""

from .gaussian_matrix import DenseGaussian as DenseGaussian, LazyGaussian as LazyGaussian
from .measured import MeasuredFlow as MeasuredFlow, Measurement as Measurement
from .simulation import simulate as simulate
