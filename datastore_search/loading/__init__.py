"""
The only write path of whole files: from a file to records that are being served.

``sources`` brings the file here, ``reading`` stages it, ``inference`` finds its types, ``pipeline``
fills, indexes and publishes, and ``jobs`` sees to it that every load ends in a state that says how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .endings import cleanup, mark_interrupted
    from .jobs import cancel, load_file, retry, submit
    from .options import BadRowsChoice, LoadOptions, effective
    from .watching import Progress

#: Where each name is found, once it is asked for: the process that reads a file imports this
#: package, too, and knows no models.
_MODULES = {
    "BadRowsChoice": "options",
    "LoadOptions": "options",
    "Progress": "watching",
    "cancel": "jobs",
    "cleanup": "endings",
    "effective": "options",
    "load_file": "jobs",
    "mark_interrupted": "endings",
    "retry": "jobs",
    "submit": "jobs",
}

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


def __getattr__(name: str) -> object:
    """Import what a name stands for."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
