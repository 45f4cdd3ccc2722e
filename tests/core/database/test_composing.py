"""Pieces of SQL are put together with their parameters in the order of their places."""

from __future__ import annotations

import pytest
from psycopg import sql

from datastore_search.database.statements import Clause, compose

A, B, C = (Clause(sql.SQL(f"{name} = %s"), [name]) for name in "abc")


@pytest.mark.parametrize(
    ("composed", "parameters"),
    [
        (compose("{} {}", A, B), ["a", "b"]),
        (compose("{0} {1} {0}", A, B), ["a", "b", "a"]),
        (compose("{y} {x} {y}", x=A, y=B), ["b", "a", "b"]),
        (compose("{} {x} {} {x}", A, B, x=C), ["a", "c", "b", "c"]),
        (compose("{{}} {x}", x=A), ["a"]),
    ],
)
def test_parameters_are_in_the_order_of_the_places(composed: Clause, parameters: list[str]) -> None:
    assert composed.parameters == parameters
    named = [word for word in composed.text.as_string().split() if word in set("abc")]
    assert named == parameters
