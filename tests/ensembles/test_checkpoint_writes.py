"""Writing a checkpoint: a write that fails half way, and two runs that share one file."""

import io
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from finitewidth import MLP, simulate

NET = MLP("tanh", (3, 12, 8, 8, 1), C_b=[0.1, 0.0, 0.2, 0.1], C_W=[1.0, 1.2, 1.5, 0.8])
X = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
RUN = {"networks": 20_000, "chunk_size": 4096}


@pytest.fixture(scope="module")
def expected():
    """The run nobody disturbs."""
    return simulate(NET, X, **RUN)


def assert_identical(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def during_write(monkeypatch, number, action):
    """At the given write of a checkpoint call `action(file, content)` instead of writing."""
    save, count = np.savez, iter(range(1, number + 1))

    def disturbed(file, **arrays):
        if next(count, None) != number:
            return save(file, **arrays)
        content = io.BytesIO()
        save(content, **arrays)
        return action(file, content.getvalue())

    monkeypatch.setattr(np, "savez", disturbed)


@pytest.mark.parametrize("number", [1, 3])
def test_a_write_that_fails_half_way_leaves_the_last_file_whole(tmp_path, monkeypatch, expected, number):
    """A full disk, a signal: the file is that of the chunk before, or there is none; the next run goes on from it."""
    path = tmp_path / "run.npz"

    def fail(file, content):
        file.write(content[: len(content) // 2])
        file.flush()
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        during_write(patch, number, fail)
        with pytest.raises(OSError, match="no space"):
            simulate(NET, X, **RUN, checkpoint=path)
    if number == 1:
        assert not path.exists()
    else:
        with np.load(path) as saved:
            assert saved["step"] == 4096 * (number - 1)
    assert_identical(simulate(NET, X, **RUN, checkpoint=path), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]  # no half-written file is left lying about


@pytest.mark.parametrize("number", [1, 2])
def test_another_run_on_the_same_file_meanwhile(tmp_path, monkeypatch, expected, number):
    """While one run is writing, another with the same file starts and finishes: both are right, and so is what they leave."""
    path, others = tmp_path / "run.npz", []

    def run_another(file, content):
        others.append(simulate(NET, X, **RUN, checkpoint=path))
        file.write(content)

    with monkeypatch.context() as patch:
        during_write(patch, number, run_another)
        assert_identical(simulate(NET, X, **RUN, checkpoint=path), expected)
    assert_identical(others[0], expected)
    assert_identical(simulate(NET, X, **RUN, checkpoint=path), expected)


SHARED = """
import sys, numpy as np
from finitewidth import MLP, simulate
net = MLP("tanh", (3, 12, 8, 8, 1), C_b=[0.1, 0.0, 0.2, 0.1], C_W=[1.0, 1.2, 1.5, 0.8])
x = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
path = sys.argv[1] if len(sys.argv) > 2 else None
measured = simulate(net, x, networks=200_000, chunk_size=4096, checkpoint=path)
np.savez(sys.argv[-1], G=measured.G.mean, V=measured.V.mean, error=measured.V.standard_error)
"""


@pytest.mark.measured
def test_two_processes_on_one_file(tmp_path):
    """Both end, with the bits of a run alone, and leave a file from which a third ends with them too."""
    path = tmp_path / "run.npz"

    def start(*arguments):
        return subprocess.Popen([sys.executable, "-c", SHARED, *map(str, arguments)], env=os.environ)

    alone = start(tmp_path / "alone.npz")
    together = [start(path, tmp_path / f"together{i}.npz") for i in range(2)]
    assert [process.wait() for process in (alone, *together)] == [0, 0, 0]
    assert start(path, tmp_path / "after.npz").wait() == 0
    with np.load(tmp_path / "alone.npz") as expected:
        for name in ("together0", "together1", "after"):
            with np.load(tmp_path / f"{name}.npz") as found:
                for key in expected:
                    np.testing.assert_array_equal(found[key], expected[key])
