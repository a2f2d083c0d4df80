"""What the pages say is true: their examples run, the tests they name exist, every formula can be set."""

import ast
import builtins
import contextlib
import importlib
import importlib.util
import inspect
import io
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import pytest

import capabilities
import finitewidth
import mathml
import outputs
import torch_in_numpy
from finitewidth import ValidityWarning

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
SOURCES = sorted((REPOSITORY / "src").rglob("*.py"))

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$]*[^\s$])?)\$(?!\d)", re.DOTALL)


def name(path):
    return path.relative_to(REPOSITORY).as_posix()


def examples(page):
    return "\n".join(blocks(page.read_text("utf-8")))


def blocks(text):
    return [m["code"] for m in _FENCE.finditer(text) if m["language"] == "python"]


def prose(page):
    """A page without its code."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", page.read_text("utf-8")))


def docstrings(source):
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = (node for node in ast.walk(ast.parse(source.read_text("utf-8"))) if isinstance(node, kinds))
    return re.sub(r"`[^`\n]+`", "", "\n\n".join(ast.get_docstring(node) or "" for node in nodes))


WITH_EXAMPLES = [page for page in PAGES if examples(page)]
WITH_OUTPUTS = [page for page in PAGES if outputs.has_outputs(page.read_text("utf-8"))]
ONLY_EXAMPLES = [page for page in WITH_EXAMPLES if page not in WITH_OUTPUTS]


def of_library(node):
    """What `fw.room.name` in an example stands for; `None` if it is something else. An `AttributeError` if there is no such thing."""
    if isinstance(node, ast.Name):
        return finitewidth if node.id == "fw" else None
    if not isinstance(node, ast.Attribute):
        return None
    owner = of_library(node.value)
    return getattr(owner, node.attr) if inspect.ismodule(owner) or inspect.isclass(owner) else None


def wrong_calls(code):
    """Calls of the library that its signatures do not know."""
    for node in ast.walk(ast.parse(code)):
        called = of_library(node.func) if isinstance(node, ast.Call) else of_library(node)
        if not isinstance(node, ast.Call) or called is None:
            continue
        signature = inspect.signature(called)
        places = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        names = {keyword.arg: None for keyword in node.keywords if keyword.arg is not None}
        whole = len(places) == len(node.args) and len(names) == len(node.keywords)
        try:
            (signature.bind if whole else signature.bind_partial)(*places, **names)
        except TypeError as error:
            yield f"{ast.unparse(node)}: {error}"


def bound(tree, modules=False):
    """Names that code gives a meaning, or only those of modules that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not modules:
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not modules:
            yield node.name
        elif isinstance(node, ast.arg) and not modules:
            yield node.arg


def undefined(code, known=()):
    """Names that blocks of code, one after the other, use before they have a meaning."""
    known, missing = {*known, *dir(builtins)}, []
    for block in code:
        tree = ast.parse(block)
        known |= set(bound(tree))
        missing += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in known]
    return missing


def unexplained(text):
    """Names that a page does not define above their use, and those that a worked example leaves to other sections: it stands by itself,
    but for what the page imports."""
    modules = [name for block in blocks(text) for name in bound(ast.parse(block), modules=True)]
    worked = [part for part in re.split("^(?=## )", text, flags=re.MULTILINE) if part.startswith("## Worked")]
    return undefined(blocks(text)) + [name for part in worked for name in undefined(blocks(part), modules)]


def small(code):
    """The same example with few networks and layers: it shows that the names are right, in a few seconds."""
    code = re.sub(r"(networks|paths)=[\d_]+", r"\1=16", code)
    code = re.sub(r"\(width=\d+, depth=\d+\)", "(width=16, depth=12)", code)
    code = re.sub(r"steps=\d+", "steps=2", code)
    return re.sub(r"widths=\((\d+), .*, (\d+)\)\)", r"widths=(\1, 8, 8, \2))", code)


def run_quietly(code, page):
    matplotlib.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)  # networks as narrow as these are beyond what theory trusts
        exec(compile(code, name(page), "exec"), {})


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_the_examples_of_a_page_call_what_there_is(page):
    assert list(wrong_calls(examples(page))) == []


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_the_examples_of_a_page_define_what_they_use(page):
    assert unexplained(page.read_text("utf-8")) == []


def test_a_name_without_a_meaning_is_found():
    first, worked = (
        "```python\nimport numpy as np\nV0 = np.eye(2)\n```\n",
        "## Worked: more\n\n```python\nprint(np.sum(V0))\n```\n",
    )
    assert unexplained(first) == []
    assert unexplained(first + worked) == ["V0"]
    assert unexplained(worked + first) == ["V0", "np", "V0"]
    assert undefined(["def f(a):\n    return [b for b in a]", "f(c)"]) == ["c"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("fw.flow(net, x, depth=3)", "unexpected keyword"),
        ("fw.critical.optimal_gamma('relu')", "missing"),
        ("print(fw.criticality(*names, wrong=1))", "unexpected keyword"),
    ],
)
def test_a_call_that_does_not_fit_is_found(code, message):
    (found,) = wrong_calls(code)
    assert message in found
    with pytest.raises(AttributeError, match="no_such_verb"):
        list(wrong_calls("x = fw.no_such_verb"))
    assert list(wrong_calls("fw.flow(net, **settings); law.flow(1, 2, 3, 4, 5, 6, 7)")) == []


