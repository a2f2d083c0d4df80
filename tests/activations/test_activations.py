"""Every activation by the same measures: derivatives, Taylor coefficients, kinks, closed forms."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import scipy.special

import finitewidth as fw
from finitewidth import Activation, DomainError
from finitewidth.activations import ACTIVATIONS, as_activation
from finitewidth.activations.closed_pairs import absolute_value_pair
from finitewidth.activations.families import ScaleInvariant
from finitewidth.activations.find_kinks import find_kinks
from finitewidth.activations.sampling import size
from finitewidth.gaussian.derivatives import sampled
from finitewidth.gaussian.line import line_average
from finitewidth.gaussian.pairs import pair_moment, square_average
from references import vectorised

ALL = sorted(set(ACTIVATIONS) - {"silu"})

TAYLOR = {  # sigma_0..sigma_5
    "linear": (0, 1, 0, 0, 0, 0),
    "tanh": (0, 1, 0, -2, 0, 16),
    "sin": (0, 1, 0, -1, 0, 1),
    "erf": np.array((0, 1, 0, -2, 0, 12)) * 2 / np.sqrt(np.pi),
    "arctan": (0, 1, 0, -2, 0, 24),
    "sigmoid": (1 / 2, 1 / 4, 0, -1 / 8, 0, 1 / 4),
    "centered_sigmoid": (0, 1 / 4, 0, -1 / 8, 0, 1 / 4),
    "softplus": (np.log(2), 1 / 2, 1 / 4, 0, -1 / 8, 0),
    "swish": (0, 1 / 2, 1 / 2, 0, -1 / 2, 0),
    "gelu": (0, 1 / 2, np.sqrt(2 / np.pi), 0, -2 * np.sqrt(2 / np.pi), 0),
    "exp": (1, 1, 1, 1, 1, 1),
    "expm1": (0, 1, 1, 1, 1, 1),
    "z^2": (0, 0, 2, 0, 0, 0),
    "mish": (0, 0.6, 0.64, -0.096, -1.1008, -0.0448),
}


@pytest.mark.parametrize("name", ALL)
def test_values(name):
    """PDLT (2.9)-(2.18): against NumPy on a grid that avoids the kinks."""
    z = np.linspace(-4.05, 4.0, 62)
    np.testing.assert_allclose(ACTIVATIONS[name](jnp.asarray(z)), vectorised(name)(z), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("order", [1, *(pytest.param(k, marks=pytest.mark.measured) for k in (2, 3)), 4])
def test_derivatives_against_differences(name, order):
    """Each derivative against central differences of the one before, away from the kinks."""
    activation = ACTIVATIONS[name]
    z = jnp.asarray([-2.3, -0.7, 0.4, 1.9])
    lower, step = activation.derivative(order - 1), 1e-3
    difference = (lower(z - 2 * step) - 8 * lower(z - step) + 8 * lower(z + step) - lower(z + 2 * step)) / (12 * step)
    np.testing.assert_allclose(activation.derivative(order)(z), difference, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", TAYLOR)
def test_taylor_coefficients(name):
    """PDLT (5.80): derivatives at zero."""
    np.testing.assert_allclose(ACTIVATIONS[name].taylor(5), TAYLOR[name], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["relu", "softsign", "perceptron"])
def test_no_taylor_series_at_a_kink(name):
    """A clear error instead of one side's derivatives."""
    with pytest.raises(fw.DomainError, match="kink at zero"):
        ACTIVATIONS[name].taylor()


@pytest.mark.parametrize("name", [n for n in ALL if ACTIVATIONS[n].closed_square(jnp.ones(())) is not None])
@pytest.mark.parametrize("K", [1e-3, 0.7, 4.0])
def test_closed_squares(name, K):
    """PDLT (5.5): the closed form of g(K) against quadrature."""
    activation = ACTIVATIONS[name]
    numeric = line_average(lambda z: activation(z) ** 2, jnp.asarray(K), activation.kinks)
    np.testing.assert_allclose(square_average(activation, jnp.asarray(K)), numeric, rtol=1e-11)


