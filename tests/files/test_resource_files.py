"""Files that clients publish: they are stored whole, served as they came, and loaded if tables."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from time import sleep
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.core.management import CommandError, call_command
from django.core.wsgi import get_wsgi_application
from django.db import connection, connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from datastore_search.api import uploads as receiving
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load, LoadState, ResourceFile
from datastore_search.contrib.files.resource_files import (
    clean_file_name,
    find_missing_files,
    guess_format,
    is_loaded,
)
from datastore_search.contrib.files.tables.locks import hold_job_lock
from datastore_search.guards.folders import delete_abandoned_folders, get_storage
from datastore_search.models import Resource

from ..builders import (
    SURVEY,
    act,
    check_error,
    create_resource,
    get_result,
    make_token,
    make_user,
    make_writer_token,
    run_command,
    search,
)
from ..processes import IMMEDIATE
from .sources.server import Server, build_answer

PDF = b"%PDF-1.7\n" + bytes(range(256)) * 40
SMALL = b"a,b\n1,2\n"
LARGER = b"a,b\n" + b"1,2\n" * 1_000

#: A queue whose worker never comes.
WAITING = {
    "default": {
        "BACKEND": IMMEDIATE["default"]["BACKEND"]
        .replace("immediate", "dummy")
        .replace("Immediate", "Dummy")
    }
}


@pytest.fixture
def token(transactional_db: None) -> str:
    return make_writer_token()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, of which none may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.glob("*/upload")) == []


def make_file(content: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def send(client: Client, action: str, token: str, **members: Any) -> Any:
    """Send a form; a member that is a pair is a file: its name and its content."""
    form = {
        name: make_file(value[1], value[0]) if isinstance(value, tuple) else value
        for name, value in members.items()
    }
    return client.post(
        f"/en/api/3/action/{action}", form, headers={"Authorization": token} if token else {}
    )


def publish(client: Client, token: str, filename: str, content: bytes, **members: Any) -> Any:
    """Make a resource with a file, and return the answer of ``resource_create``."""
    response = send(client, "resource_create", token, upload=(filename, content), **members)
    return get_result(response)


def show(client: Client, resource_id: str, token: str = "") -> dict[str, Any]:
    return get_result(act(client, "resource_show", {"id": resource_id}, token))


def fetch(client: Client, shown: dict[str, Any], token: str = "", **headers: str) -> Any:
    given = {"Authorization": token} if token else {}
    return client.get(shown["url"], headers={**given, **headers})


def read(response: Any) -> bytes:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    response.close()
    return bytes(content)


def list_stored(uploads: Path) -> list[bytes]:
    found = (path for path in (uploads / "datastore_search").rglob("*") if path.is_file())
    return sorted(path.read_bytes() for path in found)


# A table ------------------------------------------------------------------------------------------


def test_a_table_is_stored_served_and_loaded(client: Client, token: str, uploads: Path) -> None:
    made = publish(client, token, "My File.csv", SMALL, name="f", format="csv", description="d")

    path = f"/en/dataset/{made['package_id']}/resource/{made['id']}/download/my-file.csv"
    assert made["url"] == f"http://testserver{path}"
    about = {name: made[name] for name in ("url_type", "size", "mimetype", "format", "hash")}
    assert about == {
        "url_type": "upload",
        "size": 8,
        "mimetype": "text/csv",
        "format": "CSV",
        "hash": "",
    }
    stored_at = ResourceFile.objects.get(pk=made["id"]).stored_at
    assert made["last_modified"] == stored_at.replace(tzinfo=None).isoformat()
    assert (made["name"], made["description"]) == ("f", "d")
    shown = show(client, made["id"])
    assert shown == {
        **made,
        "metadata_modified": shown["metadata_modified"],
        "datastore_active": True,
        "datastore_load": {"state": "ready", "error": None},
    }
    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "a": 1, "b": 2}]
    response = fetch(client, made)
    assert read(response) == SMALL
    assert response["Content-Type"] == "text/csv"
    assert response["Content-Disposition"] == 'attachment; filename="my-file.csv"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Length"] == "8"
    assert list_stored(uploads) == [SMALL]  # the load has no copy


def test_the_answer_does_not_wait_for_the_load(
    client: Client, token: str, uploads: Path, settings: Any
) -> None:
    settings.TASKS = WAITING
    made = publish(client, token, "survey.csv", SURVEY.encode())

    assert made["datastore_active"] is False
    assert made["datastore_load"] == {"state": "queued", "error": None}
    before = client.get("/en/api/3/action/resource_show", {"id": made["id"]})
    (load,) = Load.objects.all()
    assert (load.state, load.source, load.mode) == ("queued", "survey.csv", "replace")
    assert load.starter.username == "writer"
    settings.TASKS = IMMEDIATE
    call_command("datastore_cleanup", stdout=io.StringIO())  # queues it again
    after = client.get(
        "/en/api/3/action/resource_show",
        {"id": made["id"]},
        headers={"If-None-Match": before["ETag"]},
    )
    assert after.json()["result"]["datastore_load"]["state"] == "ready"
    assert read(fetch(client, made)) == SURVEY.encode()
    assert list_stored(uploads) == [SURVEY.encode()]


def test_a_file_that_cannot_be_loaded_says_why(client: Client, token: str) -> None:
    made = publish(client, token, "table.csv", b"<html><body>Sign in</body></html>")

    reason = made["datastore_load"]["error"]
    assert made["datastore_load"]["state"] == "failed"
    assert "HTML" in reason
    assert made["datastore_active"] is False
    assert show(client, made["id"], token)["datastore_load"]["error"] == reason
    # A message may have values of a file that is not published.
    assert show(client, made["id"])["datastore_load"] == {"state": "failed", "error": None}
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:datastore_search_resource_change", args=[made["id"]]))
    assert "failed" in page.content.decode()
    load = reverse("admin:datastore_search_files_load_change", args=[Load.objects.get().pk])
    assert reason in client.get(load).content.decode()
    assert read(fetch(client, made)).startswith(b"<html>")


def test_the_state_of_a_load_is_not_cached(client: Client, token: str, settings: Any) -> None:
    settings.TASKS = WAITING
    made = publish(client, token, "survey.csv", SURVEY.encode())
    first = client.get("/en/api/3/action/resource_show", {"id": made["id"]})
    Load.objects.update(state=LoadState.FAILED, failure={"code": "file.empty", "parameters": {}})

    again = client.get(
        "/en/api/3/action/resource_show",
        {"id": made["id"]},
        headers={"If-None-Match": first["ETag"]},
    )

    assert again.json()["result"]["datastore_load"]["state"] == "failed"


# Other files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "format_name", "mimetype"),
    [
        (("Report.PDF", PDF), "PDF", "application/pdf"),
        (("shapes.zip", b"PK\x03\x04" + bytes(50)), "ZIP", "application/zip"),
        (("noext", b"anything"), "", None),
        (("datapackage.json", b'{"resources": [{"name": "a"}]}'), "JSON", "application/json"),
    ],
)
def test_a_file_that_is_not_a_table_is_only_stored(
    client: Client, token: str, file: tuple[str, bytes], format_name: str, mimetype: str | None
) -> None:
    made = publish(client, token, *file)

    assert (made["format"], made["mimetype"]) == (format_name, mimetype)
    assert made["datastore_active"] is False
    assert "datastore_load" not in made
    assert not Load.objects.exists()
    response = fetch(client, show(client, made["id"]))
    assert read(response) == file[1]
    assert response["Content-Type"] == (mimetype or "application/octet-stream")


@pytest.mark.parametrize("name", ["page.html", "page.svg", "page.xml", "page.xhtml", "page.js"])
def test_a_file_that_a_browser_would_run_is_never_shown(
    client: Client, token: str, name: str
) -> None:
    made = publish(client, token, name, b"<script>alert(1)</script>", mimetype="text/html")

    response = fetch(client, made)

    assert read(response) == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("sent", "cleaned"),
    [
        ("My File.csv", "my-file.csv"),
        ("../../etc/Passwd.CSV", "passwd.csv"),
        ("C:\\data\\win.csv", "win.csv"),
        ("Dữ liệu Đà Nẵng (2024).csv", "du-lieu-da-nang-2024.csv"),
        ("año & ñandú__x.xlsx", "ano-nandu__x.xlsx"),
        (".csv", ".csv"),
        ("数据.csv", ".csv"),
        ("a" * 300 + ".csv", "a" * 96 + ".csv"),
        ("x." + "e" * 40, "x." + "e" * 20),
        ('a;b"c\r\n\0\x1b.csv', "abc.csv"),
        ("..", ".._"),
        ("", "___"),
        ("data.tar.gz", "data.tar.gz"),
    ],
)
def test_names_are_cleaned_as_ckan_cleans_them(sent: str, cleaned: str) -> None:
    assert clean_file_name(sent) == cleaned


@pytest.mark.parametrize(
    ("name", "guessed", "is_table"),
    [
        ("a.csv", "CSV", True),
        ("a.csv.gz", "CSV", True),
        ("a.tsv", "TSV", True),
        ("a.xlsx", "XLSX", True),
        ("a.geojson", "GeoJSON", True),
        ("a.parquet", "Parquet", True),
        ("a.ods", "ODS", True),
        ("a.tar.gz", "TAR", False),
        ("a.zip", "ZIP", False),
        ("a.pdf", "PDF", False),
        ("a.strange", "", False),
        ("a", "", False),
    ],
)
def test_formats_are_guessed_by_the_name(name: str, guessed: str, is_table: bool) -> None:
    assert guess_format(name) == guessed
    assert is_loaded(name, "") == is_table


@pytest.mark.parametrize(
    ("name", "format_name", "is_table"),
    [("a.zip", "CSV", True), ("a.csv", "PDF", False), ("a.zip", "SHP", False)],
)
def test_the_format_of_the_resource_decides(name: str, format_name: str, is_table: bool) -> None:
    assert is_loaded(name, format_name) == is_table


# Replacing and deleting ---------------------------------------------------------------------------


def test_a_new_file_takes_the_place_of_the_old_one(
    client: Client, token: str, uploads: Path
) -> None:
    made = publish(client, token, "a.csv", SMALL, description="d")
    old = fetch(client, made)
    read(old)

    sent = {"id": made["id"], "upload": ("b.xlsx.csv", b"c\n5\n")}
    changed = get_result(send(client, "resource_patch", token, **sent))

    assert changed["url"].endswith("/download/b.xlsx.csv")
    assert (changed["size"], changed["description"]) == (4, "d")
    assert list_stored(uploads) == [b"c\n5\n"]
    new = fetch(client, changed)
    assert read(new) == b"c\n5\n"
    assert new["ETag"] != old["ETag"]
    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "c": 5}]


def test_a_file_of_another_kind_gets_another_type(client: Client, token: str) -> None:
    made = publish(client, token, "a.csv", SMALL)

    sent = {"id": made["id"], "upload": ("b.pdf", PDF)}
    changed = get_result(send(client, "resource_update", token, **sent))

    assert (changed["mimetype"], changed["format"]) == ("application/pdf", "PDF")
    assert Load.objects.count() == 1


def test_what_was_sent_is_not_guessed(client: Client, token: str) -> None:
    about = {"mimetype": "text/x-own", "format": "Texty", "hash": "abc", "size": "99", "url": "any"}
    made = publish(client, token, "a.csv", SMALL, **about)

    assert (made["mimetype"], made["format"], made["hash"]) == ("text/x-own", "Texty", "abc")
    assert made["size"] == 8
    assert "datastore_load" not in made  # CKAN loads by the format, too


def test_a_resource_that_is_changed_without_a_file_keeps_it(client: Client, token: str) -> None:
    made = publish(client, token, "a.csv", SMALL)

    for action, sent in (
        ("resource_update", made),
        ("resource_update", {"id": made["id"], "name": "t"}),
        ("resource_patch", {"id": made["id"], "description": "d", "upload": ""}),
    ):
        changed = get_result(act(client, action, sent, token))
        assert (changed["url"], changed["url_type"]) == (made["url"], "upload")

    assert read(fetch(client, made)) == SMALL


def test_a_link_in_place_of_a_file_deletes_the_file(
    client: Client, token: str, uploads: Path
) -> None:
    made = publish(client, token, "a.csv", SMALL)

    sent = {"id": made["id"], "clear_upload": "true", "url": "https://example.org/b.csv"}
    changed = get_result(act(client, "resource_patch", sent, token))

    assert changed["url"] == "https://example.org/b.csv"
    assert not changed["url_type"]
    assert list_stored(uploads) == []
    assert fetch(client, made).status_code == 404
    assert get_result(search(client, made["id"]))["total"] == 1  # its records stay


def test_deleting_the_resource_deletes_its_file(client: Client, token: str, uploads: Path) -> None:
    made = publish(client, token, "a.csv", SMALL)

    get_result(act(client, "resource_delete", {"id": made["id"]}, token))

    assert list_stored(uploads) == []
    assert fetch(client, made).status_code == 404


def test_a_load_that_is_over_does_not_delete_the_file(
    client: Client, token: str, uploads: Path, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_UPLOAD_RETENTION = timedelta(0)
    made = publish(client, token, "a.csv", b"<html></html>")
    (load,) = Load.objects.all()
    assert load.can_be_retried

    call_command("datastore_cleanup", stdout=io.StringIO())
    assert not Load.objects.get().can_be_retried
    Load.objects.all().delete()

    assert read(fetch(client, made)) == b"<html></html>"
    assert list_stored(uploads) == [b"<html></html>"]


def test_the_loads_of_a_file_that_is_replaced_are_cancelled(
    client: Client, token: str, settings: Any
) -> None:
    settings.TASKS = WAITING
    made = publish(client, token, "a.csv", SMALL)
    sent = {"id": made["id"], "upload": ("a.csv", b"c\n5\n")}
    get_result(send(client, "resource_patch", token, **sent))

    states = Load.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["cancelled", "queued"]
    settings.TASKS = IMMEDIATE
    call_command("datastore_cleanup", stdout=io.StringIO())
    assert list(states.all()) == ["cancelled", "ready"]
    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "c": 5}]


def test_the_cleanup_deletes_files_of_no_resource(
    client: Client, token: str, uploads: Path, settings: Any
) -> None:
    made = publish(client, token, "a.csv", SMALL)
    folder = uploads / "datastore_search" / "files"
    (folder / "left.csv").write_bytes(b"left")
    (folder / "new.csv").write_bytes(b"new")
    old = (timezone.now() - timedelta(hours=2)).timestamp()
    for path in folder.iterdir():
        if path.name != "new.csv":  # its request may not have ended
            os.utime(path, (old, old))

    out, _err = run_command("datastore_cleanup")

    assert "Deleted files of no resource: 1." in out
    assert list_stored(uploads) == [SMALL, b"new"]
    assert read(fetch(client, made)) == SMALL


def test_the_doctor_names_files_that_are_not_in_the_storage(
    client: Client, token: str, uploads: Path
) -> None:
    made = publish(client, token, "a.csv", SMALL)
    assert run_command("datastore_doctor")[0] == "Nothing is damaged.\n"
    (path,) = (uploads / "datastore_search" / "files").iterdir()
    path.unlink()
    out = io.StringIO()

    with pytest.raises(CommandError):
        call_command("datastore_doctor", stdout=out)

    name = f"a.csv (datastore_search/files/{path.name})"
    message = f"The published file {name} is not in the storage."
    assert out.getvalue() == f"file.missing {made['id']}: {message}\n"


class AskedStorage(InMemoryStorage):
    """A storage in which each file that is looked at takes time, as at S3."""

    asked = 0

    def exists(self, name: str) -> bool:
        AskedStorage.asked += 1
        return super().exists(name)


class UnlistedStorage(AskedStorage):
    """A storage that cannot list: it raises what Django's base class of storages does."""

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        raise NotImplementedError


