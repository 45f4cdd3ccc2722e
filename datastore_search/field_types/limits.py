"""The limits of a resource's table, for readers of files and makers of tables."""

from __future__ import annotations

#: PostgreSQL returns 1,664 columns at most, and CKAN has them in its tables.
MAX_FIELDS = 1_600
