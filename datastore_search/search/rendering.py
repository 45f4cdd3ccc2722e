"""
Records as text: PostgreSQL writes each one, and here they are joined.

A page of records is a subquery ``page``.  A record that is stored compressed would be decompressed
once for each of its fields (15 times slower at 300 fields), so records are unpacked first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, Final, LiteralString

from psycopg import sql

from ..database.sessions import TextBatch
from ..field_types import dump_json, field_types
from ..filters import Clause, compose
from .spool import MAX_MEMORY_BYTES, Spool

#: ``format`` takes a hundred arguments, the template among them.
_MAX_FORMAT_VALUES = 99

# In PostgreSQL ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """
    One member of the records.

    ``value`` is the expression for it over ``page``; None for a field of ``page.record``.  A value
    that ``is_json`` is one; the others are numbers.
    """

    name: str
    type: str
    value: LiteralString | None = None
    is_json: bool = True


class Columns:
    """The members of a page's records, in order; their expressions are composed once."""

    def __init__(self, columns: Sequence[Column], *, as_lists: bool = False) -> None:
        """Store the columns, at least one; records are JSON objects or lists."""
        self._columns = columns
        self._as_lists = as_lists
        self._has_fields = any(column.value is None for column in columns)
        self._texts: dict[str, sql.SQL] = {}

    def render_texts(self, begin: str = "") -> sql.SQL:
        """Render the text of a record over ``page``, with ``begin`` before it."""
        if begin not in self._texts:
            opening, closing = "[]" if self._as_lists else "{}"
            names = [column.name for column in self._columns]
            labels = ["" if self._as_lists else f"{dump_json(name)}:" for name in names]
            self._texts[begin] = _render_format(self._columns, labels, begin + opening, closing)
        return self._texts[begin]

    @cached_property
    def cells(self) -> sql.SQL:
        """Render a record as CSV cells, as CKAN's ``COPY``: ``t``, ``f``, JSON for lists."""
        return _compose_once(sql.SQL(", ").join(map(_render_cell, self._columns)))

    def unpack(self, page: Clause) -> Clause:
        """
        Unpack the records of a page, where fields are read from them.

        An object joined to an empty one is the same object, unpacked.  ``OFFSET 0`` keeps
        PostgreSQL from joining them again for each field.
        """
        return compose(_UNPACKED, page) if self._has_fields else page

    def select(self, texts: sql.SQL, page: Clause) -> Clause:
        """Read ``texts`` or ``cells`` of the records of a page."""
        return compose("SELECT {} FROM ({}) AS page", Clause(texts), self.unpack(page))


_UNPACKED: Final = "SELECT *, data || '{{}}' AS record FROM ({}) AS packed OFFSET 0"


def _render_json(column: Column) -> sql.Composable:
    value = _render_value(column, "->")
    return sql.SQL("coalesce({}, 'null')").format(value) if column.is_json else value


def _render_cell(column: Column) -> sql.Composable:
    is_nested = column.type in field_types and field_types[column.type].is_nested
    if not column.is_json or is_nested:
        return _render_json(column)
    return sql.SQL("{}::bool" if column.type == "bool" else "{}").format(
        _render_value(column, "->>")
    )


def _render_value(column: Column, arrow: LiteralString) -> sql.Composable:
    """Render a value: as JSON by the arrow ``->``, as a text by ``->>``."""
    if column.value is None:
        name = sql.Literal(_escape_placeholders(column.name))
        return sql.SQL("(page.record {} {})").format(sql.SQL(arrow), name)
    as_text = column.is_json and arrow == "->>"
    return sql.SQL(f"({column.value} #>> '{{}}')" if as_text else column.value)


