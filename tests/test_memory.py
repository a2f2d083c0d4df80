"""What does not fit into memory is refused in words, and what there is is read where systems say it."""

import resource
import subprocess
import sys
import time
from argparse import Namespace
from typing import Any

import jax
import numpy as np
import pytest

import finitewidth as fw
from finitewidth import _memory
from finitewidth._entry import entry
from finitewidth._errors import ArgumentError
from finitewidth._memory import available_memory, check_memory, gigabytes
from finitewidth.cli.report import _mlp
from finitewidth.runs.store import empty_store

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
    limited = ["sh", "-c", f'ulimit -v {2**20} && exec "$0" -c "{code}"', sys.executable]
    said = subprocess.run(limited, capture_output=True, text=True, check=True)
    assert 0 < int(said.stdout) < 2**30


def test_addresses_that_are_taken_do_not_count(machine, monkeypatch):
    """Linux counts them in pages."""
    machine("proc/self/statm", "1000 200 30 4 0 5 0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (3 * GB, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "getpagesize", lambda: 16_384)
    assert available_memory() == 3 * GB - 16_384_000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert available_memory() == 16 * 2**30


def test_the_sentence(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 2 * GB)
    check_memory(2e9, "x", "200 inputs", "fewer")
    with pytest.raises(
        ArgumentError, match=r"`x`: got 200 inputs: 2.1 GB of memory where 2 GB are available; expected fewer inputs"
    ):
        check_memory(2.1e9, "x", "200 inputs", "fewer inputs")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1.5e9, "1.5 GB"),
        (4e5, "0.0004 GB"),
        (5.8e13, "58 TB"),
        (1e12, "1 TB"),
        (9.994e11, "999 GB"),
        (9.996e11, "1 TB"),
        (1e40, "1e+22 EB"),
    ],
)
def test_sizes_in_words(count, said):
    assert gigabytes(count) == said


def net(depth=3, width=8, outputs=1):
    return fw.MLP("relu", (2, *[width] * (depth - 1), outputs), C_W=2.0)


def inputs(count):
    return np.random.default_rng(0).normal(size=(count, 2))


def one_of(outputs, width=8, activation="relu"):
    described = net(outputs=outputs, width=width).replace(activation=activation)
    return described, fw.draw_parameters(described, 0)


