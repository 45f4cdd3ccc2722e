"""Stored downloads: made once for a version, sent with ranges, deleted with what they show."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any
from unittest.mock import Mock, create_autospec

import pyarrow.parquet as pq
import pytest
from asgiref.sync import async_to_sync
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from django.db import connections
from django.http import HttpRequest
from django.middleware.gzip import GZipMiddleware
from django.test import AsyncClient, Client
from django.utils import timezone

from datastore_search.contrib.files.downloads import stored
from datastore_search.contrib.files.models import StoredDownload
from datastore_search.downloads import stored as downloads_stored, views
from datastore_search.downloads.stored import parse_range
from datastore_search.guards import folders
from datastore_search.models import Resource
from datastore_search.search import RecordCopy
from datastore_search.web import caching
from datastore_search.writing import Method, open_writer

from ...builders import make_resource, make_token, make_user
from ...core.downloads.files import build_address, read_file, request_file

ROWS = "code,name\n" + "".join(f"{n},Name of {n}\n" for n in range(2_000))
FORMATS = ("csv", "parquet")

each_format = pytest.mark.parametrize("name", FORMATS)


@pytest.fixture(autouse=True)
def storing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Store downloads, and treat every change as old."""
    settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = 2**24
    monkeypatch.setattr(caching, "_MIN_AGE", timedelta(days=-1))
    stored._failed.clear()
    yield
    while _responses:
        _responses.pop().close()


_responses: list[Any] = []


@pytest.fixture
def table(transactional_db: None) -> Resource:
    return make_resource(ROWS)


def fetch(client: Client, resource: Resource, name: str = "csv", **headers: str) -> Any:
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    response = client.get(build_address(resource), {"format": name}, headers=given)
    _responses.append(response)
    return response


def list_files(uploads: Path) -> list[Path]:
    return sorted((uploads / "datastore_search" / "downloads").glob("*"))


def write(resource: Resource, code: int = 9_999) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": code, "name": "new"}], Method.INSERT)


def is_stream(response: Any) -> bool:
    """Read an answer, and return whether its records were read for it."""
    read_file(response)
    return "Accept-Ranges" not in response


# What is sent -------------------------------------------------------------------------------------


@each_format
def test_a_whole_resource_is_made_once_and_sent_with_its_length(
    client: Client, table: Resource, uploads: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    streamed = read_file(request_file(client, table, name, limit=10_000))
    copy = create_autospec(RecordCopy.open_csv, side_effect=RecordCopy.open_csv)
    monkeypatch.setattr(RecordCopy, "open_csv", copy)

    first, second = fetch(client, table, name), fetch(client, table, name)

    assert read_file(first) == read_file(second) == streamed
    assert copy.call_count == 1
    (file,) = list_files(uploads)
    assert file.read_bytes() == streamed
    assert file.suffix == f".{name}"
    for response in (first, second):
        assert int(response["Content-Length"]) == len(streamed)
        assert response["Accept-Ranges"] == "bytes"
        assert response["ETag"] == first["ETag"]
        assert response["ETag"].startswith('"')
        assert response["Last-Modified"]
        assert response["Content-Disposition"].endswith(f'.{name}"')
        assert response["Cache-Control"] == "max-age=0, must-revalidate, public"


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-9", slice(0, 10)),
        ("bytes=100-", slice(100, None)),
        ("bytes=-7", slice(-7, None)),
        ("bytes=5-999999999", slice(5, None)),
        ("bytes=-999999999", slice(None)),
    ],
)
def test_a_part_is_sent(client: Client, table: Resource, wanted: str, part: slice) -> None:
    whole = read_file(fetch(client, table))

    response = fetch(client, table, Range=wanted)

    start, stop, _step = part.indices(len(whole))
    assert response.status_code == 206
    assert response.getvalue() == whole[part]
    assert int(response["Content-Length"]) == stop - start
    assert response["Content-Range"] == f"bytes {start}-{stop - 1}/{len(whole)}"


