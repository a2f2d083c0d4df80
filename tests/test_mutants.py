"""The list of planted mistakes fits the source: whether tests notice them is what the script itself finds out."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "mutants.py"


def test_every_mutant_can_be_planted():
    found = subprocess.run([sys.executable, SCRIPT, "--list"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) > 20
