"""
Records of a call: read by the types of their fields, and merged into a record table.

Rows of a file are merged by the same statements.  Rows are JSON objects with numbers, in an array
where they are few and in a staging table where they are many.  The lock of the resource excludes
other writers, so one statement finds the records that exist, and each kind of change is one more
(``docs/decisions/0010``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from string import whitespace
from typing import Any, LiteralString

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ..database.indexes import build_key_expression
from ..database.statements import execute, fetch_column, write_rows
from ..database.tables import quote_record_table
from ..field_types import (
    MAX_NUMBER_DIGITS,
    MAX_REFUSED_VALUES,
    Cast,
    FieldType,
    NotOfType,
    RefusedValue,
    ValuesNotOfType,
    dump_json,
    field_types,
    parse_values,
)
from ..filters import Clause
from ..filters.names import ID
from ..messages.access import UnknownResource
from ..messages.parameters import InvalidParameters
from ..messages.texts import shorten
from ..messages.writing import (
    DuplicateKey,
    InvalidKey,
    InvalidRecord,
    MissingKey,
    NoKey,
    NumberTooLong,
    UnknownKey,
    UnknownRecordField,
)
from ..models import Resource

#: Letters of a value that a message shows.
_MAX_SHOWN_LENGTH = 100

#: The largest whole number that JavaScript holds exactly, with all below it.
MAX_ID = 2**53 - 1


class Method(StrEnum):
    """What to do with records whose key exists, and with records whose key does not."""

    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"


@dataclass(frozen=True, slots=True)
class Record:
    """A parsed record: JSON texts by field, ``number`` from 1, and the ``_id`` that was sent."""

    number: int
    members: dict[str, str]
    id: int | None


def measure_longest_value(records: Sequence[Record], name: str) -> int:
    """Count the bytes of the longest value of a field as text, not as JSON."""
    texts = [record.members[name] for record in records if name in record.members]
    values = [
        json.loads(text) if text[0] == '"' and "\\" in text else text.strip('"') for text in texts
    ]
    return max([len(value.encode()) for value in values], default=0)


def read_records(
    resource: Resource, records: Sequence[Mapping[str, Any]], method: Method, cast: Cast
) -> list[Record]:
    """
    Read records for a resource, field by field, with at most one statement for each field.

    Raises: ``InvalidParameters`` with the first error of each record that cannot be stored, of the
    first records; ``NoKey`` when records are to be updated without a key.
    """
    types = {field.name: field_types[field.type] for field in resource.schema}
    key = resource.primary_key
    if method is not Method.INSERT and not key and any(ID not in record for record in records):
        raise NoKey
    errors: dict[int, InvalidRecord] = {}
    read: list[Record] = []
    for number, record in enumerate(records, start=1):
        record_id = None
        try:
            record_id = _identify(number, record, types, method, key)
        except InvalidRecord as error:
            errors[number] = error
        read.append(Record(number, {}, record_id))
    for name, kind in types.items():
        having = [each for each in read if name in records[each.number - 1]]
        values = [records[each.number - 1][name] for each in having]
        if not kind.keeps_empty_text:
            values = [None if value == "" else value for value in values]
        try:
            texts = parse_values(kind.name, kind.parse_value, values, cast)
        except ValuesNotOfType as error:
            for refused in error.refused:
                number = having[refused.position].number
                errors.setdefault(number, _describe_error(number, name, kind, refused))
            continue
        for each, text in zip(having, texts, strict=True):
            each.members[name] = text or "null"
    if errors:
        raise InvalidParameters(errors[number] for number in sorted(errors)[:MAX_REFUSED_VALUES])
    return read


def _identify(
    number: int,
    record: Mapping[str, Any],
    types: Collection[str],
    method: Method,
    key: Sequence[str],
) -> int | None:
    """Check the names of a record, and that it has an ``_id`` or the key; return the ``_id``."""
    is_insert = method is Method.INSERT
    for name in record:
        if name not in types and (is_insert or name != ID):
            parameter = "records" if is_insert else "fields"
            raise UnknownRecordField(parameter=parameter, record=number, field=name)
    if ID not in record or is_insert:
        if not is_insert and (missing := [name for name in key if name not in record]):
            raise MissingKey(record=number, fields=", ".join(missing))
        return None
    value = record[ID]
    if isinstance(value, str) and len(value) < _MAX_SHOWN_LENGTH and value.isascii():
        text = value.strip(whitespace)
        value = int(text) if text.isdecimal() else value
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value) if value.adjusted() < _MAX_SHOWN_LENGTH else None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ID:
        raise InvalidKey(record=number, most=MAX_ID)
    return value


def _describe_error(
    number: int, name: str, kind: FieldType, refused: RefusedValue
) -> InvalidRecord:
    if refused.has_many_digits:
        return NumberTooLong(record=number, field=name, most=MAX_NUMBER_DIGITS)
    try:
        value = shorten(dump_json(refused.value), _MAX_SHOWN_LENGTH)
    except NotOfType:
        value = "…"
    return InvalidRecord(record=number, field=name, type=kind.name, value=value)


# Merging ------------------------------------------------------------------------------------------

_MAX_FETCHED_ROWS = 2_000

#: The rows that have a key which a record has already.
_SELECT_KNOWN = "SELECT rows.number FROM {rows} JOIN {table} AS record ON {same} ORDER BY 1"

#: How many rows have the key of a record, and how many of these its values.
_COUNT_KNOWN = (
    "SELECT count(*), count(*) FILTER (WHERE NOT record_image_ne(ROW(%s::jsonb || record.data),"
    " ROW(%s::jsonb || rows.members))) FROM {rows} JOIN {table} AS record ON {same}"
)

#: A key that several rows have: of these, an update would use any.
_FIND_REPEATED = "SELECT 1 FROM {rows} GROUP BY {key} HAVING count(*) > 1 LIMIT 1"

#: The record that has the key of a row, and the first row with this key.  Nulls equal nothing.
_FIND = (
    "SELECT rows.number, record._id, CASE num_nulls({key})"
    " WHEN 0 THEN min(rows.number) OVER (PARTITION BY {key}) ELSE rows.number END"
    " FROM {rows} LEFT JOIN {table} AS record ON {same}"
)

#: A record that has these values already is not written, because each write updates every index.
#: Equal images, unlike equal values, have the same digits: 1.50 replaces 1.5.
_UPDATE = (
    "UPDATE {table} AS record SET data = record.data || rows.members FROM {rows}"
    " WHERE {same} AND record_image_ne(ROW(record.data || rows.members), ROW(record.data))"
)

_INSERT = "INSERT INTO {table} (data) SELECT %s::jsonb || rows.members FROM {rows}"
_INSERT_NUMBERED = (
    "INSERT INTO {table} (_id, data) SELECT rows.number, %s::jsonb || rows.members FROM {rows}"
)
_UNLESS_KNOWN = " WHERE NOT EXISTS (SELECT FROM {table} AS record WHERE {same})"
_IN_ORDER = " ORDER BY rows.number"

_SAME_ID = sql.SQL("record._id = rows.number")

#: Numbers that were sent are not assigned again.
_ADVANCE = (
    "SELECT setval(sequence, greatest(%s, nextval(sequence) - 1))"
    " FROM CAST(pg_get_serial_sequence(%s, '_id') AS regclass) AS sequence"
)


#: Rows are an item of FROM: ``rows`` with ``number`` and ``members``.  This one is of an array of
#: numbers, and of one of JSON objects as texts.
ARRAY = sql.SQL("unnest(%s::bigint[], %s::jsonb[]) AS rows (number, members)")


def list_rows(members: Mapping[int, Mapping[str, str]]) -> Clause:
    """Make an array of rows: by their numbers, JSON texts by field."""
    quoted: dict[str, str] = {}
    texts = []
    for each in members.values():
        for name in each.keys() - quoted.keys():
            quoted[name] = json.dumps(name, ensure_ascii=False)
        texts.append("{" + ",".join([f"{quoted[name]}:{each[name]}" for name in each]) + "}")
    return Clause(ARRAY, [list(members), texts])


def get_table_id(resource: Resource) -> int:
    if resource.table_version_id is None:
        raise UnknownResource(resource=resource.pk)
    return resource.table_version_id


class RecordTable:
    """The record table of a resource, which is locked."""

    def __init__(
        self, connection: BaseDatabaseWrapper, resource: Resource, key: Sequence[str] | None = None
    ) -> None:
        """Find the table, or raise ``UnknownResource``; rows have a ``key``, by default its own."""
        self._connection = connection
        self._table = quote_record_table(get_table_id(resource))
        self._key = resource.primary_key if key is None else key
        self._nulls = dict.fromkeys([field.name for field in resource.schema])

    def delete(self, where: Clause) -> int:
        statement = sql.SQL("DELETE FROM {} WHERE {}").format(self._table, where.text)
        return write_rows(self._connection, statement, where.parameters)

    # Rows of files --------------------------------------------------------------------------------

    def list_known(self, rows: Clause) -> Iterator[list[int]]:
        """List the numbers of the rows whose key a record has already, in batches."""
        with self._connection.chunked_cursor() as cursor:
            cursor.execute(self._build(_SELECT_KNOWN, rows), rows.parameters)
            while batch := cursor.fetchmany(_MAX_FETCHED_ROWS):
                yield [number for (number,) in batch]

    def count_known(self, rows: Clause, names: Collection[str]) -> tuple[int, ...]:
        """Count the rows whose key a record has, and those whose record has the same values."""
        nulls = json.dumps({**self._nulls, **dict.fromkeys(names)})
        parameters = [nulls, nulls, *rows.parameters]
        return execute(self._connection, self._build(_COUNT_KNOWN, rows), parameters)[0]

    def has_repeated_keys(self, rows: Clause) -> bool:
        return bool(execute(self._connection, self._build(_FIND_REPEATED, rows), rows.parameters))

    def insert(self, rows: Clause, names: Collection[str]) -> int:
        """Add the rows whose key no record has, in order; ``names`` are of the fields of all."""
        nulls = {name: None for name in self._nulls if name not in names}
        statement = self._build(_INSERT + _UNLESS_KNOWN + _IN_ORDER, rows)
        return write_rows(self._connection, statement, [json.dumps(nulls), *rows.parameters])

    def update(self, rows: Clause, same: sql.Composable | None = None) -> int:
        """Update the records with the keys of rows, or the ``same``; return how many change."""
        return write_rows(self._connection, self._build(_UPDATE, rows, same), rows.parameters)

    # Records of calls -----------------------------------------------------------------------------

    def merge(self, records: Sequence[Record], method: Method) -> tuple[list[int], int, int]:
        """
        Merge the records of a call; later ones change earlier ones of the same ``_id`` or key.

        Return the ``_id`` of each in order, and how many records are new and how many changed.

        Raises: ``DuplicateKey`` (insert), ``UnknownKey`` (update).
        """
        known_ids: set[int] = set()
        if ids := [each.id for each in records if each.id is not None]:
            find = sql.SQL("SELECT _id FROM {} WHERE _id = ANY(%s::bigint[])").format(self._table)
            known_ids.update(fetch_column(self._connection, find, [ids]))
        # By the number of the record: the ``_id`` with its key, and the first such number.
        found: dict[int, tuple[int | None, int]] = {}
        unnumbered = [each for each in records if each.id is None]
        if self._key and unnumbered:
            rows = list_rows(
                {
                    each.number: {name: each.members.get(name, "null") for name in self._key}
                    for each in unnumbered
                }
            )
            rows_found = execute(self._connection, self._build(_FIND, rows), rows.parameters)
            found = {number: (known_id, first) for number, known_id, first in rows_found}
        # By the _id that was sent, or minus the number of the first record with the key.
        added: dict[int, dict[str, str]] = {}
        changed: dict[int, dict[str, str]] = {}
        for record in records:
            if record.id is None:
                known_id, first = found.get(record.number, (None, record.number))
                identity = -first
            else:
                known_id, identity = (record.id if record.id in known_ids else None), record.id
            is_known = known_id is not None or identity in added
            if is_known and method is Method.INSERT:
                raise DuplicateKey(record=record.number)
            if not is_known and method is Method.UPDATE:
                raise UnknownKey(record=record.number)
            target = added if known_id is None else changed
            target.setdefault(known_id or identity, {}).update(record.members)
        updated = self.update(list_rows(changed), _SAME_ID) if changed else 0
        numbered = {number: added[number] for number in added if number > 0}
        if numbered:
            self._insert(_INSERT_NUMBERED, numbered)
            execute(self._connection, _ADVANCE, [max(numbered), self._table.as_string()])
        written = [*changed, *numbered]
        if new := {-number: added[number] for number in added if number < 0}:
            written += self._insert(_INSERT, new)
        return sorted(written), len(added), updated

    def _insert(
        self, statement: LiteralString, members: Mapping[int, Mapping[str, str]]
    ) -> list[int]:
        """Insert records that are known to be new, and return the ``_id`` of each."""
        rows = list_rows(members)
        returning = self._build(statement + _IN_ORDER + " RETURNING _id", rows)
        parameters = [json.dumps(self._nulls), *rows.parameters]
        return fetch_column(self._connection, returning, parameters)

    def _build(
        self, statement: LiteralString, rows: Clause, same: sql.Composable | None = None
    ) -> sql.Composable:
        """Name the tables in a statement; without a key, no record is the ``same`` as a row."""
        key = [build_key_expression("rows.members", name) for name in self._key]
        equal: list[sql.Composable] = [
            sql.SQL("{} = {}").format(build_key_expression("record.data", name), value)
            for name, value in zip(self._key, key, strict=True)
        ]
        return sql.SQL(statement).format(
            table=self._table,
            rows=rows.text,
            same=same or sql.SQL(" AND ").join(equal or [sql.SQL("false")]),
            key=sql.SQL(", ").join(key),
        )
