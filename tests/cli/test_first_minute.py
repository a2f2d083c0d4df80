"""What the command line does so that nobody waits for the compiler twice."""

import os
import subprocess
import sys

import pytest

ASKED = "simulate --activation relu --widths 3,8,1 --networks 10"
COMMAND = (sys.executable, "-c", f"from finitewidth.cli import main; raise SystemExit(main({ASKED!r}.split()))")


def test_nothing_is_said_to_the_compiler_on_the_users_behalf():
    """A compiler that meets a name in XLA_FLAGS that it does not know ends the process."""
    unset = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    program = (
        "import os\nfrom finitewidth.cli import main\n"
        "assert main(['activations']) == 0\nassert 'XLA_FLAGS' not in os.environ"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, env=unset)


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
