"""Measurements in a process of their own: a peer's environment, or ours with nothing compiled yet."""

import json
import subprocess
import sys
from typing import Any


def measured_by(command: list[Any]) -> dict[str, Any]:
    """What `command` prints last, as JSON. If it fails, so do we, with its last words."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
