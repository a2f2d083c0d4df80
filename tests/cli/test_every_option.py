"""What a command writes is what the library returns: every command, every option, each with a value that is no default."""

import argparse
import functools
import json
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import pytest
from matplotlib.figure import Figure

import finitewidth as fw
from finitewidth import cli, figures

SDE = import_module("finitewidth.proportional")  # where the command finds covariance_sde
ADVICE, PHASES = import_module("finitewidth.advice.token_fates"), import_module("finitewidth.cli.phase_diagram")
REPORTS, SHAPING = import_module("finitewidth.reports"), import_module("finitewidth.reports.sections.shaping")
FINE = 21  # points a side of a picture

INPUTS = np.array([[1.0, 0.0, 0.5, -1.0], [0.5, 1.0, 0.0, 2.0]])


class Row(NamedTuple):
    """A command line, and the same from Python: what it prints and what each file holds.

    In the line INPUTS stands for a file that holds the inputs above, and names that begin with `out` are written.
    """

    line: str
    library: Callable[[], dict[str, Any]]
    text: Callable[[str], Any] = str
    """What of the text printed is compared."""


# The same shapes in all rows of a command: compiled code is shared.
MLP = "report --activation tanh --depth 3 --width 8 --networks 20"
WIDTHS = (4, 8, 8, 1)


def report_on_a_tuned_network():
    found = fw.report(fw.tune(fw.MLP("tanh", WIDTHS)), networks=20, seed=3)
    return {"out.json": found.data, "out.html": f"{found.to_html()}\n", "text": str(found)}


def report_on_given_inputs():
    found = fw.report(fw.MLP("tanh", WIDTHS, C_b=0.05, C_W=1.5), INPUTS, networks=20)
    return {"text": found.data}


def report_on_a_residual_network():
    net = fw.tune(fw.ResidualMLP("tanh", 8, 3, 0.5, inputs=4, outputs=1))
    return {"text": fw.report(net, INPUTS, networks=20).data}


TRANSFORMER = (
    "report --transformer --tokens 2 --width 12 --depth 3 --heads 3 --gamma 0.3 --tau0 1.5 --mask none "
    "--correlation 0.4 --networks 16 --seed 3 --gamma-feedforward 0.4 --projection --hidden-ratio 3 --c-plus 0.5 --c-minus -0.5"
)


def report_on_a_transformer():
    attention = fw.ShapedAttention(0.3, 1.5, heads=3, output_projection=True)
    block = fw.ShapedTransformer(attention, fw.ShapedResNet(0.4, 0.5, -0.5, hidden_ratio=3.0))
    found = fw.transformer_report(block.at(width=12, depth=3), 0.6 * np.eye(2) + 0.4, networks=16, seed=3, paths=16)
    return {"out.json": found.data, "out.html": f"{found.to_html()}\n", "text": str(found)}


def advice_on_generic_inputs():
    found = fw.recommend(activation="relu", depth=3, width=8, outputs=2, seed=3)
    return {"out.json": found.data, "out.html": f"{found.to_html()}\n", "text": str(found)}


def advice_on_given_inputs():
    return {"text": fw.recommend(activation="relu", depth=3, width=8, outputs=2, data=INPUTS).data}


def the_limit():
    block = fw.ShapedAttention(0.2, tau0=1.5, heads=2, mask="causal", output_projection=True)
    return limit_as_json(fw.covariance_sde(block, 0.6 * np.eye(3) + 0.4, 0.3, paths=16, seed=3, steps=4))


def limit_as_json(law):
    both = fw.compare(law, law).to_dict()
    rows = [{"entry": row["entry"], "quantiles": row["first"]} for row in both["rows"]]
    return {"text": {"law": both["first"], "levels": both["levels"], "rows": rows}}


def the_limit_of_given_tokens():
    V0 = INPUTS @ np.transpose(INPUTS) / np.shape(INPUTS)[1]
    return limit_as_json(fw.covariance_sde(fw.ShapedResNet(0.4, hidden_ratio=3.0), V0, 0.3, paths=16, steps=4))


def the_limit_over_networks():
    block, V0 = fw.ShapedMLP(fw.shaped.shaped_relu(0.5, -0.5)), 0.8 * np.eye(2) + 0.2
    limit = fw.covariance_sde(block, V0, 0.3, paths=16, seed=3, steps=4)
    found = fw.compare(limit, fw.simulate(block.at(10, 3), V0, networks=16, seed=3))
    return {
        "out.json": found.to_dict(),
        "text": str(found),
        "out.png": picture(fw.figures.law_densities(limit, found.second, tuple(Figure().subplots(1, 2)))),
    }


def measured(net, x, **settings):
    """What the JSON of `simulate` holds."""
    found = fw.simulate(net, x, **settings)
    versions = {name: version(name) for name in ("finitewidth", "jax", "numpy")} | {"python": python_version()}
    fields = {name: getattr(found, name) for name in ("G", "G1", "V")}
    made = found.ensemble
    return {
        "meta": {"versions": versions, "seed": made.seed, "networks": made.networks, "method": made.method},
        "network": {
            "activation": net.activation.name,
            "formula": net.activation.formula,
            "depth": net.depth,
            "widths": list(net.widths),
            "C_b": net.C_b.tolist(),
            "C_W": net.C_W.tolist(),
            "parameters": net.parameters,
        },
        "inputs": np.asarray(x).tolist(),
        **{
            name: {"mean": of.mean.tolist(), "standard_error": of.standard_error.tolist()}
            for name, of in fields.items()
        },
    }


