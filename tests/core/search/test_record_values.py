"""The text of a record's values, of which its search vector is made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from datastore_search.database.statements import fetch_value


def collect_values(data: dict[str, Any]) -> str:
    statement = "SELECT datastore_search_values(%s::jsonb)"
    return str(fetch_value(connection, statement, [json.dumps(data)]))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, ""),
        ({"a": None}, ""),
        ({"a": "x", "b": None, "c": 1.50, "d": True}, "x 1.5 true"),
        ({"a": []}, ""),
        ({"a": {}, "b": [None], "c": "x"}, "x"),
        # An empty text is a text: the blanks on both sides of it stay.
        ({"a": "x", "b": [""], "c": "y"}, "x  y"),
        ({"a": ["", None, 2, {"k": [1, {"z": "q"}], "e": {}}]}, " 2 1 q e k z"),
        ({"a": {"b": None}}, "b"),
        ({"a": [[1, 2], [3, ["x"]]], "b": "y"}, "1 2 3 x y"),
        # A text that is JSON is no JSON, and one with quotes keeps them.
        ({"a": ['{"b": 1}', 'say "x"']}, '{"b": 1} say "x"'),
        ({"g": {"type": "Point", "coordinates": [1.25, -7]}}, "Point 1.25 -7 type coordinates"),
    ],
)
def test_all_scalar_values_are_collected_and_the_keys_after_them(
    db: None, data: dict[str, Any], text: str
) -> None:
    assert collect_values(data) == text


def test_a_geometry_of_many_points_is_collected_whole(db: None) -> None:
    points = [[number, number + 0.5] for number in range(50_000)]

    text = collect_values({"g": {"type": "LineString", "coordinates": points}})

    numbers = " ".join(f"{first} {second}" for first, second in points)
    assert text in {
        f"{numbers} LineString type coordinates",
        f"LineString {numbers} type coordinates",
    }
