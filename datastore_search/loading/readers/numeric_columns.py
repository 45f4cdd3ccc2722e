"""Columns of a file whose values are numbers, of which each digit is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .staging import STAGED_ROWS, StagingArea, literal

_NAMES = "('NaN', 'Infinity', '-Infinity')"


#: Columns that are looked at together: DuckDB keeps memory for each expression.
_COLUMNS_AT_ONCE = 32


def types_of_numbers(
    place: StagingArea, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    """
    Find the narrowest type of each column of numbers: all their digits are kept.

    ``nulls`` are texts that mean nothing.
    """
    found: dict[int, str] = {}
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        found |= _types_of_some(place, columns[start : start + _COLUMNS_AT_ONCE], nulls)
    return found


def _types_of_some(
    place: StagingArea, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    listed = ", ".join(literal(text) for text in ("", *nulls))
    holds = ", ".join(
        f"bool_and(regexp_full_match(f{column}, '-?[0-9]+')"
        f" AND try_cast(f{column} AS {kind}) IS NOT NULL) FILTER (f{column} NOT IN ({listed}))"
        for column in columns
        for kind in ("INTEGER", "BIGINT")
    )
    found = iter(place.connection.execute(f"SELECT {holds} FROM {STAGED_ROWS}").fetchone() or ())
    return {
        column: "int4" if short else "int8" if long else "numeric"
        for column, short, long in zip(columns, found, found, strict=True)
    }


def has_names_of_numbers(place: StagingArea, columns: Sequence[int]) -> bool:
    """Tell whether one of some columns has NaN or an infinity."""
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        some = columns[start : start + _COLUMNS_AT_ONCE]
        named = " OR ".join(f"f{column} IN {_NAMES}" for column in some)
        if place.connection.execute(
            f"SELECT 1 FROM {STAGED_ROWS} WHERE {named} LIMIT 1"
        ).fetchone():
            return True
    return False
