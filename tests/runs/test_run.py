"""The loop behind every long run, on states that cost nothing: lanes, chunks, checks, the bar, saving and resuming."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from finitewidth._errors import ArgumentError
from finitewidth.runs.checkpoint import Checkpoint
from finitewidth.runs.lanes import CACHE, lane_size
from finitewidth.runs.run import run
from finitewidth.runs.saved import saved_intervals
from finitewidth.runs.store import empty_store, put

LANE, TOTAL = 4, 30


def advance(state, first):
    """Adds what depends on the first number of the lane, in a way that shows the order of additions."""
    numbers = np.arange(first, min(first + LANE, TOTAL))
    return {"sum": state["sum"] / 3 + np.sin(numbers).sum(), "lanes": state["lanes"] + 1}


def start():
    return {"sum": np.zeros(2), "lanes": np.zeros((), int)}


def nothing_is_left(state, first):
    raise AssertionError("no lane should be drawn")


def go(**how):
    return run(advance, start(), **({"total": TOTAL, "lane": LANE, "problem": "sines", "progress": False} | how))


@pytest.mark.parametrize("chunk_size", [1, 5, 8, 10**6, None])
def test_chunks_do_not_matter(chunk_size):
    """Lanes are the same whatever the chunks."""
    found, expected = go(chunk_size=chunk_size), start()
    for first in range(0, TOTAL, LANE):
        expected = advance(expected, first)
    assert found["lanes"] == 8
    np.testing.assert_array_equal(found["sum"], expected["sum"])


def test_the_state_is_checked_after_every_chunk(tmp_path):
    """A check may end the run; what it refused is not saved."""
    seen = []
    go(chunk_size=8, check=lambda state: seen.append(int(state["lanes"])))
    assert seen == [2, 4, 6, 8]

    def refuse(state):
        if state["lanes"] > 4:
            raise ArithmeticError

    path = tmp_path / "run.npz"
    with pytest.raises(ArithmeticError):
        go(chunk_size=8, check=refuse, checkpoint=path)
    with np.load(path) as saved:
        assert saved["step"] == 16


@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_resumed_runs_do_only_what_is_left(tmp_path, chunks):
    """From the last chunk that was saved, with chunks of another size, to the last bit."""
    path, seen = tmp_path / "run.npz", []

    def stop(state):
        if state["lanes"] > 2 * chunks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(chunk_size=8, check=stop, checkpoint=path)

    def recorded(state, first):
        seen.append(first)
        return advance(state, first)

    resumed = run(recorded, start(), total=TOTAL, lane=LANE, problem="sines", chunk_size=5, checkpoint=path)
    assert seen == list(range(8 * chunks, TOTAL, LANE))
    np.testing.assert_array_equal(resumed["sum"], go()["sum"])
    again = run(nothing_is_left, start(), total=TOTAL, lane=LANE, problem="sines", checkpoint=path)
    np.testing.assert_array_equal(again["sum"], resumed["sum"])


@pytest.mark.parametrize("problem", ["cosines", ("sines",), None, ["sines", 1.0]])
def test_another_problem_is_refused(tmp_path, problem):
    """Before any lane is drawn, and the file is left as it was."""
    path = tmp_path / "run.npz"
    go(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match="another network"):
        run(nothing_is_left, start(), total=TOTAL, lane=LANE, problem=problem, checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("size", "expected"), [(24, [4, 8, 12, 16, 20, 24, 28, 30]), (8, [4, 16, 28, 30])])
def test_large_states_are_saved_less_often(tmp_path, monkeypatch, size, expected):
    """A state of three times the size that is written after every chunk is written after every third, and at the end."""
    steps = []
    monkeypatch.setattr("finitewidth.runs.run._BYTES_PER_CHUNK", size)
    monkeypatch.setattr(Checkpoint, "save", lambda self, step, state: steps.append(step))
    go(chunk_size=LANE, checkpoint=tmp_path / "run.npz")
    assert steps == expected


def test_progress_is_shown(capsys):
    """On standard error, counting what is counted; never unless asked for where there is no terminal."""
    go(progress=True, things="bats")
    assert "bats" in (shown := capsys.readouterr().err)
    assert "30/30" in shown
    go(progress=None)
    assert capsys.readouterr().err == ""


def test_progress_after_every_chunk(tmp_path, monkeypatch):
    """The bar starts where the run resumes and moves with it."""
    moved = []

    class Bar:
        def __init__(self, total, shown, done, things):
            moved.append((total, shown, done, things))

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def advance_to(self, done):
            moved.append(done)
            if done == 16:
                raise KeyboardInterrupt

    monkeypatch.setattr("finitewidth.runs.run.ProgressBar", Bar)
    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        go(chunk_size=8, checkpoint=path, things="paths")
    go(chunk_size=8, checkpoint=path, things="paths", progress=True)
    assert moved == [(TOTAL, False, 0, "paths"), 8, 16, (TOTAL, True, 16, "paths"), 24, 30]


@settings(max_examples=200, deadline=None)
@given(each=st.integers(1, 10**9), total=st.integers(1, 10**7), memory=st.integers(1, 2**30))
def test_lanes_fit_the_memory(each, total, memory):
    """A power of two, at most 4096; of those that fit the largest, unless fewer hold all."""
    lane = lane_size(each, total, memory)
    assert lane in [2**k for k in range(13)]
    assert lane == 1 or (8 * each * lane <= memory and lane < 2 * total)
    if lane < min(4096, total):
        assert 16 * each * lane > memory
    assert lane_size(each, total) == lane_size(each, total, CACHE)


@pytest.mark.parametrize(
    ("save", "most", "paths", "tokens", "expected"),
    [(None, 1000, 10, 2, 50), (None, 7, 10, 2, 7), (3, 7, 10, 2, 3), (9, 7, 10, 2, 7), (None, 1000, 2**17, 16, 3)],
)
def test_saved_depths_fit_the_memory(save, most, paths, tokens, expected):
    """By default fifty intervals, fewer if a gigabyte would not hold their ends, never more than there are steps."""
    assert saved_intervals(save, most, paths, tokens) == expected


def test_rows_beyond_the_end_are_dropped():
    """The last lane may be longer than what is left."""
    store = empty_store((np.zeros((4, 2)), np.zeros(4, int)), 6)
    for first in (0, 4):
        store = put(store, first, (np.full((4, 2), first + 1.0), np.arange(first, first + 4)))
    np.testing.assert_array_equal(store[0][:, 0], [1, 1, 1, 1, 5, 5])
    np.testing.assert_array_equal(store[1], np.arange(6))
    assert (store[0].dtype, store[1].dtype) == (np.float64, np.int64)


def test_the_bar_counts_the_parts_of_each(monkeypatch):
    """Three networks of five parts; told from within a lane, and at the end of each chunk."""
    told = []

    class Bar:
        def __init__(self, total, shown, done=0, things="networks"):
            told.append((total, done, things))

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def advance_to(self, done):
            told.append(done)

    def in_parts(state, first, tell):
        for part in (2, 5):
            tell(part)
        return state + first

    monkeypatch.setattr("finitewidth.runs.run.ProgressBar", Bar)
    found = run(in_parts, np.zeros(()), total=3, lane=1, chunk_size=1, problem="parts", things="steps", parts=5)
    assert found == 3
    assert told == [(15, 0, "steps"), 2, 5, 5, 7, 10, 10, 12, 15, 15]
