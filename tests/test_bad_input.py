"""Bad input meets an error that names the argument; never NaN, never a silent conversion. Beside it, a slice of `tools/fuzz.py`."""

import contextlib
import warnings

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import ArgumentError, BlowUpError, DomainError, ShapeError, UnknownArgumentError
from finitewidth._signature import Signature, type_of
from finitewidth._validation import as_number
from fuzzer import fuzzer

NET = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
X = [[1.0, 0.5], [0.3, -1.0]]


class MLP:
    """Of another library."""


def masked(values):
    return np.ma.masked_array(values, np.arange(np.size(values)).reshape(np.shape(values)) == 0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fw.exact.linear_phase("1.5"), "C_W"),
        (lambda: fw.exact.linear_phase(True), "C_W"),
        (lambda: fw.exact.linear_phase(np.ma.masked), "C_W"),
        (lambda: fw.exact.linear_phase(np.array([1.0, 2.0])), "C_W"),
        (lambda: fw.MLP("relu", (2, True, 1)), "widths"),
        (lambda: fw.MLP("relu", (2, "8", 1)), "widths"),
        (lambda: fw.MLP("relu", (2, 8, 1), C_W="2"), "C_W"),
        (lambda: fw.MLP("relu", (2, 8, 1), C_W=True), "C_W"),
        (lambda: fw.MLP("relu", (2, 8, 1), C_b=masked([0.1, 0.2])), "C_b"),
        (lambda: fw.simulate(NET, X, networks=True), "networks"),
        (lambda: fw.simulate(NET, X, seed="0"), "seed"),
        (lambda: fw.kernel(NET, masked(X)), "x"),
        (lambda: fw.kernel(NET, np.ones((2, 2), dtype=bool)), "x"),
        (lambda: fw.kernel(NET, [["1", "2"]]), "x"),
        (lambda: fw.susceptibilities("relu", "1"), "K"),
        (lambda: fw.tune(NET, renormalised="no"), "renormalised"),
        (lambda: fw.report(fw.ResidualMLP("relu", 8, 3, 0.5, norm="rms")), "net"),
        (lambda: fw.information(fw.ResidualMLP("relu", 8, 3, 0.5, inputs=2, norm="rms"), X), "net"),
        (lambda: fw.diagnose_gradients(NET, X, y=[1.0, 2.0, 3.0]), "y"),
        (lambda: fw.diagnose_gradients(NET, X, y=[[1.0]]), "y"),
        (lambda: fw.Activation(jnp.tanh, kinks=(np.nan,)), "kinks"),
        (lambda: fw.Activation(3.0), "value"),
        (lambda: fw.advice.tune_block(lambda z: z, np.ones((2, 2)), 0.5), "block"),
        (lambda: fw.advice.tune_block(lambda key, z: z[9, 9, 9], np.ones((2, 2)), 0.5), "block"),
        (lambda: fw.diagnose(lambda W, x: x @ W, np.eye(2), "text"), "f"),
        (lambda: fw.diagnose(3, np.eye(2), X), "f"),
        (lambda: fw.activations.leaky_relu("steep"), "slope"),
        (lambda: fw.activations.leaky_relu(np.nan), "slope"),
        (lambda: fw.advice.depth_curves(fw.MLP("relu", (2, 8, 1)), -1.0, 0.5, 3), "first_kernel"),
        (lambda: fw.advice.depth_curves(fw.MLP("relu", (2, 8, 1)), 1.0, 2.0, 3), "correlation"),
        (lambda: fw.advice.depth_curves(fw.MLP("relu", (2, 8, 1)), 1.0, 0.5, 0), "depth"),
        (lambda: fw.advice.depth_curves(fw.MLP("sigmoid", (2, 8, 1)), 1.0, 0.5, 3), "net"),
        (lambda: fw.diagnose(lambda W, x: {"a": x, "b": ["text"]}, 0, np.ones((2, 2))), "f, layer b"),
        (lambda: fw.diagnose(lambda W, x: {"a": x, "b": 1j * x}, 0, np.ones((2, 2))), "f, layer b"),
        (lambda: fw.diagnose(lambda W, x: {"a": x, "b": x}, 0, np.ones((2, 2), dtype=bool)), "x"),
        (lambda: fw.figures.depth_and_width([0.0, 5.0], 64.0, 4), "by_layer"),
        (lambda: fw.figures.depth_and_width([0.0, 5.0, np.inf], 64.0, 4), "by_layer"),
        (lambda: fw.figures.depth_and_width([0.0, 5.0, 10.0], 0.0, 4), "width"),
        (lambda: fw.figures.depth_and_width([0.0, 5.0, 10.0], 64.0, 0), "depth"),
        (lambda: fw.expansion.one_weight_insertion(lambda z: z[0, 0], [[1.0, 2.0]], ()), "weight"),
        (lambda: fw.expansion.one_weight_insertion(lambda z: z[0, 0], [[1.0, 2.0]], (0, 2)), "weight"),
        (lambda: fw.MLP(lambda z: "text", (2, 8, 1)), "activation"),
        (lambda: fw.MLP(fw.Activation(lambda z: jnp.ones(3)), (2, 8, 1)), "activation"),
        (lambda: fw.MLP(fw.Activation(lambda z: jnp.ones(3), name="three"), (2, 8, 1)), "activation"),
    ],
)
def test_wrong_types_are_refused_by_name(call, argument):
    with pytest.raises(ArgumentError, match=f"`{argument}"):
        call()


