"""The tangent kernel's flow: printed numbers, the printed recursions, symmetries, limits and identities."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr

import finitewidth as fw
from finitewidth.activations import Activation, leaky_relu
from finitewidth.expansion import flow
from finitewidth.expansion.tangent_layers import tangent_contributions
from finitewidth.gaussian.accuracy import gram_rule
from finitewidth.kernels import frozen_ntk
from finitewidth.kernels.kernel_map import gram
from finitewidth.networks import MLP

NAMES = ["gelu", "relu"]  # one smooth, one with a kink; tanh has its printed numbers
ONE_EACH = ["gelu", pytest.param("relu", marks=pytest.mark.measured)]
WIDTHS = (3, 20, 30, 15, 1)
HYPERPARAMETERS = {
    "C_b": (0.3, 0.1, 0.2, 0.05),
    "C_W": (1.3, 1.7, 1.4, 1.2),
    "lambda_b": (0.5, 0.7, 0.2, 0.9),
    "lambda_W": (1.1, 0.6, 1.4, 0.8),
}
TENSORS = ("A", "B", "D", "F")


@dataclass(frozen=True)
class Unlabelled(Activation):
    """Not recognised, whatever it is."""


def inputs(samples, features=3, seed=0):
    """The first is the largest: some of them then need the same quadrature as all of them, and one compilation serves."""
    x = np.random.default_rng(seed).normal(size=(samples, features))
    return x * (np.linspace(1.65, 1.0, samples) / np.linalg.norm(x, axis=1))[:, None]


def joint_covariance(theory, layer):
    """Of metric and tangent kernel, (V, D; D, A)/n, between unordered pairs of samples."""
    a, b = np.triu_indices(theory.K.shape[-1])
    V, D, A = (getattr(theory, name)[layer][a, b][:, a, b] / theory.previous_widths[layer] for name in "VDA")
    return np.block([[V, D], [D.T, A]])


@functools.cache
def mixed_network(name, samples=3):
    """Unequal widths and hyperparameters that differ from layer to layer."""
    return flow(MLP(name, WIDTHS, **HYPERPARAMETERS), inputs(samples), through="ntk")


# fmt: off
ONE_INPUT = {
    2: (0.3942944904, 2.3231002953, 0.0975237381, -0.1185973674, 0.1501019060, 1.3660368293, 0.1686381331,
        0, 0),
    3: (0.2364504105, 2.7152072716, 0.0678074939, -0.1637669471, 0.2093491441, 3.2479173966, 0.4588255619,
        -0.0309325199, 0.0037726680),
    5: (0.1279047353, 3.5827203511, 0.0393984430, -0.2413890522, 0.3060487008, 10.2506328420, 1.8451706937,
        -0.0682253714, 0.0721165954),
    12: (0.0474311493, 6.8704959915, 0.0152923120, -0.5167480159, 0.6388554380, 99.2167305240, 24.7899868337,
         -0.1150383557, 1.1184432764),
}
# fmt: on


def test_one_input_tanh():
    """PDLT (9.6), (9.13)-(9.16): K, Theta, V, D, F, B, A, G1, H1 of tanh at criticality, to ten digits."""
    theory = flow(MLP("tanh", [1] + [64] * 12), [[1.0]], through="ntk")
    for layer, values in ONE_INPUT.items():
        found = [
            getattr(theory, name)[layer - 1].item() for name in ("K", "Theta", "V", "D", "F", "B", "A", "G1", "H1")
        ]
        np.testing.assert_allclose(found, values, rtol=1e-9, atol=6e-11)


def test_one_input_with_rates_that_fall_with_depth():
    """PDLT (9.70), (9.96): bias rates 1/l keep the tangent kernel of tanh of order one."""
    theory = flow(MLP("tanh", [1] + [64] * 12, lambda_b=1 / np.arange(1, 13)), [[1.0]], through="ntk")
    values = {
        3: (1.7302683236, -0.1201407740, 0.1690184845, 2.2128973234, 0.2718462272),
        12: (1.5394915962, -0.1084459105, 0.1795293046, 8.4786933135, 1.3194527318),
    }
    for layer, expected in values.items():
        found = [getattr(theory, name)[layer - 1].item() for name in ("Theta", "D", "F", "B", "A")]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


# Components in the order of the samples that the book prints: 1324 for B and F.
COMPONENTS = {
    "Theta": ("11", "12"),
    "V": ("1112", "1212", "1122"),
    "D": ("1112", "1211", "1212", "1122"),
    "F": ("1112", "1212", "1122", "1221"),
    "B": ("1112", "1212", "1122", "1221"),
    "A": ("1112", "1212", "1122"),
}
TWO_INPUTS = {
    ("relu", 2.0, 2): "4 2.60899778 10.52596893 9.82446018 7.30797337 8.08997781 7.69897559 7.34822122 6.08997781 "
    "4.82699334 6.43599112 3.65398669 3.65398669 4 5.33333333 3 3 7.26298447 6.89210617 5.59631780",
    (
        "relu",
        2.0,
        4,
    ): "8 4.35096220 37.62111501 34.26005830 28.13470757 46.89728275 53.48410508 43.51861807 43.95201965 "
    "25.06911707 39.04713103 21.22006547 21.57511246 44.38788444 67.12899859 31.10242510 24.55917185 "
    "83.08162336 70.26609630 82.54648488",
    ("tanh", 1.0, 3): "2.71520727 2.15588680 0.03796171 0.09676009 0.01311242 -0.07267817 -0.09092608 0.04478972 "
    "-0.02874548 0.19458793 0.43024543 0.05558982 0.04500408 2.07966614 2.60260509 1.52298292 1.49515565 "
    "0.19162130 0.39085666 0.06911096",
    ("tanh", 1.0, 4): "3.13987536 2.58712067 0.02787607 0.07125535 0.00986919 -0.09838411 -0.11719746 0.02062882 "
    "-0.03779503 0.25359358 0.50662565 0.07906883 0.06123591 4.29638246 5.26269786 3.31617504 3.24629057 "
    "0.45191691 0.71681285 0.16949084",
}


@pytest.mark.parametrize(("name", "C_W", "layer"), TWO_INPUTS)
def test_two_inputs(name, C_W, layer):
    """PDLT (8.77), (8.79), (8.89), (8.97): two inputs with overlap 1/2, every kind of component."""
    theory = flow(MLP(name, [2] + [64] * 4, C_W=C_W), two_inputs_with_overlap(0.5), through="ntk")
    found = [
        getattr(theory, field)[(layer - 1, *(int(sample) - 1 for sample in samples))]
        for field, components in COMPONENTS.items()
        for samples in components
    ]
    np.testing.assert_allclose(found, [float(v) for v in TWO_INPUTS[name, C_W, layer].split()], rtol=3e-8, atol=6e-9)


def two_inputs_with_overlap(overlap):
    return np.sqrt(2) * np.linalg.cholesky([[1, overlap], [overlap, 1]])


@pytest.mark.parametrize("name", NAMES)
def test_covariance_is_pushed_by_the_jacobian_of_the_infinite_width_map(name):
    """PDLT (4.119), (8.77), (8.97): transport of (V, D, A) by autodiff of (K, Theta) -> (K', Theta').

    With no neurons' noise of its own, an infinitely wide last layer only transports.
    """
    net = MLP(name, (3, 20, 30, 10**9, 1), **HYPERPARAMETERS)
    theory = flow(net, inputs(2), through="ntk")
    a, b = np.triu_indices(2)
    C_b, C_W, lambda_b, lambda_W = (np.asarray(HYPERPARAMETERS[key])[3] for key in HYPERPARAMETERS)
    slope = Activation(net.activation.derivative(1), net.activation.kinks)

    @jax.jit
    def layer(packed):
        K, theta = (jnp.zeros((2, 2)).at[a, b].set(half).at[b, a].set(half) for half in jnp.split(packed, 2))
        values, slopes = (gram(f, K, gram_rule(f, 2.0)) for f in (net.activation, slope))
        new_theta = lambda_b + lambda_W * values + C_W * slopes * theta
        return jnp.concatenate([(C_b + C_W * values)[a, b], new_theta[a, b]])

    state = jnp.concatenate([jnp.asarray(theory.K[2])[a, b], jnp.asarray(theory.Theta[2])[a, b]])
    jacobian = finite_differences(layer, state) if name == "relu" else jax.jit(jax.jacfwd(layer))(state)
    tolerance = 1e-6 if name == "relu" else 1e-8
    np.testing.assert_allclose(
        joint_covariance(theory, 3), jacobian @ joint_covariance(theory, 2) @ jacobian.T, rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(layer(state)[3:], theory.Theta[3][a, b], rtol=1e-9)


def finite_differences(function, at, step=1e-5):
    """Central differences: no delta function of a kink is differentiated through."""
    columns = [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    return np.stack(columns, axis=1)


def test_the_printed_recursions_with_inverse_kernels():
    """PDLT (8.74), (8.77), (8.79), (8.89), (8.97) as they stand, by quadrature on a dense grid, for one GELU layer."""
    theory = mixed_network("gelu", samples=2)
    layer = 2  # from layer 3 to layer 4
    C, lam = HYPERPARAMETERS["C_W"][3], HYPERPARAMETERS["lambda_W"][3]
    r = WIDTHS[3] / WIDTHS[2]
    K, theta = theory.K[layer], theory.Theta[layer]
    V, D, A, B, F = (getattr(theory, name)[layer] for name in "VDABF")
    inverse = np.linalg.inv(K)

    axis = np.linspace(-9, 9, 161)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    weights = np.exp(-(grid**2).sum(1) / 2) * (axis[1] - axis[0]) ** 2 / (2 * np.pi)
    z = grid @ np.linalg.cholesky(K).T
    s, ds = z * ndtr(z), ndtr(z) + z * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    ss, dsds = np.einsum("qa,qb->qab", s, s), np.einsum("qa,qb->qab", ds, ds)
    omega = lam * ss + C * theta * dsds

    def mean(f):
        return np.tensordot(weights, f, 1)

    def cov(f, g):
        return mean(np.einsum("qab,qcd->qabcd", f, g)) - np.einsum("ab,cd->abcd", mean(f), mean(g))

    hermite = np.einsum("qg,qh->qgh", z, z) - K
    raised = functools.partial(np.einsum, "ge,hf,efxy->ghxy", inverse, inverse)
    V_up = np.einsum("ghkl,ka,lb->ghab", raised(V), inverse, inverse)
    on_ss, on_omega = (mean(np.einsum("qab,qgh->qabgh", f, hermite)) for f in (ss, omega))
    p = mean(dsds)

    new_D = C * cov(ss, omega) + r / 4 * C * np.einsum("ghkl,abgh,cdkl->abcd", V_up, on_ss, on_omega)
    new_D += r / 2 * C**2 * np.einsum("ghcd,abgh,cd->abcd", raised(D), on_ss, p)
    new_A = cov(omega, omega) + r / 4 * np.einsum("ghkl,abgh,cdkl->abcd", V_up, on_omega, on_omega)
    new_A += r * C**2 * np.einsum("ab,cd,abcd->abcd", p, p, A)
    crossed = r / 2 * C * np.einsum("abgh,ghcd,cd->abcd", on_omega, raised(D), p)
    new_A += crossed + crossed.transpose(2, 3, 0, 1)
    new_B = C**2 * np.einsum("abcd,ab,cd->acbd", mean(np.einsum("qab,qcd->qabcd", dsds, dsds)), theta, theta)
    new_B += r * C**2 * np.einsum("ac,bd,acbd->acbd", p, p, B)
    sdsz = mean(np.einsum("qa,qc,qg->qacg", s, ds, z)) @ inverse
    new_F = C**2 * np.einsum("abcd,cd->acbd", mean(np.einsum("qab,qcd->qabcd", ss, dsds)), theta)
    new_F += r * C**2 * np.einsum("acg,bdh,gchd->acbd", sdsz, sdsz, F)
    for name, expected in {"D": new_D, "A": new_A, "B": new_B, "F": new_F}.items():
        np.testing.assert_allclose(getattr(theory, name)[layer + 1], expected, rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", ONE_EACH)
def test_symmetries(name):
    """Exchange symmetries of PDLT (8.82) and (8.67), those that B and F have and those that they lack."""
    theory = mixed_network(name)
    for tensor in (theory.A, theory.D):
        np.testing.assert_allclose(tensor, tensor.transpose(0, 2, 1, 3, 4), rtol=1e-12)
        np.testing.assert_allclose(tensor, tensor.transpose(0, 1, 2, 4, 3), rtol=1e-12)
    np.testing.assert_allclose(theory.A, theory.A.transpose(0, 3, 4, 1, 2), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theory.B, theory.B.transpose(0, 2, 1, 4, 3), rtol=1e-9)
    for tensor in (theory.B, theory.F):
        np.testing.assert_allclose(tensor, tensor.transpose(0, 3, 4, 1, 2), rtol=1e-9, atol=1e-12)
        assert np.abs(tensor - tensor.transpose(0, 3, 2, 1, 4))[2:].max() > 1e-5 * np.abs(tensor).max()


def is_positive(matrix):
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    return np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] > -1e-8


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(NAMES))
def test_joint_covariance_is_positive(seed, name):
    """(V, D; D, A) is the covariance of metric and tangent kernel, and B that of off-diagonal tangent kernels."""
    theory = flow(MLP(name, WIDTHS, **HYPERPARAMETERS), inputs(3, seed=seed), through="ntk")
    for layer in range(1, 4):
        assert is_positive(joint_covariance(theory, layer))
        assert is_positive(theory.B[layer].transpose(0, 2, 1, 3).reshape(9, 9))  # from (12) to (34)


@pytest.mark.parametrize("name", NAMES)
def test_first_layers(name):
    """PDLT (8.23): the first tangent kernel does not fluctuate; the second has the mean of infinite width."""
    theory = mixed_network(name)
    overlap = inputs(3) @ inputs(3).T / 3
    np.testing.assert_allclose(theory.Theta[0], 0.5 + 1.1 * overlap, rtol=1e-12)
    assert not any(getattr(theory, field)[0].any() for field in TENSORS)
    np.testing.assert_allclose(theory.H1[:2], 0, atol=1e-15)
    assert np.abs(theory.H1[2]).max() > 1e-3
    np.testing.assert_allclose(theory.Theta[-1], frozen_ntk(theory.net, inputs(3)), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_some_inputs_are_those_of_all(name):
    """Closure: the flow of a subset of the samples is the sub-block of the flow of all."""
    whole = mixed_network(name)
    part = flow(whole.net, inputs(3)[:2], through="ntk")
    for field in TENSORS:
        np.testing.assert_allclose(
            getattr(whole, field)[:, :2, :2, :2, :2], getattr(part, field), rtol=1e-8, atol=1e-10
        )
    for field in ("Theta", "H1"):
        np.testing.assert_allclose(getattr(whole, field)[:, :2, :2], getattr(part, field), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_an_input_share_its_tangent_kernel(name):
    """A singular kernel is harmless: all components between copies of one input equal that input's own."""
    net = MLP(name, WIDTHS, **HYPERPARAMETERS)
    x = inputs(2)
    one, two = flow(net, x[:1], through="ntk"), flow(net, x[[0, 0]], through="ntk")
    for field in ("Theta", "H1", *TENSORS):
        expected = np.broadcast_to(getattr(one, field), getattr(two, field).shape)
        np.testing.assert_allclose(getattr(two, field), expected, rtol=1e-7, atol=1e-8, err_msg=field)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        ("sin", Unlabelled(lambda z: jnp.sin(z))),
        (leaky_relu(0.3), Unlabelled(lambda z: jnp.where(z > 0, z, 0.3 * z), (0.0,))),
    ],
    ids=["sin", "leaky"],
)
def test_closed_forms_and_quadrature_agree(known, unknown):
    """Finite sums of exponentials and moments of signs against the routes for any callable, delta functions included."""
    theories = [flow(MLP(sigma, WIDTHS, **HYPERPARAMETERS), inputs(2), through="ntk") for sigma in (known, unknown)]
    for field in ("Theta", "H1", *TENSORS):
        closed, numerical = (getattr(theory, field) for theory in theories)
        np.testing.assert_allclose(numerical, closed, rtol=1e-7, atol=1e-8, err_msg=field)


