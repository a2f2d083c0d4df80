"""P, Q, R, S, T, U of many inputs: values from elsewhere, the printed formulas in loops, closed forms, symmetries, limits, refusals."""

import itertools

import numpy as np
import pytest

import finitewidth as fw
import printed_differentials as printed
from finitewidth._errors import DomainError
from finitewidth.expansion.kinked_curvature import kinked_curvature

# Two set-ups of two inputs, both of depth four so that they share compiled code; what is known of them ends with their own depth.
SHALLOW = np.array([[1.0, 0.5], [-0.3, 0.8]])
OF_SHALLOW = {
    "C_b": (0.1, 0.2, 0.05, 0.1),
    "C_W": (1.5, 1.3, 0.9, 1.2),
    "lambda_b": (0.5, 0.4, 0.3, 0.3),
    "lambda_W": (1.0, 0.8, 0.6, 0.7),
}
DEEP = np.array([[1.0, -0.5, 0.8], [0.4, 0.9, -0.6]])
OF_DEEP = {
    "C_b": (0.1, 0.15, 0.05, 0.1),
    "C_W": (1.1, 1.3, 0.9, 1.2),
    "lambda_b": (0.7, 0.4, 1.1, 0.3),
    "lambda_W": (0.9, 1.3, 0.5, 0.8),
}
ENTRIES = ("0000", "0110", "0011", "1011", "0101")


def shallow(activation):
    return fw.flow(fw.MLP(activation, (2, 10, 15, 12, 2), **OF_SHALLOW), SHALLOW, through="ddntk")


def deep(activation):
    return fw.flow(fw.MLP(activation, (3, 16, 8, 12, 2), **OF_DEEP), DEEP, through="ddntk")


@pytest.fixture(scope="module")
def tanh():
    return shallow("tanh")


def entry(tensor, layer, digits):
    return tensor[(layer - 1, *map(int, digits))]


SIN_LAYER_2 = {
    "R": (-1.21797749, -0.21161952, -0.29434485, -0.25266673, -0.21161952),
    "S": (0.87697540, 0.11529577, 0.27236653, 0.17715035, 0.37089981),
    "T": (0.06170585, 0.29603979, 0.00077114, 0.01483992, -0.14638071),
    "U": (0.30070894, 0.00589915, 0.00183377, 0.06961394, 0.15890454),
}
TANH_LAYER_3 = {
    "V": (0.07907443, 0.13227925, 0.01027724, 0.03427386, 0.13227925),
    "A": (0.12965462, 0.16258450, 0.00711707, 0.02491524, 0.16258450),
    "B": (0.85505341, 0.17470979, 0.18528556, 0.32487550, 0.54723783),
    "D": (-0.09023235, 0.09853337, -0.00787945, -0.02918473, 0.09853337),
    "F": (0.09925673, 0.00529193, 0.01388644, 0.06708612, 0.26102234),
    "P": (-0.32239003, -0.10760230, -0.03217841, -0.13092808, -0.03217841),
    "Q": (-0.12931873, -0.10384540, -0.01231469, -0.08386228, 0.19975953),
    "R": (-2.17752339, -0.30922716, -0.41057285, -0.65354114, -0.30922716),
    "S": (1.35092119, 0.15273379, 0.33616486, 0.29108159, 0.48049535),
    "T": (0.22483367, 0.37905612, 0.01034797, 0.10585943, -0.17104138),
    "U": (0.43212306, 0.03094555, 0.01013003, 0.16986320, 0.13873410),
}


