"""The limits of a resource's table, for readers of files and makers of tables."""

from __future__ import annotations

#: What is read and written in bounded memory: ``docs/decisions/0050``.
MAX_FIELDS = 1_600
