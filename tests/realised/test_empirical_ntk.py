"""The tangent kernel of any function: against explicit Jacobians, whatever the function is made of and however it is cut up."""

from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from finitewidth._errors import ArgumentError, BlowUpError, DomainError, ShapeError, UnknownNameError
from finitewidth.networks import MLP
from finitewidth.realised.empirical_ntk import _kernel, _Task, empirical_ntk
from finitewidth.realised.parameters import apply, draw_parameters
from finitewidth.realised.tangent_kernel import ntk
from finitewidth.realised.weight_uses import one_sample_program, weight_uses

weight_uses_module = import_module("finitewidth.realised.weight_uses")
RNG = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape) / np.sqrt(max(1, np.prod(shape[:-1]))))


def dense(params, x):
    """A weight on either side, one transposed, biases, and a scale applied to a product."""
    hidden = jnp.tanh(x @ params["W"] + params["b"])
    hidden = jax.nn.relu(0.7 * (params["left"] @ hidden.T).T + params["c"])
    return hidden @ params["right"].T


def conv(params, x):
    """Two convolutions, one strided and with a bias, and an average."""
    numbers = ("NHWC", "HWIO", "NHWC")
    x = lax.conv_general_dilated(x, params["first"], (1, 1), "SAME", dimension_numbers=numbers)
    x = lax.conv_general_dilated(
        jax.nn.relu(x + params["b"]), params["second"], (2, 1), "VALID", rhs_dilation=(1, 2), dimension_numbers=numbers
    )
    return jnp.tanh(x).mean(axis=(1, 2)) @ params["W"]


def attention(params, x):
    """Keys, queries and values from one input, a residual branch, a scale that multiplies elementwise."""
    q, k, v = (x @ params[name] for name in "QKV")
    weights = jax.nn.softmax(jnp.einsum("ntd,nsd->nts", q, k))
    x = x * params["scale"] + jnp.einsum("nts,nsd->ntd", weights, v) @ params["O"]
    return jnp.einsum("ntd,dk->nk", x, params["W"])


def shared(params, x):
    """A matrix used twice, a nested jitted layer used twice, a scan over a matrix, an embedding-like lookup."""

    @jax.jit
    def layer(W, x):
        return jnp.tanh(x @ W)

    x = layer(params["A"], layer(params["B"], jnp.tanh(x @ params["twice"])))
    x, _ = lax.scan(lambda x, _: (jnp.tanh(x @ params["scanned"]), None), x, length=2)
    return (x @ params["twice"])[:, :3] + params["table"][jnp.asarray([0, 2, 2])]


def single(params, x):
    """Outputs (N,)."""
    return jnp.tanh(x @ params["W"]) @ params["v"]


CASES = {
    "dense": (
        dense,
        {"W": normal(4, 5), "b": normal(5), "left": normal(6, 5), "c": normal(6), "right": normal(3, 6)},
        (4,),
        {"W", "b", "left", "right"},
    ),
    "conv": (
        conv,
        {"first": normal(3, 3, 2, 4), "b": normal(4), "second": normal(2, 2, 4, 5), "W": normal(5, 3)},
        (5, 6, 2),
        {"first", "b", "second", "W"},
    ),
    "attention": (
        attention,
        {name: normal(6, 6) for name in "QKVO"} | {"scale": normal(6), "W": normal(6, 3)},
        (4, 6),
        {"Q", "K", "V", "O", "W"},
    ),
    "shared": (
        shared,
        {name: normal(5, 5) for name in ("A", "B", "twice", "scanned")} | {"table": normal(4)},
        (5,),
        {"A", "B"},
    ),
}
SAMPLES = 5


def inputs(shape, samples=SAMPLES, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(samples, *shape)))


def explicit(f, params, x1, x2, rates=None):
    """Jacobians in full, entry by entry."""
    j1, j2 = (jax.jit(jax.jacrev(f))(params, x) for x in (x1, x2))
    rates = jax.tree.map(lambda _: 1.0, params) if rates is None else rates
    terms = jax.tree.map(
        lambda a, b, rate: jnp.einsum(
            "aip,bjp->abij", a.reshape(*a.shape[:2], -1), (b * rate).reshape(*b.shape[:2], -1)
        ),
        j1,
        j2,
        rates,
    )
    return np.asarray(sum(jax.tree.leaves(terms)))


