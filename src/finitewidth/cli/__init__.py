"""The command line: `finitewidth report`, `activations`, `phase-diagram`, `simulate`."""

from .main import main as main
