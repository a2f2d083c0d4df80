"""What a type checker makes of `predict`: `trust` is there where order 1 is, and only there; misspelt algorithms are found."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

CODE = """
import finitewidth as fw

net, x = fw.MLP("tanh", (2, 8, 1)), [[1.0, 0.5]]
fw.predict(net, x, [1.0], x, order=1).trust.holds
fw.predict(net, x, [1.0], x).trust
fw.predict(net, x, [1.0], x, "sgd", order=0, steps=1, batch=1, rate=0.1).mean
fw.predict(net, x, [1.0], x, "gradient_flo")
fw.predict(net, x, [1.0], x, "newton", order=1).trust
"""


@pytest.mark.measured
@pytest.mark.skipif(find_spec("pyright") is None, reason="needs pyright")
def test_trust_is_known_where_it_is(tmp_path):
    file = tmp_path / "code.py"
    file.write_text(CODE)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(file)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    lines = {int(line.split(":")[1]) for line in found.splitlines() if "code.py:" in line and " error: " in line}
    assert lines == {6, 8, 9}, found