def test_scale_invariant_mean_is_exact_for_one_input():
    """For one input and two slopes the mean tangent kernel has no correction at any order."""
    theory = flow(MLP("relu", WIDTHS, **HYPERPARAMETERS), inputs(1), through="ntk")
    np.testing.assert_allclose(theory.H1, 0, atol=1e-12)


def test_from_a_first_kernel():
    """The tangent kernel follows from the first kernel, which knows the overlaps of the inputs."""
    expected = mixed_network("gelu", samples=2)
    theory = flow(expected.net, kernel=expected.net.first_kernel(inputs(2)), through="ntk")
    for field in ("Theta", "H1", *TENSORS):
        np.testing.assert_allclose(getattr(theory, field), getattr(expected, field), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("size", "C_W"), [(1e-6, 1.0), (1e-8, 1.0), (1.0, 0.0)])
def test_first_tangent_kernel_is_that_of_the_inputs(size, C_W):
    """PDLT (8.23): from inputs that biases drown, and that no weight sees, no digit is lost."""
    net = MLP("tanh", (1, 8, 1), C_b=[1.0, 0.1], C_W=[C_W, 1.0], lambda_b=0.0)
    theory = flow(net, [[size]], through="ntk")
    assert theory.Theta[0, 0, 0] == pytest.approx(size**2, rel=1e-14)
    assert frozen_ntk(net, [[size]]) == pytest.approx(theory.Theta[-1], rel=1e-12)
    assert tangent_contributions(net, [[size]]).overlap[0, 0, 0] == pytest.approx(size**2, rel=1e-14)