def dense_networks(tmp="library.npz"):
    x = np.random.default_rng(5).normal(size=(2, 4))
    net = fw.tune(fw.MLP("relu", WIDTHS))
    found = measured(net, x, networks=30, seed=5, method="dense", checkpoint=tmp)
    return {"out.json": found, "out.npz": arrays(Path(tmp))}


def networks_that_see_given_inputs():
    return {"text": measured(fw.MLP("relu", WIDTHS, C_b=0.05, C_W=1.5), INPUTS, networks=10_000)}


def verdicts():
    lines = []
    for name in ("relu", "tanh", "perceptron"):
        found = fw.criticality(name)
        point = found.point
        kernel = [] if point is None else ["any" if point.K_star is None else f"{point.K_star:g}"]
        numbers = ["-"] * 3 if point is None else [f"{point.C_b:g}", f"{point.C_W:g}", *kernel]
        lines.append([name, str(found.universality_class), *numbers])
    return {"text": lines}


def columns_of_verdicts(text):
    """Name, class and numbers; formulas have spaces."""
    return [[line.split()[0], *line.split()[-4:]] for line in text.splitlines()[1:]]


def phases_of_tanh():
    C_b, C_W = np.linspace(0, 0.8, 17), np.linspace(0, 2, 61)
    found, verdict = fw.phase_diagram("tanh", C_b, C_W), fw.criticality("tanh")
    fine = fw.phase_diagram("tanh", np.linspace(0, 0.8, FINE), np.linspace(0, 2, FINE))
    return {
        "text": {
            "C_b": [f"{each:.3g}" for each in C_b],
            "C_W": ["0", "1", "2"],
            "phases": found.phase.tolist(),
            "points": [str(point) for point in verdict.critical_points],
        },
        "out.png": picture([figures.phase_diagram(fine, Figure().subplots(), verdict=verdict)]),
    }


def read_map(text):
    """The phases that a map shows, by its own legend."""
    lines = text.splitlines()
    marks = dict(entry.split(" ") for entry in lines[lines.index("") + 1].split("   "))
    rows = [line.split(" │") for line in lines if " │" in line][::-1]
    ticks = next(line for line in lines if "C_W = " in line)
    return {
        "C_b": [label.strip() for label, _ in rows],
        "C_W": ticks.replace("C_W = ", "").split(),
        "phases": [[marks[mark] for mark in row] for _, row in rows],
        "points": [line.removeprefix("critical point: ") for line in lines if line.startswith("critical point: ")],
    }


ADVICE_ON = "recommend --activation relu --depth 3 --width 8 --outputs 2"
ROWS = [
    Row(f"{ADVICE_ON} --seed 3 --json out.json --html out.html", advice_on_generic_inputs),
    Row(f"{ADVICE_ON} --inputs INPUTS --json", advice_on_given_inputs, json.loads),
    Row(f"{MLP} --input-width 4 --seed 3 --json out.json --html out.html", report_on_a_tuned_network),
    Row(f"{MLP} --inputs INPUTS --C-b 0.05 --C-W 1.5 --json", report_on_given_inputs, json.loads),
    Row(f"{MLP} --inputs INPUTS --residual 0.5 --json", report_on_a_residual_network, json.loads),
    Row(f"{TRANSFORMER} --json out.json --html out.html", report_on_a_transformer),
    Row(
        "sde --block attention --tokens 3 --heads 2 --mask causal --gamma 0.2 --tau0 1.5 --correlation 0.4 --projection "
        "--depth-to-width 0.3 --paths 16 --steps 4 --seed 3 --json",
        the_limit,
        json.loads,
    ),
    Row(
        "sde --block mlp --c-plus 0.5 --c-minus -0.5 --depth-to-width 0.3 --paths 16 --steps 4 --seed 3 --width 10 "
        "--json out.json --output out.png",
        the_limit_over_networks,
    ),
    Row(
        "sde --block resnet --gamma-feedforward 0.4 --hidden-ratio 3 --inputs INPUTS --depth-to-width 0.3 --paths 16 --steps 4 --json",
        the_limit_of_given_tokens,
        json.loads,
    ),
    Row(
        "simulate --activation relu --widths 4,8,8,1 --networks 30 --seed 5 --method dense --checkpoint out.npz "
        "--json out.json",
        dense_networks,
    ),
    Row(
        "simulate --activation relu --widths 4,8,8,1 --inputs INPUTS --C-b 0.05 --C-W 1.5 --json",
        networks_that_see_given_inputs,
        json.loads,
    ),
    Row("activations relu tanh perceptron", verdicts, columns_of_verdicts),
    Row("phase-diagram --activation tanh --C-b-max 0.8 --C-W-max 2 --output out.png", phases_of_tanh, read_map),
]


