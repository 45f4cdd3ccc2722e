"""Files that take very long to read, or unpack to very large content; built when needed."""

from __future__ import annotations

import gzip
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing

from ..contents import (
    build_archive,
    build_geometry,
    build_geopackage,
    build_ods,
    build_parquet,
    build_wkb,
    edit_archive,
)
from ..torture.cases import FILES

_MB = 2**20

# XML ----------------------------------------------------------------------------------------------

_XML = '<?xml version="1.0"?>'

#: Entities of which each has ten of the one before.
_ENTITIES = (
    '[<!ENTITY e0 "ha">'
    + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    + "]>"
)
_LAUGHS = f"<!DOCTYPE a {_ENTITIES}"

# Workbooks ----------------------------------------------------------------------------------------

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD, _TAIL = f"<worksheet {_MAIN}><sheetData>", "</sheetData></worksheet>"
_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c></row>'


def build_xlsx(
    sheet: str = _HEAD + _ROW + _TAIL, *, sheets: int = 1, workbook: str = "", **parts: bytes | str
) -> bytes:
    """Build a workbook whose sheets have the same content; ``parts`` are other files of ``xl/``."""
    listed = "".join(f'<sheet name="s{n}" sheetId="{n + 1}" r:id="r{n}"/>' for n in range(sheets))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(sheets)
    )
    if "sharedStrings" in parts:
        links += (
            f'<Relationship Id="t" Type="{_RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
        )
    members: dict[str, bytes | str] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="w"'
        f' Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": workbook
        or f'<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}'
        "</Relationships>",
        **{f"xl/worksheets/sheet{n}.xml": sheet for n in range(sheets)},
        **{f"xl/{name}.xml": content for name, content in parts.items()},
    }
    return build_archive(members)


def falsify_size(content: bytes, part: str, size: int) -> bytes:
    """Change the declared size of a part of a zip archive."""
    changed = bytearray(content)
    name = part.encode()
    for mark, sizes, names in ((b"PK\3\4", 22, 30), (b"PK\1\2", 24, 46)):
        at = -1
        while (at := content.find(mark, at + 1)) >= 0:
            if content[at + names : at + names + len(name)] == name:
                struct.pack_into("<L", changed, at + sizes, size)
    return bytes(changed)


