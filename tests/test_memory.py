"""What does not fit into memory is refused in words, and what there is is read where systems say it."""

import resource
import subprocess
import sys

import pytest

from finitewidth import _memory
from finitewidth._errors import ArgumentError
from finitewidth._memory import available_memory, check_memory, gigabytes

GB = 10**9


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 16 GiB available, whose process is in the group /job/step; files may be added."""
    monkeypatch.setattr(_memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path / "groups")

    def write(place, text):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write("proc/meminfo", f"MemTotal: {32 * 2**20} kB\nMemAvailable:   {16 * 2**20} kB\n")
    write("proc/self/cgroup", "5:cpu:/\n4:memory:/job/step\n0::/job/step\n")
    return write


def limited(machine, group, most, taken, cached=0, version=2):
    limit, usage = ("max", "current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    machine(f"{group}/memory.{limit}", f"{most}\n")
    machine(f"{group}/memory.{usage}", f"{taken}\n")
    machine(f"{group}/memory.stat", f"anon 5\ninactive_file {cached}\n")


def test_what_linux_calls_available(machine):
    assert available_memory() == 16 * 2**30


@pytest.mark.parametrize(
    ("group", "version"),
    [("groups/job/step", 2), ("groups/job", 2), ("groups", 2), ("groups/memory/job/step", 1), ("groups/memory", 1)],
)
def test_a_group_leaves_less(machine, group, version):
    """Its own, one above it, or the one that a container sees as the root; copies of files make room."""
    limited(machine, group, 4 * GB, 3 * GB, cached=GB // 2, version=version)
    assert available_memory() == 1.5 * GB


def test_a_group_without_a_limit(machine):
    limited(machine, "groups/job/step", "max", 3 * GB)
    assert available_memory() == 16 * 2**30


def test_a_full_group_leaves_nothing(machine):
    limited(machine, "groups/job/step", GB, 2 * GB)
    assert available_memory() == 0


def test_a_system_that_says_nothing(machine, tmp_path, monkeypatch):
    for file in (tmp_path / "proc").rglob("*"):
        if file.is_file():
            file.unlink()
    monkeypatch.setattr(_memory.os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert available_memory() == 4096000
    monkeypatch.delattr(_memory.os, "sysconf")
    assert available_memory() == 8 * GB


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_limit_of_addresses():
    """`ulimit -v` of a shell or a queue."""
    code = "import finitewidth._memory as m; print(m.available_memory())"

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    said = subprocess.run([sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, check=True)
    assert 0 < int(said.stdout) < 2**30


def test_the_sentence(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 2 * GB)
    check_memory(2e9, "x", "200 inputs", "fewer")
    with pytest.raises(
        ArgumentError, match=r"`x`: got 200 inputs: 2.1 GB of memory where 2 GB are available; expected fewer inputs"
    ):
        check_memory(2.1e9, "x", "200 inputs", "fewer inputs")


@pytest.mark.parametrize(
    ("count", "said"), [(1.5e9, "1.5 GB"), (4e5, "0.0004 GB"), (5.8e13, "58 TB"), (1e12, "1 TB"), (1e40, "1e+22 EB")]
)
def test_sizes_in_words(count, said):
    assert gigabytes(count) == said
