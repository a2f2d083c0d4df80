"""Advice: what to do with a network."""

from .tune import NotTunableError as NotTunableError, tune as tune
