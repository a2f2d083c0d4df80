"""Learning at infinite width: the frozen tangent kernel decides all, PDLT chapter 10."""

from .predict import predict as predict
from .targets import smooth_labels as smooth_labels