@pytest.mark.parametrize("verb", [fw.kernel, fw.flow, fw.report, fw.tune, fw.learning_rates])
def test_a_model_of_another_library_is_called_by_its_full_name(verb):
    """Not "got MLP; expected an MLP"."""
    with pytest.raises(ArgumentError, match=rf"`net`: got {MLP.__module__}\.MLP; expected an MLP of finitewidth"):
        verb(MLP(), *([X] if verb in (fw.kernel, fw.flow) else []))


@pytest.mark.parametrize(
    "call",
    [
        lambda: fw.critical.asymptotics("relu", [1.0, 10.0], K1=1e308),
        lambda: fw.critical.tangent_fixed_points("tanh", C_b=0.0, C_W=1e-320),
        lambda: fw.susceptibilities("relu", K=[1e300, 1.0]),
        lambda: fw.kernel(NET, [[1e200, 1.0]]),
    ],
)
def test_no_nan_from_huge_and_tiny_numbers(call):
    """An error, or numbers."""
    try:
        with annotations_unchecked():
            leaves = jax.tree.leaves(call())
    except (ArgumentError, BlowUpError):
        return
    assert not any(np.isnan(leaf).any() for leaf in leaves if isinstance(leaf, np.ndarray | float))


@pytest.fixture(scope="module")
def theory():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fw.flow(NET, X)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda z: z[0, 5] ** 2, "not there"),
        (lambda z: z[7, 0] ** 2, "not there"),
        (lambda z: "text", "returns str"),
        (lambda z: 1 / 0, "ZeroDivisionError"),
        (3.0, "float"),
    ],
)
def test_observables_ask_for_what_is_there(theory, function, said):
    """JAX would clamp an index that is out of range, and go on with another neuron."""
    with pytest.raises(ArgumentError, match=f"`function`: got .*{said}"):
        fw.expansion.expectation_to_first_order(theory, 2, function)
    with pytest.raises(ArgumentError, match=f"`left`: got .*{said}"):
        fw.expansion.covariance_between_neurons(theory, 2, function, lambda z: z[0, 0])
    with pytest.raises(ArgumentError, match=f"`function`: got .*{said}"):
        fw.expansion.two_weight_insertions(function, [[1.0, 2.0]], ((0, 0), (0, 0)))


class Tensor:
    """As PyTorch's: what requires a gradient is no array until it is detached."""

    def __init__(self, values, requires_grad=True):
        self.values, self.requires_grad = np.asarray(values, dtype=float), requires_grad
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def detach(self):
        return Tensor(self.values, requires_grad=False)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return Tensor(self.values[index], self.requires_grad)

    def __float__(self):
        return float(self.values)

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.values if dtype is None else self.values.astype(dtype)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda of: fw.kernel(NET, of(X)), "x"),
        (lambda of: fw.kernel(NET, [of(X[0]), of(X[1])]), "x"),
        (lambda of: fw.MLP("relu", (2, 8, 1), C_W=of(2.0)), "C_W"),
        (lambda of: fw.ResidualMLP("relu", 8, 3, gamma=of(0.5)), "gamma"),
        (lambda of: fw.report(NET, of(X), networks=2), "x"),
        (lambda of: fw.covariance_sde(fw.ShapedMLP(), of(np.eye(2)), 0.1), "V0"),
        (lambda of: fw.bayes(NET, of(X), [1.0, 0.0], X), "x_train"),
    ],
)
def test_tensors_that_require_gradients_are_refused_with_the_cure(call, argument):
    with pytest.raises(ArgumentError, match=r"tensor\.detach\(\)") as caught:
        call(Tensor)
    assert caught.value.argument == argument


