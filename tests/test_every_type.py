"""What every public type can do: be pickled, copied, saved; results are read, shown in notebooks, drawn and tabulated too.

Types are found through the public names, so that a new one is checked at once. One that is neither a `Result` nor a description fails.
"""

import copy
import dataclasses
import json
import pickle
import zipfile
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import finitewidth as fw
from every_type import DESCRIPTIONS, NEITHER, NET, RESULTS, example, measured_flow
from finitewidth._errors import ArgumentError
from finitewidth._fingerprint import fingerprint
from finitewidth._result import Result
from finitewidth._table import values_of

mpl.use("Agg")
EVERY = pytest.mark.parametrize("kind", RESULTS + DESCRIPTIONS, ids=lambda kind: kind.__name__)
OF_RESULTS = pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
PANDAS = pytest.importorskip("pandas")


def saved_and_loaded(thing, tmp_path):
    fw.save(thing, tmp_path / "thing.fw")
    return fw.load(tmp_path / "thing.fw")


def assert_same(one, other):
    """Of one type, with equal leaves and one structure of the tree, statics included; down to the parts of dataclasses."""
    assert type(one) is type(other)
    assert jax.tree.structure(one) == jax.tree.structure(other) or jax.tree.leaves(one) == [one]
    if isinstance(one, np.ndarray | np.generic | jax.Array):
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, tuple | list) and not hasattr(one, "_fields"):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    elif isinstance(one, dict):
        assert_same(list(one), list(other))
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, fw.Activation):
        assert one == other
    elif hasattr(one, "__dataclass_fields__") or hasattr(one, "_fields"):
        assert_same(values_of(one), values_of(other))
    elif hasattr(one, "func"):
        assert_same([one.func, *one.args, one.keywords], [other.func, *other.args, other.keywords])
    else:
        assert one == other


def test_no_type_is_left_out():
    """A public class is a result, by inheriting `Result`, or a description that `every_type.py` knows."""
    assert [kind.__name__ for kind in NEITHER] == []


@EVERY
def test_round_trips(kind, tmp_path):
    thing = example(kind)
    assert isinstance(thing, kind)
    assert_same(pickle.loads(pickle.dumps(thing)), thing)
    assert_same(copy.deepcopy(thing), thing)
    assert_same(saved_and_loaded(thing, tmp_path), thing)


@OF_RESULTS
def test_a_result_prints_itself_in_a_few_lines(kind):
    """On less than a screen."""
    text = repr(example(kind))
    assert 0 < len(text) < 2000
    assert max(map(len, text.splitlines())) <= 160


@OF_RESULTS
def test_a_result_shows_itself_in_a_notebook(kind):
    """Well-formed, and with nothing in it that a notebook would run."""
    page = ElementTree.fromstring(example(kind)._repr_html_())
    assert page.tag in ("div", "iframe")
    assert "script" not in {element.tag for element in page.iter()}


@OF_RESULTS
def test_a_result_draws_itself(kind):
    """On the axes it is given; on a new figure without."""
    axes = Figure().subplots()
    assert example(kind).plot(axes) is axes
    assert axes.has_data()


def test_a_new_figure_is_made():
    axes = measured_flow().plot()
    assert isinstance(axes, Axes)
    mpl.pyplot.close(axes.figure)


@OF_RESULTS
def test_a_result_becomes_a_data_frame(kind):
    frame = example(kind).to_dataframe()
    assert len(frame) > 0
    assert all(isinstance(name, str) and name for name in frame.columns)
    assert len(set(frame.columns)) == len(frame.columns)


def test_the_frame_of_a_flow():
    """One row for each layer and pair of inputs, with measured means and errors; of V the variance of the pair."""
    measured = measured_flow()
    frame = measured.to_dataframe().set_index(["layer", "input_a", "input_b"])
    assert len(frame) == 3 * 3
    assert frame.loc[(2, 0, 1), "K"] == measured.K[1, 0, 1]
    assert frame.loc[(3, 0, 1), "V"] == measured.V.mean[2, 0, 1, 0, 1]
    assert frame.loc[(3, 1, 1), "G_error"] == measured.G.standard_error[2, 1, 1]


