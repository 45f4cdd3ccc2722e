"""Values as large as a row and PostgreSQL allow are stored whole; larger ones are named."""

from __future__ import annotations

import hashlib
import random
from unittest.mock import patch

import pytest
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.publishing import rows
from datastore_search.contrib.files.publishing.rows import render_rows
from datastore_search.contrib.files.types.field_formats import TEXT, Decision
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource

from ..builders import get_ids, get_record_table, make_writer_token, search
from ..core.writing.tables import Table
from .builders import fails_with, list_row_errors, load_new_resource, load_text
from .formats.staging import render_records, stage_columns

_MB = 2**20
_TOO_LONG = "The row is longer than 16 MB."


def make_text(size: int) -> str:
    """Make a text that cannot be compressed to less than half."""
    return random.Random(size).randbytes(-(-size // 2)).hex()[:size]


def read_values(resource: Resource, name: str = "a") -> list[tuple[int, str]]:
    """Read the bytes and the hash of each value of a field, in the order of the records."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT octet_length(data ->> %s), md5(data ->> %s) FROM {get_record_table(resource)}"
            " ORDER BY _id",
            [name, name],
        )
        return [(size, digest) for size, digest in cursor.fetchall()]


def describe(*texts: str) -> list[tuple[int, str]]:
    """Describe texts as ``read_values`` does."""
    contents = [text.encode() for text in texts]
    return [(len(each), hashlib.md5(each).hexdigest()) for each in contents]


# Rows ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_row_of_nearly_sixteen_megabytes_is_loaded(db: None) -> None:
    text = make_text(16 * _MB - len("1,\n") - 1)

    resource = load_new_resource(f"n,a\n1,{text}\n")

    assert read_values(resource) == describe(text)


@pytest.mark.parametrize("more", [0, 1])
def test_a_longer_row_is_named_and_leaves_nothing(db: None, more: int) -> None:
    resource = Resource.objects.create(name="r")
    tables = list_record_tables(connection)

    with fails_with("load.bad_rows"):
        load_text(resource, f"n,a\n1,{'x' * (16 * _MB - len('1,x') + more)}\n2,y\n")

    failed = Load.objects.get(resource=resource)
    assert list_row_errors(failed) == [(2, "", "", _TOO_LONG)]
    assert list_record_tables(connection) == tables


@pytest.mark.parametrize("heavy", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)], ids=str)
def test_long_rows_are_rendered_by_few_and_in_their_order(heavy: tuple[int, ...]) -> None:
    texts = [f"{n}" + "x" * 100 * (n // 2_048 in heavy) for n in range(5_000)]
    decisions = [Decision(TEXT), Decision(TEXT)]
    with (
        patch.object(rows, "_MAX_BYTES_PER_STATEMENT", 20_000),
        stage_columns({"a": texts, "b": [None] * 5_000}) as table,
    ):
        batches = list(render_rows(table, decisions))
        records = render_records(table, decisions)

    assert [record["a"] for record in records] == texts
    assert [line for batch in batches for line, _text in batch] == list(range(2, 5_002))
    assert max(sum(len(text) for _line, text in batch) for batch in batches) < 60_000


def test_a_row_that_is_longer_than_a_statement_has_one_of_its_own() -> None:
    texts = ["x" * size for size in (1, 2_000, 2_000, 1, 1, 2_000)]
    with (
        patch.object(rows, "_MAX_BYTES_PER_STATEMENT", 1_000),
        stage_columns({"a": texts}) as table,
    ):
        batches = [[line for line, _text in b] for b in render_rows(table, [Decision(TEXT)])]

    assert batches == [[2], [3], [4], [5, 6], [7]]


# Values -------------------------------------------------------------------------------------------

#: Each text, and a query that finds it, by the limit of PostgreSQL that it exceeds.
TEXTS = {
    "a vector of 1 MB": (" ".join(f"w{n}" for n in range(150_000)), "w10"),
    "a word of 2,046 bytes": (f"first {make_text(4_000)}", "first"),
    "a word of 2,046 bytes of letters with marks": ("first " + "ế" * 1_500, "first"),
    "16,383 positions": ("first" + " a b" * 24_000, "first b"),
    "16,383 pairs": ("".join(chr(0x4E00 + n % 20_000) for n in range(100_000)), "一丁"),
    "an entry of a B-tree, compressed": (f"first {'x' * _MB}", "first"),
    "an entry of a B-tree": (f"first {make_text(_MB)}", "first"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_beyond_a_limit_of_postgresql_is_loaded_and_found(db: None, name: str) -> None:
    text, q = TEXTS[name]

    resource = load_new_resource(f"n,a\n1,{text}\n2,other\n")

    assert read_values(resource) == describe(text, "other")
    assert get_ids(search(Client(), resource, q=q, fields="_id")) == [1]


def test_such_texts_are_written_and_found(db: None) -> None:
    table = Table(make_writer_token())
    table.run(
        "create",
        fields=[{"id": "n", "type": "int4"}, {"id": "a", "type": "text"}],
        records=[{"n": 0}],
        indexes=["n"],
        primary_key=["n"],
    )

    table.upsert(*({"n": n, "a": text} for n, (text, _q) in enumerate(TEXTS.values())))

    assert read_values(table.resource) == describe(*(text for text, _q in TEXTS.values()))
    for number, (_text, q) in enumerate(TEXTS.values(), start=1):
        assert number in get_ids(table.call("search", q=q, fields="_id"))


@pytest.mark.parametrize(
    ("value", "is_stored"),
    [
        ("9" * 131_072, True),
        ("9" * 131_073, False),
        ("0." + "9" * 16_383, True),
        ("0." + "9" * 16_384, False),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, str) else "",
)
def test_a_number_as_long_as_postgresql_allows_is_written(
    db: None, value: str, is_stored: bool
) -> None:
    table = Table(make_writer_token())
    fields = [{"id": "a", "type": "numeric"}]
    table.run("create", fields=fields)

    if is_stored:
        table.insert({"a": value})
        assert read_values(table.resource) == describe(value)
    else:
        error = table.get_refusal("upsert", method="insert", records=[{"a": value}])
        assert error["records"][0].startswith("Record 1: field “a” has type numeric and cannot")
        assert table.count_records() == (0, 0)


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("numeric", "9" * 15_999, ""),
        ("numeric", "9" * 100_000, ""),
        ("numeric", "9" * 140_000, "load.bad_rows"),
        ("json", "[" * 1_000 + "]" * 1_000, ""),
        ("json", "[" * 200_000 + "]" * 200_000, "load.unstorable_record"),
    ],
    ids=["digits", "many digits", "too many digits", "deep", "too deep"],
)
def test_a_value_of_a_file_is_as_large_as_postgresql_allows(
    db: None, kind: str, value: str, code: str
) -> None:
    resource = Resource.objects.create(name="r")
    tables = list_record_tables(connection)

    if not code:
        load_text(resource, f"a\n{value}\n", types={"a": kind})
        assert read_values(resource) == describe(value)
    else:
        with fails_with(code):
            load_text(resource, f"a\n{value}\n", types={"a": kind})
        assert list_record_tables(connection) == tables
        bad_lines = [line for line, *_rest in list_row_errors(Load.objects.get())]
        assert bad_lines == ([2] if kind == "numeric" else [])
