"""`tools/fuzz.py`, which is no package, as a module."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def fuzzer() -> ModuleType:
    """Loaded once."""
    if "fuzz" not in sys.modules:
        path = Path(__file__).resolve().parents[1] / "tools" / "fuzz.py"
        spec = importlib.util.spec_from_file_location("fuzz", path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["fuzz"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["fuzz"]
