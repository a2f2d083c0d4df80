"""Ensembles of real networks: sampled exactly, measured with standard errors."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .gaussian_matrix import DenseGaussian as DenseGaussian, LazyGaussian as LazyGaussian
    from .metric_samples import metric_samples as metric_samples
    from .ntk_samples import ntk_samples as ntk_samples
    from .simulate import simulate as simulate
    from .typical import typical_networks as typical_networks

_NAMES = {
    ".gaussian_matrix": "DenseGaussian LazyGaussian",
    ".metric_samples": "metric_samples",
    ".ntk_samples": "ntk_samples",
    ".simulate": "simulate",
    ".typical": "typical_networks",
}
__all__ = _offered(__name__, _NAMES)
