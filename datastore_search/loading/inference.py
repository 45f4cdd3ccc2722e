"""
The types of a file's fields, inferred over all rows and without loss.

A field has a type only when every value says so and the stored value writes the same value again:
``007``, ``+84``, ``1e5`` and numbers too long for an integer stay text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..exceptions import UnfitValue, UnknownType, UnknownTypeField
from ..field_types import FieldType, field_type, field_types, inferred_types
from .reading import Table

_TEXT = field_types["text"]

#: Rows that are looked at before all others.
_FIRST_ROWS = 20_000


def infer_types(table: Table, chosen: Mapping[str, str]) -> tuple[FieldType, ...]:
    """
    Give each field its type: the chosen one, or the narrowest that holds all its values.

    ``chosen`` maps names of fields to names of types.

    Raises: ``UnknownTypeField``, ``UnknownType``, ``UnfitValue`` (a value is not of the chosen
    type).
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


def longest_values(table: Table) -> list[int]:
    """Measure the longest value of each field, in bytes."""
    longest = ", ".join(f"max(strlen({column}))" for column in table.columns)
    found = table.connection.execute(f"SELECT {longest} FROM {table.relation}").fetchone()
    return [length or 0 for length in found or ()]


def _inferred(table: Table) -> list[FieldType]:
    """
    Try every condition on every value, in one pass over the file.

    The first rows are looked at before, for they refute most conditions: only where some are left
    is all of the file read.
    """
    candidates = [(kind, condition) for kind in inferred_types for condition in kind.infers]
    every = {column: list(range(len(candidates))) for column in table.columns}
    start = f"(SELECT * FROM {table.relation} LIMIT {_FIRST_ROWS})"
    found = _surviving(table, start, candidates, every)
    undecided = {
        column: places or every[column]
        for column, places in found.items()
        if not places or candidates[places[0]][0] is not _TEXT
    }
    if undecided:
        found |= _surviving(table, table.relation, candidates, undecided)
    return [candidates[found[column][0]][0] if found[column] else _TEXT for column in table.columns]


def _surviving(
    table: Table,
    relation: str,
    candidates: Sequence[tuple[FieldType, str]],
    tried: Mapping[str, Sequence[int]],
) -> dict[str, list[int]]:
    """
    Find the places of the candidates that no value of a column refutes, among those tried.

    Text is never refuted; a column without any value has none.

    The columns are turned into rows first, so that a table of 500 columns costs as many
    expressions as one of a single column: DuckDB takes 2 ms to prepare each.
    """
    places = sorted({place for column in tried.values() for place in column})
    holds = ", ".join(
        f"bool_and(coalesce({FieldType.over(candidates[place][1], 'value')}, false))"
        for place in places
    )
    answers = table.connection.execute(
        f"SELECT name, {holds} FROM (UNPIVOT (SELECT * FROM {relation})"
        f" ON {', '.join(tried)} INTO NAME name VALUE value) WHERE value <> '' GROUP BY name"
    ).fetchall()
    fits = {name: dict(zip(places, held, strict=True)) for name, *held in answers}
    return {
        column: [place for place in wanted if fits[column][place]] if column in fits else []
        for column, wanted in tried.items()
    }


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
