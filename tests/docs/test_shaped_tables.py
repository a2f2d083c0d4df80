"""Tables 1 and 2 of the Shaped Transformer in small: what the page says is what the kept runs give."""

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_shows_the_runs_that_are_kept():
    """Numbers and chosen rates, from every run of four seeds and three rates."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "shaped_transformer_tables.py"))
    runs = json.loads(script["RESULTS"].read_text("utf-8"))
    assert len(runs) == len(script["METHODS"]) * (len(script["RATES"]) + len(script["SEEDS"]))
    assert script["tables"](runs) in (ROOT / "docs" / "rooms" / "learning.md").read_text("utf-8")
