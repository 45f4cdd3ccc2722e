"""
Loads as jobs: queued, run, cancelled, retried, completed.

This is what the rest of the app, and a portal's own code, calls.
"""

from ..typing.options import BadRowsChoice, LoadOptions, resolve_options
from .cleanup import clean_up_loads, mark_interrupted_loads
from .monitor import Progress
from .queue import cancel, load_file, retry, submit

__all__ = [
    "BadRowsChoice",
    "LoadOptions",
    "Progress",
    "cancel",
    "clean_up_loads",
    "load_file",
    "mark_interrupted_loads",
    "resolve_options",
    "retry",
    "submit",
]
