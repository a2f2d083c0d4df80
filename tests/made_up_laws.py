"""Laws of token covariances made up by hand, so that every share of networks is known, and reports on them."""

from importlib import import_module

import numpy as np

import finitewidth as fw
from finitewidth.results import CovarianceLaw

REPORT = import_module("finitewidth.reports.transformer_report")
ADVICE = import_module("finitewidth.advice.token_fates")

STATUSES = {"running": 0, "stopped": 1, "left the cone": 2}


def law(V, *, status="running", depth_to_width=0.25, seed=0, block=None, **about):
    """A law with these covariances, shape (paths, times, m, m)."""
    V = np.asarray(V, dtype=float)
    times, never = np.linspace(0.0, depth_to_width, V.shape[1]), np.full(len(V), np.inf)
    ended = np.full(len(V), STATUSES[status])
    return CovarianceLaw(
        fw.ShapedMLP() if block is None else block, times, V, never, ended, depth_to_width, seed, "made up", **about
    )


def from_to(start, finals, **settings):
    """Paths which all begin at one covariance and end at the given ones."""
    finals = np.asarray(finals, dtype=float)
    return law(np.stack([np.broadcast_to(start, finals.shape), finals], axis=1), **settings)


def tokens(correlation, size=1.0, m=2):
    """Tokens of equal mean square and equal correlation."""
    return size * ((1 - correlation) * np.eye(m) + correlation)


def with_fates(explosion=0, vanishing=0, collapse=0, *, of=100, **settings):
    """A law of `of` paths, so many of which explode, vanish and collapse; nothing happens to the others."""
    ends = [tokens(0.2, 3.0)] * explosion + [tokens(0.2, 1 / 3)] * vanishing + [tokens(0.99)] * collapse
    return from_to(tokens(0.2), [*ends, *[tokens(0.2)] * (of - len(ends))], **settings)


def nothing_happens(gamma, tau0):
    """What advice finds by default."""
    return with_fates()


def reported(monkeypatch, net, V0, limit, drawn, tried=nothing_happens, **settings):
    """A report on these laws of the limit, of networks, and of blocks with the gamma and tau0 that advice tries.

    Also all that was asked for meanwhile.
    """
    asked = {"limit": [], "networks": [], "advice": []}

    def the_limit(block, V0, depth_to_width, paths, seed, steps, save):
        asked["limit"].append((block, V0, depth_to_width, paths, seed))
        return limit

    def the_networks(net, V0, *, networks, seed):
        asked["networks"].append((net.block, V0, net.width, net.depth, networks, seed))
        return drawn

    def an_attempt(block, V0, depth_to_width, paths, seed, **_):
        asked["advice"].append((block, V0, depth_to_width, seed))
        return tried(float(block.parts[0].gamma), float(block.parts[0].tau0))

    monkeypatch.setattr(REPORT, "covariance_sde", the_limit)
    monkeypatch.setattr(REPORT, "simulate", the_networks)
    monkeypatch.setattr(ADVICE, "covariance_sde", an_attempt)
    return fw.transformer_report(net, V0, **settings), asked
