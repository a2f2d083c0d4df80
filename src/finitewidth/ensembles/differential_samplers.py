r"""Differentials of the tangent kernel of one network, seen through rows of weights that read its last hidden layer.

Outputs are rows $w$ of weights, $z = w\cdot\sigma$, themselves learning. With $a \ne b$ drawn as weights are, and the network's own signals
$\sigma_{\cdot;3}$ as a further row $s_3$, averages over the last layer give at any width, exactly,

$$P_{0123} = C_W\,E[\widehat{dH}_{s_3aa;012}],\qquad Q_{0123} = C_W\,E[\widehat{dH}_{aas_3;012}]\quad\text{PDLT (11.43), (11.44)},$$

$$R_{0123} = n\,E[\widehat{dd_IH}_{aabb;0123}],\quad S_{1234} = n\,E[\widehat{dd_{II}H}_{aabb;1234}],\quad
  T_{1342} = n\,E[\widehat{dd_{II}H}_{abab;1234}],\quad U_{1423} = n\,E[\widehat{dd_{II}H}_{abba;1234}],$$

PDLT (∞.11), (∞.12): $\widehat{dH}$ is linear in the row that the preactivation shares with it, and $E[w_jw_k] = \delta_{jk}C_W/n$ puts the
signals in its place. Derivatives are automatic, along $\lambda\nabla z$ only.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Key

from .._arrays import Array
from .._errors import DomainError
from ..activations import Activation
from ..kernels.differentials import check_has_second_differential
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, Layer
from .forward_backward import draw, through_layers
from .gaussian_matrix import DenseGaussian
from .normals import standard_normals
from .samplers import Sample, Sampler
from .tangent_samplers import DenseTangentSampler

Tensor = Float[Array, "N N N N"]


class Readings(eqx.Module):
    """The parameters of one network: those of its hidden layers, stacked stage by stage, and the rows that read the last of them."""

    weights: tuple[Float[Array, "_ _ _"], ...]
    biases: tuple[Float[Array, "_ _"], ...]
    rows: Float[Array, "m n"]


class DenseDifferentialSampler(Sampler):
    """Everything that the tangent sampler measures, and the differentials of the last layer."""

    tangent: DenseTangentSampler
    last: Layer
    to_second: bool = eqx.field(static=True)

    def __init__(self, net: MLP, x: Float[Array, "N n_0"], to_second: bool):
        self.tangent = DenseTangentSampler(net, x)
        self.last = net.layers[-1]
        self.to_second = to_second

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """The same network as the tangent sampler's, read by two rows of weights."""
        trunk, x = self.tangent.trunk, self.tangent.x
        hidden_key, row_key = jax.random.split(key)
        network = draw(trunk, hidden_key, DenseGaussian)
        entries = tuple(stage.weights.entries for stage in network.stages)  # type: ignore[attr-defined]  # drawn so
        hidden = Readings(entries, tuple(stage.biases for stage in network.stages), jnp.zeros((0, trunk.widths[-1])))
        signals = _signals(trunk.activation, hidden, x)
        drawn = standard_normals(row_key, (2, trunk.widths[-1]), x.dtype)
        rows = jnp.concatenate([jnp.sqrt(self.last.C_W / trunk.widths[-1]) * drawn, signals])
        found = self._first(eqx.tree_at(lambda each: each.rows, hidden, rows))
        if self.to_second:
            found += self._second(eqx.tree_at(lambda each: each.rows, hidden, rows[:2]))
        sample = self.tangent(hidden_key)
        return Sample(sample.metrics, tangent=sample.tangent, differentials=jnp.stack(found))

    def numbers_per_network(self) -> int:
        """Weights, and as many again for each direction of a derivative."""
        samples = len(self.tangent.x)
        directions = 4 * samples**2 if self.to_second else samples * (samples + 2)
        return self.tangent.numbers_per_network() + 4 * directions * self.tangent.trunk.parameters

    def _first(self, theta: Readings) -> tuple[Tensor, Tensor]:
        """P and Q, each the mean over the two rows that were drawn."""
        along = self._directions(theta)  # axes (sample, row) in front

        def differential(one: Readings, two: Readings) -> Float[Array, "N m"]:
            return _along(lambda t: _along(self._outputs, t, one), theta, two)

        def of_row(row: int) -> tuple[Tensor, Tensor]:
            own, signals = (
                jax.tree.map(lambda each, part=part: each[:, part], along) for part in (row, slice(2, None))
            )
            by_own = jax.vmap(jax.vmap(differential, (None, 0)), (0, None))(own, own)  # (1, 2, 0, row)
            over_signals = jax.vmap(jax.vmap(differential, (None, 0)), (None, 0))  # (2, 3, 0, row)
            by_signal = jax.vmap(over_signals, (0, None))(own, signals)  # (1, 2, 3, 0, row)
            return jnp.einsum("bcad->abcd", by_own[..., 2:]), jnp.einsum("bcda->abcd", by_signal[..., row])

        (P, Q), (other_P, other_Q) = of_row(0), of_row(1)
        return self.last.C_W / 2 * (P + other_P), self.last.C_W / 2 * (Q + other_Q)

    def _second(self, theta: Readings) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """R, S, T and U, in the printed order of samples, each the mean over the two roles of the rows."""
        along = self._directions(theta)

        def third(one: Readings, two: Readings, three: Readings) -> Float[Array, "N m"]:
            return _along(lambda t: _along(lambda u: _along(self._outputs, u, one), t, two), theta, three)

        def of_first(a: int, b: int) -> Tensor:
            own, other = (jax.tree.map(lambda each, row=row: each[:, row], along) for row in (a, b))
            over_third = jax.vmap(third, (None, None, 0))
            over_second = jax.vmap(over_third, (None, 0, None))
            return jnp.einsum("bcda->abcd", jax.vmap(over_second, (0, None, None))(own, other, other)[..., a])

        gradients = jax.jacrev(self._outputs)
        over_rows = jax.vmap(lambda one: _along(gradients, theta, one))
        bent = jax.vmap(over_rows)(along)  # (slot 3, its row, slot 1, its row, parameters)
        scaled = jax.tree.map(jnp.multiply, self._rates(theta), bent)

        def of_second(one: int, two: int, three: int, four: int) -> Tensor:
            """Axes 1234, for the rows in these places."""
            products = jax.tree.map(
                lambda left, right: jnp.einsum("ca...,db...->abcd", left[:, three, :, one], right[:, four, :, two]),
                scaled,
                bent,
            )
            return sum(jax.tree.leaves(products), start=jnp.zeros(()))

        half = theta.rows.shape[1] / 2
        R = half * (of_first(0, 1) + of_first(1, 0))
        S, T, U = (
            half * (of_second(*rows) + of_second(*(1 - row for row in rows)))
            for rows in ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0))
        )
        return R, S, jnp.einsum("abcd->acdb", T), jnp.einsum("abcd->adbc", U)

    def _outputs(self, theta: Readings) -> Float[Array, "N m"]:
        return _signals(self.tangent.trunk.activation, theta, self.tangent.x) @ theta.rows.T

    def _rates(self, theta: Readings) -> Readings:
        r"""$\lambda_b$ and $\lambda_W/n$ of every parameter, PDLT (8.6), in shapes that broadcast."""
        layers, start, weights, biases = self.tangent.trunk.layers, 0, [], []
        for W in theta.weights:
            of_stage = layers[start : start + len(W)]
            start += len(W)
            weights.append(of_stage.lambda_W[:, None, None] / W.shape[-1])
            biases.append(of_stage.lambda_b[:, None])
        return Readings(tuple(weights), tuple(biases), self.last.lambda_W / theta.rows.shape[1] * jnp.ones((1, 1)))

    def _directions(self, theta: Readings) -> Readings:
        r"""$\lambda\nabla z_{w;\alpha}$, axes (sample, row) in front."""
        return jax.tree.map(jnp.multiply, self._rates(theta), jax.jacrev(self._outputs)(theta))


def check_can_be_measured(activation: Activation, samples: int, to_second: bool) -> None:
    """`DomainError` where networks cannot show what theory says."""
    (check_has_second_differential if to_second else check_has_tangent_kernel)(activation)
    if samples > 1 and activation.has_jump(1):
        got = f"{activation.name} with {samples} inputs: its slope jumps, and derivatives of networks do not see the delta functions there"
        raise DomainError(
            "activation", got, "one input, or an activation with a continuous slope, such as gelu or softplus"
        )


def _signals(activation: Activation, theta: Readings, x: Float[Array, "N n_0"]) -> Float[Array, "N n"]:
    """What leaves the last hidden layer, PDLT (2.5)."""

    def layer(signal: Array, xs: tuple[Array, Array]) -> tuple[Array, None]:
        W, b = xs
        return activation(signal @ W.T + b), None

    signal = x
    for stage in zip(theta.weights, theta.biases, strict=True):
        signal, _ = through_layers(layer, signal, stage)
    return signal


def _along(function: Any, theta: Readings, direction: Readings) -> Any:
    return jax.jvp(function, (theta,), (direction,))[1]
