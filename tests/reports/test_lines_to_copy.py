"""Lines to copy are whole in every medium, and run: in a PyTorch that only remembers, and on the command line."""

import re
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.cli.main import _parser, main
from finitewidth.reports.section import Code, Column, Details, Section, Table, Words
from finitewidth.reports.terminal import as_text, show, stacked, whole

LONG = f"net = fw.MLP('relu', ({', '.join(['64'] * 60)}))  # 300 columns\nif net.depth > 3:\n    print(net)"
SHORT = "width = 3"


def code_of(parts):
    """All code of parts, folded or not."""
    for part in parts:
        if isinstance(part, Code):
            yield part.text
        elif isinstance(part, Details):
            yield from code_of(part.parts)


def indented_lines(text):
    """What stands four columns in, as a reader would copy it."""
    return [line[4:] for line in text.splitlines() if line.startswith("    ") and line.strip()]


def pytorch(layers):
    """Draws standard deviations into layers, and returns groups for optimisers."""
    init = SimpleNamespace(normal_=lambda of, std: of.fill(std), zeros_=lambda of: of.fill(0.0))
    optim = SimpleNamespace(SGD=lambda groups: ("SGD", groups), Adam=lambda groups: ("Adam", groups))
    torch = SimpleNamespace(nn=SimpleNamespace(init=init), no_grad=nullcontext, optim=optim)
    return {"torch": torch, "linear_layers": layers, "eta": 0.5}


def linear_layers(net):
    """As many as the network has, with parameters that remember one number."""
    return [SimpleNamespace(in_features=n, weight=np.ones((m, n)), bias=np.ones(m)) for n, m in pairwise(net.widths)]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_code_is_not_cropped_in_any_terminal(monkeypatch, capsys, columns):
    """Words and tables fit, code keeps every column: alone, in a section, and where a page would fold it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    table = Table((Column("a rather long head", ("1",), left=True), Column("and another", ("2",))))
    words = Words("many words " * 30)
    section = Section("all", "All", {}, (words, Code(LONG), table, Details("more", (Code(SHORT),))))
    show(whole("report", Section("head", "head", {}, (words,)), (section,), Section("foot", "foot", {})))
    out = capsys.readouterr().out
    assert [line.rstrip() for line in indented_lines(out)] == [*LONG.splitlines(), SHORT]
    assert max(len(line) for line in out.splitlines() if not line.startswith("    ")) <= columns
    show(stacked((words, Code(LONG))))
    assert indented_lines(capsys.readouterr().out) == LONG.splitlines()
    assert indented_lines(as_text(stacked((words, Code(LONG))))) == LONG.splitlines()


@pytest.mark.parametrize("medium", ["print", "terminal", "page"])
def test_a_report_in_every_medium_has_all_of_its_code(made, monkeypatch, capsys, medium):
    """Forty columns, as on a phone."""
    monkeypatch.setenv("COLUMNS", "40")
    if medium == "terminal":
        show(made)
    text = {"print": str, "terminal": lambda _: capsys.readouterr().out, "page": lambda made: made.to_html()}[medium](
        made
    )
    found = list(code_of(part for section in made.sections for part in section.parts))
    assert len(found) == 2
    for code in found:
        compile(code, "copied", "exec")
        lines = code.splitlines()
        if medium == "page":
            lines = [line.replace("&", "&amp;").replace('"', "&quot;") for line in lines]
        for line in lines:
            assert line in text


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
@pytest.mark.parametrize(("depth", "width"), [(1, 8), (12, 16)])
def test_the_lines_of_a_recommendation_run(activation, depth, width):
    """One layer, and too deep for its width, which skips mend: variances, skips and rates are those of the advice."""
    x = np.random.default_rng(0).normal(size=(4, 6))
    advice = fw.recommend(activation=activation, depth=depth, width=width, outputs=2, data=x)
    layers = linear_layers(advice.plain)
    code = "\n".join(code_of(advice.sections[-1].parts))
    names = pytorch(layers) | {"x": x}
    exec(code, names)
    net = advice.net
    np.testing.assert_allclose([each.weight[0, 0] ** 2 * each.in_features for each in layers], net.C_W, rtol=1e-5)
    np.testing.assert_allclose([each.bias[0] ** 2 for each in layers], net.C_b, rtol=1e-5, atol=1e-12)
    name, groups = names["optimizer"]
    rate, inputs = advice.numbers["adam_rate"].value, advice.numbers["input_scale"].value * x
    expected = fw.learning_rates(net, "adam", rate, inputs).parameter_groups(layers)
    assert name == "Adam"
    np.testing.assert_allclose([group["lr"] for group in groups], [group["lr"] for group in expected], rtol=1e-9)


def test_examples_of_the_command_line_are_understood(capsys):
    """Every line of every help page that begins with the program's name, as far as its parser goes."""
    pages = [[], *([command] for command in ("report", "recommend", "activations", "phase-diagram", "simulate", "sde"))]
    lines = []
    for page in pages:
        main([*page, "--help"])
        lines += re.findall(r"^  finitewidth (.*?)(?:  .*)?$", capsys.readouterr().out, flags=re.MULTILINE)
    assert len(lines) > 20
    for line in lines:
        words = line.partition(" > ")[0].split()
        _parser().parse_args(words)


def test_the_command_line_crops_no_code(monkeypatch, capsys):
    """Narrower than the lines, as a pipe or a split terminal may be."""
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["recommend", "--activation", "relu", "--depth", "1", "--width", "8"]) == 0
    out = capsys.readouterr().out.partition("What to do")[2]
    expected = fw.recommend(activation="relu", depth=1, width=8).sections[-1].parts
    assert indented_lines(out) == "\n".join(code_of(expected)).splitlines()
