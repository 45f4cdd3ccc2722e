"""Loads as jobs: the interface for the rest of the app and for the code of a portal."""

from ..messages import LoadFailed
from ..types.options import BadRowsChoice, LoadOptions, resolve_options
from .cleanup import clean_up_loads, mark_interrupted_loads
from .queue import cancel_load, load_file, requeue_waiting_loads, retry_load, submit_load
from .runner import Progress

__all__ = [
    "BadRowsChoice",
    "LoadFailed",
    "LoadOptions",
    "Progress",
    "cancel_load",
    "clean_up_loads",
    "load_file",
    "mark_interrupted_loads",
    "requeue_waiting_loads",
    "resolve_options",
    "retry_load",
    "submit_load",
]
