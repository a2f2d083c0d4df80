"""LaTeX to MathML while the site is built, so that a page needs neither JavaScript nor a network to show its formulas.

The Markdown extension `pymdownx.arithmatex` finds the formulas; this replaces its markup. A formula that cannot be
converted is an error, with the formula in its message.
"""

import html
import re

from math_core import LatexError, LatexToMathML

_CONVERTER = LatexToMathML(allow_unreliable_rendering=True, fancy_error=False)
_MARKED = re.compile(
    r'<span class="arithmatex">\\\((?P<inline>.*?)\\\)</span>|<div class="arithmatex">\\\[(?P<block>.*?)\\\]</div>',
    re.DOTALL,
)

_LONG = 40  # letters of LaTeX in a line of text: such a formula may be wider than a phone, and scrolls there


def to_mathml(latex: str, *, block: bool = False) -> str:
    """One formula as MathML."""
    try:
        return _CONVERTER.convert_with_local_state(latex.strip(), displaystyle=block)
    except LatexError as error:
        raise ValueError(f"cannot set the formula {latex.strip()!r}: {error}") from None


def set_formulas(page: str) -> str:
    """The HTML of a page with every formula that arithmatex marked set as MathML."""

    def replaced(match: re.Match[str]) -> str:
        block = match["block"] is not None
        mathml = to_mathml(html.unescape(match["block"] if block else match["inline"]), block=block)
        if block:
            return f'<div class="formula">{mathml}</div>'
        return f'<span class="long-formula">{mathml}</span>' if len(match["inline"]) > _LONG else mathml

    return _MARKED.sub(replaced, page)
