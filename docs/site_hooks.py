"""What MkDocs runs while it builds the site: generated pages, the API of each room, formulas."""

import ast
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_HERE = Path(__file__).resolve().parent
_REPOSITORY = _HERE.parent
_PACKAGE = _REPOSITORY / "src" / "finitewidth"
sys.path[:0] = [str(_HERE), str(_REPOSITORY / "src")]

import capabilities  # noqa: E402
import equation_index  # noqa: E402
import mathml  # noqa: E402

# Rooms from the ground up, each with a page that explains it; the command line is explained with the reports.
ROOMS = (
    *("gaussian", "activations", "networks", "kernels", "results", "realised", "runs"),
    *("exact", "expansion", "proportional", "ensembles", "critical", "learning", "advice", "figures", "reports"),
)
PAGES = {room: room for room in ROOMS} | {"cli": "reports"}
_API_MARK = re.compile(r"^<!-- api: (?P<room>[\w.]+) -->$", re.MULTILINE)


def _relative_imports(folder: Path) -> list[tuple[tuple[str, ...], str]]:
    """The `from .module import name` of a package's `__init__.py`, in its order: (module, name)."""
    tree = ast.parse((folder / "__init__.py").read_text("utf-8"))
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module)
    return [(tuple(node.module.split(".")), name.name) for node in imports for name in node.names]


def _definition(module: tuple[str, ...], name: str) -> str:
    """Where a name is defined, followed through the packages that pass it on.

    The dotted path of a public name would not do: a room, a file in it and a function may share one name.
    """
    folder = _PACKAGE.joinpath(*module)
    if folder.is_dir():
        for inner, passed_on in _relative_imports(folder):
            if passed_on == name:
                return _definition((*module, *inner), name)
    return ".".join(("finitewidth", *module, name))


def api(room: str) -> str:
    """The directives that document a room's public names, those of its `__init__.py`; for a file those that the package offers."""
    path = tuple(room.split("."))
    folder = _PACKAGE.joinpath(*path)
    if folder.is_dir():
        public = [((*path, *module), name) for module, name in _relative_imports(folder)]
    else:
        public = [(module, name) for module, name in _relative_imports(_PACKAGE) if module == path]
    # Links to a name lead to its reference page, where its file is; so here it stays out of the inventory.
    options = "    options:\n      skip_local_inventory: true\n"
    return "\n".join(f"::: {_definition(module, name)}\n{options}" for module, name in public)


def reference_page(room: str) -> str:
    """Every module of a room, public or not, so that an equation leads to the line of code that holds it."""
    modules = sorted(path for path in (_PACKAGE / room).rglob("*.py") if path.stem not in ("__init__", "__main__"))
    page = f"[the room's page](../rooms/{PAGES[room]}.md)"
    title = f"# `finitewidth.{room}`, file by file\n\nThe public names are on {page}.\n"
    names = (".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts) for path in modules)
    return title + "".join(f"\n::: {name}\n    options:\n      heading_level: 2\n" for name in names)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the sources."""
    table = capabilities.read()
    if wrong := capabilities.problems(table):
        raise PluginError("docs/capabilities.toml: " + "; ".join(wrong))
    generated = {
        "equation-index.md": equation_index.index_page(_PACKAGE, _REPOSITORY / "tests"),
        "capabilities.md": capabilities.capabilities_page(table),
        "changelog.md": (_REPOSITORY / "CHANGELOG.md").read_text("utf-8"),
        "contributing.md": (_REPOSITORY / "CONTRIBUTING.md").read_text("utf-8").replace("](docs/", "]("),
    }
    generated |= {f"reference/{room}.md": reference_page(room) for room in PAGES}
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the API of a room where its page asks for it."""
    return _API_MARK.sub(lambda mark: api(mark["room"]), markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the formulas."""
    try:
        return mathml.set_formulas(html)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None