BLOCK = fw.ShapedMLP()
TOKENS = np.eye(2)
TOO_MUCH = {
    "flow": (
        lambda: fw.flow(net(), inputs(200)),
        "x",
        r"200 inputs to 3 layers.*38\.4 GB.*115 GB of memory where 8 GB",
    ),
    "flow of a kernel": (lambda: fw.flow(net(), kernel=np.eye(200)), "kernel", "200 inputs"),
    "flow through ntk": (lambda: fw.flow(net(), inputs(90), through="ntk"), "x", "90 inputs"),
    "flow through ddntk": (lambda: fw.flow(net(), inputs(75), through="ddntk"), "x", "75 inputs"),
    "flow of a residual": (
        lambda: fw.flow(fw.ResidualMLP("relu", width=8, depth=3, gamma=0.5), inputs(200)),
        "x",
        "200 inputs",
    ),
    "every kernel": (lambda: fw.flow(net(600), inputs(1000), through="kernel"), "x", "whose kernels are all kept"),
    "kernel": (lambda: fw.kernel(net(), inputs(40_000)), "x", "40000 inputs: 76.8 GB"),
    "frozen_ntk": (lambda: fw.frozen_ntk(net(), inputs(40_000)), "x", "40000 inputs"),
    "simulate": (lambda: fw.simulate(net(), inputs(200), networks=100), "x", "200 inputs"),
    "report": (lambda: fw.report(net(), inputs(2000)), "x", r"2000 inputs.*1\.15 PB"),
    "correlation_sde": (
        lambda: fw.proportional.correlation_sde(BLOCK, 0.2, 0.25, paths=2**32),
        "paths",
        "4294967296 paths of 100 steps: 10.4 TB",
    ),
    "covariance_sde": (
        lambda: fw.covariance_sde(BLOCK, TOKENS, 0.25, paths=10**9, steps=4),
        "paths",
        "1000000000 paths",
    ),
    "simulate blocks": (lambda: fw.simulate(BLOCK.at(8, 4), TOKENS, networks=10**9), "networks", "1000000000 networks"),
    "ntk_samples": (lambda: fw.ntk_samples(net(), inputs(2), networks=10**9), "networks", "1000000000 networks"),
    "ntk": (
        lambda: fw.ntk(*one_of(10, 128), inputs(256)),
        "x1",
        "256 and 256 samples in layers up to 128.*layers='last'",
    ),
    "last ntk": (
        lambda: fw.ntk(*one_of(10), inputs(3000), layers="last"),
        "x1",
        "3000 and 3000 samples with 10 outputs",
    ),
    "ntk_contributions": (
        lambda: fw.realised.ntk_contributions(*one_of(10), inputs(1200)),
        "x1",
        "for each of 3 layers",
    ),
    "dntk": (lambda: fw.dntk(*one_of(10), inputs(128)), "x", "128 samples with 10 outputs"),
    "ddntk": (lambda: fw.ddntk(*one_of(10, activation="tanh"), inputs(20)), "x", "20 samples with 10 outputs"),
    "one_step": (lambda: fw.realised.one_step(*one_of(10), inputs(128), np.ones((128, 10)), 0.1), "x", "128 samples"),
    "predict_one": (
        lambda: fw.predict_one(*one_of(10), inputs(128), np.ones((128, 10)), inputs(4)),
        "x_train",
        "128 inputs, which with 4 for test and 10 outputs make 1320 joint indices: 146 TB",
    ),
    "depth": (lambda: fw.ResidualMLP("relu", width=8, depth=10**9, gamma=0.5), "depth", "1000000000 layers: 200 GB"),
    "single_input_flow": (
        lambda: fw.critical.single_input_flow("relu", 1.0, depth=10**9, C_b=0.0, C_W=2.0),
        "depth",
        "1000000000 layers",
    ),
    "angle_flow": (lambda: fw.critical.angle_flow("relu", 0.5, depth=10**9), "depth", "1000000000 layers"),
    "deep_linear": (
        lambda: fw.exact.deep_linear(net().replace(activation="linear"), inputs(200)),
        "x",
        "200 inputs to 3 layers",
    ),
    "diffusion": (lambda: BLOCK.diffusion(np.eye(200)), "V", "200 inputs, of which one tensor .* 12.8 GB"),
    "second_moments": (lambda: fw.proportional.second_moments(np.eye(200), 0.1), "V0", "200 inputs"),
    "sign_pair_moments": (lambda: fw.gaussian.sign_pair_moments(np.eye(200)), "K", "200 inputs"),
    "draw_parameters": (lambda: fw.draw_parameters(net(width=10**6), 0), "net", "up to 1000000 wide"),
    "simulate dense": (lambda: fw.simulate(net(width=10**6), inputs(2), networks=2, method="dense"), "net", "10000"),
    "tangent_features": (
        lambda: fw.learning.tangent_features(*one_of(10, 500), inputs(256)),
        "x",
        "256 samples with 10",
    ),
    "recommend": (lambda: fw.recommend(activation="relu", depth=10**9), "depth", "1000000000 layers"),
    "depth_curves": (lambda: fw.advice.depth_curves(net(), 1.0, 0.5, depth=10**9), "depth", "1000000000 layers"),
    "evidence_scan": (
        lambda: fw.learning.evidence_scan(net(), inputs(1), [1.0], depths=[2, 10**9]),
        "depths",
        "1000000000 layers",
    ),
    "report of the command line": (lambda: _mlp(Namespace(depth=10**9, width=8)), "--depth", "1000000000 layers"),
}


