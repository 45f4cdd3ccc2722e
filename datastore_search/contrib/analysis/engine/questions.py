"""
What is asked of the engine, and how PostgreSQL reads it.

The engine returns texts, and PostgreSQL reads them as values of their types.  So figures are
sorted, compared and written as the values of records are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql

from ....field_types import FieldType
from ....filters import Clause, compose, join_with_commas
from .columns import Column


@dataclass(frozen=True, slots=True)
class Asked:
    """
    One figure: its ``texts`` in DuckDB's SQL over ``matches``, and PostgreSQL's ``value`` of them.

    ``{0}`` in the template is the first text, ``%s`` one of the ``parameters``.  A key of groups is
    grouped ``by`` an expression of DuckDB's.
    """

    texts: tuple[str, ...]
    value: LiteralString
    parameters: tuple[Any, ...] = ()
    by: str = ""


def read_value(kind: FieldType) -> LiteralString:
    """Compile how PostgreSQL reads the text of a value, to compare and to sort by it."""
    if kind.is_nested:
        return "{0}::jsonb"
    return kind.sort_expression.replace("{v}", "{0}::jsonb").replace("{t}", "{0}")


def trim_zeros(text: str) -> str:
    """Write the texts of equal numbers alike: without zeros at their end."""
    return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def normalize(kind: FieldType, column: Column) -> str:
    """Write values so that equal ones are the same: numbers in texts have no zeros at their end."""
    value = column.value
    has_decimals = kind.is_number or kind.duckdb_type in {"DECIMAL[]", "DOUBLE[]"}
    if column.is_typed or not has_decimals:
        return value
    if kind.is_number:
        return trim_zeros(value)
    zeros = f"regexp_replace({value}, '([.][0-9]*[1-9])0+([],])', '\\1\\2', 'g')"
    return f"regexp_replace({zeros}, '[.]0+([],])', '\\1', 'g')"


def select_asked(asked: Sequence[tuple[str, Asked]], rows: Sequence[Sequence[Any]]) -> Clause:
    """Select figures under their names, from rows of the engine with the texts of all of them."""
    names, values = list[sql.Identifier](), list[Clause]()
    for name, each in asked:
        own = [sql.Identifier(f"x{len(names) + n}") for n in range(len(each.texts))]
        names += own
        value = sql.SQL(f"{each.value} AS {{as}}").format(*own, **{"as": sql.Identifier(name)})
        values.append(Clause(value, [*each.parameters]))
    # psycopg takes several times as long for an array of texts as for JSON.
    texts = "ARRAY(SELECT json_array_elements_text(%s::json))"
    columns = [json.dumps([row[n] for row in rows], ensure_ascii=False) for n in range(len(names))]
    arrays = Clause(sql.SQL(", ".join([texts] * len(names))), columns)
    listed = Clause(sql.SQL(", ").join(names))
    return compose(
        "SELECT {} FROM unnest({}) AS found ({})", join_with_commas(values), arrays, listed
    )
