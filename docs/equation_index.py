"""Which function computes an equation of the book, and which test checks it: read from the docstrings.

A docstring cites the book as `PDLT (4.119)`, as a range `PDLT (4.69)-(4.70)` or as a list `PDLT (1.54), (1.61)`.
The site builds its pages through `site_hooks.py`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

CHAPTERS = {
    "0": "Initialization",
    "1": "Pretraining",
    "2": "Neural Networks",
    "3": "Effective Theory of Deep Linear Networks at Initialization",
    "4": "RG Flow of Preactivations",
    "5": "Effective Theory of Preactivations at Initialization",
    "6": "Bayesian Learning",
    "7": "Gradient-Based Learning",
    "8": "RG Flow of the Neural Tangent Kernel",
    "9": "Effective Theory of the NTK at Initialization",
    "10": "Kernel Learning",
    "11": "Representation Learning",
    "∞": "The End of Training",
    "ε": "Epilogue: Model Complexity from the Macroscopic Perspective",
    "A": "Information in Deep Learning",
    "B": "Residual Learning",
}
_ORDER = {chapter: position for position, chapter in enumerate(CHAPTERS)}

_LABEL = r"\((?:\d+|[AB∞ε])\.\d+\)"
_DASH = r"(?:-{1,3}|[–—−])"
_SPACE = r"[\s~]*"
_LIST = r"(?:,|;|and|,\s*and|&)"
_CITATION = re.compile(rf"PDLT[\s~\\]*({_LABEL}(?:{_SPACE}(?:{_DASH}|{_LIST}){_SPACE}{_LABEL})*)")
_FIRST_OR_LAST = re.compile(rf"({_DASH})?{_SPACE}{_LIST}?{_SPACE}\((\d+|[AB∞ε])\.(\d+)\)")


@dataclass(frozen=True)
class Equation:
    """An equation number of the book."""

    chapter: str
    number: int

    def __str__(self) -> str:
        return f"({self.chapter}.{self.number})"

    def __lt__(self, other: "Equation") -> bool:
        return (_ORDER[self.chapter], self.number) < (_ORDER[other.chapter], other.number)


def cited(text: str) -> list[Equation]:
    """The equations that `text` cites, ranges expanded, in order of appearance and without repetition."""
    found: dict[Equation, None] = {}
    for citation in _CITATION.finditer(text):
        previous: Equation | None = None
        for dash, chapter, number in _FIRST_OR_LAST.findall(citation.group(1)):
            equation = Equation(chapter, int(number))
            if chapter not in CHAPTERS:
                raise ValueError(f"{citation.group(0)!r}: the book has no chapter {chapter}")
            first = equation.number
            if dash and previous is not None:
                if previous.chapter != chapter or previous.number >= equation.number:
                    raise ValueError(f"{citation.group(0)!r}: a range must rise within one chapter")
                first = previous.number
            found |= {Equation(chapter, n): None for n in range(first, equation.number + 1)}
            previous = equation
    return list(found)


def _documented(node: ast.AST, trail: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Docstrings with the names that lead to them; those of local functions belong to the function around them.

    A string that follows a field or a constant is its docstring.
    """
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield trail, ast.get_docstring(node) or ""
    if isinstance(node, ast.Module | ast.ClassDef):
        for field, text in pairwise(node.body):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]),
                    ast.Expr(ast.Constant(str(docstring))),
                ):
                    yield (*trail, name), docstring
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        inside_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _documented(child, (*trail, child.name) if named and not inside_function else trail)


def _places(root: Path, joined: str) -> Iterator[tuple[str, Equation]]:
    """Every citation in the Python files below `root`, with the place that makes it.

    `joined` is "." for a dotted path from the folder that holds `root`, "::" for the name pytest gives a test.
    """
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root.parent)
        if joined == ".":
            parts = path.with_suffix("").parts
            start = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        else:
            start = path.as_posix()
        for trail, docstring in _documented(ast.parse(file.read_text("utf-8"), str(file))):
            try:
                equations = cited(docstring)
            except ValueError as error:
                raise ValueError(f"{start}{joined}{joined.join(trail)}: {error}") from None
            yield from ((joined.join((start, *trail)), equation) for equation in equations)


def citations(root: Path, joined: str) -> dict[Equation, list[str]]:
    """For each equation the places below `root` that cite it."""
    found: dict[Equation, dict[str, None]] = {}
    for place, equation in _places(root, joined):
        found.setdefault(equation, {})[place] = None
    return {equation: list(places) for equation, places in found.items()}


def function_link(path: str, shown: str | None = None) -> str:
    """A dotted path as a link to its API entry, as plain code where it has none; with another name to show, if given."""
    text = (path if shown is None else shown).removeprefix("finitewidth.")
    return f'<autoref optional identifier="{path}"><code>{text}</code></autoref>'


_NAMES = {"∞": "infinity", "ε": "epilogue"}


def chapter_page(chapter: str) -> str:
    """Where the equations of a chapter stand, below the overview."""
    return f"chapter-{_NAMES.get(chapter, chapter)}.md"


def index_pages(package: Path, tests: Path) -> dict[str, str]:
    """The equation index as Markdown: an overview, `index.md`, and a page for each chapter that is cited."""
    functions, checks = citations(package, "."), citations(tests, "::")
    untested = len(functions.keys() - checks.keys())
    overview = [
        "# Equation index",
        "",
        "From an equation of *The Principles of Deep Learning Theory* (PDLT, arXiv:2106.10165) to the code that",
        "computes it and the test that checks it. Generated from the docstrings at every build.",
        "",
        f"{len(functions)} equations are cited by the library, {len(functions) - untested} of them also by a test.",
        "An equation that no test cites is marked **no test**.",
        "",
        "| chapter | equations | without a test |",
        "|---|---|---|",
    ]
    pages = {}
    for chapter, title in CHAPTERS.items():
        equations = sorted(e for e in functions.keys() | checks.keys() if e.chapter == chapter)
        if not equations:
            continue
        missing = sum(equation not in checks for equation in equations)
        overview.append(f"| [{chapter}. {title}]({chapter_page(chapter)}) | {len(equations)} | {missing or ''} |")
        lines = [f"# {chapter}. {title}", "", '<div class="wide" markdown>', ""]
        lines += ["| equation | computed by | checked by |", "|---|---|---|"]
        for equation in equations:
            code = "<br>".join(map(function_link, functions.get(equation, ()))) or "—"
            test = "<br>".join(f"`{name}`" for name in checks.get(equation, ()))
            if not test:
                test = '<strong class="missing">no test</strong>'
            anchor = f'<a id="eq-{equation.chapter}-{equation.number}"></a>'
            lines.append(f"| {anchor}{equation} | {code} | {test} |")
        pages[chapter_page(chapter)] = "\n".join([*lines, "", "</div>", ""])
    return {"index.md": "\n".join(overview) + "\n"} | pages
