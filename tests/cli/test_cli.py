"""The command line: exit codes, messages, and the numbers it writes."""

import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import finitewidth as fw
from finitewidth import cli
from finitewidth.activations import ACTIVATIONS
from finitewidth.cli.options import network
from finitewidth.critical import criticality
from finitewidth.ensembles import simulate
from finitewidth.expansion import flow
from finitewidth.networks import MLP
from finitewidth.reports.inputs import generic_inputs

SMALL = ("--activation", "tanh", "--depth", "3", "--width", "16", "--input-width", "4", "--networks", "100")


@pytest.fixture
def run(capsys):
    """Runs a command line: exit code, standard output, standard error."""

    def command(*argv):
        code = cli.main([str(part) for part in argv])
        return code, *capsys.readouterr()

    return command


@pytest.mark.parametrize("argv", [(), ("report",), ("activations",), ("phase-diagram",), ("simulate",), ("sde",)])
def test_help_is_documentation(run, argv):
    code, out, err = run(*argv, "--help")
    assert (code, err) == (0, "")
    assert "examples:" in out
    assert (
        f"finitewidth {argv[0]}" in out
        if argv
        else all(name in out for name in ("report", "activations", "phase-diagram", "simulate", "sde"))
    )


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("finitewidth ")


@pytest.mark.parametrize("argv", [(), ("nonsense",), ("report", "--depth", "many"), ("simulate",), ("sde",)])
def test_misuse_is_refused_by_the_parser(run, argv):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "usage: finitewidth" in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("report", "--activation", "gelo"), "did you mean 'gelu'?"),
        (("report", "--depth", "0"), "`--depth`: got 0"),
        (("report", "--width", "-3"), "`--width`: got -3"),
        (("report", "--input-width", "0"), "`widths[0]`: got 0"),
        (("report", "--C-b", "1"), "`--C-b`: got no --C-W beside it"),
        (("report", "--gamma", "0.3"), "`--gamma`: got 0.3, without --transformer"),
        (
            ("report", "--residual", "0.5", "--depth", "2"),
            "`--residual`: got 0.5 with --depth 2; expected --depth 3 or more",
        ),
        (("phase-diagram", "--activation", "relu", "--C-b-max", "0"), "expected a positive number"),
        (("report", "--c-plus", "1"), "`--c-plus`: got 1.0, without --transformer"),
        (
            ("report", "--transformer", "--activation", "relu"),
            "`--activation`: got relu, which a Transformer does not have",
        ),
        (("report", "--transformer", "--C-W", "2"), "`--C-W`: got 2.0, which a Transformer does not have"),
        (("report", *SMALL, "--C-b", "0", "--C-W", "-1"), "`C_W`: got a negative value"),
        (("report", *SMALL[:-1], "1", "--C-b", "0", "--C-W", "1"), "`networks`: got 1"),
        (("report", *SMALL, "--C-b", "0", "--C-W", "nan"), "`C_W`: got a NaN"),
        (("report", "--inputs", "absent.csv"), "`--inputs`: got 'absent.csv'"),
        (("activations", "tanhh"), "did you mean 'tanh'?"),
        (("phase-diagram", "--activation", "tanh", "--C-W-max", "-1"), "`--C-W-max`: got -1"),
        (("phase-diagram", "--activation", "tanh", "--output", "picture.doc"), "ends in .png, .svg, .pdf"),
        (("phase-diagram", "--activation", "perceptron"), "jumps"),
        (("simulate", "--activation", "tanh", "--widths", "3"), "at least two"),
        (("simulate", "--activation", "tanh", "--widths", "3,0,1"), "`--widths[1]`: got 0"),
        (("simulate", "--activation", "tanh", "--widths", "3,4,1", "--seed", "-1"), "`seed`: got -1"),
        (
            ("simulate", "--activation", "tanh", "--widths", "3,4,1", "--C-b", "0", "--C-W", "1", "--method", "lasy"),
            "did you mean 'lazy'?",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(run, argv, message):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("finitewidth: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("argv", "option"),
    [
        (("report",), "--html"),
        (("report",), "--json"),
        (("phase-diagram", "--activation", "tanh"), "--output"),
        (("simulate", "--activation", "tanh", "--widths", "3,4,1"), "--json"),
        (("simulate", "--activation", "tanh", "--widths", "3,4,1"), "--checkpoint"),
    ],
)
@pytest.mark.parametrize("place", ["nowhere/out.png", "folder.png"])
def test_unwritable_outputs_are_refused_before_the_work(run, tmp_path, monkeypatch, argv, option, place):
    def work(*_, **__):
        raise AssertionError("the work has begun")

    for name in ("finitewidth.reports.report", "finitewidth.critical.criticality", "finitewidth.ensembles.simulate"):
        room, function = name.rsplit(".", 1)
        monkeypatch.setattr(sys.modules[room], function, work)
    (tmp_path / "folder.png").mkdir()
    code, out, err = run(*argv, option, tmp_path / place)
    assert (code, out) == (2, "")
    assert f"`{option}`: got" in err
    assert err.count("\n") == 1


def test_a_check_leaves_no_file_behind(run, tmp_path):
    run("report", "--activation", "gelo", "--html", tmp_path / "a.html", "--json", tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").write_text("old")
    run("report", "--activation", "gelo", "--json", tmp_path / "old.json")
    assert (tmp_path / "old.json").read_text() == "old"


def test_an_interrupt_is_exit_code_130(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["finitewidth.reports"], "report", interrupted)
    code, _, err = run("report", *SMALL, "--C-b", "0", "--C-W", "1")
    assert code == 130
    assert err == "finitewidth: interrupted\n"


def test_report_in_every_form(run, tmp_path):
    """PDLT (4.118), (4.119): the numbers in the JSON are the flow's, at the critical point of PDLT (5.90)."""
    html, data = tmp_path / "report.html", tmp_path / "report.json"
    code, out, err = run("report", *SMALL, "--html", html, "--json", data)
    assert code == 0
    assert "Kernel and fluctuation by depth" in out
    assert err.split() == ["written:", str(html), "written:", str(data)]
    assert html.read_text("utf-8").startswith("<!DOCTYPE html>")
    read = json.loads(data.read_text("utf-8"))
    net = MLP("tanh", (4, 16, 16, 1))
    theory = flow(net, generic_inputs(4, 1.0)[0])
    assert read["criticality"]["tuned"]
    assert read["network"]["widths"] == [4, 16, 16, 1]
    np.testing.assert_allclose(read["layers"]["V"], theory.V[:, [0, 1], [0, 1], [0, 1], [0, 1]], rtol=1e-9)


def test_weights_alone_have_zero_biases():
    """He initialisation: `--C-W 2`."""
    assert network("relu", (2, 4, 1), None, 2.0).C_b.tolist() == [0.0, 0.0]


def test_report_as_json_alone(run, tmp_path):
    rows = tmp_path / "data.csv"
    rows.write_text("1,0,0,1\n0.5,1,0,-1\n")
    arguments = ("--inputs", rows, "--C-b", "0.05", "--C-W", "1.5", "--json")
    code, out, err = run("report", *SMALL[:6], "--networks", "100", *arguments)
    assert (code, err.strip()) == (0, "")
    read = json.loads(out)
    assert read["meta"]["inputs"] == "given"
    assert read["layers"]["K"][0] == [pytest.approx(0.05 + 1.5 * 2 / 4), pytest.approx(0.05 + 1.5 * 2.25 / 4)]
    assert not read["criticality"]["tuned"]


def test_activations(run):
    """PDLT (5.67), (5.90): class and critical initialisation, or none."""
    code, out, _ = run("activations", "relu", "tanh", "perceptron")
    assert code == 0
    head, relu, tanh, perceptron = (line.split() for line in out.splitlines())
    assert head == ["name", "formula", "class", "C_b", "C_W", "K*"]
    assert relu[-4:] == ["scale-invariant", "0", "2", "any"]
    assert tanh[-4:] == ["K*=0", "0", "1", "0"]
    assert perceptron[-4:] == ["none", "-", "-", "-"]


def test_activations_lists_all_by_default(run, monkeypatch):
    verdict = criticality("perceptron")
    monkeypatch.setattr(sys.modules["finitewidth.critical"], "criticality", lambda _: verdict)
    _, out, _ = run("activations")
    assert [line.split()[0] for line in out.splitlines()[1:]] == sorted(ACTIVATIONS)
    assert max(map(len, out.splitlines())) <= 100
    assert "0.01 z (z < 0) none" in out  # columns do not touch


def test_phase_diagram(run, tmp_path):
    """PDLT figure 5.1: ordered at the left and top, chaotic at the lower right, critical at (C_W, C_b) = (1, 0)."""
    picture = tmp_path / "tanh.png"
    code, out, err = run("phase-diagram", "--activation", "tanh", "--output", picture)
    assert (code, err) == (0, f"written: {picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = [line.split("│")[1] for line in out.splitlines() if "│" in line]
    assert len(rows) == 17
    assert rows[0][:40] == "·" * 40
    assert rows[-2][-1] == "#"
    assert rows[-1][20] == "*"  # 61 columns from 0 to 3: column 20 is C_W = 1
    assert rows[-1][:20] == "0" * 20
    assert "critical point: (C_b, C_W) = (0, 1), K* = 0, stable" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.filterwarnings("ignore:Standard errors")  # few networks
def test_simulate(run, tmp_path):
    """PDLT (4.70): the JSON holds exactly what the library's own call returns."""
    data = tmp_path / "measured.json"
    arguments = ("--activation", "relu", "--widths", "3,8,8,1", "--networks", "300", "--seed", "4")
    code, out, err = run("simulate", *arguments, "--json", data)
    assert (code, err.strip()) == (0, f"written: {data}")
    assert "V(01)(01)" in out
    read = json.loads(data.read_text("utf-8"))
    x = np.random.default_rng(4).normal(size=(2, 3))
    measured = simulate(MLP("relu", (3, 8, 8, 1), C_W=2.0), x, networks=300, seed=4)
    np.testing.assert_allclose(read["inputs"], x, rtol=0)
    np.testing.assert_allclose(read["G"]["mean"], measured.G.mean, rtol=1e-12)
    np.testing.assert_allclose(read["V"]["standard_error"], measured.V.standard_error, rtol=1e-9)
    assert (read["meta"]["seed"], read["meta"]["networks"]) == (4, 300)


@pytest.mark.filterwarnings("ignore:Standard errors")  # few networks
def test_simulate_reads_inputs_and_resumes(run, tmp_path):
    inputs, state = tmp_path / "x.npy", tmp_path / "state.npz"
    np.save(inputs, np.eye(3)[:1])
    arguments = ("--activation", "relu", "--widths", "3,8,8,1", "--C-b", "0", "--C-W", "2", "--inputs", inputs)
    first = run("simulate", *arguments, "--networks", "64", "--checkpoint", state, "--json")
    again = run("simulate", *arguments, "--networks", "64", "--checkpoint", state, "--json")
    assert first == again
    assert np.shape(json.loads(first[1])["G"]["mean"]) == (3, 1, 1)
    assert state.exists()


def test_inputs_that_are_none(run, tmp_path):
    for name, content in (("words.csv", "one,two\n"), ("broken.npy", "nothing"), ("empty.npy", "")):
        (tmp_path / name).write_text(content)
        code, _, err = run("simulate", "--activation", "relu", "--widths", "2,4,1", "--inputs", tmp_path / name)
        assert code == 2
        assert "`--inputs`" in err
        assert err.count("\n") == 1


@pytest.mark.filterwarnings("ignore:Standard errors")  # few networks
def test_an_activation_without_criticality_gets_a_stated_choice(run):
    code, out, err = run("simulate", "--activation", "perceptron", "--widths", "2,4,1", "--networks", "16", "--json")
    assert code == 0
    assert "perceptron cannot be tuned" in err
    assert "using C_b = 0, C_W = 1" in err
    assert json.loads(out)["network"]["C_W"] == [1, 1]


def test_a_closed_pipe_is_no_error():
    source = "import sys; from finitewidth.cli import main; sys.exit(main(['activations', 'perceptron', 'linear']))"
    command = f'{sys.executable} -c "{source}" | head -n 1; exit ${{PIPESTATUS[0]}}'
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


TOKENS = ("--depth-to-width", "0.2", "--paths", "64", "--steps", "8")


def test_sde(run, tmp_path):
    """The limit alone as a table; with networks as JSON; a picture."""
    code, out, _ = run("sde", "--block", "attention", *TOKENS)
    assert code == 0
    assert "rho(0,1)" in out
    picture = tmp_path / "law.png"
    code, out, _ = run("sde", "--block", "attention", *TOKENS, "--width", "20", "--json", "--output", picture)
    assert code == 0
    assert json.loads(out)["second"]["depth"] == 4
    assert picture.stat().st_size > 1000


def test_every_part_of_a_transformer_can_be_asked_for(run, monkeypatch, tmp_path):
    """By both commands: what the library is given."""
    np.save(tmp_path / "embeddings.npy", embeddings := np.array([[1.0, 2.0, 2.0], [3.0, 0.0, 1.0]]))
    asked = []

    def covariance_sde(block, V0, *_):
        asked.append((block, V0))
        raise fw.DomainError("block", "what was asked for", "no more")

    def transformer_report(net, V0, **_):
        return covariance_sde(net.block, V0)

    monkeypatch.setattr(import_module("finitewidth.proportional"), "covariance_sde", covariance_sde)
    monkeypatch.setattr(import_module("finitewidth.reports"), "transformer_report", transformer_report)
    shaping = ("--gamma", "0.3", "--gamma-feedforward", "0.4", "--mask", "window:2", "--projection")
    options = (*shaping, "--hidden-ratio", "3", "--c-plus", "0.5", "--c-minus", "-0.5")
    for command in (("sde", "--depth-to-width", "1"), ("report", "--transformer")):
        run(*command, *options, "--inputs", tmp_path / "embeddings.npy")
        block, V0 = asked.pop()
        attention, feedforward = block.parts
        assert (attention.gamma, attention.mask, attention.output_projection) == (0.3, "window:2", True)
        assert (feedforward.gamma, feedforward.hidden_ratio) == (0.4, 3.0)
        assert feedforward.activation == fw.shaped.shaped_relu(0.5, -0.5)
        np.testing.assert_allclose(V0, embeddings @ embeddings.T / 3)


def test_sde_of_one_token_at_a_whole_layer(run, tmp_path):
    """The limit is taken at the depth that the networks have, which is said; one token has a variance to draw."""
    picture = tmp_path / "one.png"
    few = ("--block", "mlp", "--tokens", "1", "--paths", "64")
    code, out, err = run("sde", *few, "--depth-to-width", "0.01", "--width", "30", "--json", "--output", picture)
    assert code == 0
    assert "1 layer; using depth over width 0.03333 instead of 0.01" in err
    assert json.loads(out)["first"]["depth_to_width"] == json.loads(out)["second"]["depth_to_width"] == 1 / 30
    assert picture.stat().st_size > 1000


@pytest.mark.measured
def test_report_on_a_transformer(run):
    """A small one, as JSON."""
    small = ("--tokens", "2", "--width", "16", "--depth", "4", "--networks", "16")
    code, out, _ = run("report", "--transformer", *small, "--json")
    assert code == 0
    config = json.loads(out)["config"]
    assert (config["tokens"], config["mask"]) == (2, "causal")


def test_a_wrong_number_of_heads_is_refused_at_once(run, monkeypatch):
    """Before anything is computed."""
    monkeypatch.setattr(import_module("finitewidth.reports.transformer_report"), "covariance_sde", None)
    code, out, err = run("report", "--transformer", "--heads", "7")
    assert (code, out) == (2, "")
    assert "heads" in err


def test_a_transformer_without_a_mask(run, monkeypatch):
    """Asked for by name."""
    asked = []

    def report(net, V0, **_):
        asked.append(net.block.parts[0])
        return "a report"

    monkeypatch.setattr(import_module("finitewidth.reports"), "transformer_report", report)
    assert run("report", "--transformer", "--mask", "none")[:2] == (0, "a report\n")
    assert asked[0].mask is None


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("sde", *TOKENS, "--block", "mpl"), "did you mean 'mlp'?"),
        (("sde", *TOKENS, "--gamma", "1.5"), "gamma"),
        (("sde", *TOKENS, "--tau0", "0"), "tau0"),
        (("sde", *TOKENS, "--correlation", "-2"), "correlation"),
        (("sde", "--depth-to-width", "0", "--width", "30"), "--depth-to-width"),
        (("sde", *TOKENS, "--width", "0"), "--width"),
        (
            ("sde", *TOKENS, "--output", "x.foo"),
            "`--output`: got 'x.foo'; expected a name that ends in .png, .svg, .pdf",
        ),
        (("report", "--transformer", "--mask", "casual"), "did you mean 'causal'?"),
    ],
)
def test_bad_tokens(run, argv, message):
    """One line that names the option, and exit code 2."""
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("terminal", [True, False])
def test_somebody_who_waits_is_told_so(run, monkeypatch, terminal):
    """Before anything is computed, on standard error, and to people only."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    _, _, err = run("report", "--activation", "nonesuch")
    assert err.startswith("finitewidth: working; the first run of a kind compiles") is terminal
