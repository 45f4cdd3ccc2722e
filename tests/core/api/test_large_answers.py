"""Answers too large for memory: the same bytes as small ones, block by block."""

from __future__ import annotations

import csv
import gc
import io
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client
from django.utils import timezone
from psycopg import sql

from datastore_search.guards.shares import StreamSlot
from datastore_search.models import Resource
from datastore_search.search import records as spooling
from datastore_search.search.records import MAX_MEMORY_BYTES, Spool

from ...builders import act, ask, check_error, make_resource, make_token, make_user

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
        an_hour_ago = timezone.now() - timedelta(hours=1)  # gives all answers a Last-Modified
        Resource.objects.filter(pk=resource.pk).update(modified_at=an_hour_ago)
        yield resource
        resource.delete()


def search(client: Client, resource: Resource, **parameters: Any) -> Any:
    return client.get(PATH, {"resource_id": str(resource.pk), "limit": 32_000, **parameters})


def close(response: Any) -> None:
    """Close the resources of a response like a server, but not the connection of the test."""
    for closer in response._resource_closers:
        closer()


def extract_records_text(body: bytes) -> str:
    """Return the text of the last member of a result as sent; line ends are only layout."""
    _before, mark, records = body.decode().rpartition('"records": ')
    assert mark
    return records[:-2].replace("\n", "")


@pytest.mark.parametrize(
    ("records_format", "more"),
    [
        ("objects", {}),
        ("objects", {"q": "đường", "sort": "_id"}),
        ("lists", {"sort": "exact desc"}),
        ("csv", {}),
        ("tsv", {"filters": '{"n": [1, 2, 3]}'}),
    ],
)
def test_a_large_answer_equals_its_pages(
    client: Client, db: None, large: Resource, records_format: str, more: dict[str, str]
) -> None:
    parameters = {"records_format": records_format, **more}
    response = search(client, large, **parameters)
    body = response.getvalue()
    whole = json.loads(body)["result"]
    pages = [
        json.loads(page.content)["result"]["records"] if records_format in {"csv", "tsv"}
        else extract_records_text(page.content)[1:-1]
        for offset in range(0, ROWS, 700)
        if (page := search(client, large, limit=700, offset=offset, **parameters))
    ]  # fmt: skip

    assert response.streaming is ("filters" not in more and "q" not in more)
    assert response.status_code == 200
    assert whole["limit"] == 32_000
    if records_format in {"csv", "tsv"}:
        assert whole["records"] == "".join(pages)
    else:
        assert extract_records_text(body) == f"[{','.join(filter(None, pages))}]"
        assert len(whole["records"]) == whole["total"]


@pytest.mark.parametrize("records_format", ["objects", "csv"])
def test_head_has_the_length_of_a_large_answer_and_no_body(
    db: None, large: Resource, records_format: str
) -> None:
    parameters = {"resource_id": str(large.pk), "limit": "32000", "records_format": records_format}
    by_get = Client().get(PATH, parameters)
    size = len(by_get.getvalue())

    by_head = Client().head(PATH, parameters)

    assert size > MAX_MEMORY_BYTES
    assert by_get["Content-Length"] == by_head["Content-Length"] == str(size)
    for response in (by_head, by_get):
        del response["X-Request-ID"]
        response.headers.pop("Last-Modified", None)  # not in the second of the change
    assert by_head.headers == by_get.headers
    assert by_head.getvalue() == b""


def test_an_asgi_server_gets_the_same_blocks(db: None, large: Resource) -> None:
    parameters = {"resource_id": str(large.pk), "limit": "32000"}

    async def ask() -> tuple[list[bytes], str]:
        response: Any = await AsyncClient().get(PATH, parameters)
        return [block async for block in response], response["Content-Length"]

    blocks, length = async_to_sync(ask)()

    assert b"".join(blocks) == search(Client(), large).getvalue()
    assert len(b"".join(blocks)) == int(length)
    assert len(blocks) > 10


