"""Answers too large for memory: the same bytes as small ones, block by block."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client
from psycopg import sql

from datastore_search.models import Load, Resource
from datastore_search.search import spooling
from datastore_search.search.spooling import MEMORY_BYTES, Spool

from ..builders import make_resource

ROWS = 4_000
PATH = "/en/api/3/action/datastore_search"
NAMES = ["n", 'it\'s 100% "so" %s', "empty", "exact"]
TEXTS = [
    "x" * 500,
    "quotes \" and ' and \\ and %s",
    "lines\nand\r\nothers\u2028",
    "tab\tand,comma;and \x01\x02\x03\x1f",
    "đường 𝄞 e\u0301 \\.",
    "",
    "null",
]


@pytest.fixture(scope="module")
def large(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    """4,000 records with unusual letters in names and values, of more than 4 MB."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(NAMES)
    for number in range(ROWS):
        text = TEXTS[number % len(TEXTS)]
        writer.writerow([number, f"{text} {number}" * 15, "", f"{number}.{'0' * 20}1"])
    with django_db_blocker.unblock():
        resource = make_resource(file.getvalue(), name="large")
        yield resource
        resource.delete()


def answer_of(client: Client, resource: Resource, **parameters: Any) -> Any:
    return client.get(PATH, {"resource_id": str(resource.pk), "limit": 32_000, **parameters})


def records_text(body: bytes) -> str:
    """Give the text of the last member of a result as it was sent; a line's end is only layout."""
    _before, mark, records = body.decode().rpartition('"records": ')
    assert mark
    return records[:-2].replace("\n", "")


ASKED = pytest.mark.parametrize(
    "more",
    [{}, {"sort": "exact desc"}, {"q": "đường", "sort": "_id"}, {"filters": '{"n": [1, 2, 3]}'}],
    ids=json.dumps,
)


@ASKED
@pytest.mark.parametrize("records_format", ["objects", "lists", "csv", "tsv"])
def test_a_large_answer_is_what_its_pages_are(
    client: Client, db: None, large: Resource, records_format: str, more: dict[str, str]
) -> None:
    asked = {"records_format": records_format, **more}
    response = answer_of(client, large, **asked)
    body = response.getvalue()
    whole = json.loads(body)["result"]
    pages = [
        json.loads(page.content)["result"]["records"] if records_format in {"csv", "tsv"}
        else records_text(page.content)[1:-1]
        for offset in range(0, ROWS, 700)
        if (page := answer_of(client, large, limit=700, offset=offset, **asked))
    ]  # fmt: skip

    assert response.streaming is ("filters" not in more and "q" not in more)
    assert response.status_code == 200
    assert whole["limit"] == 32_000
    if records_format in {"csv", "tsv"}:
        assert whole["records"] == "".join(pages)
    else:
        assert records_text(body) == f"[{','.join(filter(None, pages))}]"
        assert len(whole["records"]) == whole["total"]


@pytest.mark.parametrize("records_format", ["objects", "csv"])
def test_head_tells_the_length_of_a_large_answer_and_sends_nothing(
    db: None, large: Resource, records_format: str
) -> None:
    asked = {"resource_id": str(large.pk), "limit": "32000", "records_format": records_format}
    by_get = Client().get(PATH, asked)
    size = len(by_get.getvalue())

    by_head = Client().head(PATH, asked)

    assert size > MEMORY_BYTES
    assert by_get["Content-Length"] == by_head["Content-Length"] == str(size)
    assert by_head.headers == by_get.headers
    assert by_head.getvalue() == b""


def test_an_asgi_server_gets_the_same_blocks(db: None, large: Resource) -> None:
    asked = {"resource_id": str(large.pk), "limit": "32000"}

    async def ask() -> tuple[list[bytes], str]:
        response: Any = await AsyncClient().get(PATH, asked)
        return [block async for block in response], response["Content-Length"]

    blocks, length = async_to_sync(ask)()

    assert b"".join(blocks) == answer_of(Client(), large).getvalue()
    assert len(b"".join(blocks)) == int(length)
    assert len(blocks) > 10


# What is left behind ------------------------------------------------------------------------------


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every file that is made for a large answer."""
    made: list[Any] = []

    def make(**options: Any) -> Any:
        made.append(SpooledTemporaryFile(**options))  # noqa: SIM115 - that it is closed is tested
        return made[-1]

    monkeypatch.setattr(spooling, "SpooledTemporaryFile", make)
    return made


@pytest.mark.parametrize("blocks_read", [0, 1, 3])
def test_a_client_that_goes_away_leaves_no_file(
    client: Client, db: None, large: Resource, files: list[Any], blocks_read: int
) -> None:
    response = answer_of(client, large)
    blocks = iter(response.streaming_content)
    for _block in range(blocks_read):
        next(blocks)
    assert [file.closed for file in files] == [False]

    for closer in response._resource_closers:
        closer()

    assert [file.closed for file in files] == [True]


@pytest.mark.parametrize(
    "more", [{"filters": '{"n": 1}'}, {"fields": "n"}, {"fields": "n", "records_format": "csv"}]
)
def test_an_answer_that_turns_out_small_is_sent_at_once_and_leaves_no_file(
    client: Client, db: None, large: Resource, files: list[Any], more: dict[str, str]
) -> None:
    response = answer_of(client, large, **more)

    assert not response.streaming
    assert response["Content-Length"] == str(len(response.content))
    assert files
    assert all(file.closed for file in files)


def test_head_leaves_no_file(client: Client, db: None, large: Resource, files: list[Any]) -> None:
    client.head(PATH, {"resource_id": str(large.pk), "limit": 32_000})

    assert [file.closed for file in files] == [True]


def test_rows_that_cannot_be_read_to_their_end_leave_no_file(files: list[Any]) -> None:
    def rows() -> Iterator[bytes]:
        yield b",1"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Spool.of_list(rows())

    assert [file.closed for file in files] == [True]


@pytest.mark.parametrize(
    ("rows", "text"), [([], "[]"), ([b",1\n"], "[1\n]"), ([b",1\n", b",2\n"], "[1\n,2\n]")]
)
def test_a_spool_of_few_rows_is_a_list(rows: list[bytes], text: str) -> None:
    spool = Spool.of_list(rows)

    assert b"".join(spool).decode() == text
    assert spool.size == len(text)
    spool.close()


@pytest.mark.parametrize("records_format", ["objects", "csv"])
def test_memory_does_not_grow_with_the_answer(
    client: Client, db: None, records_format: str
) -> None:
    resource = make_resource("n,text\n0,x\n", types={"n": "int4", "text": "text"})
    table = sql.Identifier(f"datastore_search_record_{resource.current_load_id}")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER TABLE {} ALTER search DROP EXPRESSION").format(table))
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (data, search) SELECT jsonb_build_object('n', n, 'text',"
                " repeat(md5(n::text), 20)), '' FROM generate_series(1, 31999) AS n"
            ).format(table)
        )
    Load.objects.update(rows=32_000)
    tracemalloc.start()

    response = answer_of(client, resource, records_format=records_format)
    size = sum(len(block) for block in response.streaming_content)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size > 20_000_000
    assert peak < MEMORY_BYTES + 4 * 2**20
