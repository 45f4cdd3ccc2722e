"""Columns of a file whose values are numbers, of which each digit is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..table import STAGED, Stage, literal

_NAMES = "('NaN', 'Infinity', '-Infinity')"


def types_of_numbers(
    place: Stage, columns: Sequence[int], nulls: Collection[str]
) -> dict[int, str]:
    """
    Find the narrowest type of each column of numbers: all their digits are kept.

    ``nulls`` are texts that mean nothing.
    """
    if not columns:
        return {}
    listed = ", ".join(literal(text) for text in ("", *nulls))
    holds = ", ".join(
        f"bool_and(regexp_full_match(f{column}, '-?[0-9]+')"
        f" AND try_cast(f{column} AS {kind}) IS NOT NULL) FILTER (f{column} NOT IN ({listed}))"
        for column in columns
        for kind in ("INTEGER", "BIGINT")
    )
    found = iter(place.connection.execute(f"SELECT {holds} FROM {STAGED}").fetchone() or ())
    return {
        column: "int4" if short else "int8" if long else "numeric"
        for column, short, long in zip(columns, found, found, strict=True)
    }


def has_names_of_numbers(place: Stage, column: int) -> bool:
    """Tell whether a column has NaN or an infinity."""
    found = place.connection.execute(
        f"SELECT 1 FROM {STAGED} WHERE f{column} IN {_NAMES} LIMIT 1"
    ).fetchone()
    return found is not None
