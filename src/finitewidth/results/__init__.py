"""What theory and measurement both return."""

from .covariance_law import CovarianceLaw as CovarianceLaw, PathStatus as PathStatus
from .flow import Ensemble as Ensemble, Flow as Flow, as_flow as as_flow
from .groups import Metric as Metric, NextOrder as NextOrder, Tangent as Tangent
from .measurement import Measurement as Measurement
from .typical import TypicalNetworks as TypicalNetworks
