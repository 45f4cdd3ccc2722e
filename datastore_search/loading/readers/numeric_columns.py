"""Staged columns that hold numbers, without loss of digits."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .duckdb_sql import SQL, quote_literal
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
    names = [f"f{column}" for column in columns]
    for some in staging_area.rows.split_columns(names):
        cells = staging_area.rows.select_cells(some)
        found = staging_area.execute(
            SQL(
                "SELECT CAST(name[2:] AS INTEGER), {}, {} FROM {} WHERE value NOT IN ({})"
                " GROUP BY name"
            ).format(holds.format(SQL("INTEGER")), holds.format(SQL("BIGINT")), cells, empty)
        ).fetchall()
        for column, is_integer, is_bigint in found:
            types[column] = "int4" if is_integer else "int8" if is_bigint else "numeric"
    return types
