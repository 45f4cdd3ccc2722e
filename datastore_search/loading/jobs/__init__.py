"""
Loads as jobs: queued, run, cancelled, retried, completed.

This is what the rest of the app, and a portal's own code, calls.
"""

from ..typing.options import BadRowsChoice, LoadOptions, effective
from .completion import cleanup, mark_interrupted
from .monitor import Progress
from .queue import cancel, load_file, retry, submit

__all__ = [
    "BadRowsChoice",
    "LoadOptions",
    "Progress",
    "cancel",
    "cleanup",
    "effective",
    "load_file",
    "mark_interrupted",
    "retry",
    "submit",
]