def test_the_frame_of_a_tangent_kernel():
    """B and F carry their indices as the book prints them, 1324; layers that were not measured are gaps."""
    tangent = example(fw.results.Tangent)
    flow = fw.results.Flow(NET, np.ones((3, 2, 2)), tangent=tangent)
    frame = flow.to_dataframe().set_index(["layer", "input_a", "input_b"])
    assert frame.loc[(3, 0, 1), "A"] == tangent.A[1, 0, 1, 0, 1]
    assert frame.loc[(3, 0, 1), "D"] == tangent.D[1, 0, 1, 0, 1]
    assert frame.loc[(3, 0, 1), "B"] == tangent.B[1, 0, 0, 1, 1]
    assert frame.loc[(3, 0, 1), "F"] == tangent.F[1, 0, 0, 1, 1]
    assert frame.loc[2, "Theta"].isna().all()
    assert tangent.to_dataframe()["layer"].tolist() == [1, 3]


def test_the_frame_of_differentials():
    """PDLT (11.45), (∞.11), (∞.12): in one neuron's factors stands one input, in the other's the other."""
    first, second = example(fw.results.Differential), example(fw.results.SecondDifferential)
    flow = fw.results.Flow(NET, np.ones((3, 2, 2)), tangent=example(fw.results.Tangent), differential=first)
    flow = dataclasses.replace(flow, second_differential=second)
    row = flow.to_dataframe().set_index(["layer", "input_a", "input_b"]).loc[(3, 0, 1)]
    assert row["P"] == first.P[1, 0, 1, 1, 0]
    assert row["Q"] == first.Q[1, 0, 0, 1, 1]
    for name in "RSTU":
        assert row[name] == getattr(second, name)[1, 0, 0, 1, 1]
    assert second.to_dataframe()["layer"].tolist() == [1, 3]


def test_the_frame_of_a_phase_diagram():
    diagram = example(fw.critical.PhaseDiagram)
    frame = diagram.to_dataframe().set_index(["C_b", "C_W"])
    assert frame.loc[(diagram.C_b[3], diagram.C_W[7]), "K_star"] == diagram.K_star[3, 7]
    assert frame.loc[(diagram.C_b[39], diagram.C_W[59]), "phase"] == "chaotic"
    assert len(frame) == 2400


def test_the_frame_of_paths():
    law = example(fw.results.CovarianceLaw)
    frame = law.to_dataframe().set_index(["path", "time"])
    assert frame.loc[(2, law.times[1]), "V[0,1]"] == law.V[2, 1, 0, 1]


def test_a_result_inside_jit_prints_without_numbers():
    """Where nothing can be looked at."""
    seen = []
    jax.jit(lambda K: seen.append(repr(fw.critical.Susceptibilities(K, K, K, K, K))) or K)(jnp.ones(2))
    assert seen == ["Susceptibilities(being traced)"]


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ArgumentError, match=r"pip install 'finitewidth\[notebook\]'"):
        measured_flow().to_dataframe()


def test_a_network_that_was_loaded_is_the_same_network(tmp_path):
    """For checkpoints and for `compare`, which go by fingerprints."""
    for net in (fw.MLP("silu", (2, 4, 1), C_W=[1.0, 2.0]), fw.MLP(fw.activations.monomial(5), (2, 4, 1))):
        assert fingerprint(saved_and_loaded(net, tmp_path)) == fingerprint(net)
    assert saved_and_loaded(fw.MLP("silu", (2, 4, 1)), tmp_path).activation is fw.ACTIVATIONS["silu"]


@pytest.mark.parametrize("name", fw.ACTIVATIONS)
def test_every_activation_is_saved_by_name(name, tmp_path):
    assert saved_and_loaded(fw.ACTIVATIONS[name], tmp_path) is fw.ACTIVATIONS[name]
    assert pickle.loads(pickle.dumps(fw.ACTIVATIONS[name])) is fw.ACTIVATIONS[name]


def mexican(z):
    return z * jnp.exp(-(z**2))


def test_activations_of_ones_own(tmp_path):
    """A function that can be imported is pickled; none can be saved, and the error says where it is and what to do."""
    net = fw.MLP(mexican, (2, 4, 1))
    assert copy.deepcopy(net).activation == net.activation
    for activation in (mexican, lambda z: z * jnp.exp(-z)):
        with pytest.raises(ArgumentError, match=r"MLP\.activation\.value, a function.*replace\(activation=f\)"):
            fw.save(fw.MLP(activation, (2, 4, 1)), tmp_path / "net.fw")
    assert not (tmp_path / "net.fw").exists()


