"""`simulate`: one name for networks of every description."""

from typing import Any, overload

from .._errors import ArgumentError
from ..networks import MLP
from ..networks.shaped import CovarianceLaw, ShapedBlock
from .measured import MeasuredFlow
from .shaped import FiniteBlock, simulate_block
from .simulation import simulate_mlp


@overload
def simulate(network: MLP, *args: Any, **settings: Any) -> MeasuredFlow: ...
@overload
def simulate(network: ShapedBlock | FiniteBlock, *args: Any, **settings: Any) -> CovarianceLaw: ...
def simulate(network: MLP | ShapedBlock | FiniteBlock, *args: Any, **settings: Any) -> MeasuredFlow | CovarianceLaw:
    """Real networks, many of them, and what they show.

    - `simulate(net, x, networks=10_000, seed=0, method=None, through="vertex", ...)` for an `MLP`: the fields of `flow`, each
      with `.mean` and `.standard_error`; see [`simulate_mlp`][finitewidth.ensembles.simulation.simulate_mlp].
    - `simulate(block, V0, width, depth, networks=4096, seed=0, method="chain", ...)` for a block of a network as deep as wide: the
      fields of `covariance_sde`; see [`simulate_block`][finitewidth.ensembles.shaped.simulation.simulate_block].
    """
    if isinstance(network, MLP):
        return simulate_mlp(network, *args, **settings)
    if isinstance(network, ShapedBlock | FiniteBlock):
        return simulate_block(network, *args, **settings)
    raise ArgumentError("network", type(network).__name__, "an MLP or a block such as ShapedAttention")
