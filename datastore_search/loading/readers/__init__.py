"""
From a file to a ``Table``: what it is packed in, which format it has, what its cells say.

Each format has a module with a function that stages the file; what formats have in common, the
names of fields among it, is in modules of its own. All of that runs in a process of its own
(``child``), with limits: see decision 0023.  Nothing here knows models or PostgreSQL.
"""

from .process import open_table

__all__ = ["open_table"]