def test_scale_invariance_only_where_it_should_be():
    """sigma(c z) = c sigma(z) holds for the two-slope family and for nothing else."""
    z = jnp.asarray([-1.3, 0.2, 2.1])
    for name in ALL:
        activation = ACTIVATIONS[name]
        invariant = np.allclose(activation(3 * z), 3 * activation(z), rtol=1e-12)
        assert invariant == (name in ("linear", "relu", "leaky_relu", "abs")), name


RANDOM = np.random.default_rng(0)


class Counting:
    """Steeper at every call."""

    calls = 0

    def __call__(self, z):
        self.calls += 1
        return jnp.tanh(self.calls * z)


def test_any_callable_is_an_activation():
    """A callable, a jitted callable and an Activation with kinks; equal parameters make equal activations."""
    assert as_activation(jnp.tanh).name == "tanh"
    assert as_activation(jax.jit(jnp.sin))(jnp.zeros(2)).shape == (2,)
    hard = fw.Activation(lambda z: jnp.clip(z, -1, 1), (-1.0, 1.0), name="hard_tanh")
    assert as_activation(hard) is hard
    assert fw.activations.leaky_relu(0.2) == fw.activations.leaky_relu(0.2)
    assert fw.activations.leaky_relu(0.2) != fw.activations.leaky_relu(0.3)
    assert hash(fw.activations.monomial(4)) == hash(fw.activations.monomial(4))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("thanh", "did you mean 'tanh'"),
        (3.0, "a name, an Activation or an elementwise"),
        (lambda z: float(z[0]), "cannot trace"),
        (lambda z: np.tanh(z), "cannot trace"),
        (lambda z: jnp.sum(z), "keeping the shape"),
        (lambda z: z / jnp.linalg.norm(z), "depends on the other entries"),
        (jnp.sort, "depends on the other entries"),
        (jnp.cumsum, "depends on the order of entries, or on earlier calls"),
        (lambda z: z + jnp.arange(z.size).reshape(z.shape), "depends on the order of entries"),
        (Counting(), "depends on the order of entries, or on earlier calls"),
        (lambda z: jnp.tanh(z) * RANDOM.normal(), "on earlier calls"),
        (lambda z: jnp.log(z), "NaN or infinite"),
        (lambda z: z > 0, "real floating-point"),
        (lambda z: z * 1j, "real floating-point"),
    ],
)
def test_bad_activations_are_refused(bad, message):
    """Unknown names suggest the nearest; callables that are not elementwise, real and traceable are named as such."""
    with pytest.raises(ValueError, match=message):
        fw.MLP(bad, (2, 3, 1))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fw.activations.scale_invariant(0.0, 0.0), "a_plus"),
        (lambda: fw.activations.scale_invariant(float("nan"), 1.0), "a_plus"),
        (lambda: fw.activations.leaky_relu("steep"), "slope"),
        (lambda: fw.activations.monomial(0), "power"),
        (lambda: fw.activations.monomial(1.5), "power"),
        (lambda: fw.activations.exponential(float("inf")), "rate"),
    ],
)
def test_bad_parameters_are_refused(call, argument):
    """Parameters out of range."""
    with pytest.raises(fw.ArgumentError, match=argument):
        call()


@pytest.mark.parametrize(
    ("function", "kinks"),
    [
        (jax.nn.relu, (0.0,)),
        (jax.nn.elu, (0.0,)),
        (jax.nn.soft_sign, (0.0,)),
        (jax.nn.hard_swish, (-3.0, 3.0)),
        (lambda z: jax.nn.relu(z - jnp.pi), (np.pi,)),
        (lambda z: 0.3 * z * jnp.abs(z), (0.0,)),
        (jnp.sign, (0.0,)),
        (lambda z: jnp.sign(z) * jnp.sqrt(jnp.abs(z)), (0.0,)),
        (lambda z: jnp.abs(z - 0.3) ** 1.25, (0.3,)),
        (lambda z: 1e-10 * jnp.clip(z, -1.0, 1.0), (-1.0, 1.0)),
        (lambda z: 1e10 * jax.nn.elu(z), (0.0,)),
        (lambda z: z - jnp.clip(z, -1e-3, 1e-3), (-1e-3, 1e-3)),
        (lambda z: jnp.tanh(50 * z), ()),
        (lambda z: jnp.tanh(1000 * z), ()),
        (lambda z: jnp.sin(30 * z), ()),
    ],
)
def test_kinks_are_found(function, kinks):
    """Jumps of the function or of its first three derivatives, wherever they are; steep is not a jump."""
    found = as_activation(function).kinks
    assert len(found) == len(kinks)
    np.testing.assert_allclose(found, kinks, rtol=1e-13)


