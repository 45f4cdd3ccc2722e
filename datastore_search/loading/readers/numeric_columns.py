"""Staged columns that hold numbers, without loss of digits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .duckdb_sql import SQL, Composed, quote_literal
from .staging import StagingArea


def find_number_types(
    staging_area: StagingArea, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    """
    Find the narrowest type that holds all digits of each column of numbers, by its position.

    ``nulls`` are texts that stand for no value.
    """
    empty = SQL(", ").join(quote_literal(text) for text in ("", *nulls))
    holds = SQL(
        "bool_and(regexp_full_match(value, '-?[0-9]+') AND try_cast(value AS {}) IS NOT NULL)"
    )
    types = dict.fromkeys(columns, "numeric")
    for cells in _select_cells(staging_area, columns):
        found = staging_area.execute(
            SQL(
                "SELECT CAST(name[2:] AS INTEGER), {}, {} FROM {} WHERE value NOT IN ({})"
                " GROUP BY name"
            ).format(holds.format(SQL("INTEGER")), holds.format(SQL("BIGINT")), cells, empty)
        ).fetchall()
        for column, is_integer, is_bigint in found:
            types[column] = "int4" if is_integer else "int8" if is_bigint else "numeric"
    return types


def has_non_numbers(staging_area: StagingArea, columns: Sequence[int]) -> bool:
    """Return whether a column of numbers holds NaN or an infinity."""
    query = SQL("SELECT 1 FROM {} WHERE value IN ('NaN', 'Infinity', '-Infinity') LIMIT 1")
    return any(
        staging_area.execute(query.format(cells)).fetchone()
        for cells in _select_cells(staging_area, columns)
    )


def _select_cells(staging_area: StagingArea, columns: Sequence[int]) -> Iterator[Composed]:
    names = [f"f{column}" for column in columns]
    return map(staging_area.rows.select_cells, staging_area.rows.split_columns(names))
