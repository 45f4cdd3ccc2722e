"""
Insert, update and delete the records of a record table.

The resource's lock excludes other writers.  So one statement finds the records that exist,
and each kind of change is then one statement.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ..database.indexes import build_key_expression
from ..database.statements import execute, write_rows
from ..database.tables import quote_record_table
from ..field_types import dump_json
from ..filters import Clause
from ..messages.writing import DuplicateKey, UnknownKey
from ..models import Resource
from .changes import get_table_id
from .records import Method, Record


@dataclass(slots=True)
class Changes:
    """
    The changes of a call.

    ``added`` are new records, ``changed`` maps the ``_id`` of existing ones to the members that get
    another value; ``ids`` has the ``_id`` of each, in order, once the changes are applied.
    """

    added: list[Record] = field(default_factory=list)
    changed: dict[int, dict[str, str]] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)


class RecordTable:
    """The record table of a resource, which is locked."""

    def __init__(self, connection: BaseDatabaseWrapper, resource: Resource) -> None:
        """Find the table, or raise ``UnknownResource``."""
        self._connection = connection
        self._resource = resource
        self._name = quote_record_table(get_table_id(resource))

    def plan_changes(self, records: Sequence[Record], method: Method) -> Changes:
        """
        Find which records are new, and plan one change for each.

        Raises: ``DuplicateKey`` (insert), ``UnknownKey`` (update).
        """
        known = self._find_known_by_id(records) | self._find_known_by_key(records)
        changes = Changes()
        pending: dict[Hashable, Record] = {}
        for record in records:
            key = _find_identity(record, self._resource.primary_key)
            known_id = known.get(record.number)
            is_known = known_id is not None or (key is not None and key in pending)
            if method is Method.INSERT and is_known:
                raise DuplicateKey(record=record.number)
            if known_id is not None:
                changes.changed.setdefault(known_id, {}).update(record.members)
            elif key is not None and key in pending:
                pending[key].members.update(record.members)
            elif method is Method.UPDATE:
                raise UnknownKey(record=record.number)
            else:
                changes.added.append(record)
                if key is not None:
                    pending[key] = record
        return changes

    def apply_changes(self, changes: Changes) -> None:
        """Apply the changes, and set their ``ids``; a rollback does not restore the sequence."""
        self._update_records(changes.changed)
        names = [each.name for each in self._resource.schema]
        documents = [(new.id, _render_document(new.members, names)) for new in changes.added]
        numbered = {number: document for number, document in documents if number is not None}
        self._insert_numbered(numbered)
        ids = self._insert_documents([each for number, each in documents if number is None])
        changes.ids = sorted([*changes.changed, *numbered, *ids])

    def delete_records(self, where: Clause) -> int:
        """Delete the records that meet a condition and return how many."""
        statement = sql.SQL("DELETE FROM {} WHERE {}").format(self._name, where.text)
        return write_rows(self._connection, statement, where.parameters)

    # Which records are known ----------------------------------------------------------------------

    def _find_known_by_id(self, records: Sequence[Record]) -> dict[int, int]:
        """Map the numbers of records with an ``_id`` that exists to that ``_id``."""
        ids = {record.number: record.id for record in records if record.id is not None}
        if not ids:
            return {}
        statement = sql.SQL("SELECT _id FROM {table} WHERE _id = ANY(%s::bigint[])")
        known_ids = {record_id for (record_id,) in self._execute(statement, [list(ids.values())])}
        return {number: record_id for number, record_id in ids.items() if record_id in known_ids}

    def _find_known_by_key(self, records: Sequence[Record]) -> dict[int, int]:
        """Map the numbers of records without an ``_id`` to that of the record with their key."""
        key = self._resource.primary_key
        documents = {
            record.number: _render_document(record.members, key)
            for record in records
            if record.id is None
        }
        if not key or not documents:
            return {}
        statement = sql.SQL(
            "SELECT given.number, record._id FROM unnest(%s::int[], %s::jsonb[])"
            " AS given (number, key) JOIN {table} AS record ON {same}"
        )
        same = sql.SQL(" AND ").join(
            sql.SQL("{} = {}").format(
                build_key_expression("record.data", name), build_key_expression("given.key", name)
            )
            for name in key
        )
        parameters = [list(documents), list(documents.values())]
        return dict(self._execute(statement, parameters, same=same))

    # Statements -----------------------------------------------------------------------------------

    def _execute(
        self, statement: sql.SQL, parameters: Sequence[Any], **parts: sql.Composable
    ) -> list[tuple[Any, ...]]:
        """Run a statement over the ``table`` and with other ``parts``; return its rows."""
        return execute(self._connection, statement.format(table=self._name, **parts), parameters)

    def _insert_documents(self, documents: Sequence[str]) -> list[int]:
        """Insert records in their order and return the ``_id`` of each."""
        if not documents:
            return []
        statement = sql.SQL(
            "INSERT INTO {table} (data) SELECT document FROM unnest(%s::jsonb[]) WITH ORDINALITY"
            " AS given (document, position) ORDER BY position RETURNING _id"
        )
        return [record_id for (record_id,) in self._execute(statement, [list(documents)])]

    def _insert_numbered(self, documents: Mapping[int, str]) -> None:
        """Insert records with the ``_id`` that was sent, and advance the sequence beyond it."""
        if not documents:
            return
        statement = sql.SQL(
            "INSERT INTO {table} (_id, data) SELECT * FROM unnest(%s::bigint[], %s::jsonb[])"
        )
        self._execute(statement, [list(documents), list(documents.values())])
        advance = sql.SQL(
            "SELECT setval(sequence, greatest(%s, nextval(sequence) - 1))"
            " FROM CAST(pg_get_serial_sequence(%s, '_id') AS regclass) AS sequence"
        )
        self._execute(advance, [max(documents), self._name.as_string()])

    def _update_records(self, changed: Mapping[int, Mapping[str, str]]) -> None:
        """Update the sent members of existing records."""
        if not changed:
            return
        statement = sql.SQL(
            "UPDATE {table} AS record SET data = record.data || given.members"
            " FROM unnest(%s::bigint[], %s::jsonb[]) AS given (id, members)"
            " WHERE record._id = given.id"
        )
        members = [_render_document(each, list(each)) for each in changed.values()]
        self._execute(statement, [list(changed), members])


def _find_identity(record: Record, key: Sequence[str]) -> Hashable | None:
    """Return a value that is equal for records of the same key or ``_id``; None without a key."""
    if record.id is not None:
        return record.id
    texts = [record.members.get(name, "null") for name in key]
    if not key or "null" in texts:
        return None
    # What is equal in PostgreSQL: 1.5 and 1.50, not 1 and true.
    values = (json.loads(text, parse_float=Decimal, parse_int=Decimal) for text in texts)
    return tuple(map(_make_hashable, values))


def _make_hashable(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _make_hashable(member)) for name, member in value.items())
    if isinstance(value, list):
        return tuple(map(_make_hashable, value))
    return type(value), value


def _render_document(members: Mapping[str, str], names: Sequence[str]) -> str:
    """Write a record with every field, null where it has none."""
    return "{" + ",".join(f"{dump_json(name)}:{members.get(name, 'null')}" for name in names) + "}"