@pytest.mark.parametrize(
    "name", ["elu", "selu", "gelu_tanh", "mish", "relu2", "relu6", "hardtanh", "hardswish", "softshrink"]
)
def test_kinks_of_named_activations(name):
    """Declared, for a name is not searched; and as many as the search would find."""
    assert ACTIVATIONS[name].kinks == find_kinks(ACTIVATIONS[name].value)


def test_names_with_a_hyphen():
    assert as_activation("GELU-tanh") is ACTIVATIONS["gelu_tanh"]


def test_declared_and_found_kinks_are_one():
    """A kink that is declared is not found a second time, and one that was forgotten is added."""
    clip = Activation(lambda z: jnp.clip(z, -1.0, 1.0), kinks=(1.0,))
    assert as_activation(clip).kinks == (-1.0, 1.0)


def test_two_half_lines_are_known_in_closed_form():
    """PDLT (2.13): whatever they are called."""
    found = as_activation(lambda z: jnp.where(z > 0, z, 2.5 * z))
    assert isinstance(found, ScaleInvariant)
    assert (found.a_plus, found.a_minus) == (1.0, 2.5)


@pytest.mark.parametrize("end", [60.0, 1e5])
def test_half_lines_that_end_are_none(end):
    """PDLT (2.13): a line that is cut off far out is not scale-invariant."""
    assert not isinstance(as_activation(lambda z: jnp.clip(z, -end, end)), ScaleInvariant)


@pytest.mark.parametrize("at", [-30.2, -2.03, 0.3, 2.03, 17.7])
def test_half_lines_with_a_bump_are_none(at):
    """PDLT (2.13): it has no kink, and may stand between all points at which half-lines are told."""
    bumped = as_activation(lambda z: jax.nn.relu(z) + jnp.exp(-(((z - at) / 0.02) ** 2)))
    assert not isinstance(bumped, ScaleInvariant)


def exact_pair(name, a, c, b):
    """By mpmath: the textbook's arc sine, with digits enough for large inputs that coincide."""
    if name == "erf":
        return 2 / mp.pi * mp.asin(2 * c / mp.sqrt((1 + 2 * a) * (1 + 2 * b)))
    D = (1 + a) * (1 + b)
    rational = a * b - c**2 + c**2 * (1 / (1 + a) + 1 / (1 + b))
    return c / 4 + (c * mp.asin(c / mp.sqrt(D)) + rational / mp.sqrt(D - c**2)) / (2 * mp.pi)


@pytest.mark.parametrize("name", ["erf", "gelu"])
@pytest.mark.parametrize(
    "covariance", [(1.0, 0.3, 0.5), (1e8, 1e8, 1e8), (1e8, 5e7, 1e8), (1e4, 9999.0, 1e4), (1.0, -1.0, 1.0)]
)
def test_closed_pairs_keep_their_digits(name, covariance):
    """PDLT (5.53): copies of large inputs are told from neither one another nor from inputs nearby; values and slopes."""
    with mp.workdps(60):
        at = [mp.mpf(entry) for entry in covariance]
        value = exact_pair(name, *at)
        slopes = mp.diff(lambda c: exact_pair(name, at[0], c, at[2]), at[1])
        bend = 2 * mp.diff(lambda a: exact_pair(name, a, *at[1:]), at[0])
    found = [pair_moment(ACTIVATIONS[name], i, j, *covariance) for i, j in ((0, 0), (1, 1), (2, 0))]
    np.testing.assert_allclose(found[:2], [float(value), float(slopes)], rtol=1e-12)
    np.testing.assert_allclose(found[2], float(bend), rtol=1e-7)  # a difference of much larger terms at 1e8


