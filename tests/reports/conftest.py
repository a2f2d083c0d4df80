"""Reports that several files look at: made once."""

import functools
from importlib import import_module

import pytest

from finitewidth.advice import tune
from finitewidth.networks import MLP
from finitewidth.networks.shaped import ShapedAttention, ShapedResNet, ShapedTransformer, equal_tokens
from finitewidth.reports import report, transformer_report

SHAPING = import_module("finitewidth.reports.sections.shaping")
ADVICE = import_module("finitewidth.advice.token_fates")  # whose name in its room is that of the function


@pytest.fixture(scope="session")
def made():
    return report(tune(MLP("tanh", (4, 24, 16, 1))), networks=200, seed=5)


@pytest.fixture(scope="session")
def made_transformer():
    block = ShapedTransformer(ShapedAttention(0.3, heads=2, mask="causal"), ShapedResNet(0.3, hidden_ratio=4.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ADVICE, "_PATHS", 128)  # as many as of the limit, so that one program does
        few = functools.partial(SHAPING.recommend_shaping, gammas=(0.05, 0.2, 0.9), temperatures=(0.5, 1.0))
        patch.setattr(SHAPING, "recommend_shaping", few)
        return transformer_report(block.at(width=64, depth=16), equal_tokens(3, 0.2), networks=64, paths=128)