@pytest.mark.parametrize("page", [page for page in ONLY_EXAMPLES if page.parent.name != "rooms"], ids=name)
def test_the_examples_of_a_page_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some examples write files
    run_quietly(small(examples(page)), page)


@pytest.mark.measured
@pytest.mark.parametrize("page", ONLY_EXAMPLES, ids=name)
def test_the_examples_of_a_page_run_as_they_stand(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    exec(compile(examples(page), name(page), "exec"), {})


def pieces(text):
    """Words, and numbers to compare as numbers."""
    found = re.split(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w])", text)
    return [" ".join(part.split()) for part in found[::2]], [float(number) for number in found[1::2]]


def with_outputs(page):
    """Pages of rooms and tutorials in the measured tier: the calls in their examples are checked above, and most of the time goes into
    compiling what the room's own tests compile too."""
    return pytest.param(page, marks=pytest.mark.measured) if page.parent.name in ("rooms", "tutorials") else page


@pytest.mark.parametrize("page", [with_outputs(page) for page in WITH_OUTPUTS], ids=name)
def test_outputs_are_what_examples_print(page, monkeypatch, tmp_path):
    """Word by word, and numbers to three digits; `docs/outputs.py` writes them anew. Without PyTorch a stand-in, whose random numbers are
    others, shows that the words are right."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    text = page.read_text("utf-8")
    stands_in = "import torch\n" in text and importlib.util.find_spec("torch") is None
    if stands_in:
        monkeypatch.setitem(sys.modules, "torch", torch_in_numpy.stand_in())
    for shown, printed in outputs.outputs(text):
        words, numbers = pieces(shown)
        new_words, new_numbers = pieces(printed)
        assert words == new_words
        assert stands_in or numbers == pytest.approx(new_numbers, rel=1e-3)


def test_an_output_is_below_its_example():
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n```python\nx = 1\n```\n"
    assert outputs.has_outputs(page)
    assert not outputs.has_outputs("```python\nx = 1\n```\n\nand\n\n```text\n3\n```\n")
    assert list(outputs.outputs(page)) == [("3\n", "2\n")]
    assert outputs.renewed(page) == page.replace("3", "2")
    assert pieces("factor of 20.6, layer_1, 1e-3") == (["factor of", ", layer_1,", ""], [20.6, 0.001])


def test_small_examples_are_small():
    code = small(examples(REPOSITORY / "README.md"))
    assert "networks=16," in code
    assert "block.at(width=16, depth=12)" in code
    assert "widths=(8, 8, 8, 1))" in code


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_test_named_on_a_page_exists(page):
    named = re.findall(r"`(tests/[\w/]+\.py(?:::\w+)+)`", page.read_text("utf-8"))
    assert [test for test in named if not capabilities.is_test(test, REPOSITORY)] == []


COMMAND_LINE = importlib.import_module("finitewidth.cli.main")  # a function has its name


def commands(text):
    """What follows `finitewidth` in lines of a shell and in code between backticks."""
    return re.findall(r"(?:^|`|/)finitewidth +([a-z][^`#\n]*)", text, re.MULTILINE)


def refused(command):
    """Whether the command line knows no such command or option."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            COMMAND_LINE._parser().parse_args(shlex.split(command))
        except SystemExit as done:
            return done.code != 0
    return False


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_on_a_page_is_one(page):
    assert [command for command in commands(page.read_text("utf-8")) if refused(command)] == []


def test_a_command_that_is_none_is_found():
    page = "`finitewidth reprot --depth 3`\n\n```sh\nfinitewidth report --deep 3   # deep\n.venv/bin/finitewidth report\n```\n"
    assert [command.strip() for command in commands(page) if refused(command)] == [
        "reprot --depth 3",
        "report --deep 3",
    ]
    assert len(commands(page)) == 3


def missing_names(text):
    """Names of the library in code between backticks that it does not have."""
    said = {each for code in re.findall(r"`([^`\n]+)`", text) for each in re.findall(r"\bfw\.([A-Za-z_][\w.]*)", code)}
    missing = []
    for path in sorted(said):
        found = finitewidth
        for part in path.rstrip(".").split("."):
            found = getattr(found, part, None)
        missing += [path] if found is None else []
    return missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_name_on_a_page_exists(page):
    assert missing_names(page.read_text("utf-8")) == []


def test_a_name_that_does_not_exist_is_found():
    assert missing_names("`fw.flow(net)`, `fw.critical.fixed_points`, `fw.trian(net)`, `x = fw.exact.nothing`") == [
        "exact.nothing",
        "trian",
    ]


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
    long = r'<p><span class="arithmatex">\(K = C_b + C_W\langle\sigma\sigma\rangle + O(n^{-1})\)</span></p>'
    assert "long-formula" in mathml.set_formulas(long)
    assert "long-formula" not in result


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("test-command", '.venv/bin/pip install -e ".[test]" && .venv/bin/pytest -n auto'),
        ("main-job", ".venv/bin/pip install . && .venv/bin/finitewidth report"),
    ],
)
def test_the_continuous_integration_runs_the_commands_of_the_readme(mark, expected):
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    assert f"readme_command {mark}" in script
    (function,) = re.findall(r"^readme_command\(\) \{\n.*?^\}$", script, re.MULTILINE | re.DOTALL)
    found = subprocess.run(
        ["bash", "-c", f"{function}\nreadme_command {mark}"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    assert found.strip() == f"python3 -m venv .venv && {expected}"