@pytest.mark.parametrize(("kind", "asked"), [(AskedStorage, 0), (UnlistedStorage, 4)])
def test_the_doctor_lists_the_files_of_a_storage_that_can(
    client: Client, token: str, settings: Any, kind: type[AskedStorage], asked: int
) -> None:
    own = {"BACKEND": f"{__name__}.{kind.__name__}"}
    settings.STORAGES = {**settings.STORAGES, "datastore_search": own}
    for name in "abcd":
        publish(client, token, f"{name}.csv", SMALL)
    get_storage().delete(str(ResourceFile.objects.get(name="b.csv").file))
    AskedStorage.asked = 0

    found = list(find_missing_files(connection, set()))

    assert [each.message.split()[3] for each in found] == ["b.csv"]
    assert AskedStorage.asked == asked


# Uploads that are not complete --------------------------------------------------------------------

BOUNDARY = "xYzZY"


def build_form(content: bytes, *, name: str = "upload", filename: str = "a.csv") -> bytes:
    disposition = f'form-data; name="{name}"; filename="{filename}"'
    head = f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n"
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


class Body(io.RawIOBase):
    """A body that says when it is read, and may end before its length."""

    def __init__(self, blocks: Iterator[bytes], on_read: Callable[[], None] = lambda: None) -> None:
        self._blocks, self._rest, self._on_read = blocks, b"", on_read

    def read(self, size: int = -1) -> bytes:
        self._on_read()
        while len(self._rest) < size and (block := next(self._blocks, b"")):
            self._rest += block
        block, self._rest = self._rest[:size], self._rest[size:]
        return block