@pytest.mark.parametrize("verb", TOO_MUCH)
def test_what_cannot_fit_is_refused_before_it_begins(verb, monkeypatch):
    """In words, by the caller's argument, in no time: with 8 GB."""
    monkeypatch.setattr(_memory, "available_memory", lambda: 8 * GB)
    call, argument, match = TOO_MUCH[verb]
    started = time.process_time()
    with pytest.raises(fw.DomainError, match=match) as caught:
        call()
    assert caught.value.argument == argument
    assert time.process_time() - started < 3


def test_what_nobody_foresaw_is_said_in_words():
    """By the largest argument, what NumPy or XLA say being kept."""

    @entry()
    def outer(x: Any, count: int) -> Any:
        if count:
            return np.empty((count, 2**10))
        raise jax.errors.JaxRuntimeError("INTERNAL: Error dispatching computation: Out of memory allocating 99 bytes.")

    with pytest.raises(fw.DomainError, match=r"`count`: got one of size 1099511627776: Unable to allocate 8") as caught:
        outer(np.ones(3), 2**40)
    assert isinstance(caught.value.__cause__, MemoryError)
    with pytest.raises(fw.DomainError, match=r"`x`: got one of size 3: INTERNAL: .* Out of memory allocating 99"):
        outer(np.ones(3), 0)

    @entry()
    def other(x: Any) -> Any:
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")

    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        other(1.0)


def test_what_is_asked_for(monkeypatch):
    """Eight bytes for each number, of tensors of four samples, of layers, of rows that are kept; one byte more than there is is refused."""
    lane = jax.ShapeDtypeStruct((1, 4), np.float64)
    asked = {
        3 * 8 * 2 * 50**4: lambda: _memory.check_four_samples(3.0, 2, 50, "x"),
        200 * 10**6: lambda: _memory.check_layers(10**6),
        2 * 32 * 2 * 10**6: lambda: empty_store(lane, 2 * 10**6),
    }
    for needed, call in asked.items():
        monkeypatch.setattr(_memory, "available_memory", lambda needed=needed: needed)
        call()
        monkeypatch.setattr(_memory, "available_memory", lambda needed=needed: needed - 1)
        with pytest.raises(fw.DomainError, match="of memory where"):
            call()


def test_little_is_never_refused(monkeypatch):
    """Where a system says that nothing is left, what every process takes anyway is tried."""
    monkeypatch.setattr(_memory, "available_memory", lambda: 0)
    check_memory(2**26, "x", "few inputs", "fewer")
    with pytest.raises(ArgumentError, match="few inputs"):
        check_memory(2**26 + 1, "x", "few inputs", "fewer")
    assert fw.kernel(net(), inputs(2)).shape == (2, 2)


PEAK = """
import sys
import numpy as np
import finitewidth as fw
from finitewidth import _memory

def inputs(count):
    return np.random.default_rng(0).normal(size=(count, 2))

def status(name):
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

net, asked = fw.MLP("relu", (2, 64, 64, 1), C_W=2.0), []
there = _memory.available_memory
_memory.available_memory = lambda: asked.append(sys._getframe(1).f_locals["needed"]) or there()
call = eval("lambda N: " + sys.argv[1])
call(int(sys.argv[2]) - 1)  # compilers take memory of their own
asked.clear()
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
call(int(sys.argv[2]))
print(max(asked), status("VmHWM") - before)
"""


@pytest.mark.measured
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("fw.flow(net, inputs(N))", 50),
        ("fw.flow(net, inputs(N), through='ntk')", 36),
        ("fw.kernel(net, inputs(N))", 3000),
        ("fw.ntk(net, fw.draw_parameters(net, 0), inputs(N))", 64),
        ("fw.proportional.correlation_sde(fw.ShapedMLP(), 0.2, 0.25, paths=N, steps=50)", 200_000),
    ],
)
def test_what_is_asked_for_is_what_is_taken(call, size):
    """Within a factor of two and a half of the memory that a process has had at most."""
    said = subprocess.run([sys.executable, "-c", PEAK, call, str(size)], capture_output=True, text=True, check=True)
    asked, taken = map(float, said.stdout.split())
    assert 0.4 < asked / taken < 2.5, gigabytes(taken)
