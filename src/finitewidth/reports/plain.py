"""Results in the types that JSON knows, with a record of what made them."""

import importlib.metadata
import math
import platform
from typing import Any

import numpy as np

from ..networks import MLP, ResidualMLP


def plain(value: Any) -> Any:
    """`value` with arrays as lists and NumPy numbers as Python's; infinity as the string "inf", for JSON has none."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy and JAX
        return plain(np.asarray(value).tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, str) else value  # enumerations of strings become strings


def version(package: str) -> str:
    """The installed version of a package, or that there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def meta(**settings: Any) -> dict[str, Any]:
    """Versions of all that takes part, and the settings of the run."""
    versions = {name: version(name) for name in ("finitewidth", "jax", "numpy")}
    return {"versions": {**versions, "python": platform.python_version()}, **settings}


def describe(net: MLP | ResidualMLP) -> dict[str, Any]:
    """A network in words and numbers."""
    return {
        "activation": net.activation.name,
        "formula": net.activation.formula,
        "depth": net.depth,
        "widths": net.widths,
        "C_b": net.C_b,
        "C_W": net.C_W,
        "parameters": net.parameters,
    } | ({"gamma": float(net.gamma)} if isinstance(net, ResidualMLP) else {})
