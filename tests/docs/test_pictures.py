"""The pictures of the documentation show what their scripts draw today.

A script leaves two files: the picture, and a digest of its words and numbers (`docs/figures/save.py`). The digest knows the
picture's checksum, so that neither can be changed without the other; the slow test runs the script again.
"""

import hashlib
import json
import re
import runpy
from pathlib import Path

import jax
import matplotlib as mpl
import numpy as np
import pytest

from finitewidth.learning.transformer import python_manual

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
IMAGES, DIGESTS = FIGURES.parent / "images", FIGURES / "data"
NAMES = sorted(path.stem for path in FIGURES.glob("*.py") if f'save("{path.stem}")' in path.read_text("utf-8"))

# Of a panel's width or height: less than a pixel. Rounding that differs between processors stays below it.
TOLERANCE = 1e-3

TOO_SLOW = {
    "hyperparameter_transfer": "460 trainings without matrices take minutes",
    "shaped_transformer_figure_6": "six trainings of 400 steps take minutes",
    "recommended_on_digits": "864 trainings take minutes, and rounding grows in networks that are too deep",
}

MANUAL = 465_048  # characters of Python's manual, which some figures read: that of another release is another text


def digest(folder, name):
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def test_every_script_has_its_picture_and_its_digest():
    assert len(NAMES) >= 16
    assert {path.stem for path in DIGESTS.iterdir()} == set(NAMES)
    assert set(NAMES) <= {path.stem for path in IMAGES.glob("*.png")}
    assert set(TOO_SLOW) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_digest_belongs_to_the_picture_beside_it(name):
    assert digest(DIGESTS, name)["sha256"] == hashlib.sha256((IMAGES / f"{name}.png").read_bytes()).hexdigest()


@pytest.mark.measured
@pytest.mark.parametrize("name", [name for name in NAMES if name not in TOO_SLOW])
def test_a_script_draws_the_numbers_of_its_digest(name, tmp_path, monkeypatch):
    if "python_manual" in (FIGURES / f"{name}.py").read_text("utf-8") and len(python_manual().tokens) != MANUAL:
        pytest.skip("this release of Python has another manual")
    monkeypatch.syspath_prepend(str(FIGURES))
    import save

    monkeypatch.setattr(save, "IMAGES", tmp_path)
    monkeypatch.setattr(save, "NUMBERS", tmp_path)
    with jax.enable_x64(False), mpl.rc_context():  # as for somebody who runs the script
        runpy.run_path(str(FIGURES / f"{name}.py"))
    assert_alike(digest(DIGESTS, name), digest(tmp_path, name))


def assert_alike(before, now):
    for old, new in zip(before["panels"], now["panels"], strict=True):
        assert words(new) == words(old)
        spans = {axis: np.ptp(old[axis]["range"]) for axis in ("x", "y")}
        for axis, span in spans.items():
            np.testing.assert_allclose(new[axis]["range"], old[axis]["range"], rtol=0, atol=TOLERANCE * span)
        for one, other in zip(old["lines"] + old["areas"], new["lines"] + new["areas"], strict=True):
            assert words(other) == words(one)
            for coordinate in {"x", "y", "values"} & one.keys():
                was, is_now = (
                    np.array([*of["some"], of["mean"]], dtype=float) for of in (one[coordinate], other[coordinate])
                )
                span = spans.get(coordinate, np.ptp(was))
                np.testing.assert_allclose(is_now, was, rtol=0, atol=TOLERANCE * span, err_msg=f"{words(one)}")


def words(part):
    """What has to be the same to the letter: names, scales, colours, how many points."""
    if isinstance(part, dict):
        return {
            name: words(value)
            for name, value in part.items()
            if name not in ("range", "some", "mean", "lines", "areas")
        }
    return part


def test_pictures_that_differ_are_told_apart():
    """In a word, a range, a colour, a number."""
    before = digest(DIGESTS, "pdlt_figure_5_1")
    assert_alike(before, before)
    for change in (
        lambda panel: panel.update(title="another"),
        lambda panel: panel["y"].update(label="another"),
        lambda panel: panel["y"].update(range=[-0.15, 0.51]),
        lambda panel: panel["lines"][0].update(color="#000000"),
        lambda panel: panel["lines"][0]["y"].update(mean=panel["lines"][0]["y"]["mean"] + 1e-3),
        lambda panel: panel["areas"][0]["values"]["some"].__setitem__(0, 1.0),
        lambda panel: panel["lines"].pop(),
    ):
        now = json.loads(json.dumps(before))
        change(now["panels"][0])
        with pytest.raises((AssertionError, ValueError)):
            assert_alike(before, now)


PAGES = [FIGURES.parents[1] / "README.md", *sorted(FIGURES.parent.rglob("*.md"))]
CAPTION = re.compile(
    r"^!\[[^]]+\]\((?:\.\./)*(?:docs/)?images/(?P<name>\w+)\.png\)\n(?:\n(?P<words>[^!#`].*(?:\n.+)*))?", re.MULTILINE
)


def captions(text):
    """The pictures of a page, with the paragraph below each."""
    return {found["name"]: found["words"] or "" for found in CAPTION.finditer(text)}


ON_PAGES = {name: words for page in PAGES for name, words in captions(page.read_text("utf-8")).items()}


def settings(script):
    """Width, depth and how many networks, as a figure's script has them."""
    named = re.findall(r"^((?:WIDTH|DEPTH|NETWORKS|PATHS)[A-Z, =]*) = (.+)$", script, re.MULTILINE)
    values = [re.sub(r"2\*\*(\d+)", lambda power: str(2 ** int(power[1])), numbers) for _, numbers in named]
    return {number for numbers in values for number in re.findall(r"(?<![\w.*-])\d{2,}(?![\w.*])", numbers)}


def test_every_picture_is_on_a_page():
    assert set(ON_PAGES) == set(NAMES)


@pytest.mark.parametrize(
    "name",
    [name for name in NAMES if re.match(r"shaped_transformer_figure_[^6]|pdlt", name)],
)
def test_a_figure_of_the_sources_says_how_it_was_made(name):
    """With its script, and with the width, depth and number of networks that stand there."""
    words = ON_PAGES[name]
    assert f"`docs/figures/{name}.py`" in words
    assert settings((FIGURES / f"{name}.py").read_text("utf-8")) - set(re.findall(r"\d+", words)) == set()
    assert not name.startswith("shaped") or "does not show" in " ".join(words.split())


def test_a_caption_that_leaves_out_a_setting_is_found():
    assert settings("WIDTH, DEPTH, PATHS = 300, 100, 2**13\nWIDTH = DEPTH = 200\nx = 77\n") == {
        "300",
        "100",
        "8192",
        "200",
    }
    assert captions(
        "![a](../images/one.png)\n\n*Words\nmore.*\n\n![b](images/two.png)\n\n![c](images/three.png)\n"
    ) == {
        "one": "*Words\nmore.*",
        "two": "",
        "three": "",
    }