def test_an_activation_that_was_changed_is_not_taken_for_the_original(tmp_path):
    from dataclasses import replace

    with pytest.raises(ArgumentError, match="value"):
        fw.save(replace(fw.ACTIVATIONS["tanh"], kinks=(0.5,)), tmp_path / "activation.fw")


def test_plain_things_are_saved(tmp_path):
    """With their types: NumPy's numbers stay NumPy's, JAX's arrays JAX's, keys keys; infinity and NaN are numbers."""
    things = {
        "a": (1, 2.5, None, True, "x"),
        "b": [np.float32(2), np.array([1, 2]), jnp.ones(2)],
        "i": 1j,
        "inf": np.inf,
    }
    assert_same(saved_and_loaded(things, tmp_path), things)
    assert saved_and_loaded({2: 0.5}, tmp_path) == {2: 0.5}
    assert np.isnan(saved_and_loaded(float("nan"), tmp_path))
    assert_same(saved_and_loaded(jax.random.key(3), tmp_path), jax.random.key(3))


@pytest.mark.parametrize("thing", [object(), {1, 2}, open, Figure()])
def test_other_things_are_refused(thing, tmp_path):
    with pytest.raises(ArgumentError, match="thing"):
        fw.save(thing, tmp_path / "thing.fw")


def rewritten(path, change):
    """The same file with a changed head."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    head = json.loads(parts["finitewidth.json"])
    change(head)
    with zipfile.ZipFile(path, "w") as file:
        for name, part in (parts | {"finitewidth.json": json.dumps(head).encode()}).items():
            file.writestr(name, part)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda head: head.update(finitewidth=99), "format 99"),
        (lambda head: head["content"].update(object=":MPL"), ":MPL"),
        (lambda head: head["content"].update(object="os:system"), "os:system"),
        (lambda head: head["content"].update(object="_files:json"), "_files:json"),
        (lambda head: head["content"]["fields"].update(depth=3), "another version"),
        (lambda head: head["content"]["fields"].pop("C_W"), "another version"),
        (lambda head: head.update(content={"made by": ":save", "of": [1, "stolen"]}), ":save"),
        (lambda head: head.update(content={"made by": "cli:main", "of": []}), "cli:main"),
        (lambda head: head.update(content={"function": ":load"}), ":load"),
        (lambda head: head.update(content={"spell": 1}), "spell"),
    ],
)
def test_what_is_not_known_is_refused(change, match, tmp_path):
    """Other formats, other fields, classes that are not there, functions that make no activations: none is run."""
    path = tmp_path / "net.fw"
    fw.save(NET, path)
    rewritten(path, change)
    with pytest.raises(fw.FileError, match=match):
        fw.load(path)
    assert not (tmp_path / "stolen").exists()


def test_files_that_are_none(tmp_path):
    """Missing, of another program, cut short, in a folder that is not there: `path` is named."""
    other = tmp_path / "other.npz"
    np.savez(other, a=np.ones(2))
    (tmp_path / "text.fw").write_text("not a file of ours")
    fw.save(NET, tmp_path / "short.fw")
    (tmp_path / "short.fw").write_bytes((tmp_path / "short.fw").read_bytes()[:-40])
    for path in (tmp_path / "missing.fw", other, tmp_path / "text.fw", tmp_path / "short.fw", tmp_path, 3):
        with pytest.raises(ArgumentError, match="path"):
            fw.load(path)
    with pytest.raises(ArgumentError, match="path"):
        fw.save(NET, tmp_path / "nowhere" / "net.fw")


def test_a_new_result_needs_nothing_but_fields():
    """By inheriting: a line for each column, facts above."""
    import equinox as eqx

    class Posterior(Result, eqx.Module):
        axes = ("input",)
        mean: np.ndarray
        covariance: np.ndarray
        evidence: float = eqx.field(static=True)

    made = Posterior(np.array([1.0, 2.0]), np.eye(2), -3.5)
    assert repr(made) == (
        "Posterior of 2 rows: evidence = -3.5\n"
        "  input  mean  covariance[0]  covariance[1]\n"
        "      0     1              1              0\n"
        "      1     2              0              1"
    )
    assert made.to_dataframe().attrs == {"evidence": -3.5}
    assert len(made.plot(Figure().subplots()).get_lines()) == 3
