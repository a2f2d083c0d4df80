"""A mean metric to first order that is no covariance is said, with the width from which on it is one."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import ValidityWarning
from finitewidth.expansion.positive import why_no_covariance

STEP = fw.Activation(lambda z: jnp.where(z > 0.3, 1.0, 0.0), (0.3,), name="step")


def said(width, distance, activation=STEP):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = fw.MLP(activation, (2, width, width, 1), C_W=2.0)
        theory = fw.flow(net, np.array([[1.0, 0.5], [1.0, 0.5 + distance]]))
    return [str(each.message) for each in caught if issubclass(each.category, ValidityWarning)], theory


def test_close_inputs_of_a_jump():
    """Two inputs 1e-5 apart at width 50: no correlation is 2."""
    words, theory = said(50, 1e-5)
    G = np.asarray(theory.G[-1])
    correlation = G[0, 1] / np.sqrt(G[0, 0] * G[1, 1])
    assert correlation > 2
    (sentence,) = words
    assert (
        f"K + G1/n of layer 3 is not positive semi-definite: inputs 0 and 1 would have a correlation of {correlation:.8g}"
        in sentence
    )
    assert "merge inputs that lie close together" in sentence
    assert said(50, 1e-5, "relu")[0] == []


def test_the_width_from_which_on_it_is_positive():
    """Its number is right on both sides: the determinant changes its sign there."""
    (sentence,) = said(40, 0.01)[0]
    factor = float(sentence.split("or more than ")[1].split(" times the width")[0].replace(",", ""))
    assert 1 < factor < 100
    assert len(said(int(0.99 * 40 * factor), 0.01)[0]) == 1
    assert said(int(1.01 * 40 * factor) + 1, 0.01)[0] == []


@pytest.mark.parametrize(
    ("G", "words"),
    [
        ([[-0.1, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "the mean square of input 0 would be -0.1 times"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, -1.1], [0.0, -1.1, 1.0]], "inputs 1 and 2 would have a correlation of -1.1,"),
        ([[1.0, -0.6, -0.6], [-0.6, 1.0, -0.6], [-0.6, -0.6, 1.0]], "an eigenvalue would be -0.2 times"),
        ([[1.0, 1 + 9e-8, 0.0], [1 + 9e-8, 1.0, 0.0], [0.0, 0.0, 1.0]], None),
        (
            [[1.0, 1 + 2e-7, 0.0], [1 + 2e-7, 1.0, 0.0], [0.0, 0.0, 1.0]],
            "inputs 0 and 1 would have a correlation of 1.0000002,",
        ),
    ],
)
def test_the_plainest_sign(G, words):
    """Scales of inputs do not matter; a factor of the width is given, from eigenvalues worked out by hand."""
    K, sizes = np.eye(3), np.array([1.0, 10.0, 0.1])
    scale = np.outer(sizes, sizes)
    found = why_no_covariance((K * scale)[None], (np.array(G) * scale)[None])
    assert (found is None) if words is None else (found is not None and words in found)
    if words is not None and "-1.1" in words:
        assert found is not None
        assert "or more than 1.1 times the width" in found


def test_a_singular_kernel_names_no_width():
    K, G = np.ones((1, 2, 2)), np.array([[[1.0, 1.1], [1.1, 1.0]]])
    found = why_no_covariance(K, G)
    assert found is not None
    assert "times the width" not in found
