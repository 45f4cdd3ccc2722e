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
from ..database.statements import execute
from ..database.tables import quote_record_table
from ..field_types import dump_json
from ..filters import Clause
from ..messages.writing import DuplicateKey, UnknownKey
from ..models import Resource
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


def plan_changes(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    table_id: int,
    records: Sequence[Record],
    method: Method,
) -> Changes:
    """
    Find which records are new, and plan one change for each.

    Raises: ``DuplicateKey`` (insert), ``UnknownKey`` (update).
    """
    known = _find_known_by_id(connection, table_id, records)
    known |= _find_known_by_key(connection, table_id, records, resource.primary_key)
    changes = Changes()
    pending: dict[Hashable, Record] = {}
    for record in records:
        key = _find_identity(record, resource.primary_key)
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


def apply_changes(
    connection: BaseDatabaseWrapper, resource: Resource, table_id: int, changes: Changes
) -> None:
    """Apply the changes, and set their ``ids``; a rollback does not restore the sequence."""
    names = [each.name for each in resource.schema]
    _update_records(connection, table_id, changes.changed)
    documents = [(new.id, _render_document(new.members, names)) for new in changes.added]
    numbered = {number: document for number, document in documents if number is not None}
    _insert_numbered(connection, table_id, numbered)
    unnumbered = [document for number, document in documents if number is None]
    ids = _insert_documents(connection, table_id, unnumbered)
    changes.ids = sorted([*changes.changed, *numbered, *ids])


def delete_records(connection: BaseDatabaseWrapper, table_id: int, where: Clause) -> int:
    """Delete the records that meet a condition and return how many."""
    with connection.cursor() as cursor:
        statement = sql.SQL("DELETE FROM {} WHERE {}")
        text = statement.format(quote_record_table(table_id), where.text)
        cursor.execute(text, where.parameters)
        return int(cursor.rowcount)


# Which records are known --------------------------------------------------------------------------


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


def _find_known_by_id(
    connection: BaseDatabaseWrapper, table_id: int, records: Sequence[Record]
) -> dict[int, int]:
    """Map the numbers of records with an ``_id`` that exists to that ``_id``."""
    ids = {record.number: record.id for record in records if record.id is not None}
    if not ids:
        return {}
    statement = sql.SQL("SELECT _id FROM {table} WHERE _id = ANY(%s::bigint[])")
    rows = _execute(connection, table_id, statement, [list(ids.values())])
    known_ids = {record_id for (record_id,) in rows}
    return {number: record_id for number, record_id in ids.items() if record_id in known_ids}


def _find_known_by_key(
    connection: BaseDatabaseWrapper, table_id: int, records: Sequence[Record], key: Sequence[str]
) -> dict[int, int]:
    """Map the numbers of records without an ``_id`` to the ``_id`` of the record with their key."""
    documents = {
        record.number: _render_document(record.members, key)
        for record in records
        if record.id is None
    }
    if not key or not documents:
        return {}
    statement = sql.SQL(
        "SELECT given.number, record._id FROM unnest(%s::int[], %s::jsonb[]) AS given (number, key)"
        " JOIN {table} AS record ON {same}"
    )
    same = sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(
            build_key_expression("record.data", name), build_key_expression("given.key", name)
        )
        for name in key
    )
    parameters = [list(documents), list(documents.values())]
    return dict(_execute(connection, table_id, statement, parameters, same=same))


# Statements ---------------------------------------------------------------------------------------


def _execute(
    connection: BaseDatabaseWrapper,
    table_id: int,
    statement: sql.SQL,
    parameters: Sequence[Any],
    **parts: sql.Composable,
) -> list[tuple[Any, ...]]:
    """Run a statement over the record ``table`` and with other ``parts``; return its rows."""
    text = statement.format(table=quote_record_table(table_id), **parts)
    return execute(connection, text, parameters)


def _render_document(members: Mapping[str, str], names: Sequence[str]) -> str:
    """Write a record with every field, null where it has none."""
    return "{" + ",".join(f"{dump_json(name)}:{members.get(name, 'null')}" for name in names) + "}"


def _insert_documents(
    connection: BaseDatabaseWrapper, table_id: int, documents: Sequence[str]
) -> list[int]:
    """Insert records in their order and return the ``_id`` of each."""
    if not documents:
        return []
    statement = sql.SQL(
        "INSERT INTO {table} (data) SELECT document FROM unnest(%s::jsonb[]) WITH ORDINALITY"
        " AS given (document, position) ORDER BY position RETURNING _id"
    )
    rows = _execute(connection, table_id, statement, [list(documents)])
    return [record_id for (record_id,) in rows]


def _insert_numbered(
    connection: BaseDatabaseWrapper, table_id: int, documents: Mapping[int, str]
) -> None:
    """Insert records with the ``_id`` that was sent, and advance the sequence beyond it."""
    if not documents:
        return
    statement = sql.SQL(
        "INSERT INTO {table} (_id, data) SELECT * FROM unnest(%s::bigint[], %s::jsonb[])"
    )
    _execute(connection, table_id, statement, [list(documents), list(documents.values())])
    advance = sql.SQL(
        "SELECT setval(sequence, greatest(%s, nextval(sequence) - 1))"
        " FROM CAST(pg_get_serial_sequence(%s, '_id') AS regclass) AS sequence"
    )
    _execute(
        connection, table_id, advance, [max(documents), quote_record_table(table_id).as_string()]
    )


def _update_records(
    connection: BaseDatabaseWrapper, table_id: int, changed: Mapping[int, Mapping[str, str]]
) -> None:
    """Update the sent members of existing records."""
    if not changed:
        return
    statement = sql.SQL(
        "UPDATE {table} AS record SET data = record.data || given.members"
        " FROM unnest(%s::bigint[], %s::jsonb[]) AS given (id, members)"
        " WHERE record._id = given.id"
    )
    members = [_render_document(each, list(each)) for each in changed.values()]
    _execute(connection, table_id, statement, [list(changed), members])
