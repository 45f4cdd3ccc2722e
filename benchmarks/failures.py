"""Failures that end a run."""

from __future__ import annotations


class BenchmarkError(Exception):
    """A measurement is not possible; the message has the reason."""
