"""Numbers as people and as machines write them."""

import math

import numpy as np
import pytest

from finitewidth.critical import criticality
from finitewidth.reports.numbers import digits, rounded, with_error, with_errors
from finitewidth.reports.plain import plain


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.42134, 0.0012, "0.4213(12)"),
        (12345.6, 160.0, "12350(160)"),
        (-3.2, 0.5, "-3.20(50)"),
        (0.25, 0.0, "0.25"),
        (1.0, 0.0999, "1.00(10)"),
        (2.5e15, 3e13, "2.500(30)e+15"),
        (-1.2e-7, 3e-9, "-1.200(30)e-07"),
        (0.0, 2e9, "0.0(20)e+09"),
    ],
)
def test_numbers_with_errors(mean, error, text):
    assert with_error(mean, error) == text


def test_columns_of_numbers():
    assert digits([1 / 3, 20.0], 3) == ("0.333", "20")
    assert rounded([1 / 3, 146.0, 1.46e9], 2) == ("0.33", "150", "1.5e+09")
    assert with_errors(np.array([1.0, 2.0]), np.array([0.0, 0.1])) == ("1", "2.00(10)")
    assert with_errors([3.78, 2.0], [0.86, 0.1], [False, True]) == ("3.8(?)", "2.00(10)")


def test_plain_types():
    value = {
        "a": np.arange(2),
        "b": (np.float64(math.inf), -math.inf),
        "c": criticality("perceptron").universality_class,
    }
    assert plain(value) == {"a": [0, 1], "b": ["inf", "-inf"], "c": "none"}
    assert type(plain(value)["c"]) is str
