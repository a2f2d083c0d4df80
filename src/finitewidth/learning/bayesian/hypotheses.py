r"""A network as a hypothesis: the prior of its parameters, the likelihood of targets given outputs, and the objectives they make.

Losses are negative log-likelihoods, PDLT (6.15)-(6.16), up to constants that outputs do not feel; regularisation is a prior.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._validation import as_floats, as_number, as_numbers
from ...networks import MLP, as_mlp
from ...realised.parameters import Parameters, apply, as_parameters


@entry()
def log_prior(net: MLP, params: Parameters) -> Float[Array, ""]:
    r"""$\log p(\theta)$ of independent Gaussian biases and weights, PDLT (6.6): variances $C_b^{(\ell)}$ and
    $C_W^{(\ell)}/n_{\ell-1}$. `draw_parameters` draws from it.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 1), C_b=1.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.learning.log_prior(net, params).shape
        ()
    """
    theta = as_parameters(as_mlp(net), params)
    total = jnp.zeros(())
    for (weight, bias), W, b in zip(_variances(net), theta.weights, theta.biases, strict=True):
        total = total + _gaussian(W, weight) + _gaussian(b, bias)
    return total


@entry()
def prior_as_ridge(net: MLP) -> Parameters:
    r"""The coefficients $a_\mu$ of the ridge $\sum_\mu a_\mu\theta_\mu^2$ that the prior amounts to, PDLT (6.22): $1/2C_b^{(\ell)}$ for
    biases, $n_{\ell-1}/2C_W^{(\ell)}$ for weights; one number a group, which broadcasts to the group's shape.

    Examples:
        >>> fw.learning.prior_as_ridge(fw.MLP("relu", (2, 8, 1), C_b=1.0)).weights[1].tolist()
        [[4.0]]
    """
    variances = _variances(as_mlp(net))
    return Parameters(
        tuple(np.full((1, 1), 0.5 / weight) for weight, _ in variances),
        tuple(np.full(1, 0.5 / bias) for _, bias in variances),
    )


@entry()
def gaussian_log_likelihood(z: Any, y: Any, noise: float) -> Float[Array, ""]:
    r"""$\sum_{i,\alpha}\log\mathcal N(y_{i;\alpha}; z_{i;\alpha}, \sigma_\varepsilon^2)$ of targets given outputs,
    PDLT (6.10), (6.17), `noise` being $\sigma_\varepsilon^2 > 0$. (The sum over $i$ is missing in the book's (6.17).)

    Examples:
        >>> round(float(fw.learning.gaussian_log_likelihood([[0.0]], [[0.0]], 1.0)), 6)
        -0.918939
    """
    outputs, targets = _alike(z, y)
    variance = as_number(noise, "noise", low=0.0)
    if variance == 0:
        raise DomainError("noise", 0.0, "a positive variance; without noise see `agrees`")
    return _gaussian(outputs - targets, variance)


@entry()
def agrees(z: Any, y: Any) -> bool:
    r"""The deterministic hypothesis $\prod\delta(y_{i;\alpha} - z_{i;\alpha})$, PDLT (6.9): whether outputs are the targets, to rounding.
    Its density is zero or infinite, so this says which.

    Examples:
        >>> fw.learning.agrees([[1.0]], [[1.0]])
        True
    """
    outputs, targets = _alike(z, y)
    return bool(jnp.allclose(outputs, targets, rtol=1e-12, atol=1e-12))


@entry()
def categorical_log_likelihood(z: Any, labels: Any) -> Float[Array, ""]:
    r"""$\sum_\alpha\log\mathrm{softmax}(z_\alpha)_{i(\alpha)}$ of class labels given logits (N, n_L), PDLT (6.11).

    Examples:
        >>> round(float(fw.learning.categorical_log_likelihood([[0.0, 0.0]], [1])), 6)
        -0.693147
    """
    logits, classes = as_floats(z, "z"), np.asarray(as_numbers(labels, "labels"))
    if logits.ndim != 2:
        raise ShapeError("z", f"shape {logits.shape}", "logits, shape (N, n_L)")
    if classes.shape != logits.shape[:1] or classes.dtype.kind not in "iu":
        raise ShapeError("labels", f"{classes.dtype} of shape {classes.shape}", f"{len(logits)} class numbers")
    if ((classes < 0) | (classes >= logits.shape[1])).any():
        raise DomainError("labels", "a class number out of range", f"numbers from 0 to {logits.shape[1] - 1}")
    return jnp.sum(jax.nn.log_softmax(logits, axis=-1)[np.arange(len(classes)), classes])


@entry()
def maximum_likelihood_objective(net: MLP, params: Parameters, x: Any, y: Any, noise: float) -> Float[Array, ""]:
    r"""$\mathcal L_{\mathcal A}(\theta) = -\log p(y_{\mathcal A}|\theta)$, whose minimum is the maximum-likelihood estimate,
    PDLT (6.16)-(6.20).

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 1), C_b=1.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.learning.maximum_likelihood_objective(net, params, [[1.0, 0.5]], [[1.0]], noise=0.1).shape
        ()
    """
    return -gaussian_log_likelihood(apply(net, params, x)[-1], y, noise)


@entry()
def maximum_a_posteriori_objective(net: MLP, params: Parameters, x: Any, y: Any, noise: float) -> Float[Array, ""]:
    r"""$\mathcal L_{\mathcal A}(\theta) - \log p(\theta)$, whose minimum is the maximum of the posterior, PDLT (6.21)-(6.22): up to a
    constant $\mathcal L_{\mathcal A}(\theta) + \sum_\mu a_\mu\theta_\mu^2$ with the ridge of `prior_as_ridge`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 1), C_b=1.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.learning.maximum_a_posteriori_objective(net, params, [[1.0, 0.5]], [[1.0]], noise=0.1).shape
        ()
    """
    return maximum_likelihood_objective(net, params, x, y, noise) - log_prior(net, params)


def _variances(net: MLP) -> list[tuple[float, float]]:
    """Of weights and biases, layer by layer."""
    C_b, C_W = np.asarray(net.C_b), np.asarray(net.C_W)
    if (C_b == 0).any() or (C_W == 0).any():
        raise DomainError(
            "net", "C_b or C_W of zero in some layer", "positive ones: a parameter that is fixed has no density"
        )
    return [(float(C / n), float(b)) for C, b, n in zip(C_W, C_b, net.widths[:-1], strict=True)]


def _gaussian(values: Array, variance: float) -> Array:
    return -jnp.sum(values**2) / (2 * variance) - values.size / 2 * np.log(2 * np.pi * variance)


def _alike(z: Any, y: Any) -> tuple[Array, Array]:
    outputs, targets = as_floats(z, "z"), as_floats(y, "y")
    if outputs.shape != targets.shape:
        raise ShapeError("y", f"shape {targets.shape}", f"{outputs.shape}, as the outputs")
    return outputs, targets
