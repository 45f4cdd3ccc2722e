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

import duckdb
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from psycopg.errors import DiskFull

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.management.commands.load_resource import (
    Command,
    build_load_options,
)
from datastore_search.contrib.files.models import Load, LoadState, RowError
from datastore_search.models import Resource

from ...builders import SURVEY, ask, get_ids, run_command
from ..sources.server import Server, build_answer

pytestmark = pytest.mark.usefixtures("read_here")

BODY = "code,day,depth\n001,31.12.2023,1.5\n002,01.02.2024,NA\n003,05.06.2024,2\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.csv"
    path.write_text(BODY)
    return path


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "My survey 2024.csv"
    path.write_text(SURVEY)
    return path


def test_a_load_says_what_its_preview_says(db: None, path: Path) -> None:
    path.write_text(
        "Report,,,\nNo. 5,,Unit: t,\ncode,n,share,day\n"
        + "".join(f"x,{number},{number} %,2026-07-13\n" for number in range(50))
        + ",,,\nx,N.d.,1 %,14/07/2026\nx,-,2 %,14/07/2026\nx,N.d.,3 %,14/07/2026\n"
    )

    output, _errors = run_command("load_resource", path)

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
    shown = Load.objects.get().rendered_notices
    assert len([notice for notice in shown if notice.startswith("Field")]) == 3
    preview, _errors = run_command("load_resource", path, "--dry-run")
    assert "  text: all values look like numbers, but 3 of 53" in preview


def test_a_file_that_can_be_read_in_two_ways_asks_for_its_encoding(
    db: None, path: Path, server: Server
) -> None:
    path.write_bytes("town\nGenève\n".encode("cp1252"))
    server.answers["/towns.csv"] = build_answer(path.read_bytes())

    for source in ([path], ["--url", server.url("/towns.csv")]):
        with pytest.raises(CommandError) as caught:
            run_command("load_resource", *source)
        assert "“Windows-1252” (Genève), “Windows-1250” (Genčve)" in str(caught.value)
        assert "\n--encoding Windows-1252\n--encoding Windows-1250" in str(caught.value)
    assert not Resource.objects.exists()

    assert "1 records" in run_command("load_resource", path, "--encoding", "Windows-1252")[0]


# From where ---------------------------------------------------------------------------------------


def test_a_url_is_loaded_under_the_name_at_its_end(db: None, server: Server) -> None:
    server.answers["/data/My%20rivers.csv"] = build_answer(BODY.encode())

    out, _ = run_command("load_resource", "--url", server.url("/data/My%20rivers.csv"))

    load = Load.objects.get()
    assert load.resource.name == "my-rivers"
    assert load.url == load.source == server.url("/data/My%20rivers.csv")
    assert "3 records" in out


def test_a_failed_fetch_leaves_nothing_and_says_why(db: None, server: Server) -> None:
    server.answers["/rivers.csv"] = build_answer(b"gone", status=404)

    with pytest.raises(CommandError, match="404"):
        run_command("load_resource", "--url", server.url("/rivers.csv"))
    with pytest.raises(CommandError, match="localhost"):
        run_command("load_resource", "--url", "http://localhost/rivers.csv")
    with pytest.raises(CommandError, match="http://"):
        run_command("load_resource", "--url", "file:///etc/passwd")

    assert not Resource.objects.exists()


def test_a_password_in_an_address_is_kept_nowhere(db: None, path: Path) -> None:
    run_command("load_resource", path)

    with pytest.raises(CommandError) as caught:
        run_command(
            "load_resource", "--url", "http://ann:secret@example.org/f.csv", "--name", "rivers"
        )

    assert "secret" not in str(caught.value)
    assert Load.objects.count() == 1


def test_standard_input_is_loaded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(BODY.encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))

    out, _ = run_command("load_resource", "-", "--name", "piped")

    assert "(piped): 3 records" in out


