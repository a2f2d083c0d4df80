"""Infinite width: the layer as a map on kernel and tangent kernel, and its iteration."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .kernel_map import kernel as kernel
    from .tangent_map import frozen_ntk as frozen_ntk

_NAMES = {
    ".kernel_map": "kernel",
    ".tangent_map": "frozen_ntk",
}
__all__ = _offered(__name__, _NAMES)
