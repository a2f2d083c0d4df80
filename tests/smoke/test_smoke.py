"""What must work for everyone: every top verb, every type saved and loaded, the command line, a plot.

On the lowest and on the newest versions, by itself: `pytest -c tests/smoke/pytest.ini tests/smoke`. Then nothing is set in JAX, and it
is as users have it.
"""

import inspect
import os
import subprocess
import sys

import jax
import matplotlib as mpl
import numpy as np
import pytest

import finitewidth as fw
from finitewidth import cli
from finitewidth._jax import asked_for_haste
from test_errors import test_a_pool_of_processes_hands_errors_on as test_errors_of_other_processes  # noqa: F401
from test_every_type import test_round_trips as test_every_type_is_saved_and_loaded  # noqa: F401
from test_examples import RUN, run

mpl.use("Agg")
TOP = {thing.__module__ + "." + thing.__name__ for name in fw.__all__ if inspect.isfunction(thing := getattr(fw, name))}
VERBS = [name for name in RUN if name in TOP]


def test_jax_is_as_users_have_it():
    assert not jax.config.jax_enable_x64
    assert not asked_for_haste()
    assert "XLA_FLAGS" not in os.environ


def test_verbs_are_many():
    assert {name.rpartition(".")[2] for name in VERBS} >= {
        "flow",
        "simulate",
        "compare",
        "report",
        "train",
        "covariance_sde",
    }
    assert len(VERBS) > 30


@pytest.mark.parametrize("name", VERBS)
def test_a_verb(name, tmp_path):
    run(name, tmp_path)


def command_line(*argv):
    """In a process of its own, as users call it."""
    program = [sys.executable, "-c", f"from finitewidth.cli import main; raise SystemExit(main({list(argv)!r}))"]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_the_main_job_in_small(tmp_path):
    page = tmp_path / "report.html"
    shape = ("--activation", "tanh", "--depth", "3", "--width", "16", "--networks", "100")
    ran = command_line("report", *shape, "--html", str(page))
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "tanh" in ran.stdout
    assert page.read_text("utf-8").startswith("<!")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--version",), "finitewidth"),
        (("activations", "relu", "tanh"), "tanh"),
        (("phase-diagram", "--activation", "tanh"), "chaotic"),
        (("simulate", "--activation", "relu", "--widths", "3,8,1", "--networks", "1000"), "layer"),
        (("sde", "--depth-to-width", "0.1", "--paths", "16", "--steps", "2"), "rho(0,1)"),
        (("recommend", "--depth", "4", "--width", "64"), "C_W"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_other_commands(argv, says, capsys):
    try:
        code = cli.main(list(argv))
    except SystemExit as done:
        code = done.code
    out, err = capsys.readouterr()
    assert code == 0, err
    assert says in out


def test_a_plot_in_a_file(tmp_path):
    net = fw.MLP("tanh", (2, 16, 16, 1), C_b=0.1, C_W=1.3)
    axes = fw.flow(net, np.eye(2)).plot()
    axes.figure.savefig(tmp_path / "flow.png")
    assert (tmp_path / "flow.png").read_bytes().startswith(b"\x89PNG")