def test_a_part_is_sent_under_asgi(client: Client, table: Resource) -> None:
    whole = read_file(fetch(client, table))

    async def ask() -> tuple[int, bytes]:
        response: Any = await AsyncClient().get(
            build_address(table), headers={"Range": "bytes=10-29"}
        )
        content = b"".join([block async for block in response])
        response.close()
        return response.status_code, content

    assert async_to_sync(ask)() == (206, whole[10:30])


@pytest.mark.parametrize("wanted", ["bytes=99999999-", "bytes=-0", "bytes=99999999-99999999"])
def test_a_part_after_the_end_is_416(client: Client, table: Resource, wanted: str) -> None:
    size = len(read_file(fetch(client, table)))

    response = fetch(client, table, Range=wanted)

    assert (response.status_code, response.content) == (416, b"")
    assert response["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize(
    "wanted",
    ["", "bytes=", "bytes=-", "bytes=9-3", "bytes=0-1,4-5", "lines=1-2", "bytes=x-", "1-2"],
)
def test_what_is_no_single_part_is_the_whole(wanted: str) -> None:
    assert parse_range(wanted, 100) is None
    assert parse_range("bytes=0-", 0) is None  # an empty file has no part


@each_format
def test_conditions_hold(client: Client, table: Resource, name: str) -> None:
    first = fetch(client, table, name)
    whole, etag, modified = read_file(first), first["ETag"], first["Last-Modified"]
    part = {"Range": "bytes=1-3"}

    for condition in (etag, modified):
        assert fetch(client, table, name, If_Range=condition, **part).status_code == 206
    for condition in ('"other"', f"W/{etag}", "Thu, 01 Jan 1970 00:00:00 GMT"):
        assert read_file(fetch(client, table, name, If_Range=condition, **part)) == whole
    assert fetch(client, table, name, If_None_Match=etag).status_code == 304
    assert fetch(client, table, name, If_Modified_Since=modified).status_code == 304
    assert fetch(client, table, name, If_Match='"other"').status_code == 412
    assert fetch(client, table, name, If_Match=etag, **part).status_code == 206


@each_format
def test_head_has_the_same_headers_and_makes_the_file(
    client: Client, table: Resource, name: str
) -> None:
    headers = client.head(build_address(table), {"format": name}, headers={"Range": "bytes=0-1"})
    response = fetch(client, table, name)

    assert (headers.status_code, headers.content) == (200, b"")
    for each in (headers, response):
        del each["X-Request-ID"]
    assert {**headers.headers} == {**response.headers}


def test_a_part_is_not_compressed(client: Client, table: Resource) -> None:
    response = fetch(client, table, Range="bytes=0-999", Accept_Encoding="gzip")
    request = HttpRequest()
    request.META["HTTP_ACCEPT_ENCODING"] = "gzip"

    packed = GZipMiddleware(Mock()).process_response(request, response)

    assert (len(packed.getvalue()), packed["Content-Length"]) == (1_000, "1000")


@pytest.mark.parametrize(
    "parameters",
    [{"limit": 5}, {"fields": "code"}, {"sort": "name"}, {"q": "name"}, {"bom": "true"},
     {"gzip": "true"}, {"filters": {"code": 1}}, {"headers": "labels"}, {"format": "tsv"}],
    ids=str,
)  # fmt: skip
def test_other_downloads_are_streams(
    client: Client, table: Resource, uploads: Path, parameters: dict[str, Any]
) -> None:
    given = {"name": "csv"} if "format" not in parameters else {"name": parameters.pop("format")}

    assert is_stream(request_file(client, table, **given, **parameters))
    assert not list_files(uploads)


