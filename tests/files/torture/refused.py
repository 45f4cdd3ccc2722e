"""Files that are refused, with the code and the parameters of the message."""

from __future__ import annotations

from typing import Any

from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed

from .cases import Case


def refuse(
    file: str, trap: str, code: str, read: dict[str, Any] | None = None, **about: Any
) -> Case:
    """Build a case: ``read`` are the options, and ``about`` the parameters of the message."""
    return Case(file, trap, LoadOptions(**(read or {})), failure=LoadFailed(code, **about))


_LAYERS = '“po"ints”, “rivers”, “codes”'
_FOUR, _COVER = {"sheet": "4"}, {"sheet": "Cover"}
_SHEETS = "“Cover”, “2023”, “2024”"
_MEMBERS = "“a/people.csv”, “b/towns.csv”"


CASES = [
    refuse("two_files.zip", "two files", "archive.several_members", members=_MEMBERS),
    refuse("zip_within.zip", "a zip within a zip", "archive.nested"),
    refuse("no_files.zip", "a zip with nothing", "archive.empty"),
    refuse("encrypted.zip", "a zip with a password", "archive.encrypted", member="data.csv"),
    refuse("oddly_packed.zip", "an odd method", "archive.unknown_compression", member="data.csv"),
    refuse("bomb.zip", "a few hundred bytes that become 100 MB", "archive.suspicious", ratio=200),
    refuse("empty.csv", "nothing", "file.empty"),
    refuse("blank.csv", "nothing but blanks and line ends", "file.empty"),
    refuse("mark_alone.csv", "nothing but a mark", "file.empty"),
    refuse("too_wide.csv", "too many fields", "file.too_many_fields", count=1601, most=1600),
    refuse("no_list.json", "an error message in place of the data", "json.no_list"),
    refuse(
        "two_lists.json", "no such list", "json.unknown_path", {"records_path": "a.b"}, path="a.b"
    ),
    refuse("broken.json", "a comma that is missing", "json.invalid", line=3, column=9),
    refuse("broken_off.json", "half a file", "json.truncated"),
    refuse("latin1_line.ndjson", "one line in another encoding", "file.unknown_encoding"),
    refuse("truncated.parquet", "a file without its end", "parquet.damaged"),
    refuse("encrypted.parquet", "an encrypted file", "parquet.encrypted"),
    refuse("int96_nanoseconds.parquet", "finer than a microsecond", "parquet.int96", field="t"),
    refuse("int96_far.parquet", "a day that would become another one", "parquet.int96", field="t"),
    refuse("layers.gpkg", "several layers", "geo.several_layers", layers=_LAYERS),
    refuse("layers.gpkg", "no such layer", "geo.unknown_layer", _FOUR, layer="4", layers=_LAYERS),
    refuse("curves.gpkg", "a curve", "geo.curves", format="GeoPackage"),
    refuse("no_system.gpkg", "coordinates of an unknown kind", "geo.unknown_coordinates"),
    refuse("tiles.gpkg", "pictures of maps alone", "geo.no_layers"),
    refuse("cut.gpkg", "a page that is missing", "geo.damaged", format="GeoPackage"),
    refuse("no_prj_shp.zip", "coordinates of an unknown kind", "geo.no_coordinates"),
    refuse("damaged_shp.zip", "a cut DBF", "geo.damaged", format="Shapefile"),
    refuse("entities.xml", "entities within entities", "file.save_as_csv", format="XML"),
    refuse("entities.kml", "a KML that declares entities", "file.save_as_csv", format="XML"),
    refuse("no_cells.xlsx", "only empty sheets", "workbook.empty"),
    refuse("blanks.xlsx", "no cell but a no-break blank", "workbook.empty_sheet", sheet="Sheet"),
    refuse("second_sheet.xlsx", "an empty sheet", "workbook.empty_sheet", _COVER, **_COVER),
    refuse(
        "second_sheet.xlsx",
        "no such sheet",
        "workbook.unknown_sheet",
        _FOUR,
        sheets=_SHEETS,
        **_FOUR,
    ),
    refuse("stray_cell.xlsx", "a cell in the last corner of the sheet", "load.out_of_memory"),
    refuse("truncated.xlsx", "half an archive", "archive.truncated"),
    refuse("damaged.xlsx", "an archive with a damaged sheet", "workbook.damaged"),
    refuse("looped.xls", "a sector that leads back to itself", "workbook.damaged"),
    refuse("encrypted.xlsx", "a password", "workbook.encrypted"),
    refuse("letter.xlsx", "a text document with the name of a workbook", "workbook.unknown_format"),
    refuse("repeated.ods", "one cell that stands for many millions", "load.out_of_memory"),
    refuse("encrypted.ods", "a password on an ODS", "workbook.encrypted"),
    refuse(
        "tables_beside.xlsx",
        "no such cells",
        "workbook.empty_range",
        {"cell_range": "G1:H9"},
        range="G1:H9",
        sheet="Sheet",
    ),
    refuse(
        "tables_beside.xlsx",
        "no range",
        "option.invalid_range",
        {"cell_range": "D20:A1"},
        range="D20:A1",
    ),
]
