"""The file of a run: whole at every moment, refused where it does not belong, shared by processes without harm."""

import os
import subprocess
import sys

import numpy as np
import pytest

from finitewidth._errors import ArgumentError, FileError
from finitewidth.runs.checkpoint import Checkpoint

EMPTY = {"a": np.zeros(3), "b": np.zeros((), int)}


def state(value):
    return {"a": np.full(3, float(value)), "b": np.asarray(value)}


def test_what_is_saved_is_loaded(tmp_path):
    """And nothing where there is no file yet."""
    checkpoint = Checkpoint(tmp_path / "run.npz", "problem")
    assert checkpoint.load(EMPTY) == (0, EMPTY)
    checkpoint.save(7, state(2))
    step, found = Checkpoint(str(tmp_path / "run.npz"), "problem").load(EMPTY)
    assert step == 7
    np.testing.assert_array_equal(found["a"], [2.0, 2.0, 2.0])
    assert (found["b"], found["b"].dtype) == (2, np.int64)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_save_that_is_interrupted_leaves_the_old_file_whole(tmp_path, monkeypatch):
    """Killed half-way through writing, a run resumes from what it had saved before."""
    checkpoint = Checkpoint(tmp_path / "run.npz", "problem")
    checkpoint.save(1, state(1))
    savez = np.savez

    def half(file, **arrays):
        savez(file, **arrays)
        file.flush()
        file.truncate(file.tell() // 2)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", half)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(2, state(2))
    step, found = checkpoint.load(EMPTY)
    assert step == 1
    np.testing.assert_array_equal(found["a"], state(1)["a"])
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_another_run_saves_meanwhile(tmp_path, monkeypatch):
    """While one run writes, another on the same file saves: both files were whole, the later one stays, nothing lies about."""
    path = tmp_path / "run.npz"
    ours, theirs, savez = Checkpoint(path, "problem"), Checkpoint(path, "problem"), np.savez

    def interrupted(file, **arrays):
        monkeypatch.setattr(np, "savez", savez)
        theirs.save(5, state(5))
        assert ours.load(EMPTY)[0] == 5
        savez(file, **arrays)

    monkeypatch.setattr(np, "savez", interrupted)
    ours.save(3, state(3))
    step, found = theirs.load(EMPTY)
    assert (step, found["b"]) == (3, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_the_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch):
    """A machine that loses power has one of the two."""
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("written"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (order.append("moved"), replace(old, new))[1])
    Checkpoint(tmp_path / "run.npz", "problem").save(1, state(1))
    assert order == ["written", "moved"]


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    """And left alone."""
    path = tmp_path / "thesis.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"thesis\.npz, which is damaged or something else.*; expected a checkpoint"):
        Checkpoint(path, "problem").load(EMPTY)
    assert path.read_bytes() == content


def test_an_unwritable_path_is_refused_at_once(tmp_path):
    """A directory, a folder that is not there, a file in the way, no path at all."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing" / "run.npz", tmp_path / "file" / "run.npz"):
        with pytest.raises(ArgumentError, match="a file that can be written"):
            Checkpoint(path, "problem")
    with pytest.raises(ArgumentError, match="the path of a file"):
        Checkpoint(3, "problem")


WRITER = """
import sys
import numpy as np
from finitewidth.runs.checkpoint import Checkpoint
checkpoint = Checkpoint(sys.argv[1], "problem")
for step in range(1, 101):
    checkpoint.save(step, {"a": np.full(3, float(step)), "b": np.asarray(step)})
"""


@pytest.mark.measured
def test_two_processes_on_one_file(tmp_path):
    """Both write it again and again: whoever reads it finds it whole, of one of them, with nothing left beside it."""
    path = tmp_path / "run.npz"
    ours, seen = Checkpoint(path, "problem"), set()
    other = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=os.environ)
    while other.poll() is None:
        step, found = ours.load(EMPTY)
        np.testing.assert_array_equal(found["a"], np.full(3, float(step)))
        assert found["b"] == step
        seen.add(step)
        if len(seen) > 1:  # both write from now on
            ours.save(1000, state(1000))
    assert other.returncode == 0
    assert seen > {1000}
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