def test_stairs_are_refused():
    """A function that jumps everywhere has no averages that quadrature finds."""
    with pytest.raises(DomainError, match="at most 16 such points"):
        as_activation(jnp.floor)


def test_kinks_far_out_do_not_count():
    """One kink where inputs of order one go, and sixty where they do not: all are found, none is too many."""
    far = as_activation(lambda z: jnp.where(jnp.abs(z) < 9.5, jnp.abs(z), jnp.floor(jnp.abs(z))))
    assert len(far.kinks) > 50
    assert sum(abs(kink) < 9 for kink in far.kinks) == 1


def test_one_program_for_each_function():
    """What a fresh callable costs is the compiler: values, kinks and all derivatives come from two programs."""
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    try:
        as_activation(lambda z: jnp.clip(z, -1.5, 1.25))  # compiles what all share
        compiled.clear()
        found = as_activation(lambda z: jnp.clip(z, -1.25, 1.5))
    finally:
        jax.monitoring.clear_event_listeners()
    assert found.kinks == (-1.25, 1.5)
    assert len(compiled) <= 2


@pytest.mark.parametrize("order", range(6))
def test_samples_are_derivatives(order):
    """Values and derivatives of a sine at more points than one batch holds."""
    z = np.linspace(-3, 3, 5000)
    expected = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos][order](2 * z) * 2.0**order
    np.testing.assert_allclose(sampled(_sine, z)[order], expected, rtol=1e-12, atol=1e-12)


def _sine(z):
    return jnp.sin(2 * z)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jnp.tanh, np.tanh(0.5)),
        (lambda z: 1e-10 * z, 5e-11),
        (lambda z: jax.nn.relu(z - 1), 1.0),
        (jnp.zeros_like, 1.0),
    ],
)
def test_size(function, expected):
    """The largest value on the smallest interval, among [-1/2, 1/2], [-1, 1], ..., where there is one."""
    np.testing.assert_allclose(size(function), expected, rtol=1e-14)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-12])
def test_absolute_values_beside_coincidence(apart):
    r"""PDLT (5.159): $\langle|z|''|z|\rangle = 2\Delta/\pi K$ and $\langle|z|''|z|''\rangle = 2/\pi\Delta$ keep their digits."""
    K, between = 100.0, 100.0 * (1 - apart)
    covariance = (jnp.asarray(K), jnp.asarray(between), jnp.asarray(K))
    with mp.workdps(40):
        delta = mp.sqrt(mp.mpf(K) ** 2 - mp.mpf(between) ** 2)
    found = [float(absolute_value_pair(2, j, *covariance)) for j in (0, 2)]
    np.testing.assert_allclose(found, [float(2 * delta / (mp.pi * K)), float(2 / (mp.pi * delta))], rtol=1e-14)


@pytest.mark.parametrize(
    ("i", "j"), [(0, 0), (1, 1), (2, 0), (0, 2), (2, 2), (3, 1), (1, 3), (4, 0), (4, 2), (3, 3), (4, 4)]
)
@pytest.mark.parametrize("covariance", [(0.7, 0.5, 1.3), (1.1, -0.8, 0.9), (0.02, 0.1, 2.0)])
def test_moments_of_gelu(i, j, covariance):
    """Its derivatives, written out, on a grid of Gauss and Hermite."""
    Kaa, Kab, Kbb = covariance
    u, weights = np.polynomial.hermite_e.hermegauss(160)
    za = np.sqrt(Kaa) * u[:, None]
    zb = Kab / np.sqrt(Kaa) * u[:, None] + np.sqrt(Kbb - Kab**2 / Kaa) * u

    def derivative(order, z):
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        integral = scipy.special.ndtr(z)
        return [
            z * integral,
            integral + z * density,
            (2 - z**2) * density,
            (z**3 - 4 * z) * density,
            (7 * z**2 - 4 - z**4) * density,
        ][order]

    expected = weights @ (derivative(i, za) * derivative(j, zb)) @ weights / (2 * np.pi)
    found = as_activation("gelu").closed_pair(i, j, *map(jnp.asarray, covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
