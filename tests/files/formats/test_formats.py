"""The table of formats: each is recognised, read at every entrance, and named where people look."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files import formats as package
from datastore_search.contrib.files.admin.forms import LoadForm
from datastore_search.contrib.files.formats import (
    InputFormat,
    detect_format,
    formats,
    input_formats,
)
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.jobs import LoadOptions, drafts, submit_load
from datastore_search.contrib.files.models import LoadState
from datastore_search.field_types import MAX_FIELDS
from datastore_search.models import Resource

from ...builders import run_command
from ..admin.forms import make_file
from ..builders import fails_with
from ..contents import build_parquet, build_sheet, save_workbook
from ..torture.cases import FILES
from .pipes import PIPES

ROOT = Path(__file__).resolve().parent.parent.parent.parent
GUIDE = (ROOT / "docs" / "how-to" / "load-files.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

#: A file of each format that is read, by the format's name.
SAMPLES = {
    "CSV, TSV": "amounts.csv",
    "GPX": "walk.gpx",
    "GeoPackage": "places.gpkg",
    "JSON, GeoJSON": "places.geojson",
    "KML": "places.kml",
    "NDJSON": "features.ndjson",
    "Parquet": "nested.parquet",
    "Shapefile": "places_shp.zip",
    "XLS": "old.xls",
    "XLSX, ODS": "values.ods",
}
#: How a file of each other format begins.
STARTS = {
    "7z": b"7z\xbc\xaf\x27\x1c",
    "GIF": b"GIF89a",
    "HTML": b"\n<!DOCTYPE html>",
    "JPEG": b"\xff\xd8\xff",
    "PDF": b"%PDF-1.7",
    "PNG": b"\x89PNG\r\n",
    "RAR": b"Rar!\x1a\x07",
    "RTF": b"{\\rtf1",
    "Git LFS, git-annex": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
    "SQLite": b"SQLite format 3\0",
    "XML": b"<?xml version='1.0'?><a/>",
    "bzip2": b"BZh91AY&SY",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
}
_READER = re.compile(r"^def (\w+)\(\s*path: Path, options: ReadOptions, staging_area", re.MULTILINE)

#: Of a file with several sheets or layers.
FIRST = LoadOptions(sheet="1")

READ = [each for each in formats if each.read]
OTHERS = [each for each in formats if not each.read]


def name_format(each: InputFormat) -> str:
    return each.name


def find_reader(each: InputFormat) -> Callable[..., Any]:
    module, _, function = each.read.partition(":")
    reader: Callable[..., Any] = getattr(import_module(module, package.__name__), function)
    return reader


def test_every_reader_of_the_folder_is_in_the_table() -> None:
    folder = Path(str(package.__file__)).parent
    readers = {
        f".{path.stem}:{name}"
        for path in folder.glob("*.py")
        for name in _READER.findall(path.read_text(encoding="utf-8"))
    }

    assert readers - {".child:read_file"} == {each.read for each in READ}


@pytest.mark.parametrize("each", READ, ids=name_format)
def test_a_format_is_recognised_whatever_its_file_is_called(each: InputFormat) -> None:
    path = FILES / SAMPLES[each.name]

    if not each.unpack:
        assert detect_format(path, path.name) is each
    assert list(inspect.signature(find_reader(each)).parameters)[:2] == ["path", "options"]


@pytest.mark.parametrize("each", READ, ids=name_format)
def test_a_file_is_read_by_the_child(each: InputFormat) -> None:
    with open_table(FILES / SAMPLES[each.name], FIRST) as table:
        assert table.count_rows()


@pytest.mark.parametrize(
    "build",
    [
        lambda names: json.dumps([{name: 1} for name in names]).encode(),
        lambda names: save_workbook(build_sheet(names)[0]),
        lambda names: build_parquet(f"SELECT {', '.join(f'1 AS {name}' for name in names)}"),
    ],
    ids=["JSON", "XLSX", "Parquet"],
)
@pytest.mark.usefixtures("read_here")
def test_there_may_not_be_too_many_fields(
    tmp_path: Path, build: Callable[[list[str]], bytes]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(build([f"k{number}" for number in range(MAX_FIELDS + 1)]))

    with fails_with("file.too_many_fields"), open_table(path, LoadOptions()):
        pass


@pytest.mark.parametrize("each", READ, ids=name_format)
@pytest.mark.usefixtures("read_here")
def test_a_file_is_taken_at_every_entrance(empty: Resource, each: InputFormat) -> None:
    path = FILES / SAMPLES[each.name]
    sent = [make_file(path.read_bytes(), path.name) for _ in range(2)]

    draft = drafts.create_draft(empty, FIRST, file=sent[0])
    load = submit_load(empty, file=sent[1], options=FIRST)
    printed, _ = run_command("load_resource", path, "--name", "n", "--sheet", "1", "--dry-run")

    assert draft.preview is not None
    assert draft.preview.get("row_count"), draft.preview
    load.refresh_from_db()
    assert load.state == LoadState.READY, load.error
    assert f"Rows: {draft.preview['row_count']}," in printed


def test_a_format_of_an_app_is_read_by_the_child_and_named_in_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(input_formats, PIPES.name, PIPES)
    path = tmp_path / "rivers.psv"
    path.write_text("code|level\n007|12\n008|\n")

    with open_table(path, LoadOptions()) as table:
        assert (table.names, table.count_rows()) == (("code", "level"), 2)
    assert str(LoadForm.base_fields["file"].help_text).startswith("CSV, TSV, XLSX, ODS")
    assert "Pipes" in str(LoadForm.base_fields["file"].help_text)


@pytest.mark.parametrize("each", READ, ids=name_format)
def test_a_format_is_named_in_the_form_the_guide_and_the_extras(each: InputFormat) -> None:
    table = re.findall(r"^\| ([^|]+) \| ", GUIDE.partition("## Formats")[2], re.MULTILINE)

    assert each.name in str(LoadForm.base_fields["file"].help_text)
    for name in each.name.split(", "):
        assert any(name in row for row in table), name
    assert not each.extra or each.extra in PROJECT["optional-dependencies"]


@pytest.mark.parametrize("each", OTHERS, ids=name_format)
@pytest.mark.usefixtures("read_here")
def test_a_format_that_is_not_read_is_named(tmp_path: Path, each: InputFormat) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(STARTS[each.name])

    with fails_with(each.refusal, match=each.name), open_table(path, LoadOptions()):
        pass


@pytest.mark.parametrize(
    "start",
    ["<!-- cached\n--> <html><p>Sign in", '<div class="error">Busy</div>', "<TABLE><tr><td>1"],
)
def test_a_part_of_a_page_is_no_csv(tmp_path: Path, start: str) -> None:
    path = tmp_path / "file.csv"
    path.write_text(start)

    with fails_with("file.save_as_csv", match="HTML are not read. Save the table as CSV"):
        detect_format(path, path.name)


def test_the_page_of_an_upload_names_the_formats(staff: Client, empty: Resource) -> None:
    page = staff.get(f"/en/admin/datastore_search/resource/{empty.pk}/load/").content.decode()

    assert page.count("CSV, TSV, XLSX, ODS, XLS, JSON, GeoJSON") == 1
    assert all(each.name in page for each in READ)
