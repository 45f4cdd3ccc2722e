"""How large the records of a relation are, which decides how many of them are read at once."""

from __future__ import annotations

#: Records that are read at once: so many bytes, if they are as large as those before.
_BATCH_BYTES = 2 * 2**20

#: Records that are read at once at most, for some may be much larger than those before.
_MAX_BATCH_ROWS = 100

#: Records that are read at once while there has been no answer.
_FIRST_BATCH_ROWS = 32


class RecordSizes:
    """What the answers so far have shown."""

    def __init__(self) -> None:
        """Begin without any answer."""
        self._batch_rows = _MAX_BATCH_ROWS
        self._is_known = False

    def note(self, count: int, size_bytes: int) -> None:
        """Take note of an answer of some records; the largest mean size decides."""
        if count:
            rows = max(1, count * _BATCH_BYTES // size_bytes)
            self._batch_rows = min(self._batch_rows, rows)
            self._is_known = True

    def batch_rows(self, limit: int | None) -> int | None:
        """Say how many records of a page are read at once; None for all of them."""
        rows = self._batch_rows if self._is_known else _FIRST_BATCH_ROWS
        return None if limit is not None and limit <= rows else rows