def test_a_kernel_with_little_but_bias():
    """PDLT (4.8): the overlaps of nearly equal inputs are positive to rounding only, which is not held against them."""
    net = MLP("relu", (1, 8, 8, 8, 1), C_b=[1.0, 0.1, 0.1, 0.1])
    K1 = net.first_kernel([[1e-7], [3e-7]])
    np.testing.assert_allclose(flow(net, kernel=K1, through="ntk").Theta[0], 1.0, rtol=1e-12)


def test_a_tangent_kernel_that_is_zero_does_not_fluctuate():
    """PDLT (9.23): without learning the relative variance is zero, not 0/0."""
    net = MLP("tanh", (1, 8, 1), C_b=[1.0, 0.1], lambda_b=[0.0, 1.0], lambda_W=[0.0, 1.0])
    first, last = flow(net, [[1.0]], through="ntk").relative_tangent_fluctuation[:, 0]
    assert first == 0
    assert last > 0
    nothing = flow(net.replace(lambda_b=0.0, lambda_W=0.0), [[1.0]], through="ntk")
    np.testing.assert_array_equal(nothing.relative_tangent_fluctuation, 0)


def test_gradients_in_learning_rates():
    """Theta is linear in the rates: its gradient is the contribution of each layer's biases, PDLT (9.28)."""
    net = MLP("relu", WIDTHS, C_W=1.2)

    def last(lambda_b):
        return flow(net.replace(lambda_b=lambda_b), inputs(1), through="ntk").Theta[-1, 0, 0]

    gradient = jax.jit(jax.grad(last))(np.ones(4))
    differences = [last(np.ones(4) + np.eye(4)[i]) - last(np.ones(4)) for i in range(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-9)
    assert gradient[-1] == pytest.approx(1.0)


def test_bad_input():
    """Activations that jump have no tangent kernel, and a flow that stopped early says so."""
    with pytest.raises(fw.DomainError, match="continuous activation"):
        flow(MLP("perceptron", (2, 8, 1)), [[1.0, 0.0]], through="ntk")
    with pytest.raises(fw.DomainError, match="through='ntk'"):
        _ = flow(MLP("tanh", (2, 8, 1)), [[1.0, 0.0]], through="kernel").Theta
    with pytest.raises(fw.DomainError, match="lambda_b"):
        MLP("tanh", (2, 8, 1), lambda_b=-1.0)
    with pytest.raises(fw.DomainError, match="C_W"):
        flow(MLP("tanh", (2, 8, 1), C_b=1.0, C_W=(0.0, 1.0)), kernel=[[1.0]], through="ntk")
    with pytest.raises(fw.DomainError, match=r"`kernel`.*C_b = 2"):
        flow(MLP("tanh", (2, 8, 1), C_b=2.0), kernel=[[1.0, 0.2], [0.2, 1.0]], through="ntk")


HARD_TANH = fw.Activation(lambda z: jnp.clip(z, -1.0, 1.0), name="hard_tanh")


@pytest.mark.parametrize(
    ("activation", "other", "sign", "tolerance"),
    [
        ("relu", (1.0, 0.3), 1, 1e-10),
        ("relu", (1.0, 0.3 + 1e-6), 1, 1e-4),
        pytest.param(HARD_TANH, (1.0, 0.3), 1, 1e-10, marks=pytest.mark.measured),
        pytest.param(HARD_TANH, (-1.0, -0.3), -1, 1e-10, marks=pytest.mark.measured),
        pytest.param(HARD_TANH, (1.0, 0.3 + 1e-6), 1, 1e-4, marks=pytest.mark.measured),
    ],
)
def test_inputs_that_all_but_coincide(activation, other, sign, tolerance):
    """PDLT (8.97), (9.3): with a kink, derivatives diverge between copies; the tensors are continuous there nevertheless."""
    net = fw.MLP(activation, (2, 80, 80, 80, 1), C_W=1.6, lambda_b=0.0)
    alone = fw.flow(net, [[1.0, 0.3]], through="ntk")
    both = fw.flow(net, [[1.0, 0.3], other], through="ntk")
    for name in ("Theta", "H1", "G1", "V", "A", "D"):
        expected = getattr(alone, name)[-1].reshape(())
        found = (
            sign * getattr(both, name)[-1, 0, 1]
            if name in ("Theta", "H1", "G1")
            else getattr(both, name)[-1, 0, 1, 0, 1]
        )
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance), name


def test_callables_with_kinks_nobody_declared():
    """PDLT (8.63): a plain callable gives the numbers of the named activation."""
    named, plain = (
        fw.flow(fw.MLP(activation, (2, 6, 6, 1), C_b=0.1, C_W=1.4), [[1.0, 0.3]], through="ntk")
        for activation in ("softsign", jax.nn.soft_sign)
    )
    for field in ("Theta", "V", "A", "D", "F", "B", "H1"):
        np.testing.assert_allclose(getattr(plain, field), getattr(named, field), rtol=1e-10, atol=1e-12)


def test_averages_that_do_not_exist():
    """An activation that outgrows the Gaussian, or is not finite where preactivations go, is refused by name."""
    for function, words in ((lambda z: jnp.exp(z**2), "too large|infinite"), (lambda z: jnp.log(z + 5.0), "NaN")):
        with pytest.raises(fw.DomainError, match=words):
            fw.flow(fw.MLP(function, (2, 4, 4, 1)), np.ones((1, 2)), through="ntk")