@pytest.mark.parametrize("name", CASES)
def test_explicit_jacobians(name):
    """Two sets of inputs, and one with itself; all, diagonal and summed outputs; PDLT (8.5)."""
    f, params, shape, _ = CASES[name]
    x1, x2 = inputs(shape), inputs(shape, 3, seed=2)
    expected = explicit(f, params, x1, x2)
    close = {"rtol": 0, "atol": 1e-12 * np.abs(expected).max()}
    np.testing.assert_allclose(empirical_ntk(f, params, x1, x2), expected, **close)
    np.testing.assert_allclose(empirical_ntk(f, params, x1), explicit(f, params, x1, x1), **close)
    diagonal = np.einsum("abii->abi", expected)
    np.testing.assert_allclose(empirical_ntk(f, params, x1, x2, outputs="diagonal"), diagonal, **close)
    np.testing.assert_allclose(empirical_ntk(f, params, x1, x2, outputs="trace"), diagonal.sum(axis=-1), **close)


@pytest.mark.parametrize("name", CASES)
def test_weights_are_recognised(name):
    """Every matrix that only multiplies once, and the bias after it, escapes being differentiated by; nothing else does."""
    f, params, shape, expected = CASES[name]
    uses = weight_uses(one_sample_program(f, params, inputs(shape)[0]), len(params))
    names = sorted(params)
    assert {names[leaf] for use in uses for leaf in use.leaves} == expected


def test_the_forward_equation():
    """The realised kernel of an MLP with its rates; PDLT (8.6), PDLT (8.12)."""
    net = MLP("gelu", (3, 7, 5, 4), C_b=0.1, C_W=[1.3, 1.7, 1.4], lambda_b=[0.5, 0.7, 0.2], lambda_W=[1.1, 0.6, 1.4])
    params = draw_parameters(net, 0)
    x = inputs((3,))
    of_weights = [rate / n for rate, n in zip(net.lambda_W, net.widths[:-1], strict=True)]
    rates = jax.tree.unflatten(jax.tree.structure(params), [*of_weights, *net.lambda_b])
    found = empirical_ntk(lambda params, x: apply(net, params, x)[-1], params, x, rates=rates)
    np.testing.assert_allclose(found, ntk(net, params, x)[-1], rtol=0, atol=1e-13 * np.abs(found).max())


def test_rates_of_single_entries():
    """Numbers for some leaves and arrays for others, that also broadcast; PDLT (8.5)."""
    f, params, shape, _ = CASES["dense"]
    rates = {"W": RNG.uniform(size=(4, 5)), "b": 0.3, "left": 2.0, "c": RNG.uniform(size=6), "right": np.ones((3, 1))}
    x1, x2 = inputs(shape), inputs(shape, 3, seed=2)
    np.testing.assert_allclose(
        empirical_ntk(f, params, x1, x2, rates=rates), explicit(f, params, x1, x2, rates), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        empirical_ntk(f, params, x1, rates=rates), explicit(f, params, x1, x1, rates), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "outputs"),
    [("attention", "full"), ("dense", "diagonal"), pytest.param("dense", "trace", marks=pytest.mark.measured)],
)
def test_blocks_change_nothing(name, outputs):
    """Blocks of samples, the last not full, and of outputs; with one set of inputs and with two."""
    f, params, shape, _ = CASES[name]
    x1, x2 = inputs(shape), inputs(shape, 3, seed=2)
    rates = [np.ones(())] * len(params)
    for other in (None, x2):
        whole = empirical_ntk(f, params, x1, other, outputs=outputs)
        close = {"rtol": 0, "atol": 1e-12 * np.abs(whole).max()}
        np.testing.assert_allclose(empirical_ntk(f, params, x1, other, outputs=outputs, batch_size=2), whole, **close)
        by_rows = _kernel(_Task(f, params, rates, outputs, samples=2, rows=2), x1, other, 3)
        np.testing.assert_allclose(by_rows, whole, **close)


