"""Every public call gives the numbers that it gave before the code was moved, to rounding: `pytest --recorded` after moving code.

Old numbers need not be right ones, so that no other test leans on these.
"""

from pathlib import Path

import numpy as np
import pytest

from recorded.calls import CALLS, results

RECORD = dict(np.load(Path(__file__).parent / "recorded.npz"))
ROUNDING = 1e-12  # relative to the largest entry of an array
ZERO = 1e-14  # what vanishes but for rounding

# Where rounding is amplified: how far, and why.
TOLERANCES: dict[str, tuple[float, str]] = {
    "asymptotics": (1e-7, "read off layers 10,000 and 20,000, where rounding has grown with the square of the depth"),
}


def recorded(name):
    return {key.removeprefix(f"{name}/"): value for key, value in RECORD.items() if key.startswith(f"{name}/")}


def test_every_call_is_recorded():
    assert {key.split("/")[0] for key in RECORD} - {"meta"} == set(CALLS)
    assert set(TOLERANCES) <= set(CALLS)


@pytest.mark.recorded
@pytest.mark.filterwarnings("ignore:Standard errors")  # few networks
@pytest.mark.parametrize("name", CALLS)
def test_same_numbers(name):
    old, new = recorded(name), results(name)
    assert list(new) == list(old)
    tolerance, _ = TOLERANCES.get(name, (ROUNDING, ""))
    for field, value in old.items():
        agree(new[field], value, tolerance, field)


def agree(new, old, tolerance, field):
    """Text and integers exactly; numbers to `tolerance`, and infinities where they were."""
    assert new.shape == old.shape, field
    if old.dtype.kind != "f":
        np.testing.assert_array_equal(new, old, err_msg=field)
        return
    finite = np.isfinite(old)
    np.testing.assert_array_equal(np.where(finite, 0.0, old), np.where(np.isfinite(new), 0.0, new), err_msg=field)
    deviation = np.abs(new[finite] - old[finite]).max(initial=0.0)
    allowed = max(tolerance * np.abs(old[finite]).max(initial=0.0), ZERO)
    assert deviation <= allowed, f"{field}: off by {deviation:.1e}, more than {allowed:.1e}"