def test_a_pipe_is_loaded(db: None, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    Thread(target=pipe.write_text, args=[BODY], daemon=True).start()

    out, _ = run_command("load_resource", pipe)

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

    with pytest.raises(CommandError, match=message):
        run_command("load_resource", *formatted)

    assert not Resource.objects.exists()


# The resource -------------------------------------------------------------------------------------


def test_it_takes_id_name_privacy_and_types(db: None, survey: Path) -> None:
    resource_id = uuid.uuid4()

    run_command(
        "load_resource", survey, "--id", resource_id, "--name", "n", "--private",
        "--language", "simple", "--type", "amount=text", "--type", "code=int",
    )  # fmt: skip

    resource = Resource.objects.get(pk=resource_id)
    assert (resource.name, resource.private, resource.language) == ("n", True, "simple")
    types = {field.name: field.type for field in resource.fields.all()}
    assert (types["amount"], types["code"]) == ("text", "int4")


def test_it_takes_the_indexes_of_this_and_all_later_loads(db: None, survey: Path) -> None:
    run_command("load_resource", survey, "--name", "n", "--index", "words", "--index", "dates")
    run_command("load_resource", survey, "--name", "n")

    resource = Resource.objects.get()
    assert resource.indexes == ["words", "dates"]
    assert resource.table_version is not None
    assert resource.table_version.indexes == ["words", "dates"]
    assert resource.loads.count() == 2
    with pytest.raises(CommandError, match="colours"):
        run_command("load_resource", survey, "--name", "n", "--index", "colours")


@pytest.mark.parametrize("name", ["new", "n"])
def test_it_refuses_an_index_without_its_extension(db: None, survey: Path, name: str) -> None:
    Resource.objects.create(name="n")

    with pytest.raises(CommandError, match="pg_trgm"):
        run_command("load_resource", survey, "--name", name, "--index", "substrings")
    assert not Resource.objects.exclude(name="n", indexes__isnull=True).exists()


def test_it_replaces_an_existing_one(client: Client, db: None, survey: Path) -> None:
    run_command("load_resource", survey, "--name", "n", "--private")
    resource = Resource.objects.get()
    resource.private = False
    resource.save()
    survey.write_text("a\n1\n2\n")

    run_command("load_resource", survey, "--id", resource.pk, "--drop-missing-fields")
    run_command("load_resource", survey, "--name", "n")

    assert Resource.objects.count() == 1
    assert get_ids(ask(client, {"resource_id": str(resource.pk)})) == [1, 2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_printed_on_a_terminal_unless_it_is_silenced(db: None, survey: Path) -> None:
    shown, silenced = Terminal(), Terminal()

    call_command("load_resource", survey, stdout=io.StringIO(), stderr=shown)
    call_command("load_resource", survey, stdout=io.StringIO(), stderr=silenced, verbosity=0)

    assert "6 of 6 records" in shown.getvalue()
    assert silenced.getvalue() == ""
    assert run_command("load_resource", survey)[1] == ""  # no terminal


# If changed ---------------------------------------------------------------------------------------


def test_an_unchanged_file_is_one_line_and_no_failure(db: None, path: Path) -> None:
    assert run_command("load_resource", path, "--null", "NA") == (
        f"Resource {Resource.objects.get().pk} (rivers): 3 records.\n", "",
    )  # fmt: skip

    out, err = run_command("load_resource", path)

    assert out == f"Resource {Resource.objects.get().pk} (rivers): unchanged.\n"
    assert err == ""
    assert Load.objects.first().state == LoadState.UNCHANGED  # type: ignore[union-attr]


def test_a_file_of_a_url_is_compared_with_the_last_one(db: None, server: Server) -> None:
    url = server.url("/rivers.csv")
    server.answers["/rivers.csv"] = build_answer(BODY.encode())
    run_command("load_resource", "--url", url)

    assert "unchanged" in run_command("load_resource", "--url", url)[0]


# What becomes an option ---------------------------------------------------------------------------


def test_arguments_that_are_repeated_empty_or_left_out_become_options() -> None:
    parser = Command().create_parser("manage.py", "load_resource")

    def build(*arguments: str) -> LoadOptions:
        return build_load_options(vars(parser.parse_args(["rivers.csv", *arguments])))

    assert build() == LoadOptions()
    assert build("--no-key") == LoadOptions(key=())
    assert build("--key", "code", "--key", "day") == LoadOptions(key=("code", "day"))
    assert build("--type", "a=b=numeric") == LoadOptions(types={"a=b": "numeric"})


# Bad rows -----------------------------------------------------------------------------------------

RAGGED = "a,b\n1,2\n3\n4,x\n"


def read_report_rows(report: Path) -> list[list[str]]:
    with report.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_report_lists_the_rows_that_refuse_a_file(db: None, path: Path) -> None:
    path.write_text(RAGGED)
    report = path.with_name("report.csv")

    with pytest.raises(CommandError, match="Line 3"):
        run_command("load_resource", path, "--type", "b=int", "--report", report)

    rows = read_report_rows(report)
    assert [row[:3] for row in rows] == [
        ["Line", "Field", "Value"], ["3", "", rows[1][2]], ["4", "b", "x"],
    ]  # fmt: skip
    assert not Resource.objects.exists()
    assert not RowError.objects.exists()


# Dry run ------------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_file_and_writes_nothing(db: None, path: Path) -> None:
    out, err = run_command("load_resource", path, "--dry-run", "--type", "depth=text")

    lines = out.splitlines()
    assert lines[0] == "Rows: 3, fields: 3"
    assert lines[1] == "- code: text"
    assert "- day: date:dmy" in lines
    assert "- depth: text (chosen)" in lines
    assert err == ""
    assert not Resource.objects.exists()
    assert not Load.objects.exists()


REFUSED = [
    ("code,day,depth\n1,2,x\n", ["--type", "depth=int"], "Line 2, field “depth”, value “x”"),
    ("code,day\n1,2\n", [], "“depth”"),
    ("code,day,depth\n1,2,3\n", ["--mode", "upsert"], "key"),
    ("code,depth\n1,x\n", ["--mode", "append"], "depth"),
]


def test_a_dry_run_fails_where_a_load_would(db: None, path: Path) -> None:
    run_command("load_resource", path, "--null", "NA")
    for body, options, message in REFUSED:
        path.write_text(body)

        error = get_command_error("load_resource", path, *options, "--dry-run")

        assert error == get_command_error("load_resource", path, *options)
        assert message.lower() in error.lower()


def test_a_dry_run_says_what_would_change(db: None, path: Path) -> None:
    run_command("load_resource", path)
    path.write_text("code,day,height\n001,31.12.2023,1\n")

    out, _ = run_command("load_resource", path, "--dry-run", "--drop-missing-fields")

    assert "“height”" in out
    assert "“depth”" in out
    assert Load.objects.count() == 1


def test_the_names_of_fields_steer_no_terminal(db: None, tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("河川,\x1b[31mred\n長江,c\n")

    out, _ = run_command("load_resource", path, "--dry-run")

    assert "\x1b" not in out
    assert "[31mred: text" in out


# What the machine lacks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret/path"), "no disk space left"),
        (
            duckdb.IOException("Could not write /secret/path: No space left on device"),
            "no disk space left",
        ),
        (DiskFull("could not extend file /secret/path"), "no disk space left"),
        (duckdb.OutOfMemoryException("failed to pin block /secret/path"), "more memory"),
    ],
)
def test_a_shortage_is_reported_without_details_of_the_machine(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise failure

    monkeypatch.setattr("datastore_search.contrib.files.publishing.plan.decide_formats", fail)
    load_error = get_command_error("load_resource", path)
    dry_run_error = get_command_error("load_resource", path, "--dry-run")

    assert message in load_error
    assert dry_run_error == load_error
    assert "secret" not in load_error
    assert not Resource.objects.exists()


def get_command_error(*arguments: object) -> str:
    with pytest.raises(CommandError) as caught:
        run_command(*arguments)
    return str(caught.value)


# The end ------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_the_old_records_and_says_so(
    db: None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_command("load_resource", path)
    before = Resource.objects.get().table_version_id
    path.write_text(BODY + "004,01.01.2025,3\n")

    def raise_interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "datastore_search.contrib.files.publishing.plan.decide_formats", raise_interrupt
    )
    with pytest.raises(CommandError, match="Interrupted") as caught:
        run_command("load_resource", path)

    assert caught.value.returncode == 130
    assert Resource.objects.get().table_version_id == before
    assert Load.objects.first().state == LoadState.FAILED  # type: ignore[union-attr]
