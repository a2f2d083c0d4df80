r"""The kernel Markov chain in populations, which go where covariances come from.

In deep and narrow networks a few metrics, far larger than the mean, decide the covariance, and an ensemble may not contain a
single one of them. Here networks with large metrics are drawn more often, by a factor that is known. With the importance
$\varphi_\ell(\widehat G) = 1 + (\operatorname{tr}\widehat G/\operatorname{tr}K^{(\ell)})^2$, which grows as a covariance does, a
population $a = 1..S$ makes the steps of the chain, $\widehat G_a \to \widehat G'_a$, and after each of them $S$ of its members are
chosen, with replacement, in proportion to $p_a = \varphi_{\ell+1}(\widehat G'_a)/\varphi_\ell(\widehat G_a)$. With
$Z_{\ell+1} = Z_\ell\,\frac1S\sum_ap_a$ and $Z_1 = \varphi_1$, for every function

$$E[f(\widehat G^{(\ell+1)})] = E\Big[\frac{Z_\ell}S\sum_a\frac{f(\widehat G'_a)}{\varphi_\ell(\widehat G_a)}\Big]$$

exactly (Del Moral, *Feynman-Kac Formulae*, 2004, section 3.3). Where the metric hardly fluctuates nothing is gained or lost.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from ..activations import Activation
from ..kernels.pairs import pair_index
from ..networks import MLP, Layer
from .chain import first_blocks, next_metric
from .neurons import rows_per_block


class Estimate(eqx.Module):
    r"""What one population says of layers 2..L, without bias: $E[d_i]$ and $E[d_id_j]$, with $d = \widehat G - K$ on pairs."""

    d: Float[Array, "*each P"]
    dd: Float[Array, "*each P P"]


class Population(eqx.Module):
    """A law of populations of `size` networks. Widths are values here, as in `ChainSampler`."""

    activation: Activation = eqx.field(static=True)
    block: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    hidden_widths: Int[Array, " later"]
    layers: Layer
    kernels: Float[Array, "L N N"]

    def __init__(self, net: MLP, kernels: Float[Array, "L N N"], size: int):
        self.activation = net.activation
        self.block = rows_per_block(net.hidden_widths)
        self.size = size
        self.hidden_widths = jnp.asarray(net.hidden_widths, dtype=int)
        self.layers = net.layers[1:]
        self.kernels = kernels

    def __call__(self, key: Key[Array, ""]) -> Estimate:
        """One population, from the first-layer kernel."""
        pairs = pair_index(self.kernels.shape[-1])
        neuron_key, choice_key = jax.random.split(key)
        keys = jax.vmap(lambda member: fold_in(neuron_key, member))(jnp.arange(self.size))
        blocks = first_blocks(self.hidden_widths, self.block)
        start = jnp.broadcast_to(self.kernels[0], (self.size, *self.kernels.shape[1:]))
        importance = jnp.full(self.size, 2.0)  # of the first kernel, which is everybody's
        xs = (self.hidden_widths, blocks, self.layers), self.kernels[1:], jnp.arange(len(blocks))

        def step(carry: tuple[Array, Array, Array], xs: tuple[tuple[Array, Array, Layer], Array, Array]):
            metrics, importance, Z = carry
            (width, block, layer), kernel, number = xs
            metrics = jax.vmap(
                lambda key, metric: next_metric(key, metric, self.activation, width, block, layer, self.block)
            )(keys, metrics)
            d = pairs.pack(metrics - kernel)
            weights = Z / (importance * self.size)
            found = Estimate(weights @ d, (d * weights[:, None]).T @ d)
            grown = _importance(metrics, kernel)
            p = grown / importance
            chosen = _choose(fold_in(choice_key, number), p)
            return (metrics[chosen], grown[chosen], Z * jnp.mean(p)), found

        return lax.scan(step, (start, importance, jnp.asarray(2.0)), xs)[1]


def _importance(metrics: Float[Array, "S N N"], kernel: Float[Array, "N N"]) -> Float[Array, " S"]:
    size = jnp.trace(kernel)
    return 1 + (jnp.trace(metrics, axis1=1, axis2=2) / jnp.where(size > 0, size, 1)) ** 2


def _choose(key: Key[Array, ""], p: Float[Array, " S"]) -> Int[Array, " S"]:
    """Members, each as often as its share of `p` says, up to rounding at random (systematic resampling)."""
    steps = (jnp.arange(len(p)) + jax.random.uniform(key, dtype=p.dtype)) / len(p)
    shares = jnp.cumsum(p)
    return jnp.minimum(jnp.searchsorted(shares / shares[-1], steps), len(p) - 1)
