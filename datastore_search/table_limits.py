"""What the table of a resource can hold, for those who read files as for those who make tables."""

from __future__ import annotations

#: Fields of a table at most, a limit of PostgreSQL's row types.
MAX_FIELDS = 1_600