def send_body(
    blocks: Iterator[bytes],
    length: int,
    token: str,
    action: str = "resource_create",
    on_read: Callable[[], None] = lambda: None,
) -> tuple[int, dict[str, Any]]:
    """Send a body to the WSGI application of the portal, as a server does."""
    statuses: list[str] = []
    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": f"/en/api/3/action/{action}", "QUERY_STRING": "",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True, "wsgi.multiprocess": True, "wsgi.run_once": False,
        "wsgi.input": Body(blocks, on_read), "CONTENT_LENGTH": str(length),
        "CONTENT_TYPE": f"multipart/form-data; boundary={BOUNDARY}", "HTTP_AUTHORIZATION": token,
    }  # fmt: skip
    response = get_wsgi_application()(environ, lambda status, _headers: statuses.append(status))  # type: ignore[arg-type] # of a test
    try:
        answer = json.loads(b"".join(response))
    finally:
        response.close()
    return int(statuses[0][:3]), answer


@pytest.mark.parametrize("left_out", [1, 10, 4_000])
def test_an_upload_that_is_broken_off_leaves_nothing(
    token: str, uploads: Path, left_out: int
) -> None:
    form = build_form(LARGER).rstrip()

    status, answer = send_body(iter([form[:-left_out]]), len(form), token)

    assert status == 400
    assert answer["error"] == {
        "__type": "Bad Request",
        "message": "The form ends before its last part is complete.",
    }
    assert not Resource.objects.exists()
    assert list_stored(uploads) == []


