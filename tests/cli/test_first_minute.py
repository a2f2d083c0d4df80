"""What the command line does so that nobody waits for the compiler twice."""

import os
import subprocess
import sys

import pytest

from finitewidth.cli import main as door

ASKED = "simulate --activation relu --widths 3,8,1 --networks 10"
COMMAND = (sys.executable, "-c", f"from finitewidth.cli import main; raise SystemExit(main({ASKED!r}.split()))")


def test_what_the_user_tells_the_compiler_holds(monkeypatch):
    """The last of two flags is the one that counts; and where JAX is at work already, it is not ours to set any."""
    flags = "--xla_backend_optimization_level=3"
    monkeypatch.setenv("XLA_FLAGS", flags)
    haste = sys.modules[door.__module__]._make_haste
    haste()
    assert os.environ["XLA_FLAGS"] == flags
    monkeypatch.delitem(sys.modules, "jax")
    haste()
    assert os.environ["XLA_FLAGS"].startswith("--xla_cpu_use_fusion_emitters=false")
    assert os.environ["XLA_FLAGS"].endswith(flags)


@pytest.mark.measured
def test_programs_are_kept_for_the_next_process(tmp_path):
    """In the user's cache, unless JAX is told to keep none."""
    asked = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    asked["XDG_CACHE_HOME"] = str(tmp_path)

    def kept(**more):
        subprocess.run(COMMAND, check=True, capture_output=True, env=asked | more)
        return list(tmp_path.rglob("*-cache"))

    assert kept(JAX_ENABLE_COMPILATION_CACHE="false") == []
    assert {path.parent for path in kept()} == {tmp_path / "finitewidth"}
