"""The tangent kernel of residual networks, several inputs: one input, MLPs, two layers by hand, a third by brute force, networks."""

import jax
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion.persistent_tangent import refuse_coincident
from residual_third_layer import corrections

GAMMA = 0.8
NET = fw.ResidualMLP(
    "sin", 24, 4, GAMMA, C_b=0.1, C_W=[1.5, 0.8, 0.9, 0.8], lambda_b=0.7, lambda_W=[1.0, 0.8, 1.2, 0.9], inputs=2
)
X = np.array([[1.0, 0.4], [-0.3, 0.9]])
FIELDS = ("V", "G1", "Theta", "H1", "A", "B", "D", "F")


def entries_of(theory, name, sample):
    """Those of one sample, by layer."""
    field = getattr(theory, name)
    return field[(slice(None),) + (sample,) * (field.ndim - 1)]


def assert_holds_what_each_input_has(net, x, samples):
    together = fw.flow(net, x, through="ntk")
    for sample in samples:
        alone = fw.flow(net, x[sample : sample + 1], through="ntk")
        for name in FIELDS:
            expected = getattr(alone, name).ravel()
            np.testing.assert_allclose(
                entries_of(together, name, sample), expected, rtol=1e-8, atol=1e-11, err_msg=name
            )
    return together


def assert_is_the_recursion(net, x):
    net = net.replace(gamma=0.0)
    mlp = fw.MLP(net.activation, net.widths, net.C_b, net.C_W, net.lambda_b, net.lambda_W)
    one, other = fw.flow(mlp, x, through="ntk"), fw.flow(net, x, through="ntk")
    for name in FIELDS:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-8, atol=1e-11, err_msg=name)


@pytest.fixture(scope="module")
def of_two_inputs():
    return fw.flow(NET, X, through="ntk")


def test_a_pair_holds_what_each_input_has():
    """Entries of one input, by the formulas for one input alone."""
    assert_holds_what_each_input_has(NET, X, (1,))


def test_coincident_inputs_are_one():
    """Every entry of an input given twice is that of the input alone: all sums over samples, at once."""
    twice, alone = fw.flow(NET, X[[0, 0]], through="ntk"), fw.flow(NET, X[:1], through="ntk")
    for name in FIELDS:
        expected = np.broadcast_to(getattr(alone, name), getattr(twice, name).shape)
        np.testing.assert_allclose(getattr(twice, name), expected, rtol=1e-8, atol=1e-10, err_msg=name)


def test_without_skip_it_is_the_recursion():
    """gamma = 0: all of PDLT (8.63)-(8.97), by the code of MLPs."""
    assert_is_the_recursion(NET, X)


def test_third_layer_by_brute_force(of_two_inputs):
    """G1 and H1 of two inputs in the first layer where H1 does not vanish, by conditioning on the layer before."""
    settings = [np.asarray(each)[1:3] for each in (NET.C_b, NET.C_W, NET.lambda_b, NET.lambda_W)]
    K, Theta = of_two_inputs.K[0], of_two_inputs.Theta[0, 0, 1]
    G1, H1 = corrections(np.sin, np.cos, K, Theta, GAMMA, *settings)
    assert of_two_inputs.G1[2, 0, 1] == pytest.approx(G1, abs=1e-6)
    assert of_two_inputs.H1[2, 0, 1] == pytest.approx(H1, abs=1e-6)