def arrays(path):
    with np.load(path) as file:
        return {name: file[name].tolist() for name in file.files}


def picture(panels):
    """The numbers that a picture shows, panel by panel."""
    return [
        [np.asarray(line.get_data()).tolist() for line in axes.get_lines()]
        + [np.ma.getdata(of.get_array()).tolist() for of in axes.collections if of.get_array() is not None]
        for axes in panels
    ]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command line in an empty directory: what it prints, and what its files hold."""
    drawn, write = {}, Figure.savefig

    def saved(figure, where, **settings):
        if isinstance(where, str):
            drawn[where] = picture(figure.axes)
        else:  # a picture inside a page
            write(figure, where, **settings)

    readers = {".json": lambda path: json.loads(path.read_text("utf-8")), ".html": lambda path: path.read_text("utf-8")}
    readers[".npz"] = arrays
    monkeypatch.setattr(ADVICE, "_PATHS", 16)  # few and coarse, here and in the library's own calls: it takes less time
    monkeypatch.setattr(PHASES, "_FINE", FINE)
    few = functools.partial(SHAPING.recommend_shaping, gammas=(0.05, 0.9), temperatures=(1.0,))
    monkeypatch.setattr(SHAPING, "recommend_shaping", few)
    monkeypatch.setattr(REPORTS, "transformer_report", functools.partial(REPORTS.transformer_report, paths=16))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")  # as wide as the library prints
    monkeypatch.setattr(Figure, "savefig", saved)

    def command(line):
        np.savetxt("INPUTS", INPUTS, delimiter=",")
        assert cli.main(line.split()) == 0
        text = capsys.readouterr().out
        Path("INPUTS").unlink()
        files = {path.name: readers[path.suffix](path) for path in tmp_path.iterdir()}
        return {"text": "\n".join(part.rstrip() for part in text.rstrip().splitlines()), **files, **drawn}

    return command


@pytest.mark.filterwarnings("ignore:Standard errors")  # thirty networks are few
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.library.__name__)
def test_a_command_writes_what_the_library_returns(run, row):
    found, expected = run(row.line), row.library()
    found["text"] = row.text(found["text"])
    assert found.keys() - {"text"} == expected.keys() - {"text"}
    for place, content in expected.items():
        assert found[place] == (json.loads(json.dumps(content)) if place != "text" else content), place


STACK = fw.ShapedTransformer(fw.ShapedAttention(0.2, 1.5, 2, "causal"), fw.ShapedResNet(0.2, 0.5, -0.5))


@pytest.mark.parametrize(
    ("chosen", "block"),
    [
        ("--block mlp", fw.ShapedMLP(fw.shaped.shaped_relu(0.5, -0.5))),
        ("--block resnet", fw.ShapedResNet(0.2, 0.5, -0.5)),
        ("--block attention", fw.ShapedAttention(0.2, 1.5, 2, "causal")),
        ("--block transformer", STACK),
        ("", STACK),
    ],
)
def test_blocks_by_name(monkeypatch, chosen, block):
    """Each is made with the options that it has."""
    asked = []

    def recorded(of, *_):
        asked.append(of)
        raise fw.ArgumentError("block", "enough", "no work")

    monkeypatch.setattr(SDE, "covariance_sde", recorded)
    options = "--gamma 0.2 --tau0 1.5 --heads 2 --mask causal --c-plus 0.5 --c-minus -0.5 --depth-to-width 1"
    assert cli.main(["sde", *chosen.split(), *options.split()]) == 2
    assert eqx.tree_equal(asked[0], block)


TWO_KINDS = "a shaped Transformer instead of an MLP"  # the title of the options that `report` has for Transformers
OF_BOTH_KINDS = {"depth", "width", "networks", "seed", "json", "html"}


@pytest.fixture
def parser(monkeypatch):
    """The one that reads command lines."""
    found = []

    def caught(self, _):
        found.append(self)
        raise SystemExit(0)

    with monkeypatch.context() as here:
        here.setattr(argparse.ArgumentParser, "parse_args", caught)
        cli.main([])
    return found[0]


def options(parser):
    """Of every command, by name; a report on a Transformer counts as a command of its own."""
    (commands,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    found = {
        name: {action.dest: action for action in command._actions if action.dest != "help"}
        for name, command in commands.items()
    }
    everything = found.pop("report")
    (of_transformers,) = (group for group in commands["report"]._action_groups if group.title == TWO_KINDS)
    own = {action.dest for action in of_transformers._group_actions}
    found["report"] = {name: action for name, action in everything.items() if name not in own}
    found["report --transformer"] = {name: everything[name] for name in own | OF_BOTH_KINDS}
    return found


def test_every_option_is_in_a_row(parser):
    """With a value other than its default, for else nobody would see it ignored."""
    missing = {(command, name) for command, actions in options(parser).items() for name in actions}
    for row in ROWS:
        args = parser.parse_args(row.line.split())
        command = "report --transformer" if getattr(args, "transformer", False) else row.line.split()[0]
        actions = options(parser)[command]
        missing -= {(command, name) for name, action in actions.items() if getattr(args, name) != action.default}
    assert missing == set()
