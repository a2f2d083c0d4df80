r"""The posterior by the action of all outputs, as the book has it: for comparison with the expanded form, which `bayes` uses.

$$p(z_D) \propto \exp\big[-\tfrac12g^{\delta_1\delta_2}z_{j;\delta_1}z_{j;\delta_2}
  + \tfrac18v^{(\delta_1\delta_2)(\delta_3\delta_4)}z_{j;\delta_1}z_{j;\delta_2}z_{k;\delta_3}z_{k;\delta_4}\big]\quad\text{PDLT (6.79)}$$

Both agree to order $1/n$. This one keeps some terms of order $1/n^2$ and drops others, and what it keeps is large.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError
from ...expansion import flow, quartic_coupling, running_metric
from ...networks import MLP, as_mlp
from ..positive_solve import positive_solve
from ..samples import as_samples
from .data import as_data
from .evidence import REMEDY


@entry(remedy="use wider networks, or `bayes`")
def action_form(
    net: MLP, x_train: Any, y_train: Any, x_test: Any
) -> tuple[Float[np.ndarray, "B n_L"], Float[np.ndarray, "B B n_L n_L"]]:
    r"""Mean and covariance of outputs on `x_test` given targets on `x_train`, without noise, PDLT (6.81)-(6.89):

    $$E[z_{i;\beta}] = m_{i;\beta} + \tfrac12\mathbb G_{\beta\beta_1}\sum_kv^{(\beta_1\delta_1)(\delta_2\delta_3)}
      \Phi_{i;\delta_1}\Phi_{k;\delta_2}\Phi_{k;\delta_3}
      + \tfrac12\big(n_L\mathbb G_{\beta_1\beta_2}\mathbb G_{\beta\beta_3} + 2\mathbb G_{\beta\beta_1}\mathbb G_{\beta_2\beta_3}\big)
      v^{(\beta_1\beta_2)(\beta_3\delta_1)}\Phi_{i;\delta_1}\quad\text{PDLT (6.88)}$$

    with $m_{i;\beta} = g_{\beta a}\tilde g^{ab}y_{i;b}$, PDLT (6.81), $\mathbb G$ its covariance, PDLT (6.82), and
    $\Phi_{i;\delta} = (y_{i;a}, m_{i;\beta})$, PDLT (6.83). Training and test samples must all be different. The covariance, at
    [b1, b2, i, j], has the same contractions, PDLT (6.84)-(6.87).

    Examples:
        >>> net = fw.MLP("relu", (2, 512, 512, 1), C_W=2.0)
        >>> mean, covariance = fw.learning.action_form(net, [[1.0, 0.5]], [[1.0]], [[0.3, -1.0]])
        >>> mean.shape, covariance.shape
        ((1, 1), (1, 1, 1, 1))
    """
    x, y = as_data(as_mlp(net), x_train, y_train, 0.0)
    together = np.concatenate([x, as_samples(net, x_test, "x_test")])
    theory = flow(net, together)
    K, v, g1 = (np.asarray(each) for each in (theory.K[-1], theory.v[-1], theory.g1[-1]))
    A, outputs = y.shape
    g, raised = np.asarray(running_metric(K, v, g1, outputs)), np.asarray(quartic_coupling(K, v))
    if np.linalg.eigvalsh(g)[0] <= 0:
        got = f"hidden widths {net.hidden_widths}, for which the action's Gaussian part does not exist"
        raise DomainError("net", got, "wider layers, or `bayes`, whose expansion needs no action")
    R = positive_solve(g[:A, :A], "x_train", REMEDY).solve(g[:A, A:]).T
    m = R @ y
    naive = g[A:, A:] - R @ g[:A, A:]
    phi = np.concatenate([y, m])
    squares = phi @ phi.T
    # One leg on a test sample beside one, two or three others: each is contracted with what stands there.
    through = np.einsum("bdef,ef->bd", raised[A:], squares) / 2
    closed = outputs / 2 * np.einsum("bcde,bc->de", raised[A:, A:], naive)[A:]
    crossed = np.einsum("bcde,cd->be", raised[A:, A:, A:], naive)
    mean = m + naive @ ((through + closed + crossed) @ phi)
    own = through[:, A:] + closed[:, A:] + crossed[:, A:]
    shared = np.einsum("bdce,di,ej->bcij", raised[A:, :, A:], phi, phi)
    wiring = np.einsum("xb,yc,bcij->xyij", naive, naive, shared)
    return mean, (naive + naive @ own @ naive)[:, :, None, None] * np.eye(outputs) + wiring
