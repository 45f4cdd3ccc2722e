"""``load_resource``, as staff and schedules type it."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from django.core.management import CommandError
from django.utils import translation
from psycopg.errors import DiskFull

from datastore_search.models import Load, LoadState, Resource, RowError

from ..loading.sources.server import Server, answer, serving
from .test_commands import run

pytestmark = pytest.mark.usefixtures("read_here")

BODY = "code,day,depth\n001,31.12.2023,1.5\n002,01.02.2024,NA\n003,05.06.2024,2\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.csv"
    path.write_text(BODY)
    return path


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    with serving() as server:
        settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [server.host]
        yield server


def types_of(resource: Resource) -> dict[str, str]:
    return dict(resource.fields.values_list("name", "type"))


# From where ---------------------------------------------------------------------------------------


def test_a_url_is_loaded_under_the_name_at_its_end(db: None, server: Server) -> None:
    server.answers["/data/My%20rivers.csv"] = answer(BODY.encode())

    out, _ = run("load_resource", "--url", server.url("/data/My%20rivers.csv"))

    load = Load.objects.get()
    assert load.resource.name == "my-rivers"
    assert load.url == load.source == server.url("/data/My%20rivers.csv")
    assert "3 records" in out


def test_a_failed_fetch_leaves_nothing_and_says_why(db: None, server: Server) -> None:
    server.answers["/rivers.csv"] = answer(b"gone", status=404)

    with pytest.raises(CommandError, match="404"):
        run("load_resource", "--url", server.url("/rivers.csv"))
    with pytest.raises(CommandError, match="localhost"):
        run("load_resource", "--url", "http://localhost/rivers.csv")
    with pytest.raises(CommandError, match="http://"):
        run("load_resource", "--url", "file:///etc/passwd")

    assert not Resource.objects.exists()


def test_a_password_in_an_address_is_kept_nowhere(db: None, path: Path) -> None:
    run("load_resource", path)

    with pytest.raises(CommandError) as caught:
        run("load_resource", "--url", "http://ann:secret@example.org/f.csv", "--name", "rivers")

    assert "secret" not in str(caught.value)
    assert Load.objects.count() == 1


def test_standard_input_is_loaded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(BODY.encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))

    out, _ = run("load_resource", "-", "--name", "piped")

    assert "(piped): 3 records" in out


def test_a_pipe_is_loaded(db: None, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=[BODY])
    writer.start()

    out, _ = run("load_resource", pipe)
    writer.join()

    assert "(pipe): 3 records" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a path or --url"),
        (["{path}", "--url", "http://example.org/f"], "a path or --url"),
        (["{folder}"], "Is a directory"),
        (["{path}", "--schema", "{folder}/none.json"], "none.json"),
        (["{path}", "--schema", "{path}"], "not JSON"),
        (["{path}", "--report", "{folder}/no/report.csv"], "cannot be written"),
        (["{path}", "--mode", "merge"], "merge"),
        (["{path}", "--skip-lines", "-1"], "-1"),
        (["{path}", "--skip-lines", "two"], "two"),
        (["{path}", "--encoding", "klingon"], "klingon"),
        (["{path}", "--date-order", "ymd"], "ymd"),
        (["{path}", "--if-changed", "--force"], "not allowed"),
        (["{path}", "--dry-run", "--report", "r.csv"], "not allowed"),
        (["{path}", "--key", "code", "--no-key"], "not allowed"),
        (["{path}", "--key", "colour"], "colour"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    db: None, path: Path, arguments: list[str], message: str
) -> None:
    filled = (each.format(path=path, folder=path.parent) for each in arguments)

    with pytest.raises(CommandError, match=message):
        run("load_resource", *filled)

    assert not Resource.objects.exists()


# If changed ---------------------------------------------------------------------------------------


def test_an_unchanged_file_is_one_line_and_no_failure(db: None, path: Path) -> None:
    assert run("load_resource", path, "--if-changed") == (
        f"Resource {Resource.objects.get().pk} (rivers): 3 records.\n", "",
    )  # fmt: skip

    out, err = run("load_resource", path, "--if-changed")

    assert out == f"Resource {Resource.objects.get().pk} (rivers): unchanged.\n"
    assert err == ""
    assert Load.objects.first().state == LoadState.UNCHANGED  # type: ignore[union-attr]


def test_a_changed_file_is_loaded(db: None, path: Path) -> None:
    run("load_resource", path, "--if-changed")
    path.write_text(BODY + "004,01.01.2025,3\n")

    assert "4 records" in run("load_resource", path, "--if-changed")[0]


def test_an_unchanged_file_is_loaded_by_force(db: None, path: Path) -> None:
    run("load_resource", path)

    assert "3 records" in run("load_resource", path, "--force")[0]


def test_a_server_is_asked_whether_its_file_has_changed(db: None, server: Server) -> None:
    url = server.url("/rivers.csv")
    server.answers["/rivers.csv"] = answer(BODY.encode(), 'ETag: "1"')
    run("load_resource", "--url", url, "--if-changed")
    server.answers["/rivers.csv"] = answer(status=304)

    assert "unchanged" in run("load_resource", "--url", url, "--if-changed")[0]
    assert 'If-None-Match: "1"' in server.asked[1]


def test_a_server_is_not_asked_where_the_choices_are_others(db: None, server: Server) -> None:
    url = server.url("/rivers.csv")
    server.answers["/rivers.csv"] = answer(BODY.encode(), 'ETag: "1"')
    run("load_resource", "--url", url, "--if-changed")

    run("load_resource", "--url", url, "--if-changed", "--null", "NA")

    assert "If-None-Match" not in server.asked[1]
    assert types_of(Resource.objects.get())["depth"] == "numeric"


# How it is read -----------------------------------------------------------------------------------


def test_every_choice_of_reading_is_heeded(db: None, tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("Stand 2024\n\nmã|sâu\n007|1\n008|-\n".encode("utf-16-le"))

    run(
        "load_resource", path, "--encoding", "utf-16-le", "--delimiter", "|", "--skip-lines", "2",
        "--null", "-", "--type", "sâu=numeric",
    )  # fmt: skip

    assert types_of(Resource.objects.get()) == {"mã": "text", "sâu": "numeric"}


def test_the_order_of_dates_is_chosen(db: None, tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("day\n01/02/2024\n03/04/2024\n")

    run("load_resource", path, "--date-order", "mdy")

    assert types_of(Resource.objects.get()) == {"day": "date"}


def test_a_schema_gives_types_titles_and_the_key(db: None, path: Path) -> None:
    schema = path.with_suffix(".json")
    schema.write_text(
        json.dumps(
            {
                "fields": [
                    {"name": "code", "type": "string", "title": "Code of the river"},
                    {"name": "day", "type": "date", "format": "%d.%m.%Y"},
                    {"name": "depth", "type": "number"},
                ],
                "missingValues": ["", "NA"],
                "primaryKey": "code",
            }
        )
    )

    run("load_resource", path, "--schema", schema)

    resource = Resource.objects.get()
    assert types_of(resource) == {"code": "text", "day": "date", "depth": "numeric"}
    assert resource.fields.get(name="code").label == "Code of the river"
    assert resource.primary_key == ["code"]


# What becomes of the records ----------------------------------------------------------------------


def test_records_are_added_and_updated_by_key(db: None, tmp_path: Path) -> None:
    path = tmp_path / "rivers.csv"
    for mode, body in (
        ("replace", "code,depth\na,1\nb,2\n"),
        ("upsert", "code,depth\nb,3\nc,4\n"),
        ("append", "code,depth\nd,5\n"),
    ):
        path.write_text(body)
        run("load_resource", path, "--mode", mode, "--key", "code")

    resource = Resource.objects.get()
    assert resource.table_version is not None
    assert resource.table_version.record_count == 4
    assert resource.primary_key == ["code"]


def test_the_key_can_be_taken_away(db: None, path: Path) -> None:
    run("load_resource", path, "--key", "code")
    run("load_resource", path, "--no-key")

    assert Resource.objects.get().primary_key == []


def test_fields_go_only_when_they_may(db: None, path: Path) -> None:
    run("load_resource", path)
    path.write_text("code\n1\n")

    with pytest.raises(CommandError, match="“day”, “depth”"):
        run("load_resource", path)
    run("load_resource", path, "--drop-missing-fields")

    assert types_of(Resource.objects.get()) == {"code": "int4"}


# Bad rows -----------------------------------------------------------------------------------------

RAGGED = "a,b\n1,2\n3\n4,x\n"


def rows_of(report: Path) -> list[list[str]]:
    with report.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_report_lists_the_rows_that_refuse_a_file(db: None, path: Path) -> None:
    path.write_text(RAGGED)
    report = path.with_name("report.csv")

    with pytest.raises(CommandError, match="line 3"):
        run("load_resource", path, "--type", "b=int", "--report", report)

    rows = rows_of(report)
    assert [row[:3] for row in rows] == [
        ["Line", "Field", "Value"], ["3", "", rows[1][2]], ["4", "b", "x"],
    ]  # fmt: skip
    assert not Resource.objects.exists()
    assert not RowError.objects.exists()


def test_bad_rows_are_left_out_and_reported(db: None, path: Path) -> None:
    path.write_text(RAGGED)
    report = path.with_name("report.csv")

    out, _ = run(
        "load_resource", path, "--type", "b=int", "--skip-bad-rows", "--report", report
    )  # fmt: skip

    assert "1 records" in out
    assert "- " in out
    assert len(rows_of(report)) == 3


def test_a_report_without_bad_rows_has_its_header(db: None, path: Path) -> None:
    report = path.with_name("report.csv")

    with translation.override("de"):
        run("load_resource", path, "--report", report)

    assert len(rows_of(report)) == 1


# Dry run ------------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_file_and_writes_nothing(db: None, path: Path) -> None:
    out, err = run("load_resource", path, "--dry-run", "--type", "depth=text")

    lines = out.splitlines()
    assert lines[0] == "3 rows, 3 fields"
    assert lines[2].split() == ["Field", "Type", "First", "values"]
    assert lines[4].split() == ["code", "text", "001", "|", "002", "|", "003"]
    assert "date:dmy" in lines[5]
    assert "text (chosen)" in lines[6]
    assert "  001   31.12.2023  1.5" in lines
    assert err == ""
    assert not Resource.objects.exists()
    assert not Load.objects.exists()


def test_a_dry_run_of_a_url_loads_nothing(db: None, server: Server) -> None:
    server.answers["/rivers.csv"] = answer(BODY.encode())

    assert "3 rows" in run("load_resource", "--url", server.url("/rivers.csv"), "--dry-run")[0]
    assert not Load.objects.exists()


@pytest.mark.parametrize(
    ("body", "options", "said"),
    [
        ("code,day,depth\n1,2\n", [], "Line 2"),
        ("code,day,depth\n1,2,x\n", ["--type", "depth=int"], "Line 2, field “depth”, value “x”"),
        ("code,day\n1,2\n", [], "“depth”"),
        ("code,day,depth\n1,2,3\n1,2,3\n", ["--key", "code"], "line"),
        ("code,day,depth\n1,2,3\n", ["--key", "colour"], "colour"),
        ("code,day,depth\n1,2,3\n", ["--mode", "upsert"], "key"),
        ("code,depth\n1,x\n", ["--mode", "append"], "depth"),
    ],
)
def test_a_dry_run_fails_where_a_load_would(
    db: None, path: Path, body: str, options: list[str], said: str
) -> None:
    run("load_resource", path, "--null", "NA")
    path.write_text(body)

    with pytest.raises(CommandError) as looked:
        run("load_resource", path, *options, "--dry-run")
    with pytest.raises(CommandError) as loaded:
        run("load_resource", path, *options)

    assert str(looked.value) == str(loaded.value)
    assert said.lower() in str(looked.value).lower()


def test_a_dry_run_says_what_would_change(db: None, path: Path) -> None:
    run("load_resource", path)
    path.write_text("code,day,height\n001,31.12.2023,1\n")

    out, _ = run("load_resource", path, "--dry-run", "--drop-missing-fields")

    assert "“height”" in out
    assert "“depth”" in out
    assert Load.objects.count() == 1


def test_a_table_is_aligned_and_steers_no_terminal(db: None, tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("河川,b\n長江,\x1b[31mred\nab,c\n")

    out, _ = run("load_resource", path, "--dry-run")

    assert "\x1b" not in out
    assert "  長江   [31mred" in out
    assert "  ab    c" in out


# What the machine lacks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret/path"), "no room left"),
        (
            duckdb.IOException("Could not write /secret/path: No space left on device"),
            "no room left",
        ),
        (DiskFull("could not extend file /secret/path"), "no room left"),
        (duckdb.OutOfMemoryException("failed to pin block /secret/path"), "more memory"),
    ],
)
def test_a_shortage_is_said_and_nothing_of_the_machine(
    db: None,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    said: str,
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise failure

    monkeypatch.setattr("datastore_search.loading.publishing.planning.decide_formats", fail)
    loaded = run_failing("load_resource", path)
    looked = run_failing("load_resource", path, "--dry-run")

    assert said in loaded
    assert looked == loaded
    assert "secret" not in loaded
    assert not Resource.objects.exists()


def run_failing(*arguments: object) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    return str(caught.value)


# The end ------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_the_old_records_and_says_so(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("load_resource", path)
    before = Resource.objects.get().table_version_id
    path.write_text(BODY + "004,01.01.2025,3\n")

    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("datastore_search.loading.publishing.planning.decide_formats", interrupted)
    with pytest.raises(CommandError, match="Interrupted") as caught:
        run("load_resource", path)

    assert caught.value.returncode == 130
    assert Resource.objects.get().table_version_id == before
    assert Load.objects.first().state == LoadState.FAILED  # type: ignore[union-attr]


def test_ctrl_c_leaves_no_new_resource(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("datastore_search.loading.publishing.planning.decide_formats", interrupted)
    with pytest.raises(CommandError, match="Interrupted"):
        run("load_resource", path)

    assert not Resource.objects.exists()
