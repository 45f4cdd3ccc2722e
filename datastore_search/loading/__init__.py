"""
The only write path of whole files: from a file to records that are being served.

``reading`` stages the file, ``inference`` finds its types, ``pipeline`` fills, indexes and
publishes, and ``jobs`` sees to it that every load ends in a state that says how.
"""

from .jobs import Progress, cleanup, load_file
from .options import BadRowsChoice, LoadOptions

__all__ = ["BadRowsChoice", "LoadOptions", "Progress", "cleanup", "load_file"]
