"""The equation index reads every form of citation, and finds the function and the test that make it."""

import pytest

from equation_index import Equation, chapter_page, citations, cited, index_pages


def numbers(text: str) -> list[str]:
    return [str(equation) for equation in cited(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The vertex, PDLT (4.119).", ["(4.119)"]),
        ("PDLT (4.69)-(4.71)", ["(4.69)", "(4.70)", "(4.71)"]),
        ("PDLT (4.69)--(4.70)", ["(4.69)", "(4.70)"]),
        ("PDLT (4.69)–(4.70)", ["(4.69)", "(4.70)"]),
        ("PDLT (4.69) – (4.70)", ["(4.69)", "(4.70)"]),
        ("PDLT (1.54), (1.61)", ["(1.54)", "(1.61)"]),
        ("PDLT (1.54), (1.56)-(1.58), and (1.61)", ["(1.54)", "(1.56)", "(1.57)", "(1.58)", "(1.61)"]),
        ("PDLT (5.50) and (5.53)", ["(5.50)", "(5.53)"]),
        ("PDLT (5.159) and its derivatives (5)", ["(5.159)"]),
        (r"$$x = y \quad\text{PDLT (4.8)}$$", ["(4.8)"]),
        (r"PDLT~(4.8)", ["(4.8)"]),
        (r"PDLT\ (4.8)", ["(4.8)"]),
        ("PDLT\n    (4.8),\n    (4.9)", ["(4.8)", "(4.9)"]),
        ("PDLT (A.67) and (∞.141), (ε.20), (10.39)", ["(A.67)", "(∞.141)", "(ε.20)", "(10.39)"]),
        ("PDLT (4.8) and again PDLT (4.8)", ["(4.8)"]),
        ("PDLT section 5.3, PDLT chapter 4, (4.8)", []),
        ("Not of the book: (4.8)", []),
    ],
)
def test_every_form_of_citation_is_read(text, expected):
    assert numbers(text) == expected


@pytest.mark.parametrize("text", ["PDLT (4.9)-(4.8)", "PDLT (4.9)-(5.2)", "PDLT (4.9)-(4.9)", "PDLT (12.1)"])
def test_an_impossible_citation_is_refused(text):
    with pytest.raises(ValueError, match="PDLT"):
        cited(text)


def test_equations_sort_as_in_the_book():
    labels = [("B", 1), ("5", 2), ("∞", 7), ("10", 1), ("5", 10), ("A", 3), ("0", 4)]
    assert "".join(map(str, sorted(Equation(*label) for label in labels))) == "(0.4)(5.2)(5.10)(10.1)(∞.7)(A.3)(B.1)"


@pytest.fixture
def repository(tmp_path):
    files = {
        "package/__init__.py": '"""PDLT (1.1)."""\n',
        "package/room/vertex.py": (
            '"""A file about PDLT (4.2)."""\n'
            'LIMIT = 1.0\n"""PDLT (4.7)."""\n'
            "class Vertex:\n"
            '    """PDLT (4.3)."""\n'
            '    V: float\n    """PDLT (4.6)."""\n    loose: float\n'
            "    def step(self):\n"
            '        """PDLT (4.4)."""\n'
            "def flow():\n"
            '    """No number."""\n'
            "    # PDLT (4.9) in a comment is not a citation\n"
            "    def local():\n"
            '        """PDLT (4.5)."""\n'
        ),
        "tests/room/test_vertex.py": (
            'def test_step():\n    """PDLT (4.4)-(4.5)."""\nclass TestVertex:\n'
            '    def test_class(self):\n        """PDLT (4.3), (4.8)."""\n'
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_places_are_named_as_python_and_pytest_name_them(repository):
    found = citations(repository / "package", ".")
    assert {str(equation): places for equation, places in found.items()} == {
        "(1.1)": ["package"],
        "(4.2)": ["package.room.vertex"],
        "(4.3)": ["package.room.vertex.Vertex"],
        "(4.4)": ["package.room.vertex.Vertex.step"],
        "(4.5)": ["package.room.vertex.flow"],
        "(4.6)": ["package.room.vertex.Vertex.V"],
        "(4.7)": ["package.room.vertex.LIMIT"],
    }
    tests = citations(repository / "tests", "::")
    assert tests[Equation("4", 5)] == ["tests/room/test_vertex.py::test_step"]
    assert tests[Equation("4", 3)] == ["tests/room/test_vertex.py::TestVertex::test_class"]


def test_the_pages_mark_what_no_test_cites(repository):
    """One page a chapter, and an overview that leads to it and counts."""
    (repository / "package/room/end.py").write_text('"""PDLT (∞.2), (5.1)."""\n', "utf-8")
    pages = index_pages(repository / "package", repository / "tests")
    assert list(pages) == ["index.md", "chapter-1.md", "chapter-4.md", "chapter-5.md", "chapter-infinity.md"]
    page = pages["chapter-4.md"]
    rows = {line.split("</a>")[1].split(" |")[0]: line for line in page.splitlines() if "eq-" in line}
    assert list(rows) == ["(4.2)", "(4.3)", "(4.4)", "(4.5)", "(4.6)", "(4.7)", "(4.8)"]
    assert [label for label, row in rows.items() if "no test" in row] == ["(4.2)", "(4.6)", "(4.7)"]
    assert "| — |" in rows["(4.8)"]
    assert "# 4. RG Flow of Preactivations" in page
    assert "9 equations are cited by the library, 3 of them also by a test" in pages["index.md"]
    assert "| [4. RG Flow of Preactivations](chapter-4.md) | 7 | 3 |" in pages["index.md"]
    assert f"({chapter_page('∞')}) | 1 | 1 |" in pages["index.md"]


def test_a_wrong_citation_is_reported_with_its_place(repository):
    (repository / "package/room/vertex.py").write_text('def f():\n    """PDLT (4.9)-(4.1)."""\n', "utf-8")
    with pytest.raises(ValueError, match=r"package\.room\.vertex\.f: .*rise"):
        citations(repository / "package", ".")
