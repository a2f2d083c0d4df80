"""What the examples of a page print: a block of text right below a block of Python is its output.

python docs/outputs.py page.md ...        writes the outputs anew
"""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def has_outputs(text: str) -> bool:
    """Whether a page shows what its examples print."""
    return any(example["output"] is not None for example in _EXAMPLE.finditer(text))


def outputs(text: str) -> Iterator[tuple[str, str]]:
    """What is shown and what is printed, for every example that shows something; all of a page's examples run, in order."""
    names: dict[str, object] = {}
    for example in _EXAMPLE.finditer(text):
        sink = io.StringIO()
        with contextlib.redirect_stdout(sink):
            exec(compile(example["code"], "example", "exec"), names)
        if example["output"] is not None:
            yield example["output"], "".join(line.rstrip() + "\n" for line in sink.getvalue().splitlines())


def renewed(text: str) -> str:
    """The page with its outputs as they are now."""
    printed = (new for _, new in outputs(text))

    def replaced(example: re.Match[str]) -> str:
        if example["output"] is None:
            return example[0]
        return f"```python\n{example['code']}```\n\n```text\n{next(printed)}```\n"

    return _EXAMPLE.sub(replaced, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(renewed(page.read_text("utf-8")), "utf-8")
