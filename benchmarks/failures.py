"""What ends a run."""

from __future__ import annotations


class BenchmarkError(Exception):
    """Something cannot be measured; the message says what."""