def test_a_broken_off_upload_leaves_the_old_file(client: Client, token: str) -> None:
    made = publish(client, token, "a.csv", SMALL)
    id_part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="id"\r\n\r\n{made["id"]}\r\n'
    form = id_part.encode() + build_form(LARGER)

    assert send_body(iter([form[:-50]]), len(form), token, "resource_patch")[0] == 400

    assert show(client, made["id"])["size"] == 8
    assert read(fetch(client, made)) == SMALL


def test_a_file_over_the_limit_is_refused_while_it_arrives(
    client: Client, token: str, uploads: Path, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_MAX_UPLOAD_BYTES = 1_000
    settings.DATASTORE_SEARCH_MAX_WRITE_BODY_BYTES = 100_000
    form = build_form(LARGER)

    status, answer = send_body(iter([form]), len(form), token)

    assert (status, answer["error"]["__type"]) == (413, "Request Too Large")
    assert "1000" in answer["error"]["message"]
    reads: list[int] = []
    form = build_form(LARGER * 100)
    status, _answer = send_body(iter([form]), len(form), token, on_read=lambda: reads.append(1))
    assert (status, reads) == (413, [])  # by its length, before it is read
    assert not Resource.objects.exists()
    assert list_stored(uploads) == []


def test_an_upload_that_takes_too_long_is_refused(
    token: str, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "MAX_SECONDS", 1)
    form = build_form(LARGER * 50)

    def send_slowly() -> Iterator[bytes]:
        yield form[:100_000]
        sleep(1.1)
        yield form[100_000:]

    status, answer = send_body(send_slowly(), len(form), token)

    assert status == 400
    assert answer["error"]["message"] == "The form did not arrive within 0.0 minutes."
    assert list_stored(uploads) == []


@pytest.mark.parametrize("user", ["", "reader"])
def test_who_may_not_write_sends_no_file(
    client: Client, uploads: Path, transactional_db: None, user: str
) -> None:
    token = make_token() if user else ""
    reads: list[int] = []
    form = build_form(LARGER * 1_000)

    status, _answer = send_body(iter([form]), len(form), token, on_read=lambda: reads.append(1))

    assert (status, reads) == (403, [])
    check_error(send(client, "resource_create", token, upload=("a.csv", SMALL)), 403)
    assert list_stored(uploads) == []


def test_a_copy_of_the_file_is_dropped(client: Client, token: str, uploads: Path) -> None:
    file = ("My File.csv", SMALL)
    response = send(client, "resource_create", token, file=file, upload=file, key="k")

    assert get_result(response)["size"] == 8
    assert list_stored(uploads) == [SMALL]


@pytest.mark.parametrize(
    ("action", "part"),
    [("resource_create", "other"), ("datastore_create", "upload"), ("package_show", "upload")],
)
def test_other_files_are_refused(
    client: Client, token: str, uploads: Path, action: str, part: str
) -> None:
    error = check_error(send(client, action, token, **{part: ("a.csv", SMALL)}), 409)

    assert error == {part: ["Files cannot be sent."]}
    assert list_stored(uploads) == []


def test_without_a_store_of_files_none_is_accepted(
    client: Client, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving.uploads, "entry", receiving.UploadStore())

    response = send(client, "resource_create", token, upload=("a.csv", SMALL))

    assert check_error(response, 409) == {"upload": ["Files cannot be sent."]}


def test_a_storage_that_fails_changes_nothing(
    client: Client, token: str, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = publish(client, token, "a.csv", SMALL)

    def fail(*arguments: Any, **_more: object) -> None:
        if isinstance(arguments[0], FileSystemStorage):
            Path(arguments[0].path(arguments[1])).write_bytes(b"a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "_save", fail)
    sent = {"id": made["id"], "upload": ("b.csv", LARGER)}
    check_error(send(client, "resource_patch", token, **sent), 503)
    monkeypatch.setattr(receiving.ReceivedFile, "write", fail, raising=False)
    check_error(send(client, "resource_patch", token, **sent), 503)

    assert show(client, made["id"], token)["url"] == made["url"]
    assert read(fetch(client, made)) == SMALL
    assert list_stored(uploads) == [SMALL]
    (uploads / str(ResourceFile.objects.get().file)).unlink()
    assert fetch(client, made).status_code == 503


def test_what_a_killed_worker_has_received_is_deleted(temporary: Path) -> None:
    process = os.fork()
    if not process:
        file = receiving.ReceivedFile("a.csv", "text/csv")
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)
    assert len(list(temporary.glob("*/upload"))) == 1

    assert delete_abandoned_folders() == 1


def run_at_once(count: int, call: Callable[[int], object]) -> list[Exception]:
    barrier, errors = Barrier(count), list[Exception]()

    def run(number: int) -> None:
        try:
            barrier.wait()
            call(number)
        except Exception as error:  # noqa: BLE001 - the test reports it
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_twenty_files_at_once_are_all_stored(client: Client, token: str, uploads: Path) -> None:
    contents = [b"number\n%d\n" % number * (1 + number * 500) for number in range(20)]
    made: dict[int, dict[str, Any]] = {}

    def run(number: int) -> None:
        made[number] = publish(Client(), token, "same.pdf", contents[number])

    assert run_at_once(20, run) == []
    assert len(made) == 20
    assert all(read(fetch(client, made[number])) == contents[number] for number in range(20))
    assert list_stored(uploads) == sorted(contents)


def test_of_files_at_once_for_one_resource_one_whole_one_stays(
    client: Client, token: str, uploads: Path, settings: Any
) -> None:
    settings.TASKS = WAITING
    made = publish(client, token, "a.csv", b"number\n100\n")

    def run(number: int) -> None:
        sent = {"id": made["id"], "upload": (f"n{number}.csv", b"number\n%d\n" % number)}
        get_result(send(Client(), "resource_patch", token, **sent))

    assert run_at_once(20, run) == []
    shown = show(client, made["id"])
    (stored,) = list_stored(uploads)
    number = int(stored.split()[1])
    assert read(fetch(client, shown)) == stored
    assert shown["url"].endswith(f"/n{number}.csv")
    settings.TASKS = IMMEDIATE
    call_command("datastore_cleanup", stdout=io.StringIO())
    assert sorted(Load.objects.values_list("state", flat=True)) == ["cancelled"] * 20 + ["ready"]
    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "number": number}]


