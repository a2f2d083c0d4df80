"""Averages of kinked, jumping, steep and fast functions, and their first two derivatives in the covariance.

The reference is a composite Gauss-Legendre grid with panel ends at all features of the function. Its derivatives come from the
density, not from the function: with $q = z^TK^{-1}z$,
$\\partial_k\\langle F\\rangle_{kK} = \\langle F\\,(q-n)/2\\rangle$ and
$\\partial_k^2\\langle F\\rangle_{kK} = \\langle F\\,[(q-n)^2/4 - q + n/2]\\rangle$ at $k = 1$, whatever kinks and jumps F has.
"""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from scipy import stats

import finitewidth as fw
from finitewidth._errors import DomainError
from finitewidth.gaussian.places import find_places

K = np.array([[1.0, 0.3], [0.3, 0.5]])
GRADED = np.geomspace(2e-5, 16.0, 34)


def stairs(z):
    return sum(jnp.where(z > t, 1.0, 0.0) for t in (-1.3, 0.2, 0.9))


FUNCTIONS = {  # and the points at which they change character
    "relu": (jax.nn.relu, [0.0]),
    "abs": (jnp.abs, [0.0]),
    "leaky_relu": (jax.nn.leaky_relu, [0.0]),
    "hard_tanh": (lambda z: jnp.clip(z, -1, 1), [-1.0, 1.0]),
    "relu of z - .7": (lambda z: jax.nn.relu(z - 0.7), [0.7]),
    "softshrink": (lambda z: z - jnp.clip(z, -0.5, 0.5), [-0.5, 0.5]),
    "hard_swish": (jax.nn.hard_swish, [-3.0, 3.0]),
    "relu6": (jax.nn.relu6, [0.0, 6.0]),
    "elu": (jax.nn.elu, [0.0]),
    "selu": (jax.nn.selu, [0.0]),
    "celu": (lambda z: jax.nn.celu(z, 0.3), [0.0]),
    "softsign": (jax.nn.soft_sign, [0.0]),
    "z|z|": (lambda z: z * jnp.abs(z), [0.0]),
    "sign": (jnp.sign, [0.0]),
    "step at .4": (lambda z: jnp.where(z > 0.4, 1.0, 0.0), [0.4]),
    "stairs": (stairs, [-1.3, 0.2, 0.9]),
    "tanh 20 z": (lambda z: jnp.tanh(20 * z), [0.0]),
    "tanh 100 z": (lambda z: jnp.tanh(100 * z), [0.0]),
    "tanh 30 (z - 1)": (lambda z: jnp.tanh(30 * (z - 1)), [1.0]),
    "narrow bump": (lambda z: jnp.exp(-((z / 0.05) ** 2)), [0.0]),
    "exp .8 z": (lambda z: jnp.exp(0.8 * z), [0.0]),
    "z^2 exp(-z^2)": (lambda z: z**2 * jnp.exp(-(z**2)), [0.0]),
    "sin 3 z": (lambda z: jnp.sin(3 * z), [0.0]),
    "relu and a bump": (lambda z: jax.nn.relu(z) + jnp.exp(-((z / 0.1) ** 2)), [0.0]),  # all but made of lines
    "relu and a far bump": (
        lambda z: jax.nn.relu(z) + jnp.exp(-(((z - 2.03) / 0.02) ** 2)),
        [0.0, 2.03],
    ),  # between nodes
    "tanh 80 (z - .7)": (lambda z: jnp.tanh(80 * (z - 0.7)), [0.7]),
    "exp z from .3 on": (lambda z: jnp.where(z > 0.3, jnp.exp(z), 0.0), [0.3]),
    "|z - 1.3| sin z": (lambda z: jnp.abs(z - 1.3) * jnp.sin(z), [1.3]),  # oscillates far from its kink
    "|z|^(3/2)": (lambda z: jnp.abs(z) ** 1.5, [0.0]),
}
DECIDE = {
    "step at .4",
    "relu and a bump",
    "tanh 30 (z - 1)",
    "sin 3 z",
}  # a jump away from zero, a steep slope, and neither
ALIKE = dict.fromkeys(  # another one has the same kind of feature, or its pairs are averaged below
    [
        *(
            "abs",
            "leaky_relu",
            "relu of z - .7",
            "softshrink",
            "hard_swish",
            "relu6",
            "elu",
            "celu",
            "softsign",
            "sign",
        ),
        *("stairs", "tanh 20 z", "tanh 30 (z - 1)", "tanh 80 (z - .7)", "relu and a bump", "sin 3 z", "step at .4"),
    ],
    pytest.mark.measured,
)
INFINITE_CURVATURE = "|z|^(3/2)"
PAIRS = [
    pytest.param(name, marks=() if name in DECIDE else pytest.mark.measured)
    for name in FUNCTIONS
    if name != INFINITE_CURVATURE
]


