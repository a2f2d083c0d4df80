"""What the pages say is true: their examples run, the tests they name exist, every formula can be set."""

import ast
import re
import subprocess
from pathlib import Path

import matplotlib
import pytest

import capabilities
import mathml

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
SOURCES = sorted((REPOSITORY / "src").rglob("*.py"))

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$]*[^\s$])?)\$(?!\d)", re.DOTALL)


def name(path):
    return path.relative_to(REPOSITORY).as_posix()


def examples(page):
    return "\n".join(m["code"] for m in _FENCE.finditer(page.read_text("utf-8")) if m["language"] == "python")


def prose(page):
    """A page without its code."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", page.read_text("utf-8")))


def docstrings(source):
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = (node for node in ast.walk(ast.parse(source.read_text("utf-8"))) if isinstance(node, kinds))
    return re.sub(r"`[^`\n]+`", "", "\n\n".join(ast.get_docstring(node) or "" for node in nodes))


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=name)
def test_the_examples_of_a_page_run(page):
    matplotlib.use("Agg")
    exec(compile(examples(page), name(page), "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_test_named_on_a_page_exists(page):
    named = re.findall(r"`(tests/[\w/]+\.py(?:::\w+)+)`", page.read_text("utf-8"))
    assert [test for test in named if not capabilities.is_test(test, REPOSITORY)] == []


@pytest.mark.parametrize("path", PAGES + SOURCES, ids=name)
def test_every_formula_can_be_set(path):
    for formula in _FORMULA.finditer(prose(path) if path.suffix == ".md" else docstrings(path)):
        block = formula["block"] is not None
        assert "<math" in mathml.to_mathml(formula["block"] if block else formula["inline"], block=block)


def test_a_formula_that_cannot_be_set_is_shown():
    with pytest.raises(ValueError, match=r"\\notacommand"):
        mathml.to_mathml(r"\notacommand x")


def test_formulas_are_replaced_in_a_page():
    page = r'<p>if <span class="arithmatex">\(a &lt; b\)</span></p><div class="arithmatex">\[K_{ab}\]</div>'
    result = mathml.set_formulas(page)
    assert "arithmatex" not in result
    assert result.count("<math") == 2
    assert result.count('display="block"') == 1
    assert "<mo>&lt;</mo>" in result


def test_the_continuous_integration_runs_the_command_of_the_readme():
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    (extraction,) = re.findall(r'^test_command="\$\((.*)\)"$', script, re.MULTILINE)
    found = subprocess.run(
        ["bash", "-c", extraction], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    assert found.strip() == 'python3.11 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pytest -n auto'
