"""One network that learns, on weights of any kind; its first and last matrices are stored, since inputs and outputs are few."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ...activations import Activation
from ...networks import MLP
from .matrices import DenseMatrix, LazyMatrix, LearningMatrix

MatrixKind = Callable[[np.random.Generator, tuple[int, int], float], LearningMatrix]


class Passed(NamedTuple):
    """What a forward pass leaves behind."""

    outputs: Float[np.ndarray, "N n_L"]
    questions: list[Float[Array, "N _"]]
    """What every matrix was asked, in its own terms."""
    slopes: list[Float[Array, "N _"]]
    r"""$\sigma'^{(\ell)}$ of the hidden layers."""


class LearningNetwork:
    """One draw of a network's parameters, on which gradient descent works step by step."""

    def __init__(self, net: MLP, random: np.random.Generator, hidden: MatrixKind = LazyMatrix):
        self.net = net
        shapes = [(n_out, n_in) for n_in, n_out in itertools.pairwise(net.widths)]
        self.biases = [
            math.sqrt(C) * random.standard_normal(n_out) for C, (n_out, _) in zip(net.C_b, shapes, strict=True)
        ]
        self.weights: list[LearningMatrix] = []
        for layer, ((n_out, n_in), C, key) in enumerate(zip(shapes, net.C_W, random.spawn(net.depth), strict=True), 1):
            kind = hidden if 1 < layer < net.depth else DenseMatrix
            self.weights.append(kind(key, (n_out, n_in), float(C) / n_in))

    def forward(self, x: Float[Array, "N n_0"]) -> Passed:
        r"""$z^{(\ell)} = b^{(\ell)} + W^{(\ell)}\sigma^{(\ell-1)}$, PDLT (2.5)."""
        signal, questions, slopes = x, [], []
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            answers, question = weights.times(signal)
            signal, slope = _signal_and_slope(answers, bias, self.net.activation)
            questions.append(question)
            slopes.append(slope)
        answers, question = self.weights[-1].times(signal)
        return Passed(np.asarray(answers) + self.biases[-1], [*questions, question], slopes)

    def descend(
        self, passed: Passed, error: Float[np.ndarray, "B n_L"], rate: float, batch: Int[np.ndarray, " B"]
    ) -> None:
        r"""One step on the samples `batch` of a forward pass, whose `error` is $\partial\mathcal L/\partial z^{(L)}$:

        $$b \leftarrow b - \eta\lambda_b\sum_\alpha\delta_\alpha,\qquad
          W \leftarrow W - \frac{\eta\lambda_W}{n_{\ell-1}}\sum_\alpha\delta_\alpha\sigma_\alpha^{\mathsf T}\ \text{PDLT (8.6)},\qquad
          \delta^{(\ell-1)} = \sigma'^{(\ell-1)}\,W^{(\ell)\mathsf T}\delta^{(\ell)}\ \text{PDLT (8.18)}.$$
        """
        delta: Any = error
        for layer in reversed(range(self.net.depth)):
            weights = self.weights[layer]
            pulled, asked = weights.transpose_times(delta) if layer > 0 else (None, delta)
            at_weights = rate * float(self.net.lambda_W[layer]) / self.net.widths[layer]
            weights.descend(at_weights, asked, passed.questions[layer][batch])
            self.biases[layer] = self.biases[layer] - rate * float(self.net.lambda_b[layer]) * np.sum(delta, axis=0)
            if pulled is not None:
                delta = _through(passed.slopes[layer - 1], batch, pulled)

    def tangent_kernel(
        self, x: Float[Array, "N n_0"]
    ) -> tuple[Float[np.ndarray, "N n_L"], Float[np.ndarray, "n_L n_L N N"]]:
        r"""Outputs and tangent kernel, PDLT (8.5), by the backward equation PDLT (8.16)-(8.18); what it asks is remembered."""
        signals, slopes = [np.asarray(x)], []
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal, slope = _signal_and_slope(weights.times(signals[-1])[0], bias, self.net.activation)
            signals.append(np.asarray(signal))
            slopes.append(np.asarray(slope))
        outputs = np.asarray(self.weights[-1].times(signals[-1])[0]) + self.biases[-1]
        samples, n = outputs.shape
        delta = np.repeat(np.eye(n), samples, axis=0)  # one output of one sample a row
        kernel = np.zeros((n, n, samples, samples))
        for layer in reversed(range(self.net.depth)):
            gram = signals[layer] @ signals[layer].T / signals[layer].shape[1]
            by_output = delta.reshape(n, samples, -1)
            own = float(self.net.lambda_b[layer]) + float(self.net.lambda_W[layer]) * gram
            kernel += own * np.einsum("ian,kbn->ikab", by_output, by_output, optimize=True)
            if layer > 0:
                pulled = np.asarray(self.weights[layer].transpose_times(delta)[0]).reshape(n, samples, -1)
                delta = (pulled * slopes[layer - 1]).reshape(n * samples, -1)
        return outputs, kernel

    @property
    def lazy_weights(self) -> list[LazyMatrix]:
        """Those matrices that are not stored."""
        return [weights for weights in self.weights if isinstance(weights, LazyMatrix)]


@partial(jax.jit, static_argnames="activation")
def _signal_and_slope(
    answers: Float[Array, "N n"], bias: Float[Array, " n"], activation: Activation
) -> tuple[Float[Array, "N n"], Float[Array, "N n"]]:
    return activation(answers + bias), activation.derivative(1)(answers + bias)


@jax.jit
def _through(slopes: Float[Array, "N n"], batch: Int[Array, " B"], pulled: Float[Array, "B n"]) -> Float[Array, "B n"]:
    return slopes[batch] * pulled
