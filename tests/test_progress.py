"""The progress bar appears when asked for, or when a terminal waits long, and never otherwise."""

import pytest

from finitewidth import _progress


@pytest.mark.parametrize(
    ("shown", "terminal", "long", "appears"),
    [
        (True, False, False, True),
        (False, True, True, False),
        (None, True, True, True),
        (None, True, False, False),
        (None, False, True, False),
    ],
)
def test_when_it_appears(capsys, monkeypatch, shown, terminal, long, appears):
    """On standard error only."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(_progress, "_LONG", -1.0 if long else 1e9)
    with _progress.ProgressBar(total=100, done=20, shown=shown) as bar:
        bar.advance_to(60)
        bar.advance_to(100)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("100/100" in err) == appears
