"""The table of golden values is what the script beside it computes, without the library."""

import runpy
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).with_name("make_golden_values.py")
TABLE = Path(__file__).with_name("golden_values.txt")


def test_the_table_is_what_the_script_prints():
    """PDLT (4.115), (4.118), (4.119), every row; the last of ten digits may be rounded either way."""
    lines = runpy.run_path(str(SCRIPT))["golden_table"]()
    found, expected = ([line.split() for line in table[1:]] for table in (TABLE.read_text().splitlines(), lines))
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.array(one[2:], float), np.array(other[2:], float), rtol=0, atol=1.01e-10)