def test_symmetries(of_two_inputs):
    """Of V, A, D, B and F under exchanges of samples, which are all that remain, PDLT chapter 8."""
    V, A, B, D, F = (getattr(of_two_inputs, name) for name in "VABDF")
    for symmetric in (V, A):
        np.testing.assert_allclose(symmetric, symmetric.transpose(0, 3, 4, 1, 2), rtol=1e-12, atol=1e-13)
    for pair in (D, D.transpose(0, 3, 4, 1, 2)):
        np.testing.assert_allclose(pair, pair.transpose(0, 2, 1, 3, 4), rtol=1e-12, atol=1e-13)
    for crossed in (B, F):
        np.testing.assert_allclose(crossed, crossed.transpose(0, 3, 4, 1, 2), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(B, B.transpose(0, 2, 1, 4, 3), rtol=1e-12, atol=1e-13)
    assert abs(F - F.transpose(0, 2, 1, 4, 3)).max() > 0.01
    swapped = fw.flow(NET, X[::-1], through="ntk")
    np.testing.assert_allclose(swapped.H1, of_two_inputs.H1[:, ::-1, ::-1], rtol=1e-9, atol=1e-12)


def test_two_layers_by_hand(of_two_inputs):
    """Layer 2, exact at any width, with J = W sigma' + gamma and H = Theta in layer 1, averages by quadrature.

    B_1324 = C^2 Theta_12 Theta_34 <s'1 s'2 s'3 s'4> + gamma^2 C Theta_12 Theta_34 (<s'1 s'3> + <s'2 s'4>) and
    F_1324 = Theta_34 (C^2 <s1 s2 s'3 s'4> + gamma^2 C [<s1 s'3 z2> + <s2 s'4 z1>]).
    """
    u, w = np.polynomial.hermite_e.hermegauss(40)
    w = np.outer(w, w).ravel() / w.sum() ** 2
    K, Theta, C = of_two_inputs.K[0], of_two_inputs.Theta[0], 0.8
    z = np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1).reshape(-1, 2) @ np.linalg.cholesky(K).T
    s, d = np.sin(z), np.cos(z)
    four = np.einsum("m,ma,mb,mc,md->acbd", w, d, d, d, d)
    slopes = np.einsum("m,ma,mb->ab", w, d, d)
    B = C**2 * four + GAMMA**2 * C * (slopes[:, :, None, None] + slopes)
    np.testing.assert_allclose(of_two_inputs.B[1], B * np.einsum("ab,cd->acbd", Theta, Theta), rtol=1e-9)
    beside = np.einsum("m,ma,mc,mb->acb", w, s, d, z)
    F = C**2 * np.einsum("m,ma,mb,mc,md->acbd", w, s, s, d, d)
    F += GAMMA**2 * C * (beside[:, :, :, None] + np.einsum("bda->abd", beside)[:, None])
    np.testing.assert_allclose(of_two_inputs.F[1], F * Theta[None, :, None, :], rtol=1e-9)


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["swish", "relu"])
def test_other_activations(activation):
    """Entries of single inputs and MLPs at gamma = 0: neither odd nor even, and with a kink."""
    net = NET.replace(activation=activation)
    assert_holds_what_each_input_has(net, X, (0, 1))
    assert_is_the_recursion(net, X)


@pytest.mark.measured
def test_three_inputs_hold_what_two_have(of_two_inputs):
    """Entries of two inputs do not know a third."""
    three = fw.flow(NET, np.concatenate([[[0.2, -1.1]], X]), through="ntk")
    for name in FIELDS:
        field = getattr(three, name)
        restricted = field[(slice(None),) + (slice(1, None),) * (field.ndim - 1)]
        np.testing.assert_allclose(restricted, getattr(of_two_inputs, name), rtol=1e-8, atol=1e-11, err_msg=name)


@pytest.mark.measured
@pytest.mark.parametrize(("activation", "gamma", "C_W"), [("swish", 0.8, 1.2), ("relu", -0.6, 1.0)])
def test_networks_extrapolated_in_width(activation, gamma, C_W):
    """Widths 24 and 72, extrapolated linearly in 1/n: every entry of every field of every layer; what is left at 24 alone is larger
    than its errors, and a third of it is left at 72."""
    net = NET.replace(activation=activation, gamma=gamma, C_W=[1.5, C_W, C_W, C_W])
    theory = fw.flow(net, X, through="ntk")
    narrow, wide = (
        fw.simulate(net.replace(width=n), X, networks=count, seed=3, through="ntk")
        for n, count in ((24, 24_000), (72, 12_000))
    )
    for name in ("V", "G1", "H1", "A", "B", "D", "F"):
        one, other, expected = getattr(narrow, name), getattr(wide, name), np.asarray(getattr(theory, name))
        extrapolated = 1.5 * other.mean - 0.5 * one.mean
        error = np.hypot(1.5 * other.standard_error, 0.5 * one.standard_error)
        assert np.abs((extrapolated - expected)[1:] / error[1:]).max() < 5, name
    left, rest = ((each.B.mean - theory.B)[-1] for each in (narrow, wide))
    errors = [each.B.standard_error[-1] for each in (narrow, wide)]
    most = np.unravel_index(np.argmax(np.abs(left) / errors[0]), left.shape)
    assert abs(left[most]) > 10 * errors[0][most]
    assert abs(rest[most] - left[most] / 3) < 4 * np.hypot(errors[1][most], errors[0][most] / 3)


@pytest.mark.parametrize("other", [1.0, 1.5, -1.0])
def test_coincident_samples_of_kinked_networks_are_named(other):
    """What is not a number is refused by its reason, and only then."""
    parallel, undefined = np.outer([1.0, other], [1.0, other]), np.full((3, 2, 2), np.nan)
    with jax.enable_x64(True):
        refuse_coincident(parallel, np.zeros((3, 2, 2)))
        refuse_coincident(np.eye(2), undefined)
        with pytest.raises(fw.DomainError, match="equal or opposite up to a factor"):
            refuse_coincident(parallel, undefined)
