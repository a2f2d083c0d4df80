"""Reports that several files look at: made once."""

from importlib import import_module

import pytest

from finitewidth.advice import tune
from finitewidth.networks import MLP
from finitewidth.networks.shaped import ShapedAttention, ShapedResNet, ShapedTransformer, equal_tokens
from finitewidth.reports import report, transformer_report

ADVICE = import_module("finitewidth.advice.token_fates")  # whose name in its room is that of the function


@pytest.fixture(scope="session")
def made():
    return report(tune(MLP("tanh", (4, 24, 16, 1))), networks=200, seed=5)


@pytest.fixture(scope="session")
def made_transformer():
    block = ShapedTransformer(ShapedAttention(0.3, heads=2, mask="causal"), ShapedResNet(0.3, hidden_ratio=4.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ADVICE, "_PATHS", 64)
        return transformer_report(block.at(width=64, depth=16), equal_tokens(3, 0.2), networks=64, paths=256)
