"""Information: entropies, and what neurons and samples tell of one another (PDLT appendix A)."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .aspect_ratio import AspectRatio as AspectRatio, aspect_ratio as aspect_ratio, optimal_ratio as optimal_ratio
    from .by_layer import information as information
    from .discrete import (
        cross_entropy as cross_entropy,
        divergence as divergence,
        entropy as entropy,
        mutual_information as mutual_information,
        tripartite_information as tripartite_information,
    )
    from .gaussian import gaussian_entropy as gaussian_entropy, sample_information as sample_information
    from .nearly_gaussian import (
        action_couplings as action_couplings,
        neuron_entropy as neuron_entropy,
        neuron_information as neuron_information,
        neuron_tripartite as neuron_tripartite,
    )
    from .orders import Information as Information, Orders as Orders

_NAMES = {
    ".aspect_ratio": "AspectRatio aspect_ratio optimal_ratio",
    ".by_layer": "information",
    ".discrete": "cross_entropy divergence entropy mutual_information tripartite_information",
    ".gaussian": "gaussian_entropy sample_information",
    ".nearly_gaussian": "action_couplings neuron_entropy neuron_information neuron_tripartite",
    ".orders": "Information Orders",
}
__all__ = _offered(__name__, _NAMES)
