"""What gradients and attention look like before training."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array, diagonal
from ..._errors import DomainError
from ..._validation import as_count, as_covariance, as_number
from .model import LanguageModel, check_tokens
from .training import next_token_loss


@eqx.filter_jit
def _gradient(model: LanguageModel, tokens: Int[Array, "B m"]) -> LanguageModel:
    return eqx.filter_grad(lambda m: next_token_loss(m, tokens)[0])(model)


def gradient_norms(model: LanguageModel, tokens: Int[Array, "B m"]) -> dict[str, Float[np.ndarray, " depth"]]:
    """The Frobenius norm of the loss's gradient in each layer's values, queries and keys (Shaped Transformer Fig. 2)."""
    check_tokens(tokens, model.vocabulary, dimensions=2, longest=model.length + 1)
    gradient = _gradient(model, jnp.asarray(tokens)).blocks
    matrices = {"value": gradient.value, "query": gradient.query, "key": gradient.key}
    return {name: np.asarray(jnp.linalg.norm(matrix, axis=(1, 2))) for name, matrix in matrices.items()}


def entropy_at_initialisation(V: Float[Array, "m m"], width: int, tau0: float = 1.0) -> Float[Array, " m"]:
    r"""Mean entropy of each row of a shaped attention at initialisation, without mask:
    $E H_\alpha = \log m - V^{\alpha\alpha}(\bar V - V^{\bar x\bar x})/(2\tau_0^2n) + O(n^{-2})$, with $\bar V$ the mean of the diagonal of
    the token covariance $V$ and $V^{\bar x\bar x}$ the mean of all its entries: nearly uniform."""
    V, width = as_covariance(V, "V"), as_count(width, "width")
    if as_number(tau0, "tau0") <= 0:
        raise DomainError("tau0", tau0, "a positive number")
    deficit = diagonal(V) * (jnp.mean(diagonal(V)) - jnp.mean(V))
    return jnp.log(len(V)) - deficit / (2 * tau0**2 * width)
