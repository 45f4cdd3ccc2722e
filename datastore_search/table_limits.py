"""The limits of a resource's table, for readers of files and makers of tables."""

from __future__ import annotations

#: A limit of PostgreSQL's row types.
MAX_FIELDS = 1_600
