"""Differentials of the tangent kernel measured on networks: exact at depth two, whatever the width; compared with theory."""

import numpy as np
import pytest

import finitewidth as fw
import printed_differentials as printed
from finitewidth._errors import ArgumentError, DomainError

NET = fw.MLP("sin", (2, 4, 2), C_b=(0.1, 0.2), C_W=(1.5, 1.3), lambda_b=(0.5, 0.4), lambda_W=(1.0, 0.8))
X = np.array([[1.0, 0.5], [-0.3, 0.8]])


@pytest.fixture(scope="module")
def measured():
    return fw.simulate(NET, X, networks=4000, through="ddntk", seed=3)


def test_two_layers_are_exact_at_width_four(measured):
    """PDLT (11.31), (11.32) and their like hold at any width: all entries of all tensors, in standard errors."""
    expected = printed.following(printed.first(0.1 + 0.75 * X @ X.T, 0.5 + 0.5 * X @ X.T), 1.0, 0.2, 1.3, 0.4, 0.8)
    squares = []
    for name in "FBPQRSTU":
        found = getattr(measured, name)
        assert found.mean.shape == found.standard_error.shape == ((2 if name in "FB" else 1), 2, 2, 2, 2)
        pulls = (found.mean[-1] - getattr(expected, name)) / found.standard_error[-1]
        assert np.abs(pulls).max() < 4.5, name
        squares.append(np.mean(pulls**2))
    assert np.mean(squares) < 2.5  # sixteen entries of a tensor are strongly correlated
    assert measured.differential.layers == measured.second_differential.layers == (2,)


def test_errors_are_resolved(measured):
    """The estimators are good for something: the largest entry of each tensor is known to a few per cent."""
    for name in "PQRSTU":
        found = getattr(measured, name)
        largest = np.abs(found.mean).argmax()
        assert found.standard_error.ravel()[largest] < 0.05 * np.abs(found.mean).max(), name


def test_compared_with_theory(measured):
    """Every independent entry of every tensor stands in the comparison, in units that make sense, and agrees."""
    comparison = fw.compare(fw.flow(NET, X, through="ddntk"), measured)
    frame = comparison.to_dataframe()
    counts = {name: int((frame["quantity"] == name).sum()) for name in "PQRSTU"}
    assert counts == {"P": 12, "Q": 16, "R": 12, "S": 10, "T": 10, "U": 10}
    assert "disagree" not in str(comparison).lower()


def test_one_layer_has_none():
    measured = fw.simulate(fw.MLP("sin", (2, 3)), X, networks=2, through="ddntk")
    for name in "PQRSTU":
        np.testing.assert_array_equal(getattr(measured, name).mean, 0.0)


def test_residual_networks_have_none_here():
    net = fw.ResidualMLP("tanh", width=8, depth=4, gamma=0.7, C_W=1.0)
    with pytest.raises(ArgumentError, match=r"got ResidualMLP; expected an MLP"):
        fw.flow(net, kernel=[[1.0]], through="dntk")
    with pytest.raises(DomainError, match=r"'ddntk' for a ResidualMLP; expected an MLP, or 'vertex' or 'ntk'"):
        fw.simulate(net, np.ones((1, 8)), networks=10, through="ddntk")


def test_what_networks_cannot_show():
    """Derivatives of ReLU networks are those beside the kinks: between different inputs they miss delta functions."""
    relu = NET.replace(activation="relu")
    with pytest.raises(DomainError, match=r"relu with 2 inputs: its slope jumps.*do not see the delta functions"):
        fw.simulate(relu, X, networks=10, through="dntk")
    with pytest.raises(DomainError, match=r"whose slope jumps.*infinite"):
        fw.simulate(relu, X[:1], networks=10, through="ddntk")
    with pytest.raises(ArgumentError, match=r"'lazy', whose weights forget .*'dense' for through='ddntk'"):
        fw.simulate(NET, X, networks=10, through="ddntk", method="lazy")
    with pytest.raises(ArgumentError, match=r"'chain', under which weights do not exist.*'dense' for through='dntk'"):
        fw.simulate(NET, X, networks=10, through="dntk", method="chain")
