"""
Builds the files of the folder that are not plain text.

    python -m tests.loading.torture.make_files [name …]

builds all of them, or some; each function builds the file of its name.
"""

from __future__ import annotations

import gzip
import importlib
import io
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import duckdb
from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.worksheet.worksheet import Worksheet

FILES = Path(__file__).parent / "files"

Builders = dict[str, Callable[[], bytes]]

BUILDERS: Builders = {}


def register_builder(name: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Register a function that builds the bytes of a file."""

    def register(builder: Callable[[], bytes]) -> Callable[[], bytes]:
        BUILDERS[name] = builder
        return builder

    return register


def build_archive(members: Mapping[str, str | bytes]) -> bytes:
    """Build a zip with the same bytes each time; the member “mimetype” is stored, as in ODF."""
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in members.items():
            packing = ZIP_STORED if name == "mimetype" else ZIP_DEFLATED
            archive.writestr(ZipInfo(name), content, packing)
    return target.getvalue()


def edit_archive(archive: bytes, changes: Mapping[str, Callable[[str], str]]) -> bytes:
    """Change the text of some members of a zip."""
    with ZipFile(io.BytesIO(archive)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    for name, change in changes.items():
        members[name] = change(members[name].decode()).encode()
    return build_archive(members)


# XLSX ---------------------------------------------------------------------------------------------


def save_workbook(workbook: Workbook) -> bytes:
    """Save a workbook, the same each time."""
    workbook.properties.created = workbook.properties.modified = datetime.fromisoformat(
        "2024-01-01"
    )
    target = io.BytesIO()
    workbook.save(target)
    return edit_archive(target.getvalue(), {})


def build_sheet(*rows: list[object], title: str = "Sheet") -> tuple[Workbook, Worksheet]:
    """Build a workbook with one sheet of rows."""
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = title
    for row in rows:
        sheet.append(row)
    return workbook, sheet


_MOMENT = datetime.fromisoformat("2024-03-05T14:30:15")
_MIDNIGHT = datetime.fromisoformat("2024-03-06")


@register_builder("dates.xlsx")
def _build_dates() -> bytes:
    workbook, sheet = build_sheet(
        ["day", "moment", "clock", "duration"],
        [date(2024, 3, 5), _MOMENT, time(14, 30), timedelta(hours=30)],
        [date(1900, 1, 1), _MIDNIGHT, time(0, 0, 1), timedelta(minutes=5)],
    )
    for row in (2, 3):
        sheet.cell(row, 4).number_format = "[h]:mm:ss"
    return save_workbook(workbook)


@register_builder("dates_1904.xlsx")
def _build_dates_1904() -> bytes:
    workbook, sheet = build_sheet(["day"])
    workbook.epoch = CALENDAR_MAC_1904
    sheet.append([date(2024, 3, 5)])
    return save_workbook(workbook)


@register_builder("formulas.xlsx")
def _build_formulas() -> bytes:
    """Formulas with the values that Excel has saved: a number, a text, an empty text."""
    workbook, _sheet = build_sheet(["n", "double", "word"], [2, "=A2*2", '=IF(A2>1,"many","")'])
    workbook.worksheets[0].append([1, "=A3*2", '=IF(A3>1,"many","")'])
    values = {"B2": ("", "4"), "C2": (' t="str"', "many"), "B3": ("", "2"), "C3": (' t="str"', "")}

    def with_values(text: str) -> str:
        for reference, (kind, value) in values.items():
            start, rest = text.split(f'<c r="{reference}">', 1)
            formula, rest = rest.split("</f>", 1)
            text = (
                f'{start}<c r="{reference}"{kind}>{formula}</f><v>{value}</v>'
                + rest[rest.index("</c>") :]
            )
        return text

    return edit_archive(save_workbook(workbook), {"xl/worksheets/sheet1.xml": with_values})


@register_builder("merged.xlsx")
def _build_merged() -> bytes:
    workbook, sheet = build_sheet(
        ["province", "district"], ["Hanoi", "Ba Dinh"], [None, "Hoan Kiem"]
    )
    sheet.merge_cells("A2:A3")
    return save_workbook(workbook)


@register_builder("no_cells.xlsx")
def _build_no_cells() -> bytes:
    workbook, _sheet = build_sheet()
    workbook.create_sheet("Notes")
    return save_workbook(workbook)


@register_builder("blanks.xlsx")
def _build_blanks() -> bytes:
    """A sheet whose only cell has a no-break blank."""
    return save_workbook(build_sheet(["\u00a0"])[0])


@register_builder("texts.xlsx")
def _build_texts() -> bytes:
    """Returns and blanks, as Excel writes them; blanks count where the file keeps them."""
    workbook, _sheet = build_sheet(["k"], ["a_x000D_\nb"], [" kept "], ["_x005F_x000D_"], ["&amp;"])
    trimmed = '<c r="A6" t="inlineStr"><is><t> trimmed </t></is></c>'
    return edit_archive(
        save_workbook(workbook),
        {
            "xl/worksheets/sheet1.xml": lambda text: text.replace(
                "</sheetData>", f'<row r="6">{trimmed}</row></sheetData>'
            )
        },
    )


@register_builder("footer.xlsx")
def _build_footer() -> bytes:
    """Notes below a blank row, and a short row within the table, which is none."""
    return save_workbook(
        build_sheet(
            ["year", "n", "m", "rate"],
            [2023, 1, 2, 0.5],
            [],
            [2024],
            [2025, 3, 4, 0.25],
            [],
            ["Source: the ministry"],
            ["Note", "preliminary"],
        )[0]
    )


@register_builder("second_sheet.xlsx")
def _build_second_sheet() -> bytes:
    workbook, _sheet = build_sheet(title="Cover")
    for title, value in (("2023", 1), ("2024", 2)):
        sheet = workbook.create_sheet(title)
        sheet.append(["n"])
        sheet.append([value])
    return save_workbook(workbook)


@register_builder("hidden_sheet.xlsx")
def _build_hidden_sheet() -> bytes:
    workbook, sheet = build_sheet(["code"], ["a list for a drop-down"], title="Lists")
    sheet.sheet_state = "hidden"
    visible = workbook.create_sheet("Data")
    workbook.active = visible
    visible.append(["n"])
    visible.append([1])
    return save_workbook(workbook)


@register_builder("numbers_as_text.xlsx")
def _build_numbers_as_text() -> bytes:
    return save_workbook(build_sheet(["code", "n", "both"], ["007", 7, "8"], ["12", 12, 9])[0])


@register_builder("numbers.xlsx")
def _build_numbers() -> bytes:
    """Numbers as Excel writes them, some with 17 digits, and a number with the format of a rate."""
    workbook, sheet = build_sheet(
        ["whole", "decimal", "long", "tiny", "rate"],
        [5.0, 0.1, 2**53 - 1, 1e-9, 0.5],
        [-3, 1.1, 1.2345678901234567e19, 0.25, 1],
    )
    sheet["E2"].number_format = "0%"
    change = {
        "xl/worksheets/sheet1.xml": lambda text: text.replace("<v>1.1<", "<v>1.1000000000000001<")
    }
    return edit_archive(save_workbook(workbook), change)


@register_builder("errors.xlsx")
def _build_errors() -> bytes:
    return save_workbook(
        build_sheet(["k", "n"], ["a", 1], ["b", "#N/A"], ["c", "#DIV/0!"], ["d", 4])[0]
    )


@register_builder("preamble.xlsx")
def _build_preamble() -> bytes:
    return save_workbook(
        build_sheet(
            ["Population of Vietnam"],
            ["Source:", "General Statistics Office"],
            [],
            ["province", "area", 2023, date(2024, 7, 1)],
            ["Hanoi", 3359.82, 8587.1, 8718],
            ["Da Nang", 1284.73, 1245.2, 1269],
        )[0]
    )


@register_builder("edges.xlsx")
def _build_edges() -> bytes:
    """A table that begins at C3, with an empty column and an empty row in it."""
    workbook, sheet = build_sheet()
    cells: dict[str, str | int] = {"C3": "k", "E3": "n", "C4": "a", "E4": 1, "C6": "b", "E6": 2}
    for reference, value in cells.items():
        sheet[reference] = value
    sheet["H9"].number_format = "0.00"
    return save_workbook(workbook)


@register_builder("stray_cell.xlsx")
def _build_stray_cell() -> bytes:
    workbook, sheet = build_sheet(["k"], ["a"])
    sheet["XFD1048576"] = "x"
    return save_workbook(workbook)


@register_builder("truncated.xlsx")
def _build_truncated() -> bytes:
    return _build_dates()[:3000]


@register_builder("damaged.xlsx")
def _build_damaged() -> bytes:
    """The directory of the archive is whole; the sheet in it is not."""
    whole = bytearray(save_workbook(build_sheet(*[[f"word {n}", n] for n in range(200)])[0]))
    with ZipFile(io.BytesIO(bytes(whole))) as archive:
        start = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 300
    whole[start : start + 40] = bytes(40)
    return bytes(whole)


@register_builder("encrypted.xlsx")
def _build_encrypted() -> bytes:
    """Built once with msoffcrypto-tool, which nothing else needs; each build has another salt."""
    plain, target = io.BytesIO(_build_merged()), io.BytesIO()
    importlib.import_module("msoffcrypto.format.ooxml").OOXMLFile(plain).encrypt("secret", target)
    return target.getvalue()


@register_builder("letter.xlsx")
def _build_letter() -> bytes:
    """A text document with the name of a workbook."""
    return build_archive(
        {
            "[Content_Types].xml": '<?xml version="1.0"?><Types/>',
            "word/document.xml": '<?xml version="1.0"?><document>Dear Sir or Madam</document>',
        }
    )


@register_builder("old.xls")
def _build_old() -> bytes:
    """Built once with xlwt, which nothing else needs."""
    workbook = importlib.import_module("xlwt").Workbook()
    sheet = workbook.add_sheet("Data")
    rows: list[list[str | float]] = [["code", "n"], ["007", 1.5], ["số", 2]]
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            sheet.write(row, column, cell)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


@register_builder("cells.xls")
def _build_xls_cells() -> bytes:
    """Errors, and numbers that are shown as dates and stand for none; built once with xlwt."""
    xlwt = importlib.import_module("xlwt")
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("S")
    day, clock = (xlwt.easyxf(num_format_str=form) for form in ("yyyy-mm-dd", "[h]:mm:ss"))
    for column, name in enumerate(("n", "day", "clock", "text", "truth")):
        sheet.write(0, column, name)
    texts = (" kept ", "_x000D_", "a\r\nb", "&amp;", "x", "y", "z")
    numbers = (1, 59, 60, 61, -1.5, 45000.5, 2958466)
    for row, (number, text) in enumerate(zip(numbers, texts, strict=True), start=1):
        sheet.write(row, 0, row)
        sheet.write(row, 1, number, day)
        sheet.write(row, 2, number, clock)
        sheet.write(row, 3, text)
        sheet.write(row, 4, row % 2 == 0)
    sheet.write(8, 0, 8)
    sheet.row(8).set_cell_error(1, 0x2A)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


@register_builder("looped.xls")
def _build_looped() -> bytes:
    """A workbook whose directory has a sector that leads back to itself."""
    content = bytearray((FILES / "cells.xls").read_bytes())
    directory, fat = (struct.unpack_from("<I", content, place)[0] for place in (48, 76))
    struct.pack_into("<I", content, 512 * (fat + 1) + 4 * directory, directory)
    return bytes(content)


# ODS ----------------------------------------------------------------------------------------------

_ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    '<?xml version="1.0"?><manifest:manifest'
    ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{}'
    "</manifest:file-entry></manifest:manifest>"
)


def build_ods(*sheets: str, manifest: str = "") -> bytes:
    """Build an ODS from the XML of its tables, as LibreOffice writes them."""
    spaces = {
        "office": "office",
        "table": "table",
        "text": "text",
    }
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in spaces.items()
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {names}'
        ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
        f"<office:body><office:spreadsheet>{''.join(sheets)}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    return build_archive(
        {
            "mimetype": _ODS_TYPE,
            "content.xml": content,
            "META-INF/manifest.xml": _MANIFEST.format(manifest),
        }
    )


def build_ods_table(name: str, *rows: str) -> str:
    """Build a sheet; like LibreOffice, end it with all empty rows that are possible."""
    written = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return (
        f'<table:table table:name="{name}">{written}<table:table-row'
        ' table:number-rows-repeated="1048000"><table:table-cell'
        ' table:number-columns-repeated="16384"/></table:table-row></table:table>'
    )


def build_ods_cell(kind: str, text: str, **attributes: str) -> str:
    """Build a cell."""
    attributes_xml = "".join(
        f' office:{name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )
    return (
        f'<table:table-cell office:value-type="{kind}"{attributes_xml} calcext:value-type="{kind}">'
        f"<text:p>{text}</text:p></table:table-cell>"
    )


def build_ods_texts(*texts: str) -> str:
    """Build cells of text."""
    return "".join(build_ods_cell("string", text) for text in texts)


@register_builder("values.ods")
def _build_values() -> bytes:
    return build_ods(
        build_ods_table(
            "Values",
            build_ods_texts("day", "moment", "price", "rate", "clock", "true", "code"),
            build_ods_cell("date", "05.03.24", date_value="2024-03-05")
            + build_ods_cell("date", "05.03.24 14:30", date_value="2024-03-05T14:30:15")
            + build_ods_cell("currency", "1.234,50 €", value="1234.5", currency="EUR")
            + build_ods_cell("percentage", "12,5%", value="0.125")
            + build_ods_cell("time", "14:30:00", time_value="PT14H30M00S")
            + build_ods_cell("boolean", "WAHR", boolean_value="true")
            + build_ods_texts("007"),
            build_ods_cell("date", "06.03.24", date_value="2024-03-06")
            + build_ods_cell("date", "06.03.24 00:00", date_value="2024-03-06")
            + build_ods_cell("currency", "2,00 €", value="2", currency="EUR")
            + build_ods_cell("percentage", "100%", value="1")
            + build_ods_cell("time", "00:00:01", time_value="PT00H00M01S")
            + build_ods_cell("boolean", "FALSCH", boolean_value="false")
            + build_ods_texts("12"),
        )
    )


@register_builder("errors.ods")
def _build_ods_errors() -> bytes:
    error = (
        '<table:table-cell table:formula="of:=1/0" office:value-type="string"'
        ' office:string-value="" calcext:value-type="error"><text:p>#DIV/0!</text:p>'
        "</table:table-cell>"
    )
    number = build_ods_cell("float", "1", value="1")
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    return build_ods(
        build_ods_table("First", build_ods_texts("a"), error),
        build_ods_table(
            "Second",
            build_ods_texts("k", "m", "l", "n"),
            build_ods_texts("x") + empty + number,
            build_ods_texts("y") + empty + error,
        ),
    )


@register_builder("texts.ods")
def _build_ods_text_cells() -> bytes:
    """Tabs, breaks and blanks, negative and long durations, a cell that a merged one covers."""
    texts = build_ods_texts(
        "a<text:tab/>b<text:line-break/>c<text:s text:c='2'/>d</text:p><text:p>&lt;e&gt;", "x"
    )
    covered = build_ods_texts("covered").replace("table:table-cell", "table:covered-table-cell")
    twice = '</table:table-row><table:table-row table:number-rows-repeated="2">'
    return build_ods(
        build_ods_table(
            "S",
            build_ods_texts("k", "m"),
            texts,
            build_ods_texts("negative") + build_ods_cell("time", "", time_value="-PT1H00M00S"),
            build_ods_texts("long") + build_ods_cell("time", "", time_value="PT30H05M00.50S")
            + twice + build_ods_texts("r<text:tab/>") + covered,
        )
    )  # fmt: skip


@register_builder("repeated.ods")
def _build_repeated() -> bytes:
    """A few hundred bytes for a thousand million cells."""
    number = build_ods_cell("float", "1", value="1").replace(
        "<table:table-cell", '<table:table-cell table:number-columns-repeated="1000"'
    )
    row = f'<table:table-row table:number-rows-repeated="1000000">{number}</table:table-row>'
    return build_ods(f'<table:table table:name="Bomb">{row}</table:table>')


@register_builder("encrypted.ods")
def _build_encrypted_ods() -> bytes:
    return build_ods(manifest="<manifest:encryption-data/>")


# JSON ---------------------------------------------------------------------------------------------


@register_builder("utf16.json")
def _build_utf16() -> bytes:
    """Without a byte order mark: only the positions of the NULs show the encoding."""
    return '[{"tỉnh": "Đà Nẵng", "n": 1}]'.encode("utf-16-le")


@register_builder("latin1_line.ndjson")
def _build_latin1_line() -> bytes:
    return b'{"k": "caf\xe9"}\n{"k": "th\xc3\xa9"}\n'


@register_builder("deep.json")
def _build_deep() -> bytes:
    return b'[{"k": ' + b"[" * 150 + b"]" * 150 + b"}]"


# Parquet ------------------------------------------------------------------------------------------


def build_parquet(query: str) -> bytes:
    """Write the answer to a query as Parquet."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "made.parquet")
        duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path.read_bytes()


@register_builder("types.parquet")
def _build_types() -> bytes:
    return build_parquet(
        "SELECT '007' AS code, 1.10::DECIMAL(9, 2) AS price, 9007199254740993::BIGINT AS id,"
        " 18446744073709551615::UBIGINT AS big, 0.1::FLOAT AS small, true AS yes,"
        " DATE '2024-03-05' AS day, TIMESTAMP '2024-03-05 14:30:15.5' AS moment,"
        " TIMESTAMPTZ '2024-03-05 14:30:15+07' AS zoned, TIME '14:30:15.25' AS clock,"
        " '6f1a1c5e-0000-4000-8000-000000000001'::UUID AS key"
        " UNION ALL SELECT '12', 2.00, -1, 0::UBIGINT, 'nan'::FLOAT,"
        " NULL, NULL, NULL, NULL, NULL, NULL"
    )


@register_builder("nested.parquet")
def _build_nested() -> bytes:
    return build_parquet(
        "SELECT ['a', NULL, 'b\"'] AS words, [1, 2]::INTEGER[] AS ints, [1]::BIGINT[] AS longs,"
        " [0.5, 'nan'::DOUBLE]::DOUBLE[] AS doubles, [true] AS truths,"
        " [12345678901234567.10]::DECIMAL(20, 2)[] AS amounts,"
        " {'at': DATE '2024-03-05', 'price': 1.10::DECIMAL(9, 2), 'tags': ['x']} AS thing,"
        " MAP {'k': 1, 'l': NULL} AS pairs"
        " UNION ALL SELECT NULL, [], NULL, NULL, NULL, NULL, NULL, NULL"
    )


@register_builder("nanoseconds.parquet")
def _build_nanoseconds() -> bytes:
    return build_parquet(
        "SELECT TIMESTAMP_NS '2024-03-05 14:30:15.123456789' AS fine,"
        " TIMESTAMP_NS '2024-03-05 14:30:15.5' AS coarse"
    )


@register_builder("bytes.parquet")
def _build_bytes() -> bytes:
    return build_parquet(
        r"SELECT '\xFF\x00'::BLOB AS picture, 'caf\xC3\xA9'::BLOB AS word"
        r" UNION ALL SELECT 'a'::BLOB, 'b'::BLOB"
    )


@register_builder("nul.parquet")
def _build_nul() -> bytes:
    return build_parquet("SELECT 'a' || chr(0) || 'b' AS k UNION ALL SELECT 'c'")


@register_builder("no_rows.parquet")
def _build_no_rows() -> bytes:
    return build_parquet("SELECT 1 AS n, 'x' AS k WHERE false")


@register_builder("same_names.parquet")
def _build_same_names() -> bytes:
    """Names that differ only in case; DuckDB cannot write them, so one is changed afterwards."""
    return build_parquet("SELECT 1 AS name, 2 AS nbme").replace(b"nbme", b"Name")


@register_builder("truncated.parquet")
def _build_truncated_parquet() -> bytes:
    return _build_types()[:-100]


@register_builder("encrypted.parquet")
def _build_encrypted_parquet() -> bytes:
    return b"PARE" + struct.pack("<I", zlib.crc32(b"secret")) + b"PARE"


@register_builder("late_misfit.csv.gz")
def _build_late_misfit() -> bytes:
    """More rows than the first sample; the last value is not a number."""
    return gzip.compress(b"id,n\n" + b"7,7\n" * 25_000 + b"7,n/a\n", mtime=0)


def main(names: list[str]) -> None:
    """Write the files."""
    for module in ("make_cells", "make_geopackages", "make_headers", "make_texts"):
        importlib.import_module(f"{__package__}.{module}")
    builders: Builders = importlib.import_module(f"{__package__}.make_files").BUILDERS
    for name in names or builders:
        Path(FILES / name).write_bytes(builders[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
