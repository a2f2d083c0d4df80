"""Plant known mistakes and see that the tests notice: `python tools/mutants.py [room ...]`.

A mutant is an exact piece of a source file, what to put in its place, and the tests that must then fail. The list is
mutants.toml beside this file, by room (the packages of the library); without arguments all rooms are run. Each mutant is
planted in a temporary copy of the library, so the working tree is never touched. The exit status is 1 if one survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
PACKAGE = "finitewidth"
OPTIONS = "--strict-markers --import-mode=importlib"
TESTS_FAILED, TESTS_PASSED = 1, 0  # pytest's exit statuses; any other is an error of the run itself


class StaleMutantError(Exception):
    """The list does not fit the source any more."""


@dataclass(frozen=True)
class Mutant:
    """One mistake."""

    room: str
    name: str
    file: str
    """Below src/finitewidth."""
    old: str
    new: str
    tests: list[str]
    """Files or node ids."""

    def planted(self, source: Path) -> str:
        """Its file of the library at `source`, with `new` instead of `old`."""
        path = source / PACKAGE / self.file
        if not path.exists():
            raise StaleMutantError(f"{self.room}/{self.name}: there is no {self.file}")
        text = path.read_text()
        if text.count(self.old) != 1:
            raise StaleMutantError(
                f"{self.room}/{self.name}: its text occurs {text.count(self.old)} times in {self.file}"
            )
        if self.old == self.new:
            raise StaleMutantError(f"{self.room}/{self.name}: it changes nothing")
        return text.replace(self.old, self.new)

    def plant(self, source: Path) -> None:
        """Write the mistake into the copy of the library at `source`."""
        (source / PACKAGE / self.file).write_text(self.planted(source))


def read_mutants(rooms: list[str]) -> list[Mutant]:
    """The mutants of some rooms, or of all."""
    table = tomllib.loads(LIST.read_text())
    unknown = set(rooms) - set(table)
    if unknown:
        raise SystemExit(f"no mutants for {', '.join(sorted(unknown))}; there are some for {', '.join(table)}")
    return [Mutant(room, **entry) for room in rooms or table for entry in table[room]]


def run_tests(source: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """The tests of the working tree on the library at `source`."""
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    # Without the checker of annotations, which takes longer to start than most of these tests take.
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", f"addopts={OPTIONS}", *tests]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


def check_tests_without_mutants(mutants: list[Mutant]) -> None:
    """Tests that fail anyway would seem to notice everything."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    result = run_tests(ROOT / "src", tests)
    if result.returncode != TESTS_PASSED:
        raise SystemExit(f"the tests do not pass without a mutant\n{result.stdout}{result.stderr}")


def imported_from(source: Path) -> bool:
    """Whether Python takes the library from the copy: an installed one could come first, and no mutant would matter."""
    code = f"import {PACKAGE}; print({PACKAGE}.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(found.stdout.strip()).is_relative_to(source)


def verdict(mutant: Mutant, source: Path) -> tuple[bool, str]:
    """Whether the tests noticed, and which did."""
    mutant.plant(source)
    result = run_tests(source, mutant.tests)
    if result.returncode == TESTS_FAILED:
        failed = [line for line in result.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return True, failed[0].split(" - ")[0] if failed else ""
    if result.returncode == TESTS_PASSED:
        return False, "SURVIVED"
    raise SystemExit(f"{mutant.room}/{mutant.name}: pytest did not run\n{result.stdout}{result.stderr}")


def main() -> int:
    """Run the mutants of the rooms asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="rooms of the library, such as expansion; all if none is given")
    parser.add_argument("--list", action="store_true", help="only check that every mutant still fits the source")
    arguments = parser.parse_args()
    mutants, survivors = read_mutants(arguments.rooms), 0
    try:
        for mutant in mutants:
            mutant.planted(ROOT / "src")
            if arguments.list:
                print(f"{mutant.room:14s} {mutant.name}")
    except StaleMutantError as error:
        raise SystemExit(f"stale mutant {error}") from None
    if arguments.list:
        return 0
    check_tests_without_mutants(mutants)
    for mutant in mutants:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder).resolve()
            shutil.copytree(ROOT / "src" / PACKAGE, source / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
            if not imported_from(source):
                raise SystemExit(f"{PACKAGE} is not imported from the copy that is mutated")
            start = time.monotonic()
            killed, by = verdict(mutant, source)
        survivors += not killed
        seconds = time.monotonic() - start
        print(
            f"{mutant.room:14s} {mutant.name:44s} {'killed' if killed else 'ALIVE':6s} {seconds:5.0f} s  {by}",
            flush=True,
        )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
