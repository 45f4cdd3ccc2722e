"""
The types of a file's fields, inferred over all rows and without loss.

A field has a type only when every value says so and the stored value writes the same value again:
``007``, ``+84``, ``1e5`` and numbers too long for an integer stay text.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..exceptions import UnfitValue, UnknownType, UnknownTypeField, UnstorableText
from ..field_types import FieldType, field_type, field_types, inferred_types
from .reading import Table

_TEXT = field_types["text"]
_COLUMNS_AT_ONCE = 50


def infer_types(table: Table, chosen: Mapping[str, str]) -> tuple[FieldType, ...]:
    """
    Give each field its type: the chosen one, or the narrowest that holds all its values.

    ``chosen`` maps names of fields to names of types.

    Raises: ``UnknownTypeField``, ``UnknownType``, ``UnfitValue`` (a value is not of the chosen
    type), ``UnstorableText`` (a NUL).
    """
    for name in chosen:
        if name not in table.names:
            raise UnknownTypeField(field=name)
    inferred = _inferred(table)
    types = tuple(
        _chosen(chosen[name]) if name in chosen else inferred[place]
        for place, name in enumerate(table.names)
    )
    for column, name, kind in zip(table.columns, table.names, types, strict=True):
        if name in chosen:
            _check(table, column, name, kind)
    _refuse_nul(table)
    return types


def count_rows(table: Table) -> int:
    """Count the rows below the header."""
    found = table.connection.execute(f"SELECT count(*) FROM {table.relation}").fetchone()
    return int(found[0]) if found else 0


def _chosen(name: str) -> FieldType:
    try:
        return field_type(name)
    except KeyError:
        raise UnknownType(type=name, types=", ".join(field_types)) from None


def _inferred(table: Table) -> list[FieldType]:
    candidates = [(kind, condition) for kind in inferred_types for condition in kind.infers]
    types: list[FieldType] = []
    for start in range(0, len(table.columns), _COLUMNS_AT_ONCE):
        columns = table.columns[start : start + _COLUMNS_AT_ONCE]
        answers = _hold(table, columns, [condition for _, condition in candidates])
        width = 1 + len(candidates)
        for place in range(0, len(answers), width):
            filled, *fits = answers[place : place + width]
            narrowest = next(kind for (kind, _), fit in zip(candidates, fits, strict=True) if fit)
            types.append(narrowest if filled else _TEXT)
    return types


def _hold(table: Table, columns: list[str], conditions: list[str]) -> list[bool]:
    """Say for each column whether it has a value at all, then which conditions all values meet."""
    terms = []
    for column in columns:
        terms.append(f"count({column}) FILTER (WHERE {column} <> '') > 0")
        terms += [
            f"coalesce(bool_and({column} = '' OR coalesce({FieldType.over(c, column)}, false))"
            f" FILTER (WHERE {column} IS NOT NULL), true)"
            for c in conditions
        ]
    found = table.connection.execute(f"SELECT {', '.join(terms)} FROM {table.relation}").fetchone()
    return list(found or ())


def _check(table: Table, column: str, name: str, kind: FieldType) -> None:
    """Refuse the first value that is not of the type somebody chose."""
    found = table.connection.execute(
        f"SELECT row, value FROM (SELECT row_number() OVER () AS row, {column} AS value"
        f" FROM {table.relation}) WHERE value <> ''"
        f" AND NOT coalesce({FieldType.over(kind.accepts, 'value')}, false) LIMIT 1"
    ).fetchone()
    if found:
        row, value = found
        raise UnfitValue(row=row, field=name, type=kind.name, value=value[:100])


def _refuse_nul(table: Table) -> None:
    for column, name in zip(table.columns, table.names, strict=True):
        found = table.connection.execute(
            f"SELECT row FROM (SELECT row_number() OVER () AS row, {column} AS value"
            f" FROM {table.relation}) WHERE contains(value, chr(0)) LIMIT 1"
        ).fetchone()
        if found:
            raise UnstorableText(row=found[0], field=name)