def _render_format(
    columns: Sequence[Column], labels: Sequence[str], begin: str, end: str
) -> sql.SQL:
    """Render values behind their labels, with commas between them."""
    slots = [label.replace("%", "%%") + "%s" for label in labels]
    slots = [begin + slots[0], *(f",{slot}" for slot in slots[1:])]
    slots[-1] += end
    parts = [
        sql.SQL("format({}, {})").format(
            sql.Literal(_escape_placeholders("".join(slots[start : start + _MAX_FORMAT_VALUES]))),
            sql.SQL(", ").join(map(_render_json, columns[start : start + _MAX_FORMAT_VALUES])),
        )
        for start in range(0, len(columns), _MAX_FORMAT_VALUES)
    ]
    if len(parts) == 1:
        return _compose_once(parts[0])
    return _compose_once(sql.SQL("concat({})").format(sql.SQL(", ").join(parts)))


def _escape_placeholders(text: str) -> str:
    """Prevent psycopg from reading a placeholder in a name."""
    return text.replace("%", "%%")


def _compose_once(text: sql.Composable) -> sql.SQL:
    return sql.SQL(text.as_string())


# In Python ----------------------------------------------------------------------------------------


class RawJson(list[bytes]):
    """JSON text in UTF-8, as blocks that an answer repeats unchanged; in memory, unlike a spool."""

    def read_members(self) -> Iterator[bytes]:
        """Read the members of a list, which are blocks between brackets and commas."""
        return iter(self[1:-1:2])

    def close(self) -> None:
        """Do nothing: it holds nothing open."""


#: Longer numbers stay texts: Python refuses to convert them.
_MAX_INTEGER_DIGITS = 4_000


def _parse_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=_parse_integer)


def parse_raw_json(value: RawJson | Spool) -> Any:
    """Parse what PostgreSQL has written as JSON, and close a spool; decimals keep their digits."""
    with closing(value):
        return _DECODER.decode(b"".join(value).decode())


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """Records as a JSON list or rows; ``head`` is the first row without its last column."""

    records: RawJson | Spool
    count: int
    size_bytes: int
    head: tuple[bytes | None, ...] = ()

    @property
    def total(self) -> int:
        """The number of matches, where a statement counts them before each record."""
        total, *_others = self.head
        return int(total or 0)


def collect_records(batches: Iterator[TextBatch]) -> FoundRecords:
    """Join the texts of records to a JSON list, in memory while it is small; skip nulls."""
    head: tuple[bytes | None, ...] = ()
    texts: list[bytes] = []
    size_bytes = 0
    for batch in batches:
        head = batch.head
        some = list(filter(None, batch.last))
        texts += some
        size_bytes += sum(map(len, some))
        if size_bytes > MAX_MEMORY_BYTES:
            others = (text for batch in batches for text in filter(None, batch.last))
            spool = Spool.from_members(chain(texts, others))
            return FoundRecords(spool, len(spool), spool.size_bytes, head)
    if not texts:
        return FoundRecords(RawJson([b"[", b"]"]), 0, 0, head)
    blocks = RawJson([b","] * (2 * len(texts) + 1))
    blocks[0], blocks[1::2], blocks[-1] = b"[", texts, b"]"
    return FoundRecords(blocks, len(texts), size_bytes, head)


#: The size of a batch of records, if they are as large as those before.
_BATCH_BYTES = 2 * 2**20

#: The records of a batch at most, for some may be much larger than those before.
_MAX_BATCH_ROWS = 100

#: The records of the first batch, whose sizes are unknown.
_FIRST_BATCH_ROWS = 32


class RecordSizes:
    """The sizes of a relation's records so far, which decide how many are read at once."""

    def __init__(self) -> None:
        """Begin without any record."""
        self._batch_rows = _MAX_BATCH_ROWS
        self._is_known = False

    def note_size(self, count: int, size_bytes: int) -> None:
        """Note the size of some records together; the largest mean size decides."""
        if count:
            rows = max(1, count * _BATCH_BYTES // size_bytes)
            self._batch_rows = min(self._batch_rows, rows)
            self._is_known = True

    def choose_batch_rows(self, limit: int | None) -> int | None:
        """Choose the number of records to read at once; None for all of a page."""
        rows = self._batch_rows if self._is_known else _FIRST_BATCH_ROWS
        return None if limit is not None and limit <= rows else rows
