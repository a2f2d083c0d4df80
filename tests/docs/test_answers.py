"""Answers of the page of questions that can be put to the test."""

import re
from pathlib import Path

import jax
import pytest

import finitewidth as fw

QUESTIONS = (Path(__file__).resolve().parents[2] / "docs" / "faq.md").read_text("utf-8")
X = [[1.0, 0.5], [0.3, -1.0]]
NET = fw.MLP("tanh", (2, 8, 1), C_b=0.1)

BY_WEIGHTS = {
    "kernel": lambda C_W: fw.kernel(NET.replace(C_W=C_W), X).sum(),
    "frozen_ntk": lambda C_W: fw.frozen_ntk(NET.replace(C_W=C_W), X).sum(),
    "susceptibilities": lambda C_W: fw.susceptibilities("tanh", [0.5], C_W=C_W).chi_perp.sum(),
}


def test_the_answer_names_what_can_be_differentiated():
    (answer,) = re.findall(r"\*\*Can I differentiate through it\?\*\*(.*?)\n\n", QUESTIONS, re.DOTALL)
    assert set(re.findall(r"`fw\.(\w+)`", answer)) == {*BY_WEIGHTS, "flow"}  # see tests/expansion/test_flow.py


@pytest.mark.parametrize("verb", BY_WEIGHTS)
def test_what_can_be_differentiated(verb):
    """Against a difference; kernels under `jit`, which is as much as a test of a page may cost."""
    function, step = BY_WEIGHTS[verb], 1e-4
    slope = (float(function(1.5 + step)) - float(function(1.5 - step))) / (2 * step)
    gradient = jax.grad(function)
    assert float((jax.jit(gradient) if verb == "kernel" else gradient)(1.5)) == pytest.approx(slope, rel=1e-6)


def test_a_function_of_ones_own_is_called_as_it_is():
    """In its own precision: numbers of 32 bits give a kernel of 32 bits."""
    weights = jax.numpy.ones((2, 3), "float32")
    found = fw.empirical_ntk(lambda W, x: jax.numpy.tanh(x @ W), weights, jax.numpy.asarray(X, "float32"))
    assert found.dtype == "float32"
