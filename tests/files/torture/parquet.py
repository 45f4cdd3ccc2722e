"""Parquet."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case, explain_skipped_rows

CASES = [
    Case(
        "nested.parquet",
        "lists, decimals within lists, structs, maps",
        fields=(
            "words: _text, ints: _int4, longs: _int8, doubles: _float8, truths: _bool, "
            "amounts: json, thing: json, pairs: json"
        ),
        records=[
            [
                ["a", None, 'b"'],
                [1, 2],
                [1],
                [0.5, "NaN"],
                [True],
                [12345678901234567.10],
                {"at": "2024-03-05", "price": 1.10, "tags": ["x"]},
                {"k": 1, "l": None},
            ],
            [None, [], None, None, None, None, None, None],
        ],
    ),
    Case(
        "nanoseconds.parquet",
        "finer than a microsecond is kept, as text",
        fields="fine: text, coarse: timestamp",
        records=[["2024-03-05 14:30:15.123456789", "2024-03-05T14:30:15.500"]],
    ),
    Case(
        "bytes.parquet",
        "bytes that are no text, and texts that are written as bytes",
        fields="picture: text, word: text",
        records=[[r"\xff00", "café"], [r"\x61", "b"]],
        notices=[
            "The field “picture” has bytes that are not text; they are written in hexadecimal."
        ],
    ),
    Case(
        "nul.parquet",
        "the character that PostgreSQL does not have",
        options=LoadOptions(bad_rows="skip"),
        fields="k: text",
        records=[["c"]],
        notices=[explain_skipped_rows(1)],
        row_errors=[
            (
                1,
                "k",
                "a�b",
                "The value cannot be stored: it has the character U+0000, or is not valid JSON.",
            )
        ],
    ),
    Case(
        "int96.parquet",
        "moments from the first day to the last, in a form of old programs",
        fields="t: timestamp",
        records=[
            ["0001-01-01T00:00:00.000"],
            ["1970-01-01T00:00:00.000001"],
            ["9999-12-31T00:00:00.000"],
        ],
    ),
]
