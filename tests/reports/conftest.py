"""Reports that several files look at: made once."""

import functools
from importlib import import_module

import numpy as np
import pytest

from finitewidth.advice import tune
from finitewidth.networks import MLP
from finitewidth.networks.shaped import ShapedAttention, ShapedResNet, ShapedTransformer, equal_tokens
from finitewidth.reports import report, transformer_report
from made_up_laws import law, reported, with_fates

SHAPING = import_module("finitewidth.reports.sections.shaping")
ADVICE = import_module("finitewidth.advice.token_fates")  # whose name in its room is that of the function


@pytest.fixture(scope="session")
def made():
    return report(tune(MLP("tanh", (4, 24, 16, 1))), networks=300, seed=5)


@pytest.fixture(scope="session")
def made_up_transformer():
    """A report on laws made up by hand: as good as a real one to see that page and data say the same."""
    block = ShapedTransformer(ShapedAttention(0.3, heads=2, mask="causal"), ShapedResNet(0.3, hidden_ratio=4.0))
    random = np.random.default_rng(0)

    def drawn(paths):
        x = random.normal(size=(paths, 6, 3, 8)) * np.linspace(0.8, 1.6, 6)[:, None, None]
        V = x @ x.swapaxes(-1, -2) / 8
        V[:, 0] = equal_tokens(3, 0.2)
        return law(V, block=block)

    def tried(gamma, tau0):
        return with_fates(explosion=round(100 * gamma**2), collapse=round(10 * gamma / tau0))

    with pytest.MonkeyPatch.context() as patch:
        few = functools.partial(SHAPING.recommend_shaping, gammas=(0.05, 0.2, 0.9), temperatures=(0.5, 1.0))
        patch.setattr(SHAPING, "recommend_shaping", few)
        net = block.at(width=64, depth=16)
        return reported(patch, net, equal_tokens(3, 0.2), drawn(40), drawn(30), tried, networks=30, paths=40)[0]


@pytest.fixture(scope="session")
def made_transformer():
    """A real one, which compiles for long."""
    block = ShapedTransformer(ShapedAttention(0.3, heads=2, mask="causal"), ShapedResNet(0.3, hidden_ratio=4.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ADVICE, "_PATHS", 128)  # as many as of the limit, so that one program does
        few = functools.partial(SHAPING.recommend_shaping, gammas=(0.05, 0.2, 0.9), temperatures=(0.5, 1.0))
        patch.setattr(SHAPING, "recommend_shaping", few)
        return transformer_report(block.at(width=64, depth=16), equal_tokens(3, 0.2), networks=64, paths=128)
