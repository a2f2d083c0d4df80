"""Names are loaded when they are first used, and only what they need."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import finitewidth as fw

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
