"""Everything that is drawn in lanes can be killed, and resumes to the very bits of a run that was not: `simulate` of an MLP and
of blocks, `covariance_sde` and `ntk_samples`."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.ensembles import ntk_samples, simulate
from finitewidth.networks import MLP
from finitewidth.networks.shaped import ShapedAttention, ShapedMLP, ShapedResNet, shaped_relu, shaped_smooth
from finitewidth.proportional import covariance_sde
from finitewidth.runs.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::finitewidth.ValidityWarning")  # of ensembles as small as these

X = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]])
V0 = np.asarray([[1.0, 0.3], [0.3, 0.8]])
NET = MLP("tanh", (3, 6, 4, 2), C_b=[0.1, 0.0, 0.2], C_W=[1.0, 1.2, 1.5])
BLOCK = ShapedResNet(0.5)

# How each is called, and how many are drawn up to the first, second, ... time that it is saved.
USERS = {
    "simulate MLP": (simulate, {"net": NET, "x": X, "networks": 50, "chunk_size": 16}, (16, 32, 48, 50)),
    "simulate blocks": (
        simulate,
        {"net": BLOCK.at(8, 6), "x": V0, "networks": 50, "chunk_size": 16, "save": 2},
        (16, 32, 48, 50),
    ),
    "covariance_sde": (
        covariance_sde,
        {"block": BLOCK, "V0": V0, "depth_to_width": 0.5, "paths": 50, "steps": 6, "save": 2},
        (16, 32, 48, 50),
    ),
    "ntk_samples": (ntk_samples, {"net": NET, "x": X, "networks": 50, "method": "dense"}, (16, 32, 48, 50)),
}
CHANGES = {
    "simulate MLP": [
        {"net": NET.replace(activation="relu")},
        {"net": NET.replace(activation=lambda z: 0.99 * z)},
        {"net": NET.replace(C_W=1.0)},
        {"net": NET.replace(C_b=0.0)},
        {"net": NET.replace(lambda_b=0.5)},
        {"net": NET.replace(lambda_W=0.5)},
        {"net": NET.replace(widths=(3, 6, 5, 2))},
        {"x": 2 * X},
        {"seed": 1},
        {"networks": 51},
        {"method": "lazy"},
        {"method": "dense", "through": "ntk"},
    ],
    "simulate blocks": [
        {"net": ShapedResNet(0.6).at(8, 6)},
        {"net": ShapedResNet(0.5, -1.0).at(8, 6)},
        {"net": ShapedResNet(0.5, hidden_ratio=2).at(8, 6)},
        {"net": BLOCK.at(9, 6)},
        {"net": BLOCK.at(8, 7)},
        {"x": 2 * V0},
        {"seed": 1},
        {"networks": 51},
        {"method": "dense"},
        {"radius": 10.0},
        {"save": 3},
    ],
    "covariance_sde": [
        {"block": ShapedResNet(0.6)},
        {"block": ShapedMLP(shaped_relu())},
        {"block": ShapedMLP(shaped_smooth("tanh"))},
        {"block": ShapedAttention(0.5)},
        {"V0": 2 * V0},
        {"depth_to_width": 0.6},
        {"seed": 1},
        {"paths": 51},
        {"steps": 8},
        {"save": 3},
        {"radius": 10.0},
        {"method": "euler"},
    ],
    "ntk_samples": [
        {"net": NET.replace(activation="relu")},
        {"net": NET.replace(C_W=1.0)},
        {"net": NET.replace(lambda_W=0.5)},
        {"x": 2 * X},
        {"seed": 1},
        {"networks": 5},
        {"method": "lazy"},
    ],
}


@pytest.fixture(autouse=True)
def short_lanes(monkeypatch):
    """Lanes of sixteen, so that few networks are many lanes."""
    monkeypatch.setattr("finitewidth.runs.lanes._MOST", 16)


def assert_identical(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def undisturbed():
    """Results of runs that nobody interrupts, drawn when first asked for."""
    found = {}

    def result(user):
        if user not in found:
            function, how, _ = USERS[user]
            found[user] = function(**how)
        return found[user]

    return result


@pytest.mark.parametrize("saves", [1, 3])
@pytest.mark.parametrize("user", USERS)
def test_an_interrupted_run_ends_bit_identical(user, saves, tmp_path, monkeypatch, undisturbed):
    """Stopped as by Ctrl-C after some lanes, then resumed, then read back without a lane."""
    function, how, steps = USERS[user]
    path, save, saved = tmp_path / "run.npz", Checkpoint.save, []

    def limited(self, step, state):
        save(self, step, state)
        saved.append(step)
        if len(saved) == saves:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", limited)
    with pytest.raises(KeyboardInterrupt):
        function(**how, checkpoint=path)
    assert_identical(function(**how, checkpoint=path), undisturbed(user))
    assert tuple(saved) == steps
    assert_identical(function(**how, checkpoint=path), undisturbed(user))
    assert tuple(saved) == steps


def every(user, result):
    """One number of each network or path."""
    return result[:, 0, 0, 0, 0] if user == "ntk_samples" else result.V[:, -1, 0, 0]


@pytest.mark.parametrize("user", list(USERS)[1:])
def test_every_lane_draws_others(user, undisturbed):
    """No network is drawn twice, and fewer networks are the first of many, whatever lane they fall into."""
    function, how, _ = USERS[user]
    many = every(user, undisturbed(user))
    assert len(np.unique(many)) == len(many) == 50
    count = "paths" if user == "covariance_sde" else "networks"
    np.testing.assert_array_equal(every(user, function(**(how | {count: 20}))), many[:20])


@pytest.fixture(scope="module")
def finished(tmp_path_factory, undisturbed):
    """Checkpoints of finished runs."""
    paths = {}

    def path(user):
        if user not in paths:
            function, how, _ = USERS[user]
            paths[user] = tmp_path_factory.mktemp("finished") / "run.npz"
            function(**how, checkpoint=paths[user])
        return paths[user]

    return path


@pytest.mark.parametrize(
    ("user", "change"),
    [
        pytest.param(user, change, id=f"{user}-{next(iter(change))}{i}")
        for user in USERS
        for i, change in enumerate(CHANGES[user])
    ],
)
def test_another_problem_is_refused(user, change, finished):
    """Rather than mixed in, and the file is left as it was."""
    function, how, _ = USERS[user]
    path = finished(user)
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match="another network, inputs, seed"):
        function(**(how | change), checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("user", ["simulate MLP", "simulate blocks"])
@pytest.mark.parametrize("chunk_size", [1, 33, None])
def test_chunks_of_several_lanes_change_nothing(user, chunk_size, undisturbed):
    """Chunks set the rhythm of reports, never the result."""
    function, how, _ = USERS[user]
    assert_identical(function(**(how | {"chunk_size": chunk_size})), undisturbed(user))


@pytest.mark.parametrize("user", USERS)
def test_progress_is_shown(user, finished, capsys):
    """By each of them, on standard error."""
    function, how, steps = USERS[user]
    function(**how, progress=True, checkpoint=finished(user))
    shown = capsys.readouterr().err
    assert ("paths" if user == "covariance_sde" else "networks") in shown
    assert f"{steps[-1]}/{steps[-1]}" in shown


class LanesError(Exception):
    """Raised instead of running."""


def test_paths_of_many_tokens_stay_in_memory(monkeypatch):
    """64 MiB of paths are integrated side by side, not all that were asked for."""
    monkeypatch.undo()

    def stop(*args, lane, **how):
        raise LanesError(lane)

    # By the module, whose name in its room is that of the function.
    monkeypatch.setattr(sys.modules["finitewidth.proportional.covariance_sde"], "run", stop)
    with pytest.raises(LanesError) as caught:
        covariance_sde(BLOCK, np.eye(40), 0.5, paths=4096, steps=50, save=50)
    (lane,) = caught.value.args
    assert 1 < lane < 4096
    assert 8 * 40**2 * 50 * lane <= 2**26


KILLED = """
import sys
import numpy as np
import finitewidth as fw
x, V0 = np.asarray([[1.0, 0.2, -0.5], [0.3, -1.0, 0.4]]), np.asarray([[1.0, 0.3], [0.3, 0.8]])
net, block = fw.MLP("tanh", (3, 12, 8, 8, 1), C_W=[1.0, 1.2, 1.5, 0.8]), fw.ShapedResNet(0.5)
def result(user, **how):
    if user == "simulate MLP":
        flow = fw.simulate(net, x, networks=400_000, chunk_size=4096, **how)
        return flow.G.mean, flow.V.mean, flow.V.standard_error
    if user == "simulate blocks":
        law = fw.simulate(block.at(32, 64), V0, networks=40_000, save=2, **how)
    if user == "covariance_sde":
        law = fw.covariance_sde(block, V0, 1.0, paths=100_000, steps=400, save=2, **how)
    if user == "ntk_samples":
        return (fw.ntk_samples(net, x, 100_000, method="dense", **how),)
    return law.V, law.stopping_times, law.status
"""
KILLED_MAIN = "np.savez(sys.argv[3], *result(sys.argv[1], checkpoint=sys.argv[2]))"


@pytest.mark.measured
@pytest.mark.parametrize("user", USERS)
def test_a_killed_process_resumes_bit_identical(user, tmp_path, monkeypatch):
    """SIGKILL at an arbitrary moment, twice, then a run to the end in a third process."""
    monkeypatch.undo()
    path, out = tmp_path / "run.npz", tmp_path / "out.npz"

    def start():
        return subprocess.Popen([sys.executable, "-c", KILLED + KILLED_MAIN, user, str(path), str(out)], env=os.environ)

    for _ in range(2):
        process = start()
        seen = path.stat().st_mtime_ns if path.exists() else 0
        while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns > seen):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    assert start().wait() == 0
    jax.clear_caches()  # code compiled in haste, for another test, rounds differently
    names = {}
    exec(KILLED, names)
    expected = names["result"](user)
    with np.load(out) as resumed:
        for i, array in enumerate(expected):
            np.testing.assert_array_equal(resumed[f"arr_{i}"], array)