def test_tensors_that_do_not_require_gradients_are_arrays():
    detached = Tensor(X).detach()
    np.testing.assert_array_equal(fw.kernel(NET, detached), fw.kernel(NET, X))
    assert float(np.asarray(fw.ResidualMLP("relu", 8, 3, gamma=Tensor(0.5).detach()).gamma)) == 0.5


@pytest.mark.parametrize(
    "wrong", [np.complex64(2 + 1j), np.complex128(2), np.timedelta64(2, "s"), np.datetime64(2, "s")]
)
def test_numbers_of_numpy_keep_what_they_mean(wrong):
    """Imaginary parts and units are not dropped, at any of the doors: numbers of the signature, of a check, and arrays."""
    for call, argument in (
        (lambda: fw.exact.linear_phase(wrong), "C_W"),
        (lambda: fw.shaped.shaped_relu(wrong), "c_plus"),
        (lambda: fw.MLP("relu", (2, 8, 1), C_W=wrong), "C_W"),
        (lambda: fw.ResidualMLP("relu", 8, 3, gamma=wrong), "gamma"),
        (lambda: fw.kernel(NET, np.full((2, 2), wrong)), "x"),
        (lambda: as_number(wrong, "number"), "number"),
        (lambda: fw.simulate(NET, X, networks=wrong), "networks"),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.argument == argument


def test_the_door_knows_kinds():
    """Numbers may be NumPy's or JAX's and traced; integers may be NumPy's; what is not annotated with a kind passes."""

    def function(a: float, n: int, flag: bool = False, of: fw.MLP | None = None, any_: object = None) -> None: ...

    door = Signature(function)
    for good in [(1.0, 2), (np.float32(1), np.int8(2)), (jnp.ones(()), 2, True, NET), (1, 2, np.True_, None, "x")]:
        door.check(good, {})
    for bad, name in [(("1", 2), "a"), ((1.0, 2.0), "n"), ((1.0, 2, 1), "flag"), ((1.0, 2, True, 3), "of")]:
        with pytest.raises(DomainError, match=f"`{name}`"):
            door.check(bad, {})
    with pytest.raises(UnknownArgumentError, match="`unknown`"):
        door.check((), {"unknown": 3})
    door.check((), {})  # what is missing is left to Python, which says it well
    assert type_of(MLP()).endswith(".MLP")
    assert type_of(NET) == "MLP"


def test_a_result_without_nan_or_an_error():
    """At the door, of any function: NaN is an error, infinity is not."""
    from finitewidth._entry import entry

    @entry()
    def logarithm(x: float) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.log(np.asarray(x))

    assert np.isinf(logarithm(0.0))
    with pytest.raises(BlowUpError, match=r"`logarithm` of -1\.0 leaves the finite numbers: an argument is too large"):
        logarithm(-1.0)
    assert np.isnan(entry(nan=True)(logarithm.__wrapped__)(-1.0))


@contextlib.contextmanager
def annotations_unchecked():
    """As for users."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def test_a_slice_of_the_fuzzer():
    """Functions that cost next to nothing; all of it is run by hand, `python tools/fuzz.py`."""
    fuzz, told = fuzzer(), []
    with warnings.catch_warnings(), annotations_unchecked():
        warnings.simplefilter("ignore")
        for name in ("linear_phase", "log_norm", "scaling_regime", "finite_log_determinant"):
            function = getattr(fw.exact if name == "linear_phase" else fw.proportional, name)
            good = {"linear_phase": {"C_W": 1.5, "slope": 1.0}, "log_norm": {"depth_to_width": 0.5, "asymmetry": 0.0}}
            good |= {"scaling_regime": {"exponent": 0.5, "depth_exponent": 1.0}}
            good |= {"finite_log_determinant": {"tokens": 2, "width": 100, "depth": 5}}
            for what, arguments, verdict in fuzz.wrong_calls(good[name], function):
                found, message = fuzz.outcome(function, arguments, verdict, set())
                told += [f"{found}: {name}({what}) {message}"] if found not in ("ok", "clear") else []
    assert told == []


def test_the_fuzzer_sees_what_is_wrong():
    """Each kind of outcome."""
    fuzz = fuzzer()

    def function(a: float) -> float:
        if a == 0:
            raise ShapeError("a", a, "another")
        if a == 1:
            raise KeyError(a)
        return float("nan") if a == 2 else 1.0

    found = [fuzz.outcome(function, {"a": a}, fuzz.PERHAPS, set())[0] for a in (0.0, 1.0, 2.0, 3.0)]
    assert found == ["clear", "unclear", "NaN", "ok"]
    assert fuzz.outcome(function, {"a": "3"}, fuzz.NEVER, set())[0] == "accepted"