def test_eight_decimals_of_two_inputs(tanh):
    """PDLT (11.49), (11.52), (∞.177), (∞.179)-(∞.181): values from a program of its own, by the trapezoid rule on a fine grid."""
    for name, values in TANH_LAYER_3.items():
        found = [entry(getattr(tanh, name), 3, digits) for digits in ENTRIES]
        np.testing.assert_allclose(found, values, atol=6e-9, err_msg=name)
    sine = shallow("sin")
    for name, values in SIN_LAYER_2.items():
        found = [entry(getattr(sine, name), 2, digits) for digits in ENTRIES]
        np.testing.assert_allclose(found, values, atol=6e-9, err_msg=name)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("activation", "values"),
    [
        ("gelu", (-0.68468011, 1.22797979, 1.24790118, 0.28765920)),
        ("swish", (-0.07469784, 0.47581695, 0.63245922, 0.09588626)),
    ],
)
def test_eight_decimals_of_activations_that_are_neither_odd_nor_even(activation, values):
    """PDLT (∞.177), (∞.179)-(∞.181)."""
    theory = shallow(activation)
    np.testing.assert_allclose([entry(getattr(theory, name), 3, "0000") for name in "RSTU"], values, atol=6e-9)


P_OF_DEEP = {  # entries 0000, 0110, 0101, 1001
    ("tanh", 2): (-0.27576211, -0.07838745, 0.00736301, -0.06869930),
    ("tanh", 3): (-0.33022212, -0.07105330, -0.00916160, -0.06704859),
    ("tanh", 4): (-1.31517852, -0.56061750, -0.12664888, -0.54133172),
    ("sin", 3): (-0.51213754, -0.12052106, -0.00995765, -0.11060804),
    ("sin", 4): (-2.06246993, -0.76418616, -0.14657874, -0.73049731),
}
Q_OF_DEEP = {  # entries 0000, 0110, 0101, 0011
    ("tanh", 2): (-0.10852814, -0.08399822, 0.33061873, 0.00175225),
    ("tanh", 3): (-0.20177507, -0.06940251, 0.16695622, -0.00539291),
    ("tanh", 4): (-0.78294206, -0.59159989, 0.49638624, -0.08193481),
    ("sin", 3): (-0.27534446, -0.11740674, 0.27037539, -0.00508897),
    ("sin", 4): (-1.05518107, -0.81039710, 0.93112338, -0.08292307),
}


@pytest.mark.parametrize("activation", ["sin", pytest.param("tanh", marks=pytest.mark.measured)])
def test_eight_decimals_at_unequal_widths(activation):
    """PDLT (11.49), (11.52): the width ratio multiplies what comes from the layer before, and nothing else."""
    theory = deep(activation)
    for (name, layer), values in P_OF_DEEP.items():
        if name == activation:
            found = [entry(theory.P, layer, digits) for digits in ("0000", "0110", "0101", "1001")]
            np.testing.assert_allclose(found, values, atol=6e-9)
            found = [entry(theory.Q, layer, digits) for digits in ("0000", "0110", "0101", "0011")]
            np.testing.assert_allclose(found, Q_OF_DEEP[name, layer], atol=6e-9)


def test_four_different_inputs_against_the_printed_formulas():
    """PDLT (11.49), (11.52), (∞.177), (∞.179)-(∞.181) with inverse kernels, index by index, in plain NumPy: every layer, every entry."""
    x = np.array([[1.0, 0.2, -0.4, 0.3], [-0.3, 0.8, 0.5, -0.2], [0.1, -0.6, 0.9, 0.7], [0.5, 0.4, 0.3, -1.1]])
    net = fw.MLP(
        "sin",
        (4, 9, 5, 2),
        C_b=(0.1, 0.2, 0.05),
        C_W=(1.5, 1.3, 0.9),
        lambda_b=(0.5, 0.4, 0.3),
        lambda_W=(1.0, 0.8, 0.6),
    )
    theory = fw.flow(net, x, through="ddntk")
    expected = printed.first(0.1 + 1.5 * x @ x.T / 4, 0.5 + 1.0 * x @ x.T / 4)
    for layer, ratio in ((1, 1.0), (2, 5 / 9)):
        expected = printed.following(
            expected, ratio, *(getattr(net, each)[layer] for each in ("C_b", "C_W", "lambda_b", "lambda_W"))
        )
        np.testing.assert_allclose(theory.Theta[layer], expected.H, rtol=1e-11)
        for name in "FBPQRSTU":
            found, value = getattr(theory, name)[layer], getattr(expected, name)
            np.testing.assert_allclose(found, value, atol=1e-11 * np.abs(value).max(), err_msg=name)
    assert not any(getattr(theory, name)[0].any() for name in "PQRSTU")


