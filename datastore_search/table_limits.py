"""The limits of a resource's table, for readers of files and makers of tables."""

from __future__ import annotations

#: The columns of a sheet: ``docs/decisions/0050``.
MAX_FIELDS = 16_384
