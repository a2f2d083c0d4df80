"""Files of `save`: whole at every moment, written over nothing else, and believed in nothing that they say."""

import contextlib
import importlib.util
import io
import json
import os
import resource
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import finitewidth as fw
from finitewidth import _archive
from finitewidth.runs.checkpoint import Checkpoint

NET = fw.MLP("tanh", (2, 8, 1))


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@contextlib.contextmanager
def full_disk(after):
    """No file grows beyond so many bytes: what is written past them fails as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_leaves_nothing_but_the_old_file(tmp_path):
    path = tmp_path / "net.fw"
    fw.save(NET, path)
    large = np.random.default_rng(0).normal(size=20_000)
    with full_disk(50_000), pytest.raises(fw.FileError, match=r"net\.fw \(File too large\)"):
        fw.save(large, path)
    with full_disk(50_000), pytest.raises(fw.FileError, match=r"`checkpoint`: got .*run\.npz \(File too large\)"):
        Checkpoint(tmp_path / "run.npz", "problem").save(1, large)
    assert names(tmp_path) == ["net.fw"]
    assert fw.load(path).widths == NET.widths


def test_what_lies_in_the_folder_is_left_alone(tmp_path):
    """A file of the user's that has the name of a draft, a link that someone planted there, another net's draft."""
    path, prey = tmp_path / "net.fw", tmp_path / "prey"
    prey.write_text("dear")
    for draft in ("net.fw.part", ".net.fw.part", "net.part"):
        (tmp_path / draft).symlink_to(prey)
    (tmp_path / "net.fw.tmp").write_text("mine")
    before = names(tmp_path)
    fw.save(NET, path)
    assert names(tmp_path) == sorted([*before, "net.fw"])
    assert (prey.read_text(), (tmp_path / "net.fw.tmp").read_text()) == ("dear", "mine")


def test_a_draft_that_exists_is_not_written_through(tmp_path, monkeypatch):
    """Not even if its name were known."""
    monkeypatch.setattr("secrets.token_hex", lambda count: "known")
    (tmp_path / "prey").write_text("dear")
    (tmp_path / ".known.part").symlink_to(tmp_path / "prey")
    with pytest.raises(fw.FileError, match="File exists"):
        fw.save(NET, tmp_path / "net.fw")
    assert (tmp_path / "prey").read_text() == "dear"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_a_file_that_is_opened(tmp_path, umask):
    """A new one's by umask; one that is replaced keeps its own."""
    path, old = tmp_path / "net.fw", os.umask(umask)
    try:
        fw.save(NET, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        path.chmod(0o640)
        fw.save(NET, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(old)


def test_only_files_are_replaced(tmp_path):
    """Moving a draft onto a device or a pipe would take it away from everyone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, "/dev/null"):
        with pytest.raises(fw.FileError, match="no file"):
            fw.save(NET, path)
        with pytest.raises(fw.FileError, match="no file"):
            Checkpoint(path, "problem")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_where_a_file_that_is_open_cannot_be_replaced(tmp_path, monkeypatch):
    """As on Windows while somebody reads it: an error in words, and no draft."""
    path = tmp_path / "net.fw"
    fw.save(NET, path)

    def refused(old, new):
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(fw.FileError, match=r"net\.fw \(Access is denied\)"):
        fw.save(NET, path)
    assert names(tmp_path) == ["net.fw"]


WRITER = """
import sys, time
import numpy as np
import finitewidth as fw
until = time.time() + float(sys.argv[3])
while time.time() < until:
    fw.save(np.full(3000, float(sys.argv[2])), sys.argv[1])
"""


@pytest.mark.measured
def test_three_writers_and_a_reader(tmp_path):
    """Every load finds a whole file, of one of them."""
    path, seen = tmp_path / "thing.fw", []
    fw.save(np.zeros(3000), path)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i), "6"]) for i in (1, 2, 3)]
    while any(writer.poll() is None for writer in writers):
        found = fw.load(path)
        assert (found == found[0]).all()
        seen.append(found[0])
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(seen) > 100
    assert set(seen) >= {1.0, 2.0, 3.0}
    assert names(tmp_path) == ["thing.fw"]


def test_a_save_within_a_save(tmp_path, monkeypatch):
    """One writer half-way, another one comes and goes: the file is whole in between, and is that of the last one to end."""
    path, numpy_save = tmp_path / "thing.fw", np.save
    fw.save(np.zeros(2), path)

    def interrupted(member, array, **options):
        monkeypatch.setattr(np, "save", numpy_save)
        fw.save(np.ones(2), path)
        assert fw.load(path).tolist() == [1, 1]
        numpy_save(member, array, **options)

    monkeypatch.setattr(np, "save", interrupted)
    fw.save(np.full(2, 2.0), path)
    assert fw.load(path).tolist() == [2, 2]
    assert names(tmp_path) == ["thing.fw"]


def test_what_is_within_itself_is_refused(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(fw.ArgumentError, match="nested too deeply, or within itself"):
        fw.save(loop, tmp_path / "loop.fw")
    assert names(tmp_path) == []


def written(path, content, **arrays):
    """A file that says so, with members that are arrays or raw bytes."""
    head = {"finitewidth": 1, "content": content}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("finitewidth.json", content if isinstance(content, str) else json.dumps(head))
        for name, array in arrays.items():
            sink = io.BytesIO()
            if not isinstance(array, bytes):
                np.save(sink, array)
            file.writestr(f"{name.lstrip('_')}.npy", array if isinstance(array, bytes) else sink.getvalue())
    return path


def fields(tmp_path, thing):
    """What a file says of a thing."""
    fw.save(thing, tmp_path / "right.fw")
    with zipfile.ZipFile(tmp_path / "right.fw") as file:
        arrays = {f"_{n[:-4]}": file.read(n) for n in file.namelist() if n.endswith(".npy")}
        return json.loads(file.read("finitewidth.json"))["content"], arrays


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"widths": {"tuple": ["a", -3, None]}}, r"`MLP\.widths` is \('a', -3, None\); expected tuple\[int, \.\.\.\]"),
        ({"widths": {"tuple": [2, -3, 1]}}, r"`widths\[1\]` is -3; expected an integer >= 1"),
        ({"widths": {"tuple": [2, True, 1]}}, r"`MLP\.widths` is \(2, True, 1\)"),
        ({"widths": {"tuple": [2, 8, 8, 1]}}, r"`C_b` is shape \(2,\)"),
        ({"widths": None}, r"`MLP\.widths` is None"),
        ({"widths": {"list": [2, 8, 1]}}, r"`MLP\.widths` is \[2, 8, 1\]"),
        ({"activation": "tanh"}, r"`MLP\.activation` is 'tanh'; expected Activation"),
        ({"C_W": 2.0}, r"`MLP\.C_W` is 2\.0; expected an array \(L\)"),
        ({"C_W": {"float": "nan"}}, r"`MLP\.C_W` is nan"),
    ],
)
def test_values_are_checked(change, match, tmp_path):
    """By the annotations, and by the constructor itself; the error names the path, the field, and what it should be."""
    content, arrays = fields(tmp_path, NET)
    content["fields"] |= change
    with pytest.raises(fw.FileError, match=rf"`path`: got .*net\.fw, where {match}"):
        fw.load(written(tmp_path / "net.fw", content, **arrays))


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (np.array([-1.0, 1.0]), r"`C_b` is a negative value"),
        (np.array([np.nan, 1.0]), r"`C_b` is a NaN"),
        (np.ones(3), r"`MLP\.\w+` is an array of shape"),
        (np.ones((2, 1)), r"`MLP\.C_b` is an array of shape \(2, 1\)"),
        (np.array(["a", "b"]), r"`MLP\.C_b` is an array of shape \(2,\) and <U1"),
    ],
)
def test_arrays_are_checked(array, match, tmp_path):
    content, arrays = fields(tmp_path, NET)
    with pytest.raises(fw.FileError, match=match):
        fw.load(written(tmp_path / "net.fw", content, **arrays | {"_0": array}))


def test_fields_of_a_result_fit_one_another(tmp_path):
    """Axes of one name have one length, within an array and among them."""
    flow, line = fw.results.Flow(NET, np.ones((2, 1, 1))), fw.critical.CriticalLine(*np.ones((3, 4)))
    for thing, name, wrong in ((flow, "K", (2, 1, 2)), (flow, "K", (2, 1)), (line, "C_W", (5,)), (line, "C_b", (4, 1))):
        content, arrays = fields(tmp_path, thing)
        kind, number = type(thing).__name__, content["fields"][name]["array"]
        assert isinstance(fw.load(written(tmp_path / "thing.fw", content, **arrays)), type(thing))
        with pytest.raises(fw.FileError, match=rf"`{kind}\.{name}` is an array of shape"):
            fw.load(written(tmp_path / "thing.fw", content, **arrays | {f"_{number}": np.ones(wrong)}))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({"made by": "activations:gaussian_expectation", "of": ["tanh", 1.0]}, "gaussian_expectation"),
        ({"made by": "activations:monomial", "of": [-3]}, "`power` is -3"),
        ({"object": "_errors:ArgumentError", "fields": {}}, "_errors:ArgumentError"),
        ({"object": "results:Flow", "fields": []}, "'object': 'results:Flow'"),
        ({"enum": "critical:Phase", "name": "SOLID"}, "`Phase` is 'SOLID'; expected one of"),
        ({"enum": ":MLP", "name": "depth"}, "`MLP` is 'depth'"),
        ([1, 2], r"`content` is \[1, 2\]"),
        ({"tuple": 3}, r"`content` is \{'tuple': 3\}"),
        ({"dict": [[{"list": []}, 1]]}, "damaged"),
        ({"array": 1, "of": "numpy"}, "damaged"),
        ({"float": "much"}, "damaged"),
        ("[" * 100_000, "damaged"),
        ("[" + "9" * 100_000 + "]", "damaged"),
        ('{"finitewidth": 1}', "damaged"),
        ("", "damaged"),
    ],
)
def test_what_is_not_known_is_not_made(content, match, tmp_path):
    with pytest.raises(fw.FileError, match=match) as caught:
        fw.load(written(tmp_path / "thing.fw", content))
    assert "thing.fw" in str(caught.value)


def npy(header, data=b""):
    """An array file with any header."""
    text = f"{header}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", bytes(80)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9,)}", bytes(80)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (11,)}", bytes(80)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -5)}", bytes(80)),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (10,)}", bytes(80)),
        npy("{'descr': '<f8'}", bytes(80)),
        npy("[" * 60_000),
        b"\x93NUMPY\x07\x00",
        b"",
    ],
)
def test_arrays_are_what_their_headers_say(member, tmp_path):
    """No allocation that is only promised, nothing pickled."""
    with pytest.raises(fw.FileError, match="damaged"):
        fw.load(written(tmp_path / "thing.fw", {"array": 0, "of": "numpy"}, _0=member))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_form_come_back(shape, order, tmp_path):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape, order=order).astype(np.float32, order=order)
    fw.save(array, tmp_path / "array.fw")
    found = fw.load(tmp_path / "array.fw")
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.flags.writeable) == (array.dtype, True)


@pytest.mark.parametrize(("there", "fits"), [(3 * (8 * 10**6 + 128), True), (3 * (8 * 10**6 + 127), False)])
def test_a_small_file_that_unpacks_to_more_than_there_is(there, fits, tmp_path, monkeypatch):
    """8 kB of zeros packed; refused by what the directory declares, before any of it is read."""
    path = tmp_path / "bomb.fw"
    fw.save(np.zeros(10**6), path)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(_archive, "available_memory", lambda: there)
    if fits:
        assert not fw.load(path).any()
    else:
        with pytest.raises(fw.FileError, match=r"bomb\.fw, which unpacks to 0\.024 GB of memory where 0\.024 GB are"):
            fw.load(path)


def test_a_file_that_unpacks_to_more_than_it_declares(tmp_path):
    """A directory that says 100 bytes of 100 MB: no more than these are unpacked."""
    path = tmp_path / "bomb.fw"
    fw.save(np.zeros(10**7 + 5), path)
    size = 8 * (10**7 + 5) + 128
    content = path.read_bytes()
    before, true, after = content.rpartition(size.to_bytes(4, "little"))  # in the directory, which is at the end
    assert true
    path.write_bytes(before + (100).to_bytes(4, "little") + after)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(fw.FileError, match="damaged"):
        fw.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB


def test_one_large_member_is_not_named_a_thousand_times(tmp_path):
    """Which would take a thousand times its size."""
    path, once = tmp_path / "thing.fw", {"array": 0, "of": "numpy"}
    assert fw.load(written(path, {"list": [once]}, _0=np.ones(2)))[0].tolist() == [1, 1]
    with pytest.raises(fw.FileError, match="damaged"):
        fw.load(written(path, {"list": [once, once]}, _0=np.ones(2)))


def test_names_without_end(tmp_path):
    """Zero bytes, and names longer than the system takes; a long one that it takes has a draft, too."""
    for path in ("a\0b", tmp_path / ("a" * 300)):
        for door in (lambda path: fw.save(NET, path), fw.load, lambda path: Checkpoint(path, "problem")):
            with pytest.raises(fw.ArgumentError, match=r"`path`|`checkpoint`"):
                door(path)
    fw.save(NET, tmp_path / ("a" * 255))
    assert names(tmp_path) == ["a" * 255]


def checkpoint_with(path, **changes):
    empty = {"a": np.zeros(3), "b": np.zeros((), int)}
    Checkpoint(path, "problem").save(3, empty)
    with np.load(path) as saved:
        arrays = dict(saved)
    with path.open("wb") as file:
        np.savez(file, **arrays | changes)
    return empty


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"step": np.asarray(-1)}, "`step` is -1; expected an integer from 0 to 10"),
        ({"step": np.asarray(11)}, "`step` is 11"),
        ({"step": np.asarray(2.5)}, r"`step` is 2\.5"),
        ({"step": np.asarray([1, 2])}, r"`step` is \[1 2\]"),
        ({"state0": np.zeros(4)}, r"`state0` is float64 of shape \(4,\); expected float64 of \(3,\)"),
        ({"state0": np.zeros(3, np.float32)}, "`state0` is float32"),
        ({"state1": np.asarray("a")}, "`state1` is <U1"),
        ({"state0": np.array([None] * 3)}, "damaged"),
    ],
)
def test_a_checkpoint_is_checked(change, match, tmp_path):
    """What it holds must be what the run goes on with; nothing pickled."""
    path = tmp_path / "run.npz"
    empty = checkpoint_with(path, **change)
    with pytest.raises(fw.FileError, match=rf"`checkpoint`: got .*run\.npz, wh.*{match}"):
        Checkpoint(path, "problem").load(empty, 10)


def test_a_checkpoint_that_is_right(tmp_path):
    path = tmp_path / "run.npz"
    empty = checkpoint_with(path, step=np.asarray(10))
    assert Checkpoint(path, "problem").load(empty, 10)[0] == 10


def test_damaged_files(capsys):
    """A sample of `tools/corrupt.py`: refused by path, or the very thing that was saved."""
    script = Path(__file__).resolve().parents[1] / "tools" / "corrupt.py"
    spec = importlib.util.spec_from_file_location("corrupt", script)
    corrupt = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(corrupt)
    counts = corrupt.fuzz(90, seed=7)
    assert (counts["silent"], counts["unclear"]) == (0, 0), capsys.readouterr().out
    assert counts["refused"] > 60
