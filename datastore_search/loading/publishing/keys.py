"""
The key of a table: the fields whose values no two records share.

Rows that the key refuses are found here, before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ...exceptions.loads import LoadFailed
from ...messages import BadRow
from ...models import Resource
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable, literal, message_literal
from ..typing.inference import Decision
from ..typing.options import LoadOptions
from .rows import build_value_expression

#: Fields of an index at most, a limit of PostgreSQL.
_FIELDS_MOST = 32

#: Bytes of a key at most: those of an entry of PostgreSQL's index, less what it adds to each value.
_KEY_BYTES = 2_600
_VALUE_EXTRA_BYTES = 16

_LETTERS_SHOWN = 100


def resolve_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """Say by which key a file is to be loaded: the chosen one, or that of the resource."""
    return tuple(resource.primary_key) if options.key is None else tuple(options.key)


def check_key(key: Sequence[str], names: Collection[str]) -> None:
    """
    Refuse a key that a table cannot have; ``names`` are those of its fields.

    Raises: ``LoadFailed`` with ``key.missing_field``, ``key.too_many_fields``.
    """
    for name in key:
        if name not in names:
            raise LoadFailed("key.missing_field", field=name)
    if len(key) > _FIELDS_MOST:
        raise LoadFailed("key.too_many_fields", most=_FIELDS_MOST)


def record_key_errors(
    table: StagedTable, decisions: Sequence[Decision], key: Sequence[str]
) -> None:
    """
    Make faults of the rows whose key is empty, too long, or that of an earlier row.

    Rows that are faulty already are nobody's earlier row.
    """
    if not key:
        return
    columns = [table.columns[table.names.index(name)] for name in key]
    _note_empty(table, columns, key)
    _note_long(table, columns, key)
    _note_repeated(table, columns, decisions, key)


def format_key_values(columns: Sequence[str]) -> str:
    """Write the key of a row for people, as an expression."""
    return f"left(concat_ws(', ', {', '.join(columns)}), {_LETTERS_SHOWN})"


def format_field_names(key: Sequence[str]) -> str:
    """Write the names of a key's fields for people."""
    return ", ".join(key)


def _note_empty(table: StagedTable, columns: Sequence[str], key: Sequence[str]) -> None:
    fault = message_literal(BadRow("row.empty_key").to_json())
    for column, name in zip(columns, key, strict=True):
        table.connection.execute(
            f"INSERT INTO {ROW_ERRORS} SELECT line, {literal(name)}, '', {fault}"
            f" FROM {STAGED_ROWS} WHERE coalesce({column}, '') = ''"
        )


def _note_long(table: StagedTable, columns: Sequence[str], key: Sequence[str]) -> None:
    count = " + ".join(f"strlen({column}) + {_VALUE_EXTRA_BYTES}" for column in columns)
    before, after = _around(BadRow("row.long_key", count=_PLACE, most=_KEY_BYTES))
    table.connection.execute(
        f"INSERT INTO {ROW_ERRORS} SELECT line, {literal(format_field_names(key))},"
        f" {format_key_values(columns)},"
        f" {before} || ({count}) || {after} FROM {STAGED_ROWS} WHERE {count} > {_KEY_BYTES}"
    )


def _note_repeated(
    table: StagedTable, columns: Sequence[str], decisions: Sequence[Decision], key: Sequence[str]
) -> None:
    """Compare the values as they will be stored, numbers without the zeros at their end."""
    forms = [decisions[table.names.index(name)].form for name in key]
    places = [f"k{place}" for place in range(len(key))]
    expressions = [
        _comparable(build_value_expression(column, form), number=form.kind.name == "numeric")
        for column, form in zip(columns, forms, strict=True)
    ]
    values = ", ".join(
        f"{expression} AS {place}" for expression, place in zip(expressions, places, strict=True)
    )
    before, after = _around(BadRow("row.repeated_key", line=_PLACE))
    keyed = (
        f"SELECT line, {format_key_values(columns)} AS shown, {values}"
        f" FROM {STAGED_ROWS} ANTI JOIN {ROW_ERRORS} USING (line)"
    )
    together = ", ".join(places)
    table.connection.execute(
        f"INSERT INTO {ROW_ERRORS} WITH keyed AS ({keyed}), repeated AS (SELECT {together},"
        f" min(line) AS first FROM keyed GROUP BY {together} HAVING count(*) > 1)"
        f" SELECT line, {literal(format_field_names(key))}, shown, {before} || first || {after}"
        f" FROM keyed JOIN repeated USING ({together}) WHERE line > first"
    )


def _comparable(value: str, *, number: bool) -> str:
    return rf"regexp_replace({value}, '\.0*$|(\.[0-9]*[1-9])0+$', '\1')" if number else value


#: Stands in a kept message for a number that DuckDB puts there.
_PLACE = "{number}"


def _around(fault: BadRow) -> tuple[str, str]:
    """Give what stands before and after the number in a kept fault, as literals."""
    before, _place, after = json.dumps(fault.to_json(), ensure_ascii=False).partition(f'"{_PLACE}"')
    return literal(before), literal(after)
