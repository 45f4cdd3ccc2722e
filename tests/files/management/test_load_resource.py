"""``load_resource``, as staff and schedules type it."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import sys
import uuid
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from unittest.mock import Mock

import duckdb
import pytest
from django.core.management import CommandError, call_command
from psycopg.errors import ConfigurationLimitExceeded, DiskFull

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.management.commands.load_resource import (
    Command,
    build_load_options,
)
from datastore_search.contrib.files.models import Load, LoadState, RowError
from datastore_search.contrib.files.publishing import plan
from datastore_search.models import Resource

from ...builders import run_command
from ..builders import read_rows, read_types, render_messages
from ..sources.server import Server, build_answer

pytestmark = pytest.mark.usefixtures("read_here")

BODY = "code,day,depth\n001,31.12.2023,1.5\n002,01.02.2024,NA\n003,05.06.2024,2\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.csv"
    path.write_text(BODY)
    return path


def get_command_error(*arguments: object, match: str | None = None) -> str:
    with pytest.raises(CommandError, match=match) as caught:
        run_command("load_resource", *arguments)
    return str(caught.value)


def load(*arguments: object) -> str:
    """Run the command, and return what it prints."""
    return run_command("load_resource", *arguments)[0]


def test_a_load_says_what_its_preview_says(db: None, path: Path) -> None:
    path.write_text(
        "Report,,,\nNo. 5,,Unit: t,\ncode,n,share,day\n"
        + "".join(f"x,{number},{number} %,2026-07-13\n" for number in range(50))
        + ",,,\nx,N.d.,1 %,14/07/2026\nx,-,2 %,14/07/2026\nx,N.d.,3 %,14/07/2026\n"
    )

    output = load(path)

    assert output.partition(": 53 records.\n")[2].splitlines() == [
        "- The header was found on line 3; the lines above it were left out.",
        "- Rows without any value were left out: 1.",
        (
            "- Field “n”: text: all values look like numbers, but 3 of 53, the first in line 55: "
            "“N.d.” (2), “-” (1)."
        ),
        "  --null -",
        "  --null N.d.",
        (
            "- Field “share”: text: the unit of numbers is never left out without a choice, as in "
            "line 4: “0 %”."
        ),
        "  --type share=numeric:%",
        (
            "- Field “day”: text: the values look like dates, but are not all written in one way, "
            "and would be returned differently."
        ),
        "  --type day=date:dmy",
    ]
    shown = render_messages(Load.objects.get().notices)
    assert len([notice for notice in shown if notice.startswith("Field")]) == 3
    assert "  text: all values look like numbers, but 3 of 53" in load(path, "--dry-run")


def test_a_file_that_can_be_read_in_two_ways_asks_for_its_encoding(
    db: None, path: Path, server: Server
) -> None:
    path.write_bytes("town\nGenève\n".encode("cp1252"))
    server.answers["/towns.csv"] = build_answer(path.read_bytes())

    for source in ([path], ["--url", server.url("/towns.csv")]):
        error = get_command_error(*source)
        assert "“Windows-1252” (Genève), “Windows-1250” (Genčve)" in error
        assert "\n--encoding Windows-1252\n--encoding Windows-1250" in error
    assert not Resource.objects.exists()

    assert "1 records" in load(path, "--encoding", "Windows-1252")


def test_a_url_is_loaded_under_the_name_at_its_end_unless_it_is_unchanged(
    db: None, server: Server
) -> None:
    url = server.url("/data/My%20rivers.csv")
    server.answers["/data/My%20rivers.csv"] = build_answer(BODY.encode())

    assert "3 records" in load("--url", url)
    kept = Load.objects.get()
    assert kept.resource.name == "my-rivers"
    assert kept.url == kept.source == url
    assert "unchanged" in load("--url", url)


def test_a_failed_fetch_leaves_nothing_and_says_why(db: None, server: Server) -> None:
    server.answers["/rivers.csv"] = build_answer(b"gone", status=404)

    get_command_error("--url", server.url("/rivers.csv"), match="404")
    get_command_error("--url", "http://localhost/rivers.csv", match="localhost")
    get_command_error("--url", "file:///etc/passwd", match="http://")
    assert "secret" not in get_command_error("--url", "http://ann:secret@example.org/f.csv")

    assert not Resource.objects.exists()
    assert not Load.objects.exists()


def test_standard_input_and_a_pipe_are_loaded(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(BODY.encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    Thread(target=pipe.write_text, args=[BODY], daemon=True).start()

    assert "(piped): 3 records" in load("-", "--name", "piped")
    assert "(pipe): 3 records" in load(pipe)


def test_a_file_whose_name_is_not_utf_8_is_loaded(db: None, tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/r\xe9sum\xe9.csv"))
    path.write_text(BODY)

    assert "Rows: 3" in load(path, "--dry-run")
    assert "(rsum): 3 records" in load(path)
    assert Load.objects.get().source == "r�sum�.csv"


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
        (["{path}", "--dry-run", "--report", "r.csv"], "not allowed"),
        (["{path}", "--key", "code", "--no-key"], "not allowed"),
        (["{path}", "--key", "colour"], "colour"),
        (["nowhere.csv"], "There is no file"),
        (["{path}", "--name", "not a slug!"], "slug"),
        (["{path}", "--language", "klingon"], "klingon"),
        (["{path}", "--type", "depth"], "FIELD=TYPE"),
        (["{path}", "--type", "nope=text"], "nope"),
        (["{path}", "--type", "depth=colour"], "colour"),
        (["{path}", "--type", "day=int"], "Line 2, field “day”"),
    ],
)
def test_wrong_arguments_are_reported_and_nothing_is_created(
    db: None, path: Path, arguments: list[str], message: str
) -> None:
    formatted = (argument.format(path=path, folder=path.parent) for argument in arguments)

    get_command_error(*formatted, match=message)

    assert not Resource.objects.exists()


def test_it_takes_id_name_privacy_types_and_indexes(db: None, path: Path) -> None:
    resource_id = uuid.uuid4()

    load(
        path, "--id", resource_id, "--name", "n", "--private", "--language", "simple",
        "--type", "depth=text", "--type", "code=int", "--index", "words",
    )  # fmt: skip
    assert Resource.objects.get().indexes == ["words"]
    for indexes in (["--index", "words", "--index", "dates"], []):
        load(path, "--name", "n", "--force", *indexes)

    resource = Resource.objects.get()
    assert (resource.pk, resource.name) == (resource_id, "n")
    assert (resource.private, resource.language) == (True, "simple")
    assert read_types(resource) == {"code": "int4", "day": "date", "depth": "text"}
    assert resource.indexes == ["words", "dates"]
    assert resource.table_version is not None
    assert resource.table_version.indexes == ["words", "dates"]
    assert resource.loads.count() == 3
    get_command_error(path, "--name", "n", "--index", "colours", match="colours")


@pytest.mark.parametrize("name", ["new", "n"])
def test_it_refuses_an_index_without_its_extension(db: None, path: Path, name: str) -> None:
    Resource.objects.create(name="n")

    get_command_error(path, "--name", name, "--index", "substrings", match="pg_trgm")
    assert not Resource.objects.exclude(name="n", indexes__isnull=True).exists()


def test_it_replaces_an_existing_one(db: None, path: Path) -> None:
    load(path, "--name", "n")
    resource = Resource.objects.get()
    path.write_text("a\n1\n2\n")

    load(path, "--id", resource.pk, "--drop-missing-fields")
    load(path, "--name", "n")

    assert Resource.objects.get() == resource
    assert [row[1] for row in read_rows(resource)] == [1, 2]


@pytest.mark.parametrize("choice", [[], ["--dry-run"]])
def test_it_refuses_another_name_than_that_of_the_resource(
    db: None, path: Path, choice: list[str]
) -> None:
    resource = Resource.objects.create(name="n")

    refused = get_command_error(path, "--id", resource.pk, "--name", "m", *choice)

    assert refused == f"Resource {resource.pk} has the name “n”: omit --name."
    assert not resource.loads.exists()
    load(path, "--id", resource.pk, "--name", "n", *choice)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_printed_on_a_terminal_unless_it_is_silenced(db: None, path: Path) -> None:
    shown, silenced = Terminal(), Terminal()

    call_command("load_resource", path, stdout=io.StringIO(), stderr=shown)
    call_command(
        "load_resource", path, "--force", stdout=io.StringIO(), stderr=silenced, verbosity=0
    )

    assert "3 of 3 records" in shown.getvalue()
    assert silenced.getvalue() == ""
    assert run_command("load_resource", path, "--force")[1] == ""  # no terminal


def test_an_unchanged_file_is_one_line_and_no_failure(db: None, path: Path) -> None:
    printed, _errors = run_command("load_resource", path, "--null", "NA")
    resource = Resource.objects.get()

    assert printed == f"Resource {resource.pk} (rivers): 3 records.\n"
    assert run_command("load_resource", path) == (
        f"Resource {resource.pk} (rivers): unchanged.\n", "",
    )  # fmt: skip
    assert Load.objects.first().state == LoadState.UNCHANGED  # type: ignore[union-attr]


def test_arguments_that_are_repeated_empty_or_left_out_become_options() -> None:
    parser = Command().create_parser("manage.py", "load_resource")

    def build(*arguments: str) -> LoadOptions:
        return build_load_options(vars(parser.parse_args(["rivers.csv", *arguments])))

    assert build() == LoadOptions()
    assert build("--no-key") == LoadOptions(key=())
    assert build("--key", "code", "--key", "day") == LoadOptions(key=("code", "day"))
    assert build("--type", "a=b=numeric") == LoadOptions(types={"a=b": "numeric"})


def test_the_report_lists_the_rows_that_refuse_a_file(db: None, path: Path) -> None:
    path.write_text("a,b\n1,2\n3\n4,x\n")
    report = path.with_name("report.csv")

    get_command_error(path, "--type", "b=int", "--report", report, match="Line 3")

    with report.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[:3] for row in rows] == [
        ["Line", "Field", "Value"], ["3", "", rows[1][2]], ["4", "b", "x"],
    ]  # fmt: skip
    assert not Resource.objects.exists()
    assert not RowError.objects.exists()


def test_a_dry_run_shows_the_file_and_writes_nothing(db: None, path: Path) -> None:
    out, err = run_command("load_resource", path, "--dry-run", "--type", "depth=text")

    shown = [line for line in out.splitlines() if not line.startswith("  ")]
    assert shown == [
        "Rows: 3, fields: 3", "- code: text", "- day: date:dmy", "- depth: text (chosen)",
    ]  # fmt: skip
    assert err == ""
    assert not Resource.objects.exists()
    assert not Load.objects.exists()


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("code,day,depth\n1,2,x\n", ["--type", "depth=int"], "Line 2, field “depth”, value “x”"),
        ("code,day\n1,2\n", [], "“depth”"),
        ("code,day,depth\n1,2,3\n", ["--mode", "upsert"], "key"),
        ("code,depth\n1,x\n", ["--mode", "append"], "depth"),
    ],
)
def test_a_dry_run_fails_where_a_load_would(
    db: None, path: Path, body: str, options: list[str], message: str
) -> None:
    load(path, "--null", "NA")
    path.write_text(body)

    error = get_command_error(path, *options, "--dry-run")

    assert error == get_command_error(path, *options)
    assert message.lower() in error.lower()


def test_a_dry_run_says_what_would_change_without_steering_the_terminal(
    db: None, path: Path
) -> None:
    load(path)
    path.write_text("code,day,\x1b[31mheight\n001,31.12.2023,1\n")

    out = load(path, "--dry-run", "--drop-missing-fields")

    assert "[31mheight”" in out
    assert "“depth”" in out
    assert "\x1b" not in out
    assert Load.objects.count() == 1


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret/path"), "no disk space left"),
        (duckdb.IOException("/secret/path: No space left on device"), "no disk space left"),
        (DiskFull("could not extend file /secret/path"), "no disk space left"),
        (ConfigurationLimitExceeded("temporary file /secret/path exceeds"), "temp_file_limit"),
        (duckdb.OutOfMemoryException("failed to pin block /secret/path"), "more memory"),
    ],
)
def test_a_shortage_is_reported_without_details_of_the_machine(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    monkeypatch.setattr(plan, "decide_formats", Mock(side_effect=failure))
    load_error = get_command_error(path)

    assert message in load_error
    assert get_command_error(path, "--dry-run") == load_error
    assert "secret" not in load_error
    assert not Resource.objects.exists()


def test_ctrl_c_leaves_the_old_records_and_says_so(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(path)
    before = Resource.objects.get().table_version_id
    path.write_text(BODY + "004,01.01.2025,3\n")

    monkeypatch.setattr(plan, "decide_formats", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(CommandError, match="Interrupted") as caught:
        run_command("load_resource", path)

    assert caught.value.returncode == 130
    assert Resource.objects.get().table_version_id == before
    assert Load.objects.first().state == LoadState.FAILED  # type: ignore[union-attr]
