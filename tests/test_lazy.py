"""Names are loaded when they are first used, and only what they need."""

import ast
import compileall
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import finitewidth as fw
from finitewidth import _lazy

PACKAGE = Path(fw.__file__).parent

FIRST_CALLS = """
import sys, finitewidth as fw
assert "jax" not in sys.modules
fw.flow(fw.tune(fw.MLP("relu", (2, 8, 1))), [[1.0, 0.5]], through="kernel")
loaded = {name.partition(".")[0] for name in sys.modules}, {".".join(name.split(".")[:2]) for name in sys.modules}
assert "scipy.optimize" not in sys.modules
assert not loaded[0] & {"matplotlib", "rich", "optax"}, loaded[0]
assert not loaded[1] & {f"finitewidth.{room}" for room in ("proportional", "ensembles", "learning", "figures", "reports")}, loaded[1]
"""


def test_what_the_first_calls_need():
    subprocess.run([sys.executable, "-c", FIRST_CALLS], check=True)


def test_files_do_not_hide_functions_of_their_name():
    """Python binds a file to its package as it is loaded, under the name that the function has there."""
    import_module("finitewidth.advice.tune")
    import_module("finitewidth.expansion.flow")
    assert not isinstance(fw.expansion.flow, ModuleType)
    assert fw.advice.tune is fw.tune


def test_what_a_room_offers():
    assert set(dir(fw.kernels)) >= {"frozen_ntk", "kernel"}
    assert "compiled_kernels" not in dir(fw.kernels)
    with pytest.raises(AttributeError, match=r"finitewidth\.kernels.*'kernle'"):
        fw.kernels.kernle  # noqa: B018


def test_a_name_is_at_hand_the_second_time():
    """A room that was asked once is not asked again, and says what it offers and nothing that it has at hand beside."""
    assert fw.kernels.kernel is vars(fw.kernels)["kernel"]
    for module in (fw, fw.kernels):
        assert {name for name in dir(module) if not name.startswith("__")} == set(module._sources)
        assert {"__doc__", "__name__"} <= set(dir(module))


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        ("sklearn.base", ImportError, r"`Regressor` needs scikit-learn: pip install 'finitewidth\[sklearn\]'"),
        ("sklearn", ImportError, "scikit-learn"),
        ("base.sklearn", ModuleNotFoundError, "nothing of that name"),
        (None, ModuleNotFoundError, "nothing of that name"),
    ],
)
def test_what_is_not_installed_is_asked_for(monkeypatch, missing, error, message):
    """By the name that pip knows; other files that are missing are no matter of the user's."""
    room = _lazy._Package("room")
    room.__dict__["_sources"] = {"Regressor": ".regressor"}

    def fails(*_):
        raise ModuleNotFoundError("nothing of that name", name=missing)

    monkeypatch.setattr(_lazy.importlib, "import_module", fails)
    with pytest.raises(error, match=message) as caught:
        room.Regressor  # noqa: B018
    assert type(caught.value) is error


def imported_for_type_checkers(file):
    """For each name the module that a type checker takes it from, as in `from .module import name`."""
    guarded = (node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.If))
    imports = [node for block in guarded for node in block.body]
    return {name.asname: "." * node.level + (node.module or "") for node in imports for name in node.names}


def test_type_checkers_and_users_are_offered_the_same():
    tables = 0
    for file in PACKAGE.rglob("__init__.py"):
        module = import_module(".".join(file.relative_to(PACKAGE.parent).parts[:-1]))
        if hasattr(module, "_sources"):
            tables += 1
            assert list(module._sources.items()) == list(imported_for_type_checkers(file).items()), module.__name__
    assert tables == 25


EVERY_NAME = """
import finitewidth as fw
assert fw.__file__.startswith({home!r}) and fw.__file__.endswith(".pyc"), fw.__file__
ahead, seen = [fw], []
while ahead:
    module = ahead.pop()
    seen.append(module)
    things = [getattr(module, name) for name in module._sources]
    ahead += [thing for thing in things if hasattr(thing, "_sources") and thing not in seen and thing not in ahead]
assert fw.flow(fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], through="kernel").K.shape
print(len(seen))
"""


def test_a_copy_without_sources_offers_every_name(tmp_path):
    copy = tmp_path / "finitewidth"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(copy, quiet=2, legacy=True)
    for source in copy.rglob("*.py"):
        source.unlink()
    script = EVERY_NAME.format(home=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) == 18  # the package, its rooms, and the shaped networks


def not_offered(source):
    """Names after `fw.` that are there only where some other file has loaded them."""
    missing = []
    for node in ast.walk(ast.parse(source)):
        path, owner = [], node
        while isinstance(owner, ast.Attribute):
            path, owner = [owner.attr, *path], owner.value
        if isinstance(owner, ast.Name) and owner.id == "fw" and path:
            module = fw
            for name in path:
                if not hasattr(module, "_sources") or name.startswith("__"):
                    break
                if name not in module._sources:
                    missing.append(".".join(path))
                    break
                module = getattr(module, name)
    return missing


def test_helpers_of_tests_ask_for_names_that_are_offered():
    """Else a file of tests runs after others that have loaded them, and fails alone."""
    files = Path(__file__).parent.glob("*.py")
    found = {file.name: not_offered(file.read_text("utf-8")) for file in files if file != Path(__file__)}
    assert {name: missing for name, missing in found.items() if missing} == {}
    assert not_offered("fw.learning.bayesian.EvidenceScan") == ["learning.bayesian.EvidenceScan", "learning.bayesian"]
    assert not_offered("fw.learning.EvidenceScan.plot(fw.shaped.Block.at)") == []