def test_many_samples_with_themselves():
    """Symmetric kernels are made in parts: still symmetric, still right."""
    f, params, shape, _ = CASES["attention"]
    x = inputs(shape, 120)
    found = empirical_ntk(f, params, x)
    np.testing.assert_array_equal(found, found.transpose(1, 0, 3, 2))
    np.testing.assert_allclose(found[:3, -3:], empirical_ntk(f, params, x[:3], x[-3:]), rtol=0, atol=1e-12)


def test_single_outputs_have_no_axis_of_their_own():
    """Functions to (N,) give (N1, N2) whatever is asked of outputs."""
    params = {"W": normal(4, 6), "v": normal(6)}
    x = inputs((4,))
    expected = explicit(lambda params, x: single(params, x)[:, None], params, x, x)[..., 0, 0]
    for outputs in ("full", "diagonal", "trace"):
        np.testing.assert_allclose(empirical_ntk(single, params, x, outputs=outputs), expected, rtol=0, atol=1e-13)


def test_single_precision_and_transformations():
    """Follows the precision of the parameters, and runs under `jit`, in blocks too."""
    f, params, shape, _ = CASES["dense"]
    x = inputs(shape)
    expected = empirical_ntk(f, params, x)
    low = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (params, x))
    found = empirical_ntk(f, *low)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    traced = jax.jit(lambda params, x: empirical_ntk(f, params, x, batch_size=2))(params, x)
    np.testing.assert_allclose(traced, expected, rtol=0, atol=1e-12)


def test_integer_inputs():
    """Tokens are inputs too."""
    params = {"table": normal(7, 4), "W": normal(4, 3)}
    x = jnp.asarray([[0, 1, 6], [2, 2, 5]])

    def f(params, tokens):
        return params["table"][tokens].mean(axis=1) @ params["W"]

    np.testing.assert_allclose(empirical_ntk(f, params, x), explicit(f, params, x, x), rtol=0, atol=1e-13)


def test_memory_does_not_grow_as_outputs_times_parameters():
    """A million weights, a hundred outputs, four samples: their derivatives in full would take 3.2 gigabytes."""
    params = {"W": jnp.zeros((1000, 1000)), "V": jnp.zeros((1000, 100))}
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)

    def f(params, x):
        return jnp.tanh(x @ params["W"]) @ params["V"]

    program = jax.jit(lambda params, x: empirical_ntk(f, params, x))
    sizes = program.lower(shapes, jax.ShapeDtypeStruct((4, 1000), float)).compile().memory_analysis()
    assert sizes.temp_size_in_bytes < 50e6


