"""
The columns of a table of the engine: ``_id``, and for the fourth field ``c3`` and perhaps ``t3``.

``c3`` has the values as DuckDB computes with them.  It is a column of texts where DuckDB's type
cannot hold one of them (NaN in decimals, 40 digits).  ``t3`` has the texts of the values, where one
of them differs from what DuckDB writes: 1.5 beside 1.50.  So each value comes back with the digits
that its record has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

#: The digits of the widest decimal.
_MAX_DIGITS = 38

_PLAIN_NUMBER = "regexp_full_match({v}, '-?[0-9]+([.][0-9]+)?')"

#: How DuckDB writes a value of a type as the text that records have; others by a cast.
_TEXTS = {
    "DOUBLE": "regexp_replace(CAST({v} AS VARCHAR), '[.]0$', '')",
    "TIMESTAMP": "CASE WHEN epoch_us({v}) % 1000 = 0 THEN strftime({v}, '%Y-%m-%dT%H:%M:%S.%g')"
    " ELSE strftime({v}, '%Y-%m-%dT%H:%M:%S.%f') END",
}
_TEXTS["TIMESTAMPTZ"] = _TEXTS["TIMESTAMP"].replace("{v}", "timezone('UTC', {v})") + " || '+00:00'"


@dataclass(frozen=True, slots=True)
class Column:
    """The column of a field: its position, its type in DuckDB, and whether ``t`` has its texts."""

    position: int
    type: str
    has_texts: bool = False

    @property
    def value(self) -> str:
        return f"c{self.position}"

    @property
    def is_typed(self) -> bool:
        return self.type != "VARCHAR"

    @property
    def scale(self) -> int:
        """The decimals of a number that has all its digits."""
        return int(self.type[:-1].partition(",")[2]) if self.type.startswith("DECIMAL(") else 0

    @property
    def digits(self) -> int:
        """The most digits of a number that has all its digits."""
        if self.type.startswith("DECIMAL("):
            return int(self.type[8:].partition(",")[0])
        return {"SMALLINT": 5, "INTEGER": 10}.get(self.type, _MAX_DIGITS)

    @property
    def text(self) -> str:
        """The text of a value, as ``data ->> name`` gives it."""
        return f"t{self.position}" if self.has_texts else write_text(self.type, self.value)

    def write_end(self, end: str, order: str, filtered: str = "") -> str:
        """Write the text of the value that is first (``min``) or last (``max``) in an order."""
        if order == self.value and not self.has_texts:
            return write_text(self.type, f"{end}({order}) {filtered}")
        return f"arg_{end}({self.text}, {order}) {filtered}"


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_text(kind: str, value: str) -> str:
    if kind == "VARCHAR":
        return value
    return _TEXTS.get(kind, "CAST({v} AS VARCHAR)").replace("{v}", value)


def decide_columns(wanted: list[str], execute: Callable[[str], Any]) -> list[Column]:
    """
    Decide the columns of a table ``raw``, whose columns ``r0``, … have texts.

    ``wanted`` are DuckDB's types of the fields; ``execute`` runs a statement of DuckDB.
    """
    columns = []
    for position, wished in enumerate(wanted):
        raw, kind, failed, different = f"r{position}", wished, 0, 0
        if kind == "DECIMAL":
            whole, scale, failed = execute(
                f"SELECT coalesce(max(length(ltrim(split_part({raw}, '.', 1), '-'))), 1),"
                f" coalesce(max(length(split_part({raw}, '.', 2))), 0),"
                f" count(*) FILTER (NOT {_PLAIN_NUMBER.replace('{v}', raw)}) FROM raw"
            ).fetchone()
            kind = (
                f"DECIMAL({whole + scale},{scale})" if whole + scale <= _MAX_DIGITS else "VARCHAR"
            )
        if kind != "VARCHAR" and not failed:
            failed, different = execute(
                "SELECT count(*) FILTER (c IS NULL),"
                f" count(*) FILTER ({write_text(kind, 'c')} <> {raw}) FROM"
                f" (SELECT {raw}, try_cast({raw} AS {kind}) AS c FROM raw WHERE {raw} IS NOT NULL)"
            ).fetchone()
        columns.append(
            Column(position, "VARCHAR" if failed else kind, different > 0 and not failed)
        )
    return columns


def select_columns(columns: list[Column], heads: Sequence[str] = ("_id",)) -> str:
    """Select the columns of a table of the engine from ``raw``, after some of ``raw``'s own."""
    selected = [*heads]
    for each in columns:
        selected.append(f"CAST(r{each.position} AS {each.type}) AS {each.value}")
        if each.has_texts:
            selected.append(f"r{each.position} AS t{each.position}")
    return f"SELECT {', '.join(selected)} FROM raw ORDER BY _id"


def unite(first: Column, second: Column) -> Column:
    """Find the column that has the values of two tables."""
    kind = first.type
    if kind != second.type:
        kind, both = "VARCHAR", (first, second)
        if all(each.type.startswith("DECIMAL") for each in both):  # the decimals that hold both
            scale = max(each.scale for each in both)
            width = max(each.digits - each.scale for each in both) + scale
            kind = f"DECIMAL({width},{scale})" if width <= _MAX_DIGITS else kind
    is_same = kind == first.type == second.type
    has_texts = first.has_texts or second.has_texts or not is_same
    return Column(first.position, kind, has_texts and kind != "VARCHAR")


def select_united(column: Column, united: Column) -> list[str]:
    """Select a column of one table as a column that has the values of two."""
    if united.type == "VARCHAR" and column.type != "VARCHAR":
        return [f"{column.text} AS {united.value}"]
    selected = [f"CAST({column.value} AS {united.type}) AS {united.value}"]
    return [*selected, f"{column.text} AS t{united.position}"] if united.has_texts else selected
