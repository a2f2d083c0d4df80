"""What is handed out: the lowest versions that are promised, and sources with all that their tests read."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))


def lowest():
    spec = importlib.util.spec_from_file_location("lowest", REPOSITORY / "tools" / "lowest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lowest_versions_are_the_lowest_that_are_allowed():
    """Of every dependency of the library and of its tests, read by another parser: allowed, and nothing below is."""
    found = dict(line.split("==") for line in lowest().constraints(REPOSITORY / "pyproject.toml"))
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["notebook"], *extras["sklearn"], *extras["test"]]
    needed = {each.name: each.specifier for each in map(Requirement, wanted) if each.name != "finitewidth"}
    assert set(found) == set(needed)
    for name, version in found.items():
        assert needed[name].contains(version), name
        assert not needed[name].contains(f"{version}.dev0", prereleases=True), name


def test_a_dependency_without_a_lowest_version_is_refused(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "x"\ndependencies = ["jax"]\noptional-dependencies = {}\n')
    with pytest.raises(SystemExit, match="'jax' says no lowest version"):
        lowest().constraints(project)


def test_sources_that_are_handed_out_hold_what_tests_read():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    read = set()
    for file in (REPOSITORY / "tests").rglob("*.py"):
        read |= set(re.findall(r'(?:REPOSITORY|ROOT|parents\[\d\]) / "([\w.]+)"', file.read_text("utf-8")))
    assert {"tools", ".ci", "docs", "README.md"} <= read
    assert {name for name in read if name not in included and not (name.endswith(".md") and "*.md" in included)} <= {
        "pyproject.toml"
    }


def test_who_and_where():
    project = PROJECT["project"]
    assert project["authors"]
    assert all(re.match(r"https://\S+$", url) for url in project["urls"].values())
    assert "Programming Language :: Python :: 3.13" in project["classifiers"]