def test_symmetries(tanh):
    """PDLT (11.8), (∞.5), (∞.7): those of the differentials, in the printed order of samples."""
    swaps = {"P": "abcd->acbd", "R": "abcd->abdc", "S": "abcd->badc", "T": "abcd->dcba", "U": "abcd->cdab"}
    for name, swap in swaps.items():
        for tensor in getattr(tanh, name)[1:]:
            np.testing.assert_allclose(np.einsum(swap, tensor), tensor, atol=1e-12 * np.abs(tensor).max(), err_msg=name)


def test_an_input_that_stands_twice(tanh):
    """No kernel is inverted: every entry is that of the single input."""
    twice = fw.flow(tanh.net, SHALLOW[[0, 0]], through="ddntk")
    for name in "PQRSTU":
        single = getattr(tanh, name)[:, :1, :1, :1, :1]
        np.testing.assert_allclose(
            getattr(twice, name), np.broadcast_to(single, (4, 2, 2, 2, 2)), rtol=1e-7, atol=1e-12
        )


def test_only_the_last_layer_learns(tanh):
    """PDLT (∞.173): without rates in the hidden layers nothing changes the kernel, and no differential exists."""
    rates = {name: (0.0, 0.0, 0.0, 0.7) for name in ("lambda_b", "lambda_W")}
    theory = fw.flow(tanh.net.replace(**rates), SHALLOW, through="ddntk")
    for name in "BFPQRSTU":
        np.testing.assert_array_equal(getattr(theory, name)[-1], 0.0, err_msg=name)
    assert np.abs(theory.A[-1]).min() > 0


def test_weights_that_are_zero(tanh):
    """C_W = 0 in the last layer leaves one term of T, the one of its own learning rate twice, PDLT (∞.180)."""
    theory = fw.flow(tanh.net.replace(C_W=(1.5, 1.3, 0.9, 0.0)), SHALLOW, through="ddntk")
    for name in "PQRSU":
        np.testing.assert_array_equal(getattr(theory, name)[-1], 0.0, err_msg=name)
    assert theory.T[-1, 0, 0, 0, 0] > 0


def test_deep_linear_networks_in_closed_form():
    r"""PDLT (∞.45)-(∞.48), for two inputs: $\kappa_{12} = x_1\cdot x_2/n_0$ and $h_{12} = \lambda_b + \lambda_W\kappa_{12}$."""
    rate_b, rate = 0.7, 1.3
    theory = fw.flow(fw.MLP("linear", (2, 9, 9, 9, 9), lambda_b=rate_b, lambda_W=rate), SHALLOW, through="ddntk")
    kappa = SHALLOW @ SHALLOW.T / 2
    h = rate_b + rate * kappa
    for layer in range(1, 5):
        cubic, quartic = layer * (layer**2 - 1) / 6, layer**2 * (layer**2 - 1) / 12
        Q = cubic * rate * np.einsum("bd,ac->abcd", kappa, h)
        S = quartic * rate * np.einsum("ac,bd->abcd", h, h)
        T = quartic * rate**2 * np.einsum("cd,ab->acdb", kappa, h)
        for name, value in (("P", 0 * Q), ("Q", Q), ("R", 0 * Q), ("S", S), ("T", T), ("U", 0 * Q)):
            np.testing.assert_allclose(getattr(theory, name)[layer - 1], value, atol=1e-11, err_msg=name)


