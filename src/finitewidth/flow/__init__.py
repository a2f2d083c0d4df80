"""The 1/n expansion: kernels, vertices and metrics layer by layer."""

from .flow import flow as flow
from .result import Flow as Flow