@pytest.mark.slow
def test_a_large_file_needs_little_memory(client: Client, token: str, settings: Any) -> None:
    settings.TASKS = WAITING
    row, size = b"1234567,some text that is here again and again\n", 200 * 2**20
    count = size // len(row)
    form = build_form(b"@").split(b"@")
    length = len(form[0]) + count * len(row) + len(form[1])

    def blocks() -> Iterator[bytes]:
        yield form[0]
        left = count
        while left:
            part = min(left, 5_000)
            left -= part
            yield row * part
        yield form[1]

    def measure() -> int:
        found = re.search(r"VmRSS:\s+([0-9]+) kB", Path("/proc/self/status").read_text())
        assert found
        return int(found[1]) * 1024

    peak, before = 0, measure()

    def watch() -> None:
        nonlocal peak
        peak = max(peak, measure())

    status, answer = send_body(blocks(), length, token, on_read=watch)

    assert status == 200
    assert answer["result"]["size"] == count * len(row)
    response = fetch(client, answer["result"])
    sent = 0
    for block in response.streaming_content:
        sent += len(block)
        watch()
    response.close()
    assert sent == count * len(row)
    assert peak - before < 30 * 2**20
    assert answer["result"]["datastore_load"]["state"] == "queued"  # loads have limits of their own


