"""What MkDocs runs while it builds the site: generated pages, the API of each room, formulas."""

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

import api  # noqa: E402
import capabilities  # noqa: E402
import equation_index  # noqa: E402
import house  # noqa: E402
import mathml  # noqa: E402


def reference_page(room: str) -> str:
    """Every module of a room, public or not, so that an equation leads to the line of code that holds it."""
    modules = sorted(path for path in (_PACKAGE / room).rglob("*.py") if path.stem not in ("__init__", "__main__"))
    page = f"[the room's page](../rooms/{house.PAGES[room]}.md)"
    title = f"# `finitewidth.{room}`, file by file\n\nThe public names are on {page}.\n"
    names = (".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts) for path in modules)
    return title + "".join(f"\n::: {name}\n    options:\n      heading_level: 2\n" for name in names)


def _equations() -> dict[str, str]:
    return equation_index.index_pages(_PACKAGE, _REPOSITORY / "tests")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the parts of the navigation that are lists of rooms, of chapters and of parts."""
    generated = {
        "Rooms": ["rooms/index.md", *house.navigation("rooms")],
        "Equation index": [f"equations/{page}" for page in _equations()],
        "Capabilities": [
            f"capabilities/{page}" for page in ["index.md", *map(capabilities.part_page, capabilities.read())]
        ],
        "Reference": [{room: f"reference/{room}.md"} for room in house.ROOMS],
    }
    for entry in config.nav:
        entry.update({title: pages for title, pages in generated.items() if title in entry})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the sources."""
    table = capabilities.read()
    if wrong := capabilities.problems(table):
        raise PluginError("docs/capabilities.toml: " + "; ".join(wrong))
    generated = {
        "changelog.md": (_REPOSITORY / "CHANGELOG.md").read_text("utf-8"),
        "contributing.md": (_REPOSITORY / "CONTRIBUTING.md").read_text("utf-8").replace("](docs/", "]("),
    }
    generated |= {f"equations/{page}": text for page, text in _equations().items()}
    generated |= {f"capabilities/{page}": text for page, text in capabilities.capability_pages(table).items()}
    generated |= {f"reference/{room}.md": reference_page(room) for room in house.PAGES}
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the API of a room, and the floors of the house, where a page asks for them."""
    page.meta["as written"] = markdown
    return api.MARK.sub(
        lambda mark: api.directives(mark["place"]), markdown.replace("<!-- floors -->", house.diagram())
    )


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the formulas; refuse a page without the names that it promises."""
    if missing := api.undocumented(page.meta["as written"], html):
        raise PluginError(f"{page.file.src_uri} shows nothing of {', '.join(missing)}")
    try:
        return mathml.set_formulas(html)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None
