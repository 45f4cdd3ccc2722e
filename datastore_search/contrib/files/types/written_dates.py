"""
Dates that are read by choice only: with English names of months, or years of two digits.

``date:dmy,en`` reads ``12 March 2024``, ``date:mdyy,en`` ``Mar 3, 99``, and ``date:dmyy``
``3/12/99``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ....field_types import field_types
from ..formats.duckdb_sql import SQL, quote_literal
from .field_formats import (
    CLOCK,
    CLOCK_FORMATS,
    DAY_ORDERS,
    YEAR,
    FieldFormat,
    FormatGroup,
    match_all,
)

#: The orders in which years may have two digits, and the plain order of each.  DuckDB reads 69 as
#: 1969 and 68 as 2068, as POSIX does.
SHORT_YEAR_ORDERS = {"dmyy": "dmy", "mdyy": "mdy", "yymd": "ymd"}

#: Behind an order: months have names.
_NAMED = ",en"

_SIGNS = "[-/., \u00a0]+"
_GUARD = "length({v}) BETWEEN 5 AND 80 AND regexp_matches({v}, '[0-9]')"


def get_day_order(order: str) -> str:
    """Return an order without the choice of years of two digits."""
    return SHORT_YEAR_ORDERS.get(order, order)


@cache
def find_written_format(type_name: str, format_name: str) -> FieldFormat | None:
    """Find a format of dates or timestamps by its name; None if there is no such format."""
    order = format_name.removesuffix(_NAMED)
    is_written = order in SHORT_YEAR_ORDERS or (order in DAY_ORDERS and order != format_name)
    if type_name not in {"date", "timestamp"} or not is_written:
        return None
    return _build_format(type_name, format_name, order)


def list_written_groups(order: str) -> Iterator[FormatGroup]:
    """List the groups to infer from where an order of dates is chosen for a load."""
    if not order:
        return
    orders = [order if each == get_day_order(order) else each for each in DAY_ORDERS]
    names = [*({order} & SHORT_YEAR_ORDERS.keys()), *(each + _NAMED for each in orders)]
    for type_name in ("date", "timestamp"):
        formats = (find_written_format(type_name, name) for name in names)
        yield FormatGroup(_GUARD, tuple((each,) for each in formats if each))


def _build_format(type_name: str, format_name: str, order: str) -> FieldFormat:
    """Build a format that DuckDB reads, for texts of one pattern."""
    is_timestamp, is_named = type_name == "timestamp", order != format_name
    has_short_years = order in SHORT_YEAR_ORDERS
    parts = {
        "d": "[0-9]{1,2}",
        "m": "[A-Za-z]{3,9}" if is_named else "[0-9]{1,2}",
        "y": f"({YEAR}|[0-9]{{2}})" if has_short_years else YEAR,
    }
    days = get_day_order(order)
    pattern = (_SIGNS if is_named else "[-/.]").join(parts[part] for part in days)
    # %Y reads years of two digits, too, as the first of our era: the pattern refuses them.
    styles = [
        " ".join({"d": "%d", "m": month, "y": year}[part] for part in days) + clock
        for year in (("%y", "%Y") if has_short_years else ("%Y",))
        for month in (("%b", "%B") if is_named else ("%m",))
        for clock in (CLOCK_FORMATS if is_timestamp else ("",))
    ]
    text = "regexp_replace({v}, '([0-9])T([0-9])', '\\1 \\2')"
    moment = SQL("try_strptime(regexp_replace({}, {}, ' ', 'g'), [{}])").format(
        SQL(text), quote_literal(_SIGNS), SQL(", ").join(map(quote_literal, styles))
    )
    clock = f"({CLOCK})?" if is_timestamp else ""
    exists = f"{match_all(pattern + clock)} AND {moment} IS NOT NULL"
    return FieldFormat(
        field_type=field_types[type_name],
        format=format_name,
        inference_conditions=((exists,), ("contains({v}, ':')",)) if is_timestamp else ((exists,),),
        condition=exists,
        json_expression=f"strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.000\"')"
        if is_timestamp
        else f"strftime({moment}, '\"%Y-%m-%d\"')",
    )