def grid(points):
    ends = np.unique(np.concatenate([np.add.outer(points, [*-GRADED, 0.0, *GRADED]).ravel(), np.linspace(-12, 12, 25)]))
    ends = ends[np.abs(ends) <= 12.0]
    x, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + x)).ravel(), (half * weights).ravel()


def reference(name, covariance):
    """The average and its first two derivatives in a factor of the covariance."""
    function, points = FUNCTIONS[name]
    z, weights = grid(points)
    f = weights * np.asarray(function(jnp.asarray(z)))
    n, P = len(covariance), np.linalg.inv(covariance)
    q = P[0, 0] * z**2 if n == 1 else P[0, 0] * z[:, None] ** 2 + 2 * P[0, 1] * np.outer(z, z) + P[1, 1] * z**2
    density = np.exp(-q / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    products = f * density if n == 1 else np.outer(f, f) * density
    return [float(np.sum(products * score)) for score in (1.0, (q - n) / 2, (q - n) ** 2 / 4 - q + n / 2)]


def agrees(name, variables):
    covariance = K[:variables, :variables]
    functions = [FUNCTIONS[name][0]] * variables

    def average(k):
        return fw.gaussian_expectation(functions, k * covariance)

    value, slope, curvature = reference(name, covariance)
    np.testing.assert_allclose(average(1.0), value, rtol=1e-10, atol=1e-13)
    found_slope, found_curvature = jax.jit(jax.value_and_grad(jax.grad(average)))(1.0)
    np.testing.assert_allclose(found_slope, slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found_curvature, curvature, rtol=1e-8, atol=1e-10 + rounding_of_curvature(name))


def rounding_of_curvature(name):
    """What is lost where large fourth derivatives cancel: their average size, rounded."""
    function, points = FUNCTIONS[name]
    for _ in range(4):
        function = jax.grad(function)
    z, weights = grid(points)
    sizes = np.abs(np.nan_to_num(jax.vmap(function)(jnp.asarray(z))))
    return np.finfo(float).eps * float(np.sum(weights * sizes * np.exp(-(z**2) / 2)) / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("name", [pytest.param(name, marks=ALIKE.get(name, ())) for name in FUNCTIONS])
def test_one_variable(name):
    """PDLT (1.68) and (5.53): kinks nobody declared, jumps and steep slopes cost no digits in any derivative."""
    agrees(name, 1)


@pytest.mark.parametrize("name", PAIRS)
def test_two_variables(name):
    """PDLT (1.68) and (5.53), with delta functions on delta functions."""
    agrees(name, 2)


def test_infinite_curvature():
    """Pairs of such a function have a value; that its slope would need the curvature, which is infinite beside the kink, is said."""

    def average(k):
        return fw.gaussian_expectation([FUNCTIONS[INFINITE_CURVATURE][0]] * 2, k * K)

    np.testing.assert_allclose(average(1.0), reference(INFINITE_CURVATURE, K)[0], rtol=1e-10)
    with pytest.raises(DomainError, match="a derivative of order 2 that is infinite beside a kink"):
        jax.grad(average)(1.0)


def test_infinite_slopes():
    """The average of a root, and its derivative over one variable, exist; derivatives of pairs would be infinite and are refused."""

    def root(z):
        return jnp.sqrt(jnp.abs(z))

    FUNCTIONS["root"] = (root, [0.0])
    value, slope, _ = reference("root", K[:1, :1])
    assert float(fw.gaussian_expectation([root], K[:1, :1])) == pytest.approx(
        value, rel=1e-7
    )  # as far as the reference goes
    found = jax.jit(jax.grad(lambda k: fw.gaussian_expectation([root], k * K[:1, :1])))(1.0)
    assert float(found) == pytest.approx(slope, rel=1e-7)
    assert float(fw.gaussian_expectation([root] * 2, K)) == pytest.approx(reference("root", K)[0], rel=1e-7)
    with pytest.raises(DomainError, match="infinite"):
        jax.grad(lambda k: fw.gaussian_expectation([root] * 2, k * K))(1.0)


def test_no_average():
    """Products that grow as fast as the density decays are refused; those that do not are right, PDLT (1.68)."""

    def fast(z):
        return jnp.exp(0.3 * z**2)

    expected = 1 / np.sqrt(np.linalg.det(np.eye(2) - 0.6 * 0.5 * K))
    np.testing.assert_allclose(fw.gaussian_expectation([fast] * 2, 0.5 * K), expected, rtol=1e-10)
    for covariance in (np.ones((2, 2)), 2 * np.eye(1), K):  # the last has one, but too far out
        with pytest.raises(DomainError, match="grows too fast"):
            fw.gaussian_expectation([fast] * len(covariance), covariance)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda z: jnp.log(jnp.abs(z)), "infinite at 0"),
        (lambda z: jnp.sin(50 * z), "oscillates"),
        (lambda z: jnp.sin(3e3 * z), "it oscillates"),
    ],
)
def test_what_cannot_be_averaged_is_refused(function, match):
    """An error that names the reason, never a number."""
    for n in (1, 2):
        with pytest.raises(DomainError, match=match):
            fw.gaussian_expectation([function] * n, K[:n, :n])