# Few records of many bytes ------------------------------------------------------------------------

WIDE = 200


@pytest.fixture(scope="module")
def wide(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    """200 records of 50 kB each: a page of 100 has more than 4 MB."""
    text = " ".join(f"word{number % 90}" for number in range(7_000))
    rows = "".join(f'{n},group {n % 2},"{n} {text}"\n' for n in range(WIDE))
    with django_db_blocker.unblock():
        resource = make_resource(f"n,kind,text\n{rows}", name="wide")
        yield resource
        resource.delete()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sort": "text desc", "records_format": "lists"},
        {"q": "word7"},
        {"distinct": "true", "fields": "kind,text"},
    ],
    ids=json.dumps,
)
def test_an_answer_of_few_large_records_equals_its_pages(
    client: Client, db: None, wide: Resource, more: dict[str, str]
) -> None:
    response = search(client, wide, limit=100, **more)
    body = response.getvalue()
    pages = [
        extract_records_text(search(client, wide, limit=20, offset=offset, **more).content)[1:-1]
        for offset in range(0, 100, 20)
    ]

    assert response.streaming
    assert response["Content-Length"] == str(len(body))
    assert extract_records_text(body) == f"[{','.join(pages)}]"
    assert len(json.loads(body)["result"]["records"]) == 100


def test_memory_does_not_grow_with_the_bytes_of_a_record(
    client: Client, db: None, wide: Resource
) -> None:
    search(client, wide, limit=1)
    tracemalloc.start()

    response = search(client, wide, limit=1_000)
    size = sum(len(block) for block in response.streaming_content)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    close(response)

    assert size > 9_000_000
    assert peak < 3 * MAX_MEMORY_BYTES


def test_many_records_that_are_deleted_come_back_block_by_block(client: Client, db: None) -> None:
    text = "x" * 50_000
    resource = make_resource("n,text\n" + "".join(f"{n},{text}\n" for n in range(100)))
    token = make_token(make_user(is_superuser=True))

    response = act(
        client,
        "datastore_records_delete",
        {
            "resource_id": str(resource.pk),
            "filters": {},
            "include_deleted_records": True,
            "force": True,
        },
        token,
    )

    deleted = json.loads(response.getvalue())["result"]["deleted_records"]
    assert response.streaming
    assert [record["n"] for record in deleted] == [*range(100)]


# How large, and how many --------------------------------------------------------------------------


@pytest.fixture
def tables(db: None, large: Resource, wide: Resource) -> dict[str, Resource]:
    """Many small records, and few large ones; garbage of other tests is collected."""
    gc.collect()
    return {"large": large, "wide": wide}


@pytest.mark.parametrize(
    ("name", "more"),
    [("large", {}), ("large", {"records_format": "csv"}), ("wide", {"limit": 200, "q": "word7"})],
)
def test_an_answer_that_is_too_large_is_refused(
    tables: dict[str, Resource],
    monkeypatch: pytest.MonkeyPatch,
    files: list[Any],
    name: str,
    more: dict[str, Any],
) -> None:
    client = Client()
    parameters = {"resource_id": str(tables[name].pk), "limit": 32_000, **more}
    size = len(ask(client, parameters).getvalue())
    monkeypatch.setattr(spooling, "MAX_SPOOL_BYTES", MAX_MEMORY_BYTES + 1_000)

    error = check_error(ask(client, parameters), 409)

    assert size > MAX_MEMORY_BYTES + 1_000
    assert error == {
        "limit": [
            (
                "The answer would have more than 4195304 bytes. Ask for fewer records or fields, or"
                " for the dump."
            )
        ]
    }
    assert all(file.closed for file in files)


