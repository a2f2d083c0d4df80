"""A run that is killed resumes from its last chunk and ends with the very bits of one that was not."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.ensembles import simulate
from finitewidth.ensembles.checkpoint import Checkpoint
from finitewidth.networks import MLP

NET = MLP("tanh", (3, 12, 8, 8, 1), C_b=[0.1, 0.0, 0.2, 0.1], C_W=[1.0, 1.2, 1.5, 0.8])
X = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
RUN = {"networks": 20_000, "chunk_size": 4096}


def assert_identical(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def interrupt_after(monkeypatch, saves):
    """Let a run write its checkpoint a number of times, then stop it as Ctrl-C would."""
    save, count = Checkpoint.save, iter(range(saves))

    def limited(self, step, state):
        save(self, step, state)
        if next(count, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", limited)


@pytest.mark.parametrize("saves", [0, 2])
def test_an_interrupted_run_ends_bit_identical(tmp_path, monkeypatch, saves):
    """Also when it resumes with another chunk size."""
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        interrupt_after(patch, saves)
        with pytest.raises(KeyboardInterrupt):
            simulate(NET, X, **RUN, checkpoint=path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    with np.load(path) as saved:
        assert saved["step"] == 4096 * (saves + 1)
    resumed = simulate(NET, X, **(RUN | {"chunk_size": None}), checkpoint=path)
    assert_identical(resumed, simulate(NET, X, **RUN))


def test_a_finished_run_is_read_back(tmp_path, monkeypatch):
    """Without drawing a network."""
    path = tmp_path / "run.npz"
    finished = simulate(NET, X, **RUN, checkpoint=str(path))
    monkeypatch.setattr("finitewidth.ensembles.simulation.add_lane", None)
    assert_identical(simulate(NET, X, **RUN, checkpoint=path), finished)


def test_the_draft_of_a_run_killed_while_writing_is_harmless(tmp_path):
    """The file moves into place whole: what was half written beside it is ignored and overwritten."""
    path = tmp_path / "run.npz"
    (tmp_path / "run.npz.part").write_bytes(b"half")
    first = simulate(NET, X, **RUN, checkpoint=path)
    assert_identical(simulate(NET, X, **RUN, checkpoint=path), first)
    assert not (tmp_path / "run.npz.part").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"networks": 20_001},
        {"x": 2 * X},
        {"method": "lazy"},
        {"net": NET.replace(C_W=1.0)},
        {"net": NET.replace(lambda_b=0.5)},
        {"net": NET.replace(lambda_W=0.5)},
        {"method": "dense", "through": "ntk"},
        {"net": NET.replace(widths=(3, 12, 8, 9, 1))},
        {"net": NET.replace(activation=lambda z: 0.99 * z)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_problem_is_refused(tmp_path, change):
    """Rather than mixed in, and the file is left as it was."""
    path = tmp_path / "run.npz"
    problem = {"net": NET, "x": X} | RUN
    simulate(**problem, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match="another network, inputs, seed"):
        simulate(**(problem | change), checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    """And left alone."""
    path = tmp_path / "thesis.npz"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match="not a checkpoint"):
        simulate(NET, X, **RUN, checkpoint=path)
    assert path.read_bytes() == content


def test_an_unwritable_path_is_refused_before_the_work(tmp_path, monkeypatch):
    """A directory, a folder that is not there, a file in the way."""
    monkeypatch.setattr("finitewidth.ensembles.simulation.add_lane", None)
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing" / "run.npz", tmp_path / "file" / "run.npz"):
        with pytest.raises(ArgumentError, match="a file that can be written"):
            simulate(NET, X, **RUN, checkpoint=path)


KILLED = """
import sys, numpy as np
from finitewidth.ensembles import simulate
from finitewidth.networks import MLP
net = MLP("tanh", (3, 12, 8, 8, 1), C_b=[0.1, 0.0, 0.2, 0.1], C_W=[1.0, 1.2, 1.5, 0.8])
x = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
measured = simulate(net, x, networks=400_000, chunk_size=4096, checkpoint=sys.argv[1])
np.savez(sys.argv[2], K=measured.K.mean, V=measured.V.mean, error=measured.V.standard_error)
"""


@pytest.mark.slow
def test_a_killed_process_resumes_bit_identical(tmp_path):
    """SIGKILL at an arbitrary moment, twice, then a run to the end in a third process."""
    path, out = tmp_path / "run.npz", tmp_path / "out.npz"

    def start():
        return subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(out)], env=os.environ)

    for _ in range(2):
        process = start()
        seen = path.stat().st_mtime_ns if path.exists() else 0
        while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns > seen):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with np.load(path) as saved:
        assert 0 < saved["step"] < 400_000
    assert start().wait() == 0
    jax.clear_caches()  # code compiled in haste, for another test, rounds differently
    expected = simulate(NET, X, networks=400_000)
    with np.load(out) as resumed:
        np.testing.assert_array_equal(resumed["K"], expected.K.mean)
        np.testing.assert_array_equal(resumed["V"], expected.V.mean)
        np.testing.assert_array_equal(resumed["error"], expected.V.standard_error)