@pytest.mark.parametrize(
    ("sent_by", "expected"),
    [
        ("/inside/", (200, "X-Accel-Redirect", "/inside/datastore_search/downloads/")),
        ("redirect", (302, "Location", "/media/datastore_search/downloads/")),
    ],
)
def test_another_server_sends_it(
    client: Client, table: Resource, settings: Any, sent_by: str, expected: tuple[int, str, str]
) -> None:
    settings.DATASTORE_SEARCH_DOWNLOADS_SENT_BY = sent_by
    settings.MEDIA_URL = "/media/"
    status, header, start = expected

    response = fetch(client, table, "parquet")

    assert response.status_code == status
    assert response[header] == start + Path(str(StoredDownload.objects.get().file)).name
    assert not response.content
    assert response["Content-Type"] == "application/vnd.apache.parquet"
    assert ("no-store" in response["Cache-Control"]) == (sent_by == "redirect")
    head = client.head(build_address(table), {"format": "parquet"})
    if sent_by == "redirect":
        size = StoredDownload.objects.get().size_bytes
        assert (head.status_code, head["Content-Length"]) == (200, str(size))
        assert "ETag" not in head
    else:
        assert head[header] == response[header]


def test_a_cache_in_front_keeps_only_small_files(
    client: Client, table: Resource, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATASTORE_SEARCH_SURROGATE_MAX_AGE = timedelta(minutes=1)

    assert fetch(client, table)["Surrogate-Key"] == str(table.pk)
    assert "Surrogate-Key" not in fetch(client, table, Range="bytes=0-9")
    monkeypatch.setattr(views, "_MAX_CACHED_BYTES", 1_000)
    assert "Surrogate-Key" not in fetch(client, table)


def test_a_large_part_holds_a_slot_while_it_is_sent(
    client: Client, table: Resource, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATASTORE_SEARCH_MAX_STREAMS = 1
    fetch(client, table).close()
    monkeypatch.setattr(downloads_stored, "_MAX_FREE_BYTES", 1_000)

    response = fetch(client, table)
    refused = fetch(Client(), table)

    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert fetch(client, table, Range="bytes=0-9").status_code == 206
    response.close()
    assert fetch(client, table).status_code == 200


# Whose it is --------------------------------------------------------------------------------------


@each_format
def test_a_private_resource_is_streamed_to_whom_it_may_concern(
    client: Client, table: Resource, uploads: Path, name: str
) -> None:
    read_file(fetch(client, table, name))
    Resource.objects.filter(pk=table.pk).update(private=True)
    token = make_token(make_user(is_superuser=True))

    for _time in range(2):
        assert fetch(client, table, name).status_code == 403
        assert fetch(client, table, name, Range="bytes=0-1").status_code == 403
    assert is_stream(fetch(client, table, name, Authorization=token))


def make_private(resource: Resource) -> None:
    resource.private = True
    resource.save()


@pytest.mark.parametrize(
    "change",
    [make_private, Resource.delete,
     lambda each: Resource.objects.filter(pk=each.pk).delete()],
    ids=["private", "delete", "delete_query"],
)  # fmt: skip
def test_a_file_goes_with_its_resource(
    client: Client, table: Resource, uploads: Path, change: Any
) -> None:
    read_file(fetch(client, table))
    assert list_files(uploads)

    change(table)

    assert not list_files(uploads)
    assert not StoredDownload.objects.exists()


@pytest.mark.parametrize(
    "change",
    [write, lambda each: Resource.objects.filter(pk=each.pk).update(private=True)],
    ids=["write", "update"],
)
def test_a_clean_up_deletes_files_that_are_not_sent_any_more(
    client: Client, table: Resource, uploads: Path, change: Any
) -> None:
    read_file(fetch(client, table))
    change(table)

    list(stored.clean_up())

    assert not list_files(uploads)
    assert not StoredDownload.objects.exists()


@each_format
def test_each_answer_is_of_the_present_version(
    client: Client, table: Resource, uploads: Path, name: str
) -> None:
    etags = set()
    for code in range(9_000, 9_003):
        write(table, code)
        response = fetch(client, table, name)
        etags.add(response["ETag"])
        content = read_file(response)
        codes = (
            pq.read_table(io.BytesIO(content))["code"].to_pylist()
            if name == "parquet"
            else [int(line.split(b",")[1]) for line in content.splitlines()[1:]]
        )
        assert codes == [*range(2_000), *range(9_000, code + 1)]
        with stored._maker._lock:  # its thread may still delete the file of the version before
            assert len(list_files(uploads)) == 1
    assert len(etags) == 3


# What may go wrong --------------------------------------------------------------------------------


def fail(*_args: Any, **_options: Any) -> Any:
    raise OSError(28, "No space left on device")


class FullStorage(FileSystemStorage):
    def save(self, *args: Any, **options: Any) -> str:
        super().save(*args, **options)
        raise OSError(28, "No space left on device")


@pytest.fixture(params=["folder", "storage", "size"])
def making(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Let each file fail: no room for it, in the folder or the storage, or it is too large."""
    making = Mock(wraps=stored._make)
    monkeypatch.setattr(stored, "_make", making)
    if request.param == "folder":
        monkeypatch.setattr(stored, "create_working_folder", fail)
    elif request.param == "storage":
        monkeypatch.setattr(folders, "get_storage", FullStorage)
    else:
        settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = 1_000
    monkeypatch.setattr(stored.logger, "disabled", True)
    return making


@each_format
def test_without_a_file_records_are_streamed(
    client: Client, table: Resource, uploads: Path, making: Mock, name: str
) -> None:
    streamed = read_file(request_file(client, table, name, limit=10_000))

    for headers in ({}, {"Range": "bytes=0-1"}, {}):
        response = fetch(client, table, name, **headers)
        assert read_file(response) == streamed
        assert "Accept-Ranges" not in response

    assert making.call_count == 1  # and not at each request
    assert not StoredDownload.objects.exists()
    assert not list_files(uploads)


@each_format
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x")])
def test_a_missing_or_damaged_file_is_made_anew(
    client: Client, table: Resource, uploads: Path, name: str, damage: Any
) -> None:
    whole = read_file(fetch(client, table, name))
    damage(*list_files(uploads))

    response = fetch(client, table, name, Range="bytes=10-19")

    assert (response.status_code, response.getvalue()) == (206, whole[10:20])


def test_a_storage_that_is_gone_costs_no_answer(
    client: Client, table: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_file(fetch(client, table))
    monkeypatch.setattr(FileSystemStorage, "open", fail)
    monkeypatch.setattr(stored.logger, "disabled", True)

    assert read_file(fetch(client, table)) == whole
    assert read_file(fetch(client, table, Range="bytes=0-1")) == whole


def test_a_file_that_is_deleted_while_it_is_sent_is_sent_whole(
    client: Client, table: Resource, uploads: Path
) -> None:
    whole = read_file(fetch(client, table))
    response = fetch(client, table)
    blocks = iter(response)
    begun = next(blocks)
    table.delete()

    assert not list_files(uploads)
    assert begun + b"".join(blocks) == whole


def test_requests_at_once_make_one_file(
    table: Resource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_SLOTS = settings.DATASTORE_SEARCH_MAX_SLOTS_PER_CLIENT = 9
    making = Mock(wraps=stored._make)
    monkeypatch.setattr(stored, "_make", making)
    barrier, found = Barrier(4), []

    def download() -> None:
        barrier.wait(20)
        found.append(fetch(Client(), table, Range="bytes=0-99").status_code)
        connections.close_all()

    threads = [Thread(target=download) for _each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert found == [206] * 4
    assert making.call_count == 1


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Let the file wait for an event, and requests hardly for the file."""
    may_end, make = Event(), stored._make

    def wait_and_make(*args: Any) -> None:
        assert may_end.wait(30)
        make(*args)

    monkeypatch.setattr(stored, "_make", wait_and_make)
    monkeypatch.setattr(stored, "WAIT_SECONDS", 0.2)
    yield may_end
    may_end.set()
    with stored._maker._lock:
        pass


def test_while_a_file_is_made_parts_are_refused_and_the_whole_is_streamed(
    client: Client, table: Resource, slow: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = fetch(client, table, Range="bytes=0-9")

    assert (part.status_code, part["Retry-After"]) == (503, "5")
    assert "being prepared" in part.json()["error"]["message"]
    assert client.head(build_address(table)).status_code == 503
    assert is_stream(fetch(client, table))
    slow.set()
    monkeypatch.setattr(stored, "WAIT_SECONDS", 30)
    assert fetch(client, table, Range="bytes=0-9").status_code == 206


def test_a_client_that_is_gone_does_not_wait_for_a_file(
    client: Client, table: Resource, slow: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "WAIT_SECONDS", 60)
    gone: dict[str, Any] = {"waitress.client_disconnected": lambda: True}

    response = client.get(build_address(table), headers={"Range": "bytes=0-9"}, **gone)

    assert not slow.is_set()
    assert response.json()["error"]["message"].startswith("The client has closed")


def test_a_version_that_is_published_meanwhile_is_not_stored_as_the_old_one(
    client: Client, table: Resource, slow: Event, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fetch(client, table, Range="bytes=0-9").status_code == 503
    write(table)
    slow.set()
    monkeypatch.setattr(stored, "WAIT_SECONDS", 30)

    response = fetch(client, table)

    assert b"9999,new" in read_file(response)
    assert "Accept-Ranges" in response
    assert len(list_files(uploads)) == 1
    assert [each.version for each in StoredDownload.objects.all()] == [
        Resource.objects.get(pk=table.pk).version
    ]


def test_a_file_whose_process_has_ended_is_made_by_another(
    client: Client, table: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "WAIT_SECONDS", 0.2)
    values = {"resource": table, "format": "csv", "version": table.version}
    row = StoredDownload.objects.create(**values, used_at=timezone.now())
    assert fetch(client, table, Range="bytes=0-9").status_code == 503

    StoredDownload.objects.update(used_at=timezone.now() - timedelta(hours=1))
    monkeypatch.setattr(stored, "WAIT_SECONDS", 30)

    assert fetch(client, table, Range="bytes=0-9").status_code == 206
    assert StoredDownload.objects.get().pk == row.pk


# What is kept -------------------------------------------------------------------------------------


def test_the_files_used_longest_ago_go_first(
    client: Client, transactional_db: None, settings: Any, uploads: Path
) -> None:
    tables = [make_resource(ROWS, name=f"table-{number}") for number in range(3)]
    size = len(read_file(fetch(client, tables[0])))
    settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = int(2.5 * size)
    fetch(client, tables[1]).close()
    StoredDownload.objects.filter(resource=tables[1]).update(
        used_at=timezone.now() - timedelta(hours=1)
    )
    fetch(client, tables[0]).close()

    fetch(client, tables[2]).close()

    kept = set(StoredDownload.objects.values_list("resource", flat=True))
    assert kept == {tables[0].pk, tables[2].pk}
    assert len(list_files(uploads)) == 2


def test_a_clean_up_deletes_what_is_left(
    client: Client, table: Resource, uploads: Path, settings: Any, capsys: Any
) -> None:
    fetch(client, table).close()
    (kept,) = list_files(uploads)
    stray, new = kept.with_name("stray.csv"), kept.with_name("new.csv")
    stray.write_bytes(b"x")
    new.write_bytes(b"x")
    long_ago = (timezone.now() - timedelta(days=1)).timestamp()
    os.utime(stray, (long_ago, long_ago))

    call_command("datastore_cleanup")

    assert "Deleted files of downloads: 1." in capsys.readouterr().out
    assert list_files(uploads) == sorted([kept, new])
    settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = 0
    call_command("datastore_cleanup")
    assert list_files(uploads) == [new]
