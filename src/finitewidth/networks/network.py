"""What every verb asks of a network, whatever its kind."""

from dataclasses import fields
from typing import Any, TypeVar

import equinox as eqx

from .._errors import ArgumentError

Kind = TypeVar("Kind", bound="Network")


class Network(eqx.Module):
    """A network as a description: immutable, with no weights, and everything that decides the law of its outputs."""

    depth: eqx.AbstractVar[int]
    """How many layers there are, or blocks."""

    depth_over_width: eqx.AbstractVar[float]
    """The number that says how far from infinite width the network is."""

    def replace(self: Kind, **changes: Any) -> Kind:
        """The same network with some of its arguments changed."""
        current = {field.name: getattr(self, field.name) for field in fields(self)}
        unknown = sorted(set(changes) - set(current))
        if unknown:
            raise ArgumentError(unknown[0], "a name that is not an argument", f"one of {', '.join(current)}")
        return type(self)(**(current | changes))