def test_without_room_for_the_file_an_answer_is_not_available(
    client: Client, db: None, large: Resource, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    response = search(client, large)

    check_error(response, 503)
    assert response["Retry-After"] == "60"
    assert search(client, large, limit=10).status_code == 200


def read_all(response: Any) -> None:
    response.getvalue()


def read_some(response: Any) -> None:
    next(iter(response.streaming_content))
    close(response)


@pytest.mark.parametrize("parameters", [{"records_format": "csv"}, {"limit": 100}])
def test_large_answers_sent_at_once_are_limited(
    client: Client, tables: dict[str, Resource], settings: Any, parameters: dict[str, Any]
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 4
    resource = tables["wide" if "limit" in parameters else "large"]
    answers = [search(client, resource, **parameters) for _answer in range(2)]

    refused = search(client, resource, **parameters)

    assert check_error(refused, 429) == {
        "message": (
            "Other large answers are already being sent to you. Send the next request after "
            "one of them has arrived."
        )
    }
    assert refused["Retry-After"] == "5"
    assert search(client, resource, limit=10).status_code == 200  # a small answer needs no slot
    close(answers[0])
    answers.append(search(client, resource, **parameters))
    assert answers[-1].status_code == 200
    for response in answers:
        close(response)


@pytest.mark.parametrize("end", [read_all, read_some, close])
@pytest.mark.parametrize("name", ["large", "wide"])
def test_a_slot_is_released_however_an_answer_ends(
    client: Client, tables: dict[str, Resource], settings: Any, name: str, end: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    resource = tables[name]

    for _answer in range(3):
        response = search(client, resource)
        assert response.status_code == 200
        end(response)


def test_head_and_refused_answers_hold_no_slot(
    client: Client, tables: dict[str, Resource], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    monkeypatch.setattr(spooling, "MAX_SPOOL_BYTES", MAX_MEMORY_BYTES + 1_000)
    for _answer in range(3):
        check_error(search(client, tables["large"]), 409)
    monkeypatch.setattr(spooling, "MAX_SPOOL_BYTES", 2**30)

    parameters = {"resource_id": str(tables["large"].pk), "limit": 32_000}
    assert client.head(PATH, parameters).status_code == 200

    StreamSlot().release()


# What is left behind ------------------------------------------------------------------------------


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every file that is made for a large answer."""
    opened_files: list[Any] = []

    def open_file(**options: Any) -> Any:
        opened_files.append(SpooledTemporaryFile(**options))  # noqa: SIM115 - that it is closed is tested
        return opened_files[-1]

    monkeypatch.setattr(spooling, "SpooledTemporaryFile", open_file)
    return opened_files


@pytest.mark.parametrize(
    "more", [{"filters": '{"n": 1}'}, {"fields": "n"}, {"fields": "n", "records_format": "csv"}]
)
def test_an_answer_that_turns_out_small_is_sent_at_once_and_leaves_no_file(
    client: Client, db: None, large: Resource, files: list[Any], more: dict[str, str]
) -> None:
    response = search(client, large, **more)

    assert not response.streaming
    assert response["Content-Length"] == str(len(response.content))
    assert files
    assert all(file.closed for file in files)


def test_rows_that_cannot_be_read_to_their_end_leave_no_file(files: list[Any]) -> None:
    def read_rows() -> Iterator[bytes]:
        yield b",1"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Spool.from_list_lines(read_rows())

    assert [file.closed for file in files] == [True]


@pytest.mark.parametrize("records_format", ["objects", "csv"])
def test_memory_does_not_grow_with_the_answer(
    client: Client, db: None, records_format: str
) -> None:
    resource = make_resource("n,text\n0,x\n", types={"n": "int4", "text": "text"}, indexes=[])
    table = sql.Identifier(f"datastore_search_record_{resource.table_version_id}")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER TABLE {} ALTER search DROP EXPRESSION").format(table))
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (data, search) SELECT jsonb_build_object('n', n, 'text',"
                " repeat(md5(n::text), 20)), '' FROM generate_series(1, 31999) AS n"
            ).format(table)
        )
    tracemalloc.start()

    response = search(client, resource, records_format=records_format)
    size = sum(len(block) for block in response.streaming_content)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size > 20_000_000
    assert peak < 3 * MAX_MEMORY_BYTES