# Serving ------------------------------------------------------------------------------------------


def test_parts_and_conditions(client: Client, token: str) -> None:
    made = publish(client, token, "a.pdf", PDF)
    whole = fetch(client, made)
    read(whole)

    part = fetch(client, made, Range="bytes=10-19")
    assert (part.status_code, read(part)) == (206, PDF[10:20])
    assert part["Content-Range"] == f"bytes 10-19/{len(PDF)}"
    assert fetch(client, made, Range=f"bytes={len(PDF)}-").status_code == 416
    same = fetch(client, made, **{"If-None-Match": whole["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    head = client.head(made["url"])
    assert (head["Content-Length"], head.content) == (str(len(PDF)), b"")
    assert whole["Cache-Control"] == "max-age=0, must-revalidate, public"


@pytest.mark.parametrize("wanted", ["", "bytes=0-9"])
def test_an_empty_file_is_sent(client: Client, token: str, wanted: str) -> None:
    response = fetch(client, publish(client, token, "a.pdf", b""), Range=wanted)

    assert (response.status_code, read(response), response["Content-Length"]) == (200, b"", "0")


def test_a_private_file_is_sent_to_its_readers_alone(
    client: Client, token: str, settings: Any
) -> None:
    made = publish(client, token, "a.pdf", PDF, private="true")
    reader = make_user("other", permissions=("view_resource",))

    for response in (fetch(client, made), fetch(client, made, "0" * 64)):
        check_error(response, 403)
    for response in (fetch(client, made, make_token(reader)), fetch(client, made, token)):
        assert read(response) == PDF
        assert response["Cache-Control"] == "max-age=0, must-revalidate, private"
    client.force_login(reader)
    assert read(fetch(client, made)) == PDF
    client.logout()
    settings.DATASTORE_SEARCH_DOWNLOADS_SENT_BY = "/downloads/"
    check_error(fetch(client, made), 403)
    sent = fetch(client, made, token)
    name = ResourceFile.objects.get().file.name
    assert sent["X-Accel-Redirect"] == f"/downloads/{name}"
    assert sent["Content-Disposition"] == 'attachment; filename="a.pdf"'
    settings.DATASTORE_SEARCH_DOWNLOADS_SENT_BY = "redirect"  # which would give the address away
    assert read(fetch(client, made, token)) == PDF


def test_the_file_is_at_its_address_without_a_name_too(client: Client, token: str) -> None:
    made = publish(client, token, "a.pdf", PDF)

    assert read(client.get(made["url"].removesuffix("/a.pdf"))) == PDF
    assert read(client.get(made["url"].replace("a.pdf", "old.pdf"))) == PDF
    other = made["url"].replace(made["id"], "00000000-0000-4000-8000-000000000000")
    check_error(client.get(other), 404)


def test_a_table_without_a_file_has_none_to_send(client: Client, resource: Resource) -> None:
    path = f"/en/dataset/{resource.pk}/resource/{resource.pk}/download/a.csv"

    check_error(client.get(path), 404)
    Resource.objects.filter(pk=resource.pk).update(private=True)
    check_error(client.get(path), 403)


# CKAN's loaders -----------------------------------------------------------------------------------


def submit(client: Client, resource_id: str, token: str) -> Any:
    return act(client, "datapusher_submit", {"resource_id": resource_id}, token)


def show_task(client: Client, resource_id: str, token: str = "") -> Any:
    sent = {"entity_id": resource_id, "task_type": "datapusher", "key": "datapusher"}
    return act(client, "task_status_show", sent, token)


def link(client: Client, token: str, url: str) -> dict[str, Any]:
    """Publish a dataset with a link, and return the resource."""
    sent = {"name": "linked", "resources": [{"url": url, "format": "csv"}]}
    made = get_result(act(client, "package_create", sent, token))
    resource: dict[str, Any] = made["resources"][0]
    return resource


def test_a_link_is_loaded_when_a_client_asks_for_it(
    client: Client, token: str, server: Server
) -> None:
    server.answers["/a.csv"] = build_answer(SMALL)
    made = link(client, token, server.url("/a.csv"))
    assert not Load.objects.exists()
    check_error(show_task(client, made["id"], token), 404)

    assert submit(client, made["id"], token).json()["result"] is True

    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "a": 1, "b": 2}]
    task = get_result(show_task(client, made["id"], token))
    (load,) = Load.objects.all()
    assert load.finished_at
    assert task == {
        "id": made["id"],
        "entity_id": made["id"],
        "entity_type": "resource",
        "task_type": "datapusher",
        "key": "datapusher",
        "value": json.dumps({"job_id": str(load.pk)}),
        "state": "complete",
        "error": "{}",
        "last_updated": load.finished_at.replace(tzinfo=None).isoformat(timespec="microseconds"),
    }
    shown = show(client, made["id"])
    assert (shown["url"], shown["datastore_active"]) == (server.url("/a.csv"), True)


def test_a_link_is_loaded_at_once_where_a_setting_says_so(
    client: Client, token: str, server: Server, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_LINKED_FORMATS = ["csv"]
    server.answers["/a.csv"] = build_answer(SMALL)
    server.answers["/b.csv"] = build_answer(b"c\n5\n")
    made = link(client, token, server.url("/a.csv"))

    assert get_result(search(client, made["id"]))["total"] == 1
    for sent in ({"description": "d"}, {"url": made["url"]}):
        act(client, "resource_patch", {"id": made["id"], **sent}, token)
    assert Load.objects.count() == 1  # it is the same link
    act(client, "resource_patch", {"id": made["id"], "url": server.url("/b.csv")}, token)
    assert get_result(search(client, made["id"]))["records"] == [{"_id": 1, "c": 5}]


def test_a_link_that_may_not_be_fetched_says_so(client: Client, token: str) -> None:
    made = link(client, token, "http://127.0.0.1:1/secret.csv")

    assert submit(client, made["id"], token).json()["result"] is True

    task = get_result(show_task(client, made["id"], token))
    assert task["state"] == "error"
    reason = json.loads(task["error"])["message"]
    assert show(client, made["id"], token)["datastore_load"] == {"state": "failed", "error": reason}
    assert get_result(show_task(client, made["id"]))["error"] == "{}"


def test_the_file_of_a_resource_is_loaded_again(client: Client, token: str, settings: Any) -> None:
    made = publish(client, token, "a.csv", SMALL)
    settings.TASKS = WAITING

    assert submit(client, made["id"], token).json()["result"] is True
    task = get_result(show_task(client, made["id"]))
    assert task["state"] == "pending"
    assert submit(client, made["id"], token).json()["result"] is False  # it waits
    check_error(submit(client, made["id"], ""), 403)


@pytest.mark.parametrize("silence", [timedelta(seconds=5), timedelta(minutes=5)])
def test_a_task_whose_process_was_killed_is_an_error_after_a_minute(
    client: Client, token: str, silence: timedelta
) -> None:
    made = publish(client, token, "a.csv", SMALL)
    began = timezone.now() - silence
    values = {"resource_id": made["id"], "state": LoadState.COPYING, "started_at": began}
    load = Load.objects.create(heartbeat_at=began, **values)

    task, shown = get_result(show_task(client, made["id"], token)), show(client, made["id"], token)

    load.refresh_from_db()
    assert load.state == LoadState.COPYING  # a read changes nothing
    if silence < timedelta(minutes=1):
        assert (task["state"], shown["datastore_load"]["state"]) == ("pending", "copying")
    else:
        reason = str(LoadFailed("load.interrupted"))
        assert (task["state"], json.loads(task["error"])) == ("error", {"message": reason})
        assert shown["datastore_load"] == {"state": "failed", "error": reason}
    with hold_job_lock(connections["default"], load.pk):  # it is slow, and lives
        assert get_result(show_task(client, made["id"]))["state"] == "pending"
    # A draft that was previewed waits for a worker.
    Load.objects.filter(pk=load.pk).update(state=LoadState.QUEUED, started_at=None)
    assert get_result(show_task(client, made["id"]))["state"] == "pending"


def test_a_task_of_a_resource_that_is_not_shown_is_for_those_who_may_change_it(
    client: Client, token: str
) -> None:
    resource = create_resource(name="planned")
    Load.objects.create(resource=resource, state=LoadState.FAILED)

    check_error(show_task(client, "planned"), 404)
    task = get_result(show_task(client, "planned", token))
    assert task["state"] == "error"


def test_a_file_whose_worker_was_killed_is_loaded_again(
    client: Client, token: str, settings: Any
) -> None:
    settings.TASKS = WAITING
    made = publish(client, token, "a.csv", SMALL)
    Load.objects.update(state=LoadState.COPYING, started_at=timezone.now())

    assert submit(client, made["id"], token).json()["result"] is True

    states = Load.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == [LoadState.FAILED, LoadState.QUEUED]


def test_a_table_without_a_link_is_not_submitted(
    client: Client, token: str, resource: Resource
) -> None:
    assert submit(client, str(resource.pk), token).json()["result"] is False


def test_a_link_that_is_not_one_is_refused(client: Client, token: str) -> None:
    made = link(client, token, "https://user:secret@example.org/a.csv")

    error = check_error(submit(client, made["id"], token), 409)

    assert list(error) == ["url"]
    assert "secret" not in str(error)
    assert not Load.objects.exists()
