"""The lowest version of every dependency that pyproject.toml allows, as constraints for pip.

python tools/lowest.py > lowest.txt && pip install -e ".[test]" -c lowest.txt
"""

import re
import sys
import tomllib
from pathlib import Path

_ALLOWED = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?(>=|~=)(?P<lowest>[\w.]+)$")
_OWN_TOOLS = ("docs", "dev")  # which no user of the library installs


def constraints(pyproject: Path) -> list[str]:
    """`name==version` of all that a user or the tests need; a dependency without a lower bound is an error."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for name in extras if name not in _OWN_TOOLS for each in extras[name])]
    lowest = []
    for requirement in wanted:
        if requirement.startswith(f"{project['name']}["):
            continue  # another of these lists
        allowed = _ALLOWED.match(requirement)
        if allowed is None:
            sys.exit(f"{pyproject}: {requirement!r} says no lowest version")
        lowest.append(f"{allowed['name']}=={allowed['lowest']}")
    return lowest


if __name__ == "__main__":
    print("\n".join(constraints(Path(__file__).parents[1] / "pyproject.toml")))
