"""
The only write path of whole files: from a file to records that are being served.

``sources`` brings the file here, ``reading`` stages it, ``inference`` finds its types, ``pipeline``
fills, indexes and publishes, and ``jobs`` sees to it that every load ends in a state that says how.
"""

from .endings import cleanup, mark_interrupted
from .jobs import cancel, load_file, retry, submit
from .options import BadRowsChoice, LoadOptions, effective
from .watching import Progress

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
