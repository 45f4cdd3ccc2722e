"""A resource with a field of each type, and a PostgreSQL table with the same values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import Client

from datastore_search.models import Resource

from .builders import ask, make_writer_token

#: The values of each type: as they are sent, and in PostgreSQL's syntax.
CELLS: Mapping[str, list[tuple[Any, str]]] = {
    "text": [
        (text, text)
        for text in (
            "", " ", "abc", "ABC", "7", "7.5", "7.0", "1000.0", "True", "None", "Hà Nội", "hà nội",
            "100%", "1000", "a_b", "acb", "it's", 'say "x"', "back\\slash", "2024-02-29", "[7]",
        )
    ],
    "int2": [(n, str(n)) for n in (7, 0, -1, 1000, 32767, -32768)],
    "int4": [(n, str(n)) for n in (7, 0, -1, 1000, 2**31 - 1, -(2**31))],
    "int8": [(n, str(n)) for n in (7, 0, -1, 1000, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))],
    "numeric": [
        (text, text)
        for text in (
            "7", "7.5", "7.50", "0", "-1", "1000", "0.1", "1e400", "NaN", "Infinity", "-Infinity",
            "123456789012345678901234567890.123456789012345678901234567890",
        )
    ],
    "float8": [
        (text, text)
        for text in ("7", "7.5", "0", "-1", "1000", "0.1", "1e21", "1e-7", "NaN", "Infinity")
    ],
    "bool": [(True, "true"), (False, "false")],
    "date": [
        (text, text)
        for text in ("2024-02-29", "2024-03-01", "1987-02-11", "0001-01-01", "9999-12-31")
    ],
    "timestamp": [
        (text, text)
        for text in (
            "2024-02-29T00:00:00", "2024-02-29T12:34:56", "2024-02-29T12:34:56.789",
            "2024-02-29T12:34:56.789123", "1987-02-11T23:59:59.9", "infinity", "-infinity",
        )
    ],
    "timestamptz": [
        (text, text)
        for text in (
            "2024-02-29T00:00:00Z", "2024-02-29T12:34:56Z", "2024-02-29T12:34:56+05:30",
            "2024-02-29T12:34:56.789123-08:00", "infinity",
        )
    ],
    "time": [
        (text, text)
        for text in ("00:00:00", "12:34:56", "12:34:56.5", "12:34:56.500001", "24:00:00")
    ],
    "inet": [
        (text, text)
        for text in (
            "10.0.0.1", "9.255.0.1", "10.0.0.0/8", "2001:db8::1", "::ffff:10.0.0.1", "192.168.7.7",
        )
    ],
    "json": [
        (value, json.dumps(value))
        for value in (
            7, 7.5, 1000, "7", "abc", "", True, False, [], [7], [7, 8], [8, 7], [[7]], [None], {},
            {"k": 1}, {"k": 1, "l": 2}, {"l": {"k": 1}}, "None",
        )
    ],
    "_text": [
        ([], "{}"), (["abc"], "{abc}"), (["7"], "{7}"), (["x", "y"], "{x,y}"), (["y"], "{y}"),
        ([None], "{NULL}"), (["x", None], "{x,NULL}"), ([""], '{""}'), (["x,y"], '{"x,y"}'),
    ],
    "_int4": [
        ([], "{}"), ([7], "{7}"), ([7, 8], "{7,8}"), ([8, 7], "{8,7}"), ([None], "{NULL}"),
        ([-1], "{-1}"), ([2**31 - 1], "{2147483647}"), ([1000, None], "{1000,NULL}"),
    ],
    "_int8": [
        ([], "{}"), ([7], "{7}"), ([7, 8], "{7,8}"), ([2**53 + 1], "{9007199254740993}"),
        ([10], "{10}"), ([None, 7], "{NULL,7}"),
    ],
    "_float8": [
        ([], "{}"), ([7], "{7}"), ([7.5], "{7.5}"), ([7, 8], "{7,8}"), ([10], "{10}"),
        (["NaN", "Infinity"], "{NaN,Infinity}"), ([None], "{NULL}"),
    ],
    "_bool": [
        ([], "{}"), ([True], "{t}"), ([False], "{f}"), ([True, False], "{t,f}"), ([None], "{NULL}"),
    ],
}  # fmt: skip

ROWS = max(map(len, CELLS.values())) + 1  # in every field the last record is empty
IDS = list(range(1, ROWS + 1))


def get_column_name(kind: str) -> str:
    """Return the name of the column of a type in the table ``typed``."""
    return f"c{list(CELLS).index(kind)}"


@contextmanager
def open_cursor_year_first() -> Iterator[CursorWrapper]:
    """Open a cursor in a transaction that reads dates year first."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL timezone = 'UTC'")
        yield cursor


def make_resource_of_every_type() -> Resource:
    """Make the resource by the API, and the table ``typed`` (id, c0, c1, …) beside it."""
    rows = [
        {kind: cells[row] if row < len(cells) else (None, None) for kind, cells in CELLS.items()}
        for row in range(ROWS)
    ]
    resource = Resource.objects.create(name="typed")
    token = make_writer_token("typist")
    created = ask(
        Client(),
        {
            "resource_id": str(resource.pk),
            "fields": [{"id": kind, "type": kind} for kind in CELLS],
            "records": [{kind: sent for kind, (sent, _) in row.items()} for row in rows],
        },
        path="/en/api/action/datastore_create",
        Authorization=token,
    )
    assert created.status_code == 200, created.content
    make_table("typed", [[text for _, text in row.values()] for row in rows])
    return Resource.objects.described(resource.pk)


def make_table(name: str, rows: list[list[str | None]]) -> None:
    """Make a temporary table with a column of each type (id, c0, c1, …), of texts."""
    types = {kind: "jsonb" if kind == "json" else kind for kind in CELLS}
    columns = ", ".join(f"{get_column_name(kind)} {type_name}" for kind, type_name in types.items())
    marks = ", ".join(f"%s::text::{type_name}" for type_name in types.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SET timezone = 'UTC'; CREATE TEMP TABLE {name} (id int, {columns})")
        for number, texts in enumerate(rows, 1):
            cursor.execute(f"INSERT INTO {name} VALUES (%s, {marks})", [number, *texts])
