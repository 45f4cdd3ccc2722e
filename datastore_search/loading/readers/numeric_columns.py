"""Staged columns that hold numbers, without loss of digits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .duckdb_sql import SQL, quote_literal
from .staging import STAGED_ROWS, StagingArea, get_column

#: Columns of one statement: DuckDB reserves memory for each expression.
_COLUMNS_PER_STATEMENT = 32


def find_number_types(
    staging_area: StagingArea, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    """
    Find the narrowest type that holds all digits of each column of numbers, by its position.

    ``nulls`` are texts that stand for no value.
    """
    empty = SQL(", ").join(quote_literal(text) for text in ("", *nulls))
    holds = SQL(
        "bool_and(regexp_full_match({column}, '-?[0-9]+') AND try_cast({column} AS {type})"
        " IS NOT NULL) FILTER ({column} NOT IN ({empty}))"
    )
    types: dict[int, str] = {}
    for some in _split(columns):
        tests = SQL(", ").join(
            holds.format(column=get_column(column), type=SQL(kind), empty=empty)
            for column in some
            for kind in ("INTEGER", "BIGINT")
        )
        query = SQL("SELECT {} FROM {}").format(tests, STAGED_ROWS)
        found = iter(staging_area.execute(query).fetchone() or ())
        for column, is_integer, is_bigint in zip(some, found, found, strict=True):
            types[column] = "int4" if is_integer else "int8" if is_bigint else "numeric"
    return types


def has_non_numbers(staging_area: StagingArea, columns: Sequence[int]) -> bool:
    """Return whether a column of numbers holds NaN or an infinity."""
    test = SQL("{} IN ('NaN', 'Infinity', '-Infinity')")
    for some in _split(columns):
        tests = SQL(" OR ").join(test.format(get_column(column)) for column in some)
        query = SQL("SELECT 1 FROM {} WHERE {} LIMIT 1").format(STAGED_ROWS, tests)
        if staging_area.execute(query).fetchone():
            return True
    return False


def _split(columns: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(columns), _COLUMNS_PER_STATEMENT):
        yield columns[start : start + _COLUMNS_PER_STATEMENT]
