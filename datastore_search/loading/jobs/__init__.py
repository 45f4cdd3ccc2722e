"""
Loads as jobs: queued, run, cancelled, retried, completed.

The functions here are the interface for the rest of the app and for the code of a portal.
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
