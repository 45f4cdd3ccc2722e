"""Answers too large for memory: the same bytes as small ones, block by block."""

from __future__ import annotations

import csv
import gc
import io
import json
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

from datastore_search import spooling
from datastore_search.models import Load, Resource
from datastore_search.spooling import MAX_MEMORY_BYTES, Spool
from datastore_search.stream_slots import StreamSlot

from ..builders import act, ask, check_error, make_resource, make_token, make_user

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
        an_hour_ago = timezone.now() - timedelta(hours=1)  # so all answers have a Last-Modified
        Resource.objects.filter(pk=resource.pk).update(modified_at=an_hour_ago)
        yield resource
        resource.delete()


def answer_of(client: Client, resource: Resource, **parameters: Any) -> Any:
    return client.get(PATH, {"resource_id": str(resource.pk), "limit": 32_000, **parameters})


def close(response: Any) -> None:
    """Let go of what a response is made of, as a server does; the test's connection stays."""
    for closer in response._resource_closers:
        closer()


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

    assert size > MAX_MEMORY_BYTES
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
        {"sort": "text desc"},
        {"q": "word7"},
        {"q": "word7", "include_total": "false"},
        {"filters": '{"kind": "group 1"}'},
        {"distinct": "true", "fields": "kind,text"},
        {"records_format": "lists"},
    ],
    ids=json.dumps,
)
def test_few_records_of_many_bytes_are_what_their_pages_are(
    client: Client, db: None, wide: Resource, more: dict[str, str]
) -> None:
    response = answer_of(client, wide, limit=100, **more)
    body = response.getvalue()
    pages = [
        records_text(answer_of(client, wide, limit=20, offset=offset, **more).content)[1:-1]
        for offset in range(0, 100, 20)
    ]

    assert response.streaming
    assert response["Content-Length"] == str(len(body))
    assert records_text(body) == f"[{','.join(pages)}]"
    assert len(json.loads(body)["result"]["records"]) == 100


def test_memory_does_not_grow_with_the_bytes_of_a_record(
    client: Client, db: None, wide: Resource
) -> None:
    answer_of(client, wide, limit=1)
    tracemalloc.start()

    response = answer_of(client, wide, limit=1_000)
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
    """Many small records, and few large ones; what other tests have thrown away is gone."""
    gc.collect()
    return {"large": large, "wide": wide}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("large", {}),
        ("large", {"records_format": "csv"}),
        ("wide", {"limit": 200}),
        ("wide", {"limit": 200, "q": "word7"}),
    ],
)
def test_an_answer_may_be_so_large_and_no_larger(
    tables: dict[str, Resource], settings: Any, files: list[Any], name: str, more: dict[str, Any]
) -> None:
    client = Client()
    asked = {"resource_id": str(tables[name].pk), "limit": 32_000, **more}
    size = len(ask(client, asked).getvalue())
    settings.DATASTORE_SEARCH_MAX_SPOOL_BYTES = MAX_MEMORY_BYTES + 1_000

    error = check_error(ask(client, asked), 409, "Validation Error")

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


def test_a_file_lies_in_the_folder_for_it(
    tables: dict[str, Resource], settings: Any, folders: list[Any], tmp_path: Any
) -> None:
    settings.DATASTORE_SEARCH_SPOOL_FOLDER = tmp_path

    close(answer_of(Client(), tables["large"]))

    assert folders == [str(tmp_path)]


def test_without_room_for_the_file_an_answer_is_not_available(
    client: Client, db: None, large: Resource, settings: Any, tmp_path: Any
) -> None:
    settings.DATASTORE_SEARCH_SPOOL_FOLDER = tmp_path / "gone"

    response = answer_of(client, large)

    check_error(response, 503, "Service Unavailable")
    assert response["Retry-After"] == "60"
    assert answer_of(client, large, limit=10).status_code == 200


def read_all(response: Any) -> None:
    response.getvalue()


def read_some(response: Any) -> None:
    next(iter(response.streaming_content))
    close(response)


