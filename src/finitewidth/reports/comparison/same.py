"""Theory of one network is not compared with measurements of another."""

from dataclasses import fields
from typing import Any

from ..._errors import ArgumentError
from ..._fingerprint import fingerprint


def check_same_description(argument: str, theory: Any, measured: Any) -> None:
    """`ArgumentError` that names what two descriptions differ in, if they do."""
    if type(theory) is not type(measured):
        got, want = f"a {type(measured).__name__}", f"a {type(theory).__name__}, as in `theory`"
        raise ArgumentError(argument, got, want)
    for field in fields(theory):
        one, other = getattr(theory, field.name), getattr(measured, field.name)
        if one is not other and fingerprint(one) != fingerprint(other):
            raise ArgumentError(argument, f"{field.name} = {other}", f"{one}, as in `theory`")