def mixing(params, x):
    return (x - x.mean(axis=0)) @ params["W"]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"outputs": "diag"}, UnknownNameError, "did you mean 'diagonal'"),
        ({"outputs": None}, UnknownNameError, "outputs"),
        ({"batch_size": 0}, DomainError, "batch_size"),
        ({"x1": np.zeros((0, 4))}, ShapeError, "x1"),
        ({"x1": 1.0}, ShapeError, "x1"),
        ({"x1": None}, ShapeError, "x1"),
        ({"x1": [["a"]]}, ShapeError, "x1"),
        ({"x1": np.asarray([["a"]])}, ShapeError, "x1"),
        ({"x1": [[1.0], [1.0, 2.0]]}, ShapeError, "x1.*ragged"),
        ({"x1": np.full((2, 4), np.nan)}, DomainError, "x1"),
        ({"x2": np.zeros((2, 5))}, ShapeError, "x2"),
        ({"x1": np.zeros((2, 9))}, ArgumentError, "a function that fails on inputs"),
        ({"params": {}}, ArgumentError, "params"),
        ({"params": {"W": np.ones((4, 3), int)}}, ArgumentError, "params"),
        ({"params": {"W": "a"}}, ArgumentError, "params"),
        ({"f": "tanh"}, ArgumentError, "f"),
        ({"f": mixing}, ArgumentError, "depend on the samples beside it"),
        ({"f": lambda params, x: x @ params["W"] @ (x @ params["W"]).T}, ShapeError, "f"),
        ({"f": lambda params, x: (x @ params["W"]).sum()}, ShapeError, "f"),
        ({"f": lambda params, x: (x @ params["W"]).T}, ShapeError, "f"),
        ({"f": lambda params, x: (x @ params["W"],)}, ShapeError, "f"),
        ({"f": lambda params, x: (x @ params["W"]) > 0}, ArgumentError, "f"),
        (
            {"f": lambda params, x: jnp.log(x @ params["W"] * 0)},
            BlowUpError,
            "finite numbers: derivatives of `f` overflow",
        ),
        ({"rates": {"V": 1.0}}, ShapeError, "rates"),
        ({"rates": {"W": np.ones(7)}}, ShapeError, "rates"),
        ({"rates": {"W": -1.0}}, DomainError, "rates"),
        ({"rates": {"W": np.inf}}, DomainError, "rates"),
        ({"rates": {"W": "a"}}, ShapeError, "rates"),
    ],
)
def test_bad_input_is_named(change, error, says):
    """Before any work is done, where it can be known."""
    x = np.asarray([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, -1.0]])
    arguments = {"f": lambda params, x: x @ params["W"], "params": {"W": np.ones((4, 3))}, "x1": x}
    with pytest.raises(error, match=says):
        empirical_ntk(**(arguments | change))


def test_64_bit_parameters_without_64_bits_of_the_caller():
    """To rounding, against derivatives by hand; 32-bit ones stay what they are, and a trace in 32 bits is refused."""
    params = {"W": np.asarray(RNG.normal(size=(2, 3))), "V": np.asarray(RNG.normal(size=(3, 1)))}
    x = RNG.normal(size=(4, 2))
    hidden = np.tanh(x @ params["W"])
    slopes = (1 - hidden**2) * params["V"][:, 0]
    by_hand = hidden @ hidden.T + (x @ x.T) * (slopes @ slopes.T)

    def f(params, x):
        return jnp.tanh(x @ params["W"]) @ params["V"]

    with jax.enable_x64(False):
        np.testing.assert_allclose(empirical_ntk(f, params, x, outputs="trace"), by_hand, rtol=1e-13)
        low = jax.tree.map(np.float32, params)
        assert empirical_ntk(f, low, x).dtype == np.float32
        assert empirical_ntk(f, low | {"W": params["W"]}, x).dtype == np.float64
        with pytest.raises(ArgumentError, match=r"`empirical_ntk` under jit.*jax\.enable_x64\(True\)"):
            jax.jit(lambda x: empirical_ntk(f, params, x))(jnp.ones((2, 2)))
        assert jax.eval_shape(lambda x: empirical_ntk(f, low, x), jnp.ones((2, 2))).dtype == np.float32


def unread(params, x):
    """Weights, one of which makes a product that nothing reads."""
    _ = x @ params["dead"]
    return jnp.tanh(x @ params["W"] + params["b"]) @ params["V"]


def test_programs_that_look_otherwise(monkeypatch):
    """Where names inside programs of JAX are not as this version has them, the kernel is the same by plain derivatives; PDLT (8.5)."""
    params = {"dead": normal(3, 2), "W": normal(3, 4), "b": normal(4), "V": normal(4, 2)}
    x = inputs((3,))
    expected = explicit(unread, params, x, x)
    found = []
    for name in (None, "ClosedJaxpr", "Var", "_CALLS"):  # a name that is gone, or a call that is called otherwise
        with monkeypatch.context() as patch:
            if name is not None:
                patch.setattr(weight_uses_module, name, None if name != "_CALLS" else ("called_otherwise",))
            weight_uses_module._are_read.cache_clear()
            jax.clear_caches()
            found.append(len(weight_uses(one_sample_program(unread, params, x[0]), 4)))
            np.testing.assert_allclose(empirical_ntk(unread, params, x), expected, rtol=0, atol=1e-13)
    weight_uses_module._are_read.cache_clear()
    assert found == [3, 0, 0, 0]