def test_arguments_are_named():
    """Whatever is wrong with a function."""
    for function in (lambda z: z.sum(), jnp.sqrt, lambda z: 1j * z):
        with pytest.raises(fw.ArgumentError, match="`functions`"):
            fw.gaussian_expectation([function], [[1.0]])
    for kinks in (1.0, ["zero"], None):
        with pytest.raises(fw.ArgumentError, match="`kinks`"):
            fw.Activation(jnp.abs, kinks)


@pytest.mark.parametrize("kinks", [[0.0], np.zeros(1), (0,)])
def test_kinks_may_be_any_sequence(kinks):
    """PDLT (1.68): a list or an array means its tuple, for functions and for activations."""
    jaxtyping.config.update("jaxtyping_disable", True)  # as users call it
    functions = [kind(jnp.abs, kinks) for kind in (fw.gaussian.Function, fw.Activation)]
    jaxtyping.config.update("jaxtyping_disable", False)
    for function in functions:
        assert function.kinks == (0.0,)
        found = fw.gaussian_expectation([function], [[1.0]])
        assert float(found) == pytest.approx(np.sqrt(2 / np.pi), rel=1e-12)


@pytest.mark.parametrize("width", [0.02, 0.2])
@pytest.mark.parametrize("beside", [jax.nn.elu, jnp.tanh])
def test_bumps_anywhere_are_seen(beside, width):
    """Whatever nodes they fall between; beside half-lines, too, which have closed forms only without them."""
    for centre in np.linspace(-5.3, 6.1, 23):
        places = find_places(lambda z, at=centre: beside(z) + jnp.exp(-(((z - at) / width) ** 2)), (0.0,))
        assert places.scale < 3 * width
        assert min(abs(point - centre) for point in places.points) < places.scale + 2 * width


def pure_bump(at, width):
    return lambda z: jnp.exp(-(((z - at) / width) ** 2) / 2)


@pytest.mark.parametrize(("at", "width"), [(2.5, 0.02), (3.5, 0.1)])
def test_pure_bumps(at, width):
    """Nothing but a narrow bump, of two variables of correlation one half: Gaussians in closed form."""
    value = fw.gaussian_expectation([pure_bump(at, width)] * 2, jnp.array([[1.0, 0.5], [0.5, 1.0]]))
    along, across = 1.5 + width**2, 0.5 + width**2
    np.testing.assert_allclose(value, width**2 / np.sqrt(along * across) * np.exp(-(at**2) / along), rtol=1e-10)


@pytest.mark.parametrize(("at", "width"), [(3.5, 0.02), (5.0, 0.02), (5.0, 0.1)])
def test_pure_bumps_that_are_not_resolved_are_refused(at, width):
    with pytest.raises(DomainError, match="do not resolve"):
        fw.gaussian_expectation([pure_bump(at, width)] * 2, jnp.array([[1.0, 0.5], [0.5, 1.0]]))


def test_kinks_far_out():
    r"""PDLT (1.68): beyond 40 they are not looked for, and that is said; declared ones count. $\langle\min(z^2, 50^2)\rangle$."""

    def clipped(z):
        return jnp.clip(z, -50, 50)

    a = 50 / np.sqrt(1000)
    expected = 1000 * (1 - 2 * stats.norm.sf(a) - 2 * a * stats.norm.pdf(a)) + 2 * 50**2 * stats.norm.sf(a)
    declared = fw.Activation(clipped, (-50.0, 50.0))
    found = fw.gaussian_expectation([declared] * 2, np.full((2, 2), 1000.0))
    assert float(found) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(DomainError, match="kinks beyond 40 that nobody declared"):
        fw.gaussian_expectation([clipped] * 2, np.full((2, 2), 1000.0))


def test_six_variables():
    """Six half-lines are orthants, though nobody said so; six functions with other kinks are refused for what they are."""
    covariance = 0.5 + 0.5 * np.eye(6)
    by_name = fw.gaussian_expectation([fw.ACTIVATIONS["relu"]] * 6, covariance)
    assert float(fw.gaussian_expectation([jax.nn.relu] * 6, covariance)) == pytest.approx(float(by_name), rel=1e-12)
    with pytest.raises(DomainError, match="6 variables, some of functions with kinks"):
        fw.gaussian_expectation([jax.nn.elu] * 6, covariance)
