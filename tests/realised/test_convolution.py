"""The convolutional layer against SciPy."""

import numpy as np
import pytest
from scipy.signal import correlate2d

import finitewidth as fw


def test_forward_pass_and_parameters():
    """PDLT (2.8)."""
    random = np.random.default_rng(0)
    W, b, x = random.normal(size=(2, 3, 5, 5)), random.normal(size=2), random.normal(size=(3, 6, 7))
    expected = [b[i] + sum(correlate2d(x[j], W[i, j], mode="same") for j in range(3)) for i in range(2)]
    np.testing.assert_allclose(fw.realised.convolution(W, b, x), expected, rtol=1e-12)
    assert fw.realised.convolution_parameters(3, 2, reach=2) == W.size + b.size


@pytest.mark.parametrize(
    ("W", "b", "x", "argument"),
    [
        ((2, 3, 4, 4), (2,), (3, 6, 7), "W"),
        ((2, 3, 3, 3), (3,), (3, 6, 7), "b"),
        ((2, 3, 3, 3), (2,), (2, 6, 7), "x"),
    ],
)
def test_refusals(W, b, x, argument):
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        fw.realised.convolution(np.ones(W), np.ones(b), np.ones(x))
