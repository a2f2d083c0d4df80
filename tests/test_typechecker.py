"""Annotations are checked while tests run: in every module, for shapes and for types, and not inside `pytest.raises`."""

import importlib
import pkgutil

import jaxtyping
import numpy as np
import pytest

import finitewidth
from finitewidth._errors import ShapeError
from finitewidth.networks import MLP, Layer
from finitewidth.networks.layer import kernel_of


def modules():
    found = pkgutil.walk_packages(finitewidth.__path__, "finitewidth.")
    return [finitewidth.__name__, *(module.name for module in found if not module.name.endswith("__main__"))]


def test_every_module_is_checked():
    """Those that were imported before the hook was set would not be."""
    loaders = {name: type(importlib.import_module(name).__spec__.loader) for name in modules()}
    assert len(loaders) > 200
    assert [name for name, loader in loaders.items() if not loader.__module__.startswith("jaxtyping")] == []


def complaint(call):
    try:
        call()
    except jaxtyping.TypeCheckError as error:
        return str(error)
    return None


LAYER = Layer(*(np.ones(3) for _ in range(5)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: LAYER.tangent_kernel(np.ones((3, 2)), np.ones((3, 4)), np.ones((3, 2))), "tangent_kernel"),  # shapes
        (lambda: LAYER.kernel("three"), "kernel"),
        (lambda: LAYER.kernel(np.ones(3, dtype=int)), "kernel"),  # no floats
        (lambda: Layer(np.ones(3), np.ones(4), np.ones(3), np.ones(3), np.ones(3)), "Layer"),  # fields
        (lambda: LAYER.kernel(np.ones(3)), None),
        (lambda: kernel_of(0, 1.0, 3), None),
    ],
)
def test_wrong_calls_are_noticed(call, says):
    found = complaint(call)
    assert found is None if says is None else says in found


def test_users_meet_our_own_errors():
    """Inside `pytest.raises` a call is checked as at home: by the library."""
    with pytest.raises(ShapeError, match="C_W"):
        MLP("tanh", (2, 3, 1), C_W=[1.0, 2.0, 3.0])