@pytest.mark.parametrize("asked", [{}, {"records_format": "csv"}, {"limit": 100}])
def test_so_many_large_answers_are_sent_at_once(
    client: Client, tables: dict[str, Resource], settings: Any, asked: dict[str, Any]
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 2
    resource = tables["wide" if "limit" in asked else "large"]
    sent = [answer_of(client, resource, **asked) for _answer in range(2)]

    refused = answer_of(client, resource, **asked)

    assert check_error(refused, 503, "Service Unavailable") == {
        "message": (
            "Too many large answers are being sent at the moment. Try again, or ask for fewer"
            " records."
        )
    }
    assert refused["Retry-After"] == "5"
    assert answer_of(client, resource, limit=10).status_code == 200  # a small one finds room
    close(sent[0])
    sent.append(answer_of(client, resource, **asked))
    assert sent[-1].status_code == 200
    for response in sent:
        close(response)


@pytest.mark.parametrize("end", [read_all, read_some, close])
@pytest.mark.parametrize("name", ["large", "wide"])
def test_a_slot_is_free_again_however_an_answer_ends(
    client: Client, tables: dict[str, Resource], settings: Any, name: str, end: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    resource = tables[name]

    for _answer in range(3):
        response = answer_of(client, resource)
        assert response.status_code == 200
        end(response)


def test_an_answer_that_nobody_closes_gives_its_slot_back(
    client: Client, tables: dict[str, Resource], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1

    for _answer in range(3):
        response = answer_of(client, tables["large"])
        assert response.status_code == 200
        response._resource_closers.clear()  # as by a server that does not close
        del response
        gc.collect()


def test_head_and_refused_answers_keep_no_slot(
    client: Client, tables: dict[str, Resource], settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    settings.DATASTORE_SEARCH_MAX_SPOOL_BYTES = MAX_MEMORY_BYTES + 1_000
    for _answer in range(3):
        check_error(answer_of(client, tables["large"]), 409, "Validation Error")
    settings.DATASTORE_SEARCH_MAX_SPOOL_BYTES = 2**30

    asked = {"resource_id": str(tables["large"].pk), "limit": 32_000}
    assert client.head(PATH, asked).status_code == 200

    StreamSlot().release()


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


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The folder of every file that is made for a large answer."""
    found: list[Any] = []

    def make(**options: Any) -> Any:
        found.append(options["dir"])
        return SpooledTemporaryFile(**options)

    monkeypatch.setattr(spooling, "SpooledTemporaryFile", make)
    return found


@pytest.mark.parametrize("blocks_read", [0, 1, 3])
def test_a_client_that_goes_away_leaves_no_file(
    client: Client, db: None, large: Resource, files: list[Any], blocks_read: int
) -> None:
    response = answer_of(client, large)
    blocks = iter(response.streaming_content)
    for _block in range(blocks_read):
        next(blocks)
    assert [file.closed for file in files] == [False]

    close(response)

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
        Spool.from_list_lines(rows())

    assert [file.closed for file in files] == [True]


@pytest.mark.parametrize(
    ("rows", "text"), [([], "[]"), ([b",1\n"], "[1\n]"), ([b",1\n", b",2\n"], "[1\n,2\n]")]
)
def test_a_spool_of_few_rows_is_a_list(rows: list[bytes], text: str) -> None:
    spool = Spool.from_list_lines(rows)

    assert b"".join(spool).decode() == text
    assert spool.size_bytes == len(text)
    spool.close()


@pytest.mark.parametrize("records_format", ["objects", "csv"])
def test_memory_does_not_grow_with_the_answer(
    client: Client, db: None, records_format: str
) -> None:
    resource = make_resource("n,text\n0,x\n", types={"n": "int4", "text": "text"})
    table = sql.Identifier(f"datastore_search_record_{resource.table_version_id}")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER TABLE {} ALTER search DROP EXPRESSION").format(table))
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (data, search) SELECT jsonb_build_object('n', n, 'text',"
                " repeat(md5(n::text), 20)), '' FROM generate_series(1, 31999) AS n"
            ).format(table)
        )
    Load.objects.update(record_count=32_000)
    tracemalloc.start()

    response = answer_of(client, resource, records_format=records_format)
    size = sum(len(block) for block in response.streaming_content)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size > 20_000_000
    assert peak < 3 * MAX_MEMORY_BYTES
