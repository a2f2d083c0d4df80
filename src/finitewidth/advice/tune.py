"""Critical initialisation of a network, with learning rates to go with it."""

from typing import TypeVar

import numpy as np

from .._entry import entry
from .._errors import NotTunableError
from ..critical.classes.classify import criticality
from ..critical.classes.renormalised import renormalised_C_W
from ..critical.large_depth.residual import critical_gamma
from ..networks import LayeredNetwork, ResidualMLP, as_layered
from ..networks.residual import refuse_norm
from .equivalence import rates_of_class

Kind = TypeVar("Kind", bound=LayeredNetwork)


@entry()
def tune(net: Kind, renormalised: bool = False) -> Kind:
    r"""The same network at its critical initialisation, PDLT (5.67), (5.71)-(5.72), (5.90), with learning rates at which
    every layer learns alike, PDLT (9.94)-(9.96).

    Every layer gets the critical $(C_b, C_W)$ of the activation, whatever it had:

    - scale-invariant: $(0, 1/A_2)$, any kernel;
    - $K^\star = 0$: $(0, 1/\sigma_1^2)$;
    - half-stable (GELU, SWISH): the point at finite $K^\star$. There the first layer should start at $K^\star$:
      normalise inputs to $|x|^2/n_0 = (K^\star-C_b)/C_W$, with $K^\star$ = `criticality(net.activation).point.K_star`.
      Soft shrinkage and shifted ReLUs have a whole line of such points, of which `criticality` says which one it takes.

    Layers of a residual network that have a way around them get $(1-\gamma^2)$ times that, PDLT (B.20)-(B.21): with $\gamma^2\ge1$
    there is nothing to tune.

    Its `lambda_b` and `lambda_W` are those of `equivalence_rates`; `learning_rates` translates them for an optimiser.

    `NotTunableError`, with the reason, when the activation has no critical point or only one that repels.

    **Arguments:**

    - `net`: any MLP, or residual one.
    - `renormalised`: correct $C_W$ of each layer after the first for the width of the layer before it,
      $C_W(1+\frac2{3n})$ in the $K^\star = 0$ class, PDLT (5.142), and $C_W(1+\frac{2(1+\gamma^2)}{3n})$ with skips.

    Examples:
        >>> net = fw.tune(fw.MLP("relu", (2, 8, 8, 1)))
        >>> net.C_W.tolist()
        [2.0, 2.0, 2.0]
        >>> fw.tune(fw.ResidualMLP("relu", width=8, depth=3, gamma=0.5, outputs=1)).C_W.tolist()
        [2.0, 1.5, 2.0]
    """
    refuse_norm(
        as_layered(net),
        "net",
        "no critical point",
        "norm=None: a normalisation sets the kernel that activations see to one",
    )
    verdict = criticality(net.activation)
    if verdict.point is None:
        raise NotTunableError(verdict.activation, verdict.reason)
    C_b, C_W = np.full(net.depth, verdict.point.C_b), np.full(net.depth, verdict.point.C_W)
    if isinstance(net, ResidualMLP):
        gamma = critical_gamma(float(net.gamma))
        rest = 1 - gamma**2
        if renormalised:  # the readout, which has no skip, is read from neurons that have one
            C_W[1:] = [renormalised_C_W(net.activation, width, gamma=gamma) / rest for width in net.hidden_widths]
        C_b[net.has_skip] *= rest
        C_W[net.has_skip] *= rest
    elif renormalised:
        C_W[1:] = [renormalised_C_W(net.activation, width) for width in net.hidden_widths]
    lambda_b, lambda_W = rates_of_class(net, verdict)
    return net.replace(C_b=C_b, C_W=C_W, lambda_b=lambda_b, lambda_W=lambda_W)
