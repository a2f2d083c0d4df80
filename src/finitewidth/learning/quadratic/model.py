r"""The quadratic model in the picture of its parameters: features, meta features, and weights that fit them to targets."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._validation import as_floats, as_number
from ..kernel.train_test import as_targets

_ROUNDING = 1e-10


class QuadraticModel(Result, eqx.Module):
    r"""$z_i(x_\delta) = \sum_jW_{ij}\phi_j(x_\delta) + \frac\epsilon2\sum_{j_1j_2}W_{ij_1}W_{ij_2}\psi_{j_1j_2}(x_\delta)$,
    PDLT (11.104)-(11.105), by its features on some inputs."""

    phi: Float[Array, "N n_f"]
    r"""$\phi_j(x_\delta)$, one sample a row; put a column of ones for $\phi_0$."""
    psi: Float[Array, "N n_f n_f"]
    r"""The meta features $\psi_{j_1j_2}(x_\delta)$, symmetric."""
    epsilon: float = eqx.field(static=True)
    r"""$\epsilon$, the small parameter."""

    @entry()
    def __init__(self, phi: Any, psi: Any, epsilon: float = 1.0):
        self.phi, self.psi = np.asarray(as_floats(phi, "phi")), np.asarray(as_floats(psi, "psi"))
        self.epsilon = as_number(epsilon, "epsilon")
        if self.phi.ndim != 2 or 0 in self.phi.shape:
            raise ShapeError("phi", f"shape {self.phi.shape}", "shape (N, n_f) with one sample a row")
        wanted = (*self.phi.shape, self.phi.shape[1])
        if self.psi.shape != wanted:
            raise ShapeError("psi", f"shape {self.psi.shape}", f"shape {wanted}: a matrix for each sample")
        if np.abs(self.psi - np.swapaxes(self.psi, 1, 2)).max() > _ROUNDING * max(np.abs(self.psi).max(), 1e-300):
            raise DomainError("psi", "matrices that are not symmetric", "symmetric ones")

    def outputs(self, W: Float[Array, "n_L n_f"]) -> Float[Array, "N n_L"]:
        r"""$z_i(x_\delta)$, PDLT (11.105)."""
        return self.phi @ W.T + self.epsilon / 2 * np.einsum("ij,ik,ajk->ai", W, W, self.psi, optimize=True)

    def effective_features(self, W: Float[Array, "n_L n_f"]) -> Float[Array, "N n_L n_f"]:
        r"""$\phi^E_{ij}(x_\delta) = dz_i/dW_{ij} = \phi_j + \epsilon\sum_kW_{ik}\psi_{kj}$, which move while the weights learn,
        PDLT (11.106)-(11.108); at [sample, output, feature]."""
        return self.phi[:, None, :] + self.epsilon * np.einsum("ik,akj->aij", W, self.psi, optimize=True)

    def loss(self, W: Float[Array, "n_L n_f"], y: Float[Array, "N n_L"]) -> float:
        r"""$\frac12\sum_{i\alpha}(z_{i;\alpha}-y_{i;\alpha})^2$, PDLT (11.109)."""
        return float(np.sum((self.outputs(W) - y) ** 2)) / 2

    def gradient(self, W: Float[Array, "n_L n_f"], y: Float[Array, "N n_L"]) -> Float[Array, "n_L n_f"]:
        r"""$\sum_\alpha\phi^E_{ij;\alpha}(z_{i;\alpha}-y_{i;\alpha})$, zero where training ends, PDLT (11.110)."""
        return np.einsum("aij,ai->ij", self.effective_features(W), self.outputs(W) - y)

    @property
    def kernel(self) -> Float[Array, "N N"]:
        r"""$k_{\delta_1\delta_2} = \sum_j\phi_j(x_{\delta_1})\phi_j(x_{\delta_2})$, PDLT (11.126)."""
        return self.phi @ self.phi.T

    @property
    def meta_kernel(self) -> Float[Array, "N N N"]:
        r"""$\mu_{\delta_0\delta_1\delta_2} = \epsilon\sum\psi_{j_1j_2}(x_{\delta_0})\phi_{j_1}(x_{\delta_1})\phi_{j_2}(x_{\delta_2})$,
        PDLT (11.130)."""
        return self.epsilon * np.einsum("ajk,bj,ck->abc", self.psi, self.phi, self.phi, optimize=True)


class QuadraticFit(Result, eqx.Module):
    """What nearly-linear quadratic regression finds, to first order in the meta features."""

    W_F: Float[Array, "n_L n_f"]
    r"""The weights of least norm of the linear model, PDLT (11.115)."""
    W_I: Float[Array, "n_L n_f"]
    r"""What meta features add to them, PDLT (11.118)."""
    mean: Float[Array, "N_test n_L"]
    """The prediction on the samples that follow those of training, PDLT (11.119)."""


@entry()
def quadratic_regression(model: QuadraticModel, y_train: Any) -> QuadraticFit:
    r"""Weights $W^\star = W^F + W^I$ that fit the first samples of a quadratic model to targets, to first order in $\epsilon$:

    $$W^F_{ij} = \sum_{j_0,\tilde\alpha}y_{i;\tilde\alpha}\phi_{j_0}(x_{\tilde\alpha})M^{-1}_{j_0j}\ \text{PDLT (11.115)},\qquad
      W^I_{ij} = -\frac\epsilon2\sum W^F_{ij_1}W^F_{ij_2}\sum_{\tilde\alpha}\psi_{j_1j_2}(x_{\tilde\alpha})
      \phi_{j_3}(x_{\tilde\alpha})M^{-1}_{j_3j}
      \ \text{PDLT (11.118)},$$

    with $M = \sum_{\tilde\alpha}\phi\phi$, PDLT (11.113), or its pseudo-inverse where features outnumber samples. The prediction
    $W^F\phi + W^I\phi + \frac\epsilon2W^FW^F\psi$, PDLT (11.119), is that of `nearly_kernel` with `"direct"`.

    **Arguments:**

    - `model`: its features on training samples, then on test samples.
    - `y_train`: targets (N_train, n_L).

    Examples:
        >>> model = fw.learning.QuadraticModel([[1.0, 0.0], [1.0, 1.0]], np.zeros((2, 2, 2)))
        >>> fw.learning.quadratic_regression(model, [2.0]).mean.tolist()
        [[2.0]]
    """
    y = as_targets(y_train)
    if len(y) >= len(model.phi):
        raise ShapeError("y_train", f"{len(y)} samples", f"fewer than the model's {len(model.phi)}: some are for test")
    phi, psi, test = model.phi[: len(y)], model.psi[: len(y)], slice(len(y), None)
    inverse = np.linalg.pinv(phi).T  # sum over features of phi M^-1, one row a sample
    W_F = y.T @ inverse
    bent = model.epsilon / 2 * np.einsum("ij,ik,ajk->ia", W_F, W_F, psi, optimize=True)
    W_I = -bent @ inverse
    ahead = QuadraticModel(model.phi[test], model.psi[test], model.epsilon)
    return QuadraticFit(W_F, W_I, ahead.outputs(W_F) + ahead.phi @ W_I.T)