def _build_cells(cell: str, size: int) -> str:
    return _HEAD + _ROW + '<row r="2">' + cell * (size // len(cell))


# GeoPackages --------------------------------------------------------------------------------------

_PAGE_BYTES = 512


def build_shape(wkb: bytes) -> bytes:
    """Build a GeoPackage of one geometry."""
    rows = {"t": [(build_geometry(wkb),)]}
    return build_geopackage("CREATE TABLE t (geom GEOMETRY);", rows, layers={"t": "features"})


def build_repeating_pages(column: str) -> bytes:
    """Build a table of one row, to which pages lead that each name the next one 50 times."""
    rows = {"t": [(1,)]}
    content = build_geopackage(f"CREATE TABLE t ({column});", rows, layers={"t": "attributes"})
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 't'"
        ).fetchone()
    start, count = (root - 1) * _PAGE_BYTES, len(content) // _PAGE_BYTES
    above = [_build_page(number) for number in range(count + 1, count + 9)]
    pages = content[start : start + _PAGE_BYTES] + b"".join(above)
    changed = bytearray(content + pages)
    changed[start : start + _PAGE_BYTES] = _build_page(count + 9)
    struct.pack_into(">I", changed, 28, len(changed) // _PAGE_BYTES)
    return bytes(changed)


def _build_page(child: int) -> bytes:
    """Build a page of a tree whose entries all lead to one page."""
    count, cell = 50, struct.pack(">IB", child, 1)
    first = _PAGE_BYTES - count * len(cell)
    head = struct.pack(">BHHHBI", 5, 0, count, first, 0, child)
    entries = struct.pack(f">{count}H", *range(first, _PAGE_BYTES, len(cell)))
    return (head + entries).ljust(first, b"\0") + cell * count


def _build_cells_of_nothing(width: int, count: int) -> bytes:
    columns = ",".join(f"a{n} TEXT" for n in range(width))
    rows = {"t": [(None,) * width] * count}
    return build_geopackage(f"CREATE TABLE t ({columns});", rows, layers={"t": "attributes"})


# Others -------------------------------------------------------------------------------------------


def _build_shapefile(**changes: tuple[str, int, int]) -> bytes:
    """
    Build a shapefile of two places in a zip.

    ``changes`` maps a part to the format, the position and the value of a number in its header.
    """
    with zipfile.ZipFile(FILES / "places_shp.zip") as archive:
        parts: dict[str, bytes | str] = {name: archive.read(name) for name in archive.namelist()}
        for part, (number_format, position, value) in changes.items():
            content = bytearray(archive.read(f"map/places.{part}"))
            struct.pack_into(number_format, content, position, value)
            parts[f"map/places.{part}"] = bytes(content)
    return build_archive(parts)


def build_gzip(piece: bytes, times: int) -> bytes:
    """Compress a content, and repeat it: a gzip file may have several members."""
    return gzip.compress(piece, 9, mtime=0) * times


def _build_objects(count: int) -> str:
    return "\n".join(f'{{"a{n}":1}}' for n in range(count))


#: The function that builds the content, by the name of the file.
BOMBS: Mapping[str, Callable[[], bytes | str]] = {
    "declared.xml": lambda: _XML + "<?a?>" * _MB,
    "deep.kml": lambda: _XML + "<kml>" + "<a>" * _MB,
    "laughs.kml": lambda: f"{_XML}<!DOCTYPE kml {_ENTITIES}<kml><Placemark>&e11;</Placemark></kml>",
    "nested_folders.kml": lambda: _XML + "<kml>" + "<Folder><Placemark/>" * 90,
    # Patterns that search for an end that is missing take very long.
    "open_cells.xlsx": lambda: build_xlsx(_build_cells("<c ", _MB)),
    "open_errors.xlsx": lambda: build_xlsx(_build_cells('<c t="e" r="A2"', _MB)),
    "open_attributes.xlsx": lambda: build_xlsx(_build_cells("<c r=", _MB)),
    "open_formulas.xlsx": lambda: build_xlsx(_build_cells('<c r="A2" t="e"><f>', _MB)),
    "long_prefix.xlsx": lambda: build_xlsx(_HEAD + _ROW + "<" + "a" * 8 * _MB),
    "looping.xls": (FILES / "looped.xls").read_bytes,
    "long_sheet_name.xlsx": lambda: build_xlsx(
        workbook="<workbook><sheet " + "a" * 4 * _MB + "/></workbook>"
    ),
    "laughs.xlsx": lambda: build_xlsx(workbook=f"{_LAUGHS}<workbook><sheet a='&e11;'/></workbook>"),
    "laughs_beside_sheets.xlsx": lambda: build_xlsx(
        workbook=f'{_LAUGHS}<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>'
        '<sheet name="s" sheetId="1" r:id="r0"/></sheets><a>&e11;</a></workbook>'
    ),
    "laughs.ods": lambda: edit_archive(
        build_ods("&e11;"), {"content.xml": lambda xml: xml.replace("?>", f"?>{_LAUGHS}", 1)}
    ),
    "open_quote.csv": lambda: b'a,b\n1,"' + b"x" * 8 * _MB,
    "open_quote_over_lines.csv": lambda: b'a,b\n1,"' + b"x\n" * _MB,
    "open_quote_over_blank_lines.csv": lambda: b'a,b\n1,"' + b"\n" * 2 * _MB,
    "open_quote_over_rows.csv": lambda: b'a,b\n1,"' + b"x,y\n" * (_MB // 2),
    "quotes_in_every_row.csv": lambda: b"a,b\n" + b'1,"x\n' * 2**18,
    "blank_lines.csv": lambda: b"a,b\n1,2\n" + b"\n" * 4 * _MB,
    "long_line_not_utf8.csv": lambda: b"a,b\n\xff,1\n" + b"x" * 8 * _MB,
    "repeated_members.json": lambda: (
        "[{" + ",".join(f'"a{n}":1' for n in range(200_000)) + ',"a199999":1}]'
    ),
    "deep.json": lambda: '[{"a":' + "[" * 4 * _MB,
    "deep_objects.json": lambda: '{"a":' * _MB,
    "many_keys.json": lambda: "{" + ",".join(f'"k{n}":1' for n in range(230_000)) + "}",
    "many_members.json": lambda: "[{" + ",".join(f'"a{n}":1' for n in range(125_000)) + "}]",
    "a_new_member_each.ndjson": lambda: _build_objects(1_600),
    "more_members_than_fields.ndjson": lambda: _build_objects(20_000),
    "blanks.json": lambda: b"[" + b" " * 64 * _MB + b'{"a": 1}]',
    "long_line.ndjson": lambda: b'{"a": "' + b"x" * 100 * _MB + b'"}\n{"a": 1}\n',
    "digits.json": lambda: b'[{"a": ' + b"1" * 15 * _MB + b"}]",
    "empty_objects_of_many_fields.json": lambda: (
        "[{" + ",".join(f'"a{n}":1' for n in range(1_600)) + "}" + ",{}" * 2**15 + "]"
    ),
    "many_points.gpkg": lambda: build_shape(
        build_wkb(7, 300_000) + build_wkb(1, 105.8525, 21.0287) * 300_000
    ),
    "many_cells.zip": lambda: build_archive({"cells.gpkg": _build_cells_of_nothing(2_000, 6_000)}),
    "long_value.gpkg": lambda: build_shape(b"\0" * 20 * _MB),
    "repeated_rows.gpkg": lambda: build_repeating_pages("n INTEGER"),
    # The unpacked content is very large.
    "rows.parquet": lambda: build_parquet("SELECT 1 AS a FROM range(70_000_000)"),
    "texts.parquet": lambda: build_parquet("SELECT repeat('x', 1_000_000) AS a FROM range(1_000)"),
    "short_texts.parquet": lambda: build_parquet(
        "SELECT repeat('x', 1_000) AS a FROM range(1_000_000)"
    ),
    "lists.parquet": lambda: build_parquet("SELECT range(50_000) AS a FROM range(500)"),
    "wide.parquet": lambda: build_parquet(
        "SELECT " + ", ".join(f"1 AS a{n}" for n in range(1_600)) + " FROM range(100_000)"
    ),
    "widest.csv": lambda: ",".join(f"a{n}" for n in range(16_384)) + ("\n" + "," * 16_383) * 1_000,
    "widest_short_rows.csv": lambda: ",".join(f"a{n}" for n in range(16_384)) + "\n1" * 1_000_000,
    "large_part.xlsx": lambda: build_xlsx(_build_cells(' <c r="A2"/>', 100 * _MB)),
    "large_texts.xlsx": lambda: build_xlsx(
        sharedStrings=f"<sst {_MAIN}>" + "<si/>" * 20 * _MB + "</sst>"
    ),
    "texts_of_nothing.xlsx": lambda: build_xlsx(
        sharedStrings=f"<sst {_MAIN}>" + "<si/>" * 12 * _MB + "</sst>"
    ),
    "lying_texts.xlsx": lambda: falsify_size(
        build_xlsx(sharedStrings="<sst>" + "<si/>" * _MB + "</sst>"), "xl/sharedStrings.xml", 100
    ),
    "lying_sheet.xlsx": lambda: falsify_size(
        build_xlsx(_build_cells(' <c r="A2"/>', 100 * _MB)), "xl/worksheets/sheet0.xml", 100
    ),
    "far_corner.xlsx": lambda: build_xlsx(
        _HEAD + _ROW + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>' + _TAIL
    ),
    "last_row.xlsx": lambda: build_xlsx(
        _HEAD + _ROW + '<row r="1048576"><c r="S1048576"><v>1</v></c></row>' + _TAIL
    ),
    "claimed.xlsx": lambda: build_xlsx(
        f'<worksheet {_MAIN}><dimension ref="A1:XFD1048576"/><sheetData>{_ROW}{_TAIL}'
    ),
    "many_sheets.xlsx": lambda: build_xlsx(_HEAD + _TAIL, sheets=1_000),
    "many_columns.xlsx": lambda: build_xlsx(
        _HEAD + '<row r="1">' + "<c><v>1</v></c>" * 16_384 + "</row>" + _TAIL
    ),
    "repeated_cells.ods": lambda: build_ods(
        '<table:table table:name="s"><table:table-row table:number-rows-repeated="1000000">'
        '<table:table-cell office:value-type="float" office:value="1"'
        ' table:number-columns-repeated="16000"/></table:table-row></table:table>'
    ),
    "lying_row_length.zip": lambda: _build_shapefile(dbf=("<H", 10, 2**16 - 1)),
    "lying_row_count.zip": lambda: _build_shapefile(dbf=("<L", 4, 2**32 - 1)),
    "lying_index.zip": lambda: _build_shapefile(shx=(">i", 24, 2**31 - 1)),
    "lying_index_too_short.zip": lambda: _build_shapefile(shx=(">i", 24, 0)),
    "gzip.csv.gz": lambda: build_gzip(b"0" * 100 * _MB, 5),
    "rows.csv.gz": lambda: build_gzip(b"a,b\n" * 25 * _MB, 1),
    "gzip.json.gz": lambda: build_gzip(b"[" + b" " * 100 * _MB, 1),
    "twice.csv.gz": lambda: gzip.compress(build_gzip(b"0" * 100 * _MB, 10)),
    "zip.zip": lambda: build_archive({"a.csv": b"0" * 100 * _MB}),
    "many_members.zip": lambda: build_archive({f"{n}.csv": b"" for n in range(40_000)}),
    "columns.csv": lambda: b"a," * _MB + b"\n" + b"1," * _MB + b"\n",
    "nuls.csv": lambda: b"a,b\n" + b"\0" * 8 * _MB,
}
