"""`simulate`: one name for networks of every description."""

from typing import Any, overload

from .._errors import ArgumentError
from ..networks import MLP
from ..networks.shaped import CovarianceLaw, ShapedBlock
from .measured import MeasuredFlow
from .shaped import FiniteBlock, simulate_block
from .simulation import simulate_mlp


@overload
def simulate(net: MLP, *args: Any, **settings: Any) -> MeasuredFlow: ...
@overload
def simulate(net: ShapedBlock | FiniteBlock, *args: Any, **settings: Any) -> CovarianceLaw: ...
def simulate(net: MLP | ShapedBlock | FiniteBlock, *args: Any, **settings: Any) -> MeasuredFlow | CovarianceLaw:
    """Real networks, many of them, and what they show.

    - `simulate(net, x, networks=10_000, seed=0, method=None, through="vertex", ...)` for an `MLP`: the fields of `flow`, each
      with `.mean` and `.standard_error`; see [`simulate_mlp`][finitewidth.ensembles.simulation.simulate_mlp].
    - `simulate(block, V0, width, depth, networks=4096, seed=0, method="chain", ...)` for a block of a network as deep as wide: the
      fields of `covariance_sde`; see [`simulate_block`][finitewidth.ensembles.shaped.simulation.simulate_block].
    """
    if isinstance(net, MLP):
        return simulate_mlp(net, *args, **settings)
    if isinstance(net, ShapedBlock | FiniteBlock):
        return simulate_block(net, *args, **settings)
    raise ArgumentError("net", type(net).__name__, "an MLP or a block such as ShapedAttention")
