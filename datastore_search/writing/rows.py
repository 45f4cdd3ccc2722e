"""
Insert, update and delete the records of a record table.

Under the resource's lock there is no other writer.  So one statement finds the records that exist,
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

from ..exceptions.writing import DuplicateKey, UnknownKey
from ..field_types import dump_json
from ..filters import Clause
from ..models import Resource
from ..storage import build_key_expression, quote_record_table
from .records import Method, Record


@dataclass(slots=True)
class _NewRecord:
    """A record to be added; the ``_id`` is None where the table gives the next one."""

    record: Record
    members: dict[str, str]
    id: int | None = None


@dataclass(slots=True)
class Changes:
    """
    The changes of a call.

    ``added`` are new records, ``changed`` maps the ``_id`` of existing ones to the members that get
    another value; ``ids`` are those of all of them, in order, once the changes are applied.
    """

    added: list[_NewRecord] = field(default_factory=list)
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
    known = _find_known_ids(connection, resource, table_id, records)
    changes = Changes()
    pending: dict[Hashable, _NewRecord] = {}
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
            new = _NewRecord(record, dict(record.members), record.id)
            changes.added.append(new)
            if key is not None:
                pending[key] = new
    return changes


def apply_changes(
    connection: BaseDatabaseWrapper, resource: Resource, table_id: int, changes: Changes
) -> None:
    """Apply the changes, and set their ``ids``; no rollback restores the sequence of these."""
    names = [each.name for each in resource.schema]
    _update_records(connection, table_id, changes.changed)
    numbered = [new for new in changes.added if new.id is not None]
    unnumbered = [new for new in changes.added if new.id is None]
    _insert_numbered(connection, table_id, numbered, names)
    if numbered:
        _advance_sequence(connection, table_id, max(new.id for new in numbered if new.id))
    ids = _insert_documents(
        connection, table_id, [_render_document(new.members, names) for new in unnumbered]
    )
    changes.ids = sorted([*changes.changed, *(new.id for new in numbered if new.id), *ids])


def delete_records(connection: BaseDatabaseWrapper, table_id: int, where: Clause) -> int:
    """Delete the records that meet a condition and return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("DELETE FROM {} WHERE {}").format(quote_record_table(table_id), where.text),
            where.parameters,
        )
        return int(cursor.rowcount)


# Which records are known --------------------------------------------------------------------------


def _find_identity(record: Record, key: Sequence[str]) -> Hashable | None:
    """Return a value that is equal for records of the same key or ``_id``; None without a key."""
    if record.id is not None:
        return record.id
    texts = [record.members.get(name, "null") for name in key]
    if not key or "null" in texts:
        return None
    # As numbers, since 1.5 is 1.50.
    return tuple(map(_parse_comparable, texts))


def _parse_comparable(text: str) -> Hashable:
    """Parse JSON into what is equal where it is in PostgreSQL: 1.5 and 1.50, not 1 and true."""
    return _make_hashable(json.loads(text, parse_float=Decimal, parse_int=Decimal))


def _make_hashable(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _make_hashable(member)) for name, member in value.items())
    if isinstance(value, list):
        return tuple(map(_make_hashable, value))
    return type(value), value


def _find_known_ids(
    connection: BaseDatabaseWrapper, resource: Resource, table_id: int, records: Sequence[Record]
) -> dict[int, int]:
    """Map the numbers of records that exist already to their ``_id``."""
    by_id = {record.number: record.id for record in records if record.id is not None}
    keyed = [record for record in records if record.id is None] if resource.primary_key else []
    known = _find_known_by_id(connection, table_id, by_id)
    if keyed:
        known |= _find_known_by_key(connection, table_id, keyed, resource.primary_key)
    return known


def _find_known_by_id(
    connection: BaseDatabaseWrapper, table_id: int, ids: Mapping[int, int]
) -> dict[int, int]:
    if not ids:
        return {}
    statement = sql.SQL("SELECT _id FROM {} WHERE _id = ANY(%s::bigint[])").format(
        quote_record_table(table_id)
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(ids.values())])
        known_ids = {record_id for (record_id,) in cursor.fetchall()}
    return {number: record_id for number, record_id in ids.items() if record_id in known_ids}


def _find_known_by_key(
    connection: BaseDatabaseWrapper, table_id: int, records: Sequence[Record], key: Sequence[str]
) -> dict[int, int]:
    statement = sql.SQL(
        "SELECT given.number, record._id FROM unnest(%s::int[], %s::jsonb[]) AS given (number, key)"
        " JOIN {table} AS record ON {same}"
    ).format(
        table=quote_record_table(table_id),
        same=sql.SQL(" AND ").join(
            sql.SQL("{} = {}").format(
                build_key_expression("record.data", name), build_key_expression("given.key", name)
            )
            for name in key
        ),
    )
    documents = [_render_document(record.members, key) for record in records]
    with connection.cursor() as cursor:
        cursor.execute(statement, [[record.number for record in records], documents])
        return dict(cursor.fetchall())


# Statements ---------------------------------------------------------------------------------------


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
    ).format(table=quote_record_table(table_id))
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(documents)])
        return [record_id for (record_id,) in cursor.fetchall()]


def _insert_numbered(
    connection: BaseDatabaseWrapper,
    table_id: int,
    records: Sequence[_NewRecord],
    names: Sequence[str],
) -> None:
    """Insert records with the ``_id`` that was sent."""
    if not records:
        return
    statement = sql.SQL(
        "INSERT INTO {table} (_id, data) SELECT * FROM unnest(%s::bigint[], %s::jsonb[])"
    ).format(table=quote_record_table(table_id))
    documents = [_render_document(new.members, names) for new in records]
    with connection.cursor() as cursor:
        cursor.execute(statement, [[record.id for record in records], documents])


def _advance_sequence(connection: BaseDatabaseWrapper, table_id: int, last_id: int) -> None:
    """Advance the sequence beyond an ``_id`` that was sent."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(sequence, greatest(%s, nextval(sequence) - 1))"
            " FROM CAST(pg_get_serial_sequence(%s, '_id') AS regclass) AS sequence",
            [last_id, quote_record_table(table_id).as_string()],
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
    ).format(table=quote_record_table(table_id))
    members = [_render_document(each, list(each)) for each in changed.values()]
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(changed), members])