@pytest.fixture(scope="module")
def relu():
    net = fw.MLP("relu", (3, 16, 16, 16, 2), C_W=2.0, lambda_b=0.7, lambda_W=1.3)
    return fw.flow(net, DEEP, through="dntk")


def test_relu_between_different_inputs(relu):
    """PDLT (11.74) is a statement about one input: between two, P is not zero. Values by angular integration, to four digits."""
    known = {"P0111": 0.6340, "P0011": 0.9366, "Q0000": 9.9525, "Q0110": 0.8043, "Q0101": 3.741, "Q0111": 1.559}
    for name, value in known.items():
        np.testing.assert_allclose(entry(getattr(relu, name[0]), 3, name[1:]), value, rtol=1.5e-4, err_msg=name)


def test_relu_on_one_input(relu):
    r"""PDLT (11.74), (11.79) at rates $\tilde\lambda = L\lambda$: $P = 0$ and $Q = \frac{\ell(\ell^2-1)}6\frac{A_4}{A_2}
    (\lambda_b + \lambda_WA_2K)\lambda_WK$ for every input."""
    for a, x in enumerate(DEEP):
        K = 2 * x @ x / 3
        for layer in range(1, 5):
            Q = layer * (layer**2 - 1) / 6 * (0.7 + 1.3 * K / 2) * 1.3 * K
            np.testing.assert_allclose(relu.Q[layer - 1, a, a, a, a], Q, rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(relu.P[layer - 1, a, a, a, a], 0, atol=1e-12)


def test_delta_functions_against_draws():
    """The average with a delta function is one over the other variables, given that the first is zero: 2e4 draws, in standard errors."""
    random = np.random.default_rng(0)
    root = random.normal(size=(4, 4))
    K, right, left, draws = root @ root.T, 1.0, -0.4, 20_000
    found, pulls = np.asarray(kinked_curvature(right, left, K)), []
    for zero in range(4):
        values, vectors = np.linalg.eigh(K - np.outer(K[zero], K[zero]) / K[zero, zero])
        z = (random.normal(size=(draws, 4)) * np.sqrt(np.maximum(values, 0))) @ vectors.T
        slopes = np.where(z > 0, right, left)
        for one, two, three in itertools.product(range(4), repeat=3):
            own = (one == zero) + (two == zero)
            weight = (right ** (own + 1) - left ** (own + 1)) / (own + 1) / np.sqrt(2 * np.pi * K[zero, zero])
            sample = weight * slopes[:, three] * z[:, three]
            for j in (one, two):
                sample = sample if j == zero else sample * slopes[:, j]
            if three == zero:
                assert found[zero, one, two, three] == 0
            else:
                error = sample.std() / np.sqrt(draws)
                pulls.append((found[zero, one, two, three] - sample.mean()) / error)
    assert np.abs(pulls).max() < 4.5
    assert np.mean(np.square(pulls)) < 2.5  # correlated: all of one sample's averages come from the same draws


def test_kinks_in_the_second_differential_are_refused():
    """PDLT (∞.39)-(∞.44): the reason is said, and what to use instead."""
    with pytest.raises(
        DomainError, match=r"relu, whose slope jumps: .* infinite, and a step of any size may cross the kink.*gelu"
    ):
        fw.flow(fw.MLP("relu", (2, 8, 1)), SHALLOW, through="ddntk")
    with pytest.raises(
        DomainError, match=r"whose slope jumps: its second derivative holds delta functions.*scale_invariant"
    ):
        fw.flow(fw.MLP("hardtanh", (2, 8, 1)), SHALLOW, through="dntk")
    with pytest.raises(DomainError, match=r"whose second derivative jumps: its third holds delta functions"):
        fw.flow(fw.MLP("softsign", (2, 8, 1)), SHALLOW, through="ddntk")
    with pytest.raises(DomainError, match="jumps: its slope is a delta function"):
        fw.flow(fw.MLP("perceptron", (2, 8, 1)), SHALLOW, through="dntk")
