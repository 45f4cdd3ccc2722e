"""Composing DuckDB's SQL: names and values are quoted, whatever they hold."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from datastore_search.contrib.files.formats.duckdb_sql import (
    SQL,
    Value,
    quote_identifier,
    quote_literal,
)

_STRANGE = ["a", "it's", '"', "'; DROP TABLE t; --", "{}", "{0}", "\\", "é\n\t", ""]


def fetch_value(query: object) -> Any:
    with duckdb.connect() as connection:
        row = connection.execute(str(query)).fetchone()
    return row[0] if row else None


@pytest.mark.parametrize(
    "value", [*_STRANGE, 0, -5, 2**62, 1.5, True, False, None, {"f0": "VARCHAR", "it's": "BIGINT"}]
)
def test_a_value_is_read_as_it_was_given(value: Value) -> None:
    assert fetch_value(SQL("SELECT {}").format(quote_literal(value))) == value


@pytest.mark.parametrize("name", [name for name in _STRANGE if name])
def test_a_name_is_taken_as_it_was_given(name: str) -> None:
    query = SQL("SELECT {name} FROM (SELECT 1 AS {name}, 2 AS other)").format(
        name=quote_identifier(name)
    )

    assert fetch_value(query) == 1


def test_names_in_a_row_are_a_path() -> None:
    assert str(quote_identifier("stage", 'the "rows"')) == '"stage"."the ""rows"""'


def test_parts_are_joined_and_composed_once_more() -> None:
    names = SQL(", ").join(quote_identifier(name) for name in ("a", "{b}"))
    values = SQL(" || ").join(map(quote_literal, ("{x}", "y")))

    query = SQL("SELECT {values} FROM (SELECT 1 AS a, 2 AS {other}) AS t({names})").format(
        values=values, names=names, other=quote_identifier("c")
    )

    assert fetch_value(query) == "{x}y"


def test_doubled_braces_are_braces() -> None:
    assert fetch_value(SQL("SELECT {{'a': {}}}").format(quote_literal("b"))) == {"a": "b"}


def test_what_is_composed_is_no_template() -> None:
    assert not hasattr(SQL("{}").format(quote_literal("{}")), "format")


def test_several_parts_have_commas_between_them() -> None:
    columns = map(quote_identifier, ("a", "b"))

    query = SQL("SELECT ({}) = (1, 'x') FROM (VALUES ({})) AS t(a, b)").format(columns, [1, "x"])

    assert fetch_value(query) is True
