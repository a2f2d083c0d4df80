"""Critical initialisation of a network, with learning rates to go with it."""

import numpy as np

from .._entry import entry
from .._errors import NotTunableError
from ..critical.classes.classify import criticality
from ..critical.classes.renormalised import renormalised_C_W
from ..networks import MLP, as_mlp
from .equivalence import rates_of_class


@entry()
def tune(net: MLP, renormalised: bool = False) -> MLP:
    r"""The same network at its critical initialisation, PDLT (5.67), (5.71)-(5.72), (5.90), with learning rates at which
    every layer learns alike, PDLT (9.94)-(9.96).

    Every layer gets the critical $(C_b, C_W)$ of the activation, whatever it had:

    - scale-invariant: $(0, 1/A_2)$, any kernel;
    - $K^\star = 0$: $(0, 1/\sigma_1^2)$;
    - half-stable (GELU, SWISH): the point at finite $K^\star$. There the first layer should start at $K^\star$:
      normalise inputs to $|x|^2/n_0 = (K^\star-C_b)/C_W$, with $K^\star$ = `criticality(net.activation).point.K_star`.
      Soft shrinkage and shifted ReLUs have a whole line of such points, of which `criticality` says which one it takes.

    Its `lambda_b` and `lambda_W` are those of `equivalence_rates`; `learning_rates` translates them for an optimiser.

    `NotTunableError`, with the reason, when the activation has no critical point or only one that repels.

    **Arguments:**

    - `net`: any MLP.
    - `renormalised`: correct $C_W$ of each layer after the first for the width of the layer before it,
      $C_W(1+\frac2{3n})$ in the $K^\star = 0$ class, PDLT (5.142).

    Examples:
        >>> net = fw.tune(fw.MLP("relu", (2, 8, 8, 1)))
        >>> net.C_W.tolist()
        [2.0, 2.0, 2.0]
    """
    verdict = criticality(as_mlp(net).activation)
    if verdict.point is None:
        raise NotTunableError(verdict.activation, verdict.reason)
    C_W = np.full(net.depth, verdict.point.C_W)
    if renormalised:
        C_W[1:] = [renormalised_C_W(net.activation, width) for width in net.hidden_widths]
    lambda_b, lambda_W = rates_of_class(net, verdict)
    return net.replace(C_b=verdict.point.C_b, C_W=C_W, lambda_b=lambda_b, lambda_W=lambda_W)
