"""
Makes those files of the folder that nobody can read with the eye.

    python -m tests.loading.torture.make_files [name …]

makes all of them, or some, anew; each function says what is in the file of its name.
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
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import duckdb
from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.worksheet.worksheet import Worksheet

FILES = Path(__file__).parent / "files"

Makers = dict[str, Callable[[], bytes]]

MAKERS: Makers = {}


def makes(name: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Register a function that gives the bytes of a file."""

    def register(maker: Callable[[], bytes]) -> Callable[[], bytes]:
        MAKERS[name] = maker
        return maker

    return register


def archive_of(members: Mapping[str, str | bytes]) -> bytes:
    """Make a zip that is the same each time; a member called mimetype is not packed, as in ODF."""
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in members.items():
            packing = ZIP_STORED if name == "mimetype" else ZIP_DEFLATED
            archive.writestr(ZipInfo(name), content, packing)
    return target.getvalue()


def changed(archive: bytes, changes: Mapping[str, Callable[[str], str]]) -> bytes:
    """Change the text of some members of a zip."""
    with ZipFile(io.BytesIO(archive)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    for name, change in changes.items():
        members[name] = change(members[name].decode()).encode()
    return archive_of(members)


# XLSX ---------------------------------------------------------------------------------------------


def saved(workbook: Workbook) -> bytes:
    """Save a workbook, the same each time."""
    workbook.properties.created = workbook.properties.modified = datetime(2024, 1, 1)  # noqa: DTZ001 # openpyxl takes no zones
    target = io.BytesIO()
    workbook.save(target)
    return changed(target.getvalue(), {})


def sheet_of(*rows: list[object], title: str = "Sheet") -> tuple[Workbook, Worksheet]:
    """Begin a workbook with one sheet of rows."""
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = title
    for row in rows:
        sheet.append(row)
    return workbook, sheet


_MOMENT = datetime(2024, 3, 5, 14, 30, 15)  # noqa: DTZ001 # a sheet's moments have no zone
_MIDNIGHT = datetime(2024, 3, 6)  # noqa: DTZ001


@makes("dates.xlsx")
def _dates() -> bytes:
    workbook, sheet = sheet_of(
        ["day", "moment", "clock", "duration"],
        [date(2024, 3, 5), _MOMENT, time(14, 30), timedelta(hours=30)],
        [date(1900, 1, 1), _MIDNIGHT, time(0, 0, 1), timedelta(minutes=5)],
    )
    for row in (2, 3):
        sheet.cell(row, 4).number_format = "[h]:mm:ss"
    return saved(workbook)


@makes("dates_1904.xlsx")
def _dates_1904() -> bytes:
    workbook, sheet = sheet_of(["day"])
    workbook.epoch = CALENDAR_MAC_1904
    sheet.append([date(2024, 3, 5)])
    return saved(workbook)


@makes("formulas.xlsx")
def _formulas() -> bytes:
    """Formulas with the values that Excel has kept, one with a text, one with nothing."""
    workbook, _sheet = sheet_of(["n", "double", "word"], [2, "=A2*2", '=IF(A2>1,"many","")'])
    workbook.worksheets[0].append([1, "=A3*2", '=IF(A3>1,"many","")'])
    kept = {"B2": ("", "4"), "C2": (' t="str"', "many"), "B3": ("", "2"), "C3": (' t="str"', "")}

    def with_values(text: str) -> str:
        for place, (kind, value) in kept.items():
            start, rest = text.split(f'<c r="{place}">', 1)
            formula, rest = rest.split("</f>", 1)
            text = (
                f'{start}<c r="{place}"{kind}>{formula}</f><v>{value}</v>'
                + rest[rest.index("</c>") :]
            )
        return text

    return changed(saved(workbook), {"xl/worksheets/sheet1.xml": with_values})


@makes("merged.xlsx")
def _merged() -> bytes:
    workbook, sheet = sheet_of(["province", "district"], ["Hanoi", "Ba Dinh"], [None, "Hoan Kiem"])
    sheet.merge_cells("A2:A3")
    return saved(workbook)


@makes("no_cells.xlsx")
def _no_cells() -> bytes:
    workbook, _sheet = sheet_of()
    workbook.create_sheet("Notes")
    return saved(workbook)


@makes("second_sheet.xlsx")
def _second_sheet() -> bytes:
    workbook, _sheet = sheet_of(title="Cover")
    for title, value in (("2023", 1), ("2024", 2)):
        sheet = workbook.create_sheet(title)
        sheet.append(["n"])
        sheet.append([value])
    return saved(workbook)


@makes("hidden_sheet.xlsx")
def _hidden_sheet() -> bytes:
    workbook, sheet = sheet_of(["code"], ["a list for a drop-down"], title="Lists")
    sheet.sheet_state = "hidden"
    shown = workbook.create_sheet("Data")
    workbook.active = shown
    shown.append(["n"])
    shown.append([1])
    return saved(workbook)


@makes("numbers_as_text.xlsx")
def _numbers_as_text() -> bytes:
    return saved(sheet_of(["code", "n", "both"], ["007", 7, "8"], ["12", 12, 9])[0])


@makes("numbers.xlsx")
def _numbers() -> bytes:
    """Numbers as Excel writes them, some with 17 digits, and a number with the format of a rate."""
    workbook, sheet = sheet_of(
        ["whole", "decimal", "long", "tiny", "rate"],
        [5.0, 0.1, 2**53 - 1, 1e-9, 0.5],
        [-3, 1.1, 1.2345678901234567e19, 0.25, 1],
    )
    sheet["E2"].number_format = "0%"
    change = {
        "xl/worksheets/sheet1.xml": lambda text: text.replace("<v>1.1<", "<v>1.1000000000000001<")
    }
    return changed(saved(workbook), change)


@makes("errors.xlsx")
def _errors() -> bytes:
    return saved(sheet_of(["k", "n"], ["a", 1], ["b", "#N/A"], ["c", "#DIV/0!"], ["d", 4])[0])


@makes("preamble.xlsx")
def _preamble() -> bytes:
    return saved(
        sheet_of(
            ["Population of Vietnam"],
            ["Source:", "General Statistics Office"],
            [],
            ["province", "area", 2023, date(2024, 7, 1)],
            ["Hanoi", 3359.82, 8587.1, 8718],
            ["Da Nang", 1284.73, 1245.2, 1269],
        )[0]
    )


@makes("edges.xlsx")
def _edges() -> bytes:
    """A table that begins at C3, with an empty column and an empty row in it."""
    workbook, sheet = sheet_of()
    cells: dict[str, str | int] = {"C3": "k", "E3": "n", "C4": "a", "E4": 1, "C6": "b", "E6": 2}
    for place, value in cells.items():
        sheet[place] = value
    sheet["H9"].number_format = "0.00"
    return saved(workbook)


@makes("stray_cell.xlsx")
def _stray_cell() -> bytes:
    workbook, sheet = sheet_of(["k"], ["a"])
    sheet["XFD1048576"] = "x"
    return saved(workbook)


@makes("truncated.xlsx")
def _truncated() -> bytes:
    return _dates()[:3000]


@makes("damaged.xlsx")
def _damaged() -> bytes:
    """The directory of the archive is whole; the sheet in it is not."""
    whole = bytearray(saved(sheet_of(*[[f"word {n}", n] for n in range(200)])[0]))
    with ZipFile(io.BytesIO(bytes(whole))) as archive:
        start = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 300
    whole[start : start + 40] = bytes(40)
    return bytes(whole)


@makes("encrypted.xlsx")
def _encrypted() -> bytes:
    """Made once with msoffcrypto-tool, which nothing else needs; the salt is another each time."""
    plain, target = io.BytesIO(_merged()), io.BytesIO()
    importlib.import_module("msoffcrypto.format.ooxml").OOXMLFile(plain).encrypt("secret", target)
    return target.getvalue()


@makes("letter.xlsx")
def _letter() -> bytes:
    """A text document that somebody has renamed."""
    return archive_of(
        {
            "[Content_Types].xml": '<?xml version="1.0"?><Types/>',
            "word/document.xml": '<?xml version="1.0"?><document>Dear Sir or Madam</document>',
        }
    )


@makes("old.xls")
def _old() -> bytes:
    """Made once with xlwt, which nothing else needs."""
    workbook = importlib.import_module("xlwt").Workbook()
    sheet = workbook.add_sheet("Data")
    rows: list[list[str | float]] = [["code", "n"], ["007", 1.5], ["số", 2]]
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            sheet.write(row, column, cell)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


# ODS ----------------------------------------------------------------------------------------------

_ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    '<?xml version="1.0"?><manifest:manifest'
    ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{}'
    "</manifest:file-entry></manifest:manifest>"
)


def ods_of(*sheets: str, manifest: str = "") -> bytes:
    """Make an ODS of the XML of its tables, as LibreOffice writes them."""
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
    return archive_of(
        {
            "mimetype": _ODS_TYPE,
            "content.xml": content,
            "META-INF/manifest.xml": _MANIFEST.format(manifest),
        }
    )


def table_of(name: str, *rows: str) -> str:
    """Write a sheet; LibreOffice ends it with all the empty rows that there could be."""
    written = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return (
        f'<table:table table:name="{name}">{written}<table:table-row'
        ' table:number-rows-repeated="1048000"><table:table-cell'
        ' table:number-columns-repeated="16384"/></table:table-row></table:table>'
    )


def cell(kind: str, shown: str, **attributes: str) -> str:
    """Write a cell."""
    said = "".join(
        f' office:{name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )
    return (
        f'<table:table-cell office:value-type="{kind}"{said} calcext:value-type="{kind}">'
        f"<text:p>{shown}</text:p></table:table-cell>"
    )


def texts(*shown: str) -> str:
    """Write cells of text."""
    return "".join(cell("string", text) for text in shown)


@makes("values.ods")
def _values() -> bytes:
    return ods_of(
        table_of(
            "Values",
            texts("day", "moment", "price", "rate", "clock", "true", "code"),
            cell("date", "05.03.24", date_value="2024-03-05")
            + cell("date", "05.03.24 14:30", date_value="2024-03-05T14:30:15")
            + cell("currency", "1.234,50 €", value="1234.5", currency="EUR")
            + cell("percentage", "12,5%", value="0.125")
            + cell("time", "14:30:00", time_value="PT14H30M00S")
            + cell("boolean", "WAHR", boolean_value="true")
            + texts("007"),
            cell("date", "06.03.24", date_value="2024-03-06")
            + cell("date", "06.03.24 00:00", date_value="2024-03-06")
            + cell("currency", "2,00 €", value="2", currency="EUR")
            + cell("percentage", "100%", value="1")
            + cell("time", "00:00:01", time_value="PT00H00M01S")
            + cell("boolean", "FALSCH", boolean_value="false")
            + texts("12"),
        )
    )


@makes("errors.ods")
def _ods_errors() -> bytes:
    error = (
        '<table:table-cell table:formula="of:=1/0" office:value-type="string"'
        ' office:string-value="" calcext:value-type="error"><text:p>#DIV/0!</text:p>'
        "</table:table-cell>"
    )
    number = cell("float", "1", value="1")
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    return ods_of(
        table_of("First", texts("a"), error),
        table_of(
            "Second",
            texts("k", "m", "l", "n"),
            texts("x") + empty + number,
            texts("y") + empty + error,
        ),
    )


@makes("repeated.ods")
def _repeated() -> bytes:
    """A few hundred bytes that stand for a thousand million cells."""
    number = cell("float", "1", value="1").replace(
        "<table:table-cell", '<table:table-cell table:number-columns-repeated="1000"'
    )
    row = f'<table:table-row table:number-rows-repeated="1000000">{number}</table:table-row>'
    return ods_of(f'<table:table table:name="Bomb">{row}</table:table>')


@makes("encrypted.ods")
def _encrypted_ods() -> bytes:
    return ods_of(manifest="<manifest:encryption-data/>")


# JSON ---------------------------------------------------------------------------------------------


@makes("utf16.json")
def _utf16() -> bytes:
    """Without a mark: where the NULs are says it."""
    return '[{"tỉnh": "Đà Nẵng", "n": 1}]'.encode("utf-16-le")


@makes("latin1_line.ndjson")
def _latin1_line() -> bytes:
    return b'{"k": "caf\xe9"}\n{"k": "th\xc3\xa9"}\n'


@makes("deep.json")
def _deep() -> bytes:
    return b'[{"k": ' + b"[" * 150 + b"]" * 150 + b"}]"


# Parquet ------------------------------------------------------------------------------------------


def parquet_of(query: str) -> bytes:
    """Write the answer to a query as Parquet."""
    path = FILES / "made.parquet"
    try:
        duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


@makes("types.parquet")
def _types() -> bytes:
    return parquet_of(
        "SELECT '007' AS code, 1.10::DECIMAL(9, 2) AS price, 9007199254740993::BIGINT AS id,"
        " 18446744073709551615::UBIGINT AS big, 0.1::FLOAT AS small, true AS yes,"
        " DATE '2024-03-05' AS day, TIMESTAMP '2024-03-05 14:30:15.5' AS moment,"
        " TIMESTAMPTZ '2024-03-05 14:30:15+07' AS zoned, TIME '14:30:15.25' AS clock,"
        " '6f1a1c5e-0000-4000-8000-000000000001'::UUID AS key"
        " UNION ALL SELECT '12', 2.00, -1, 0::UBIGINT, 'nan'::FLOAT,"
        " NULL, NULL, NULL, NULL, NULL, NULL"
    )


@makes("nested.parquet")
def _nested() -> bytes:
    return parquet_of(
        "SELECT ['a', NULL, 'b\"'] AS words, [1, 2]::INTEGER[] AS ints, [1]::BIGINT[] AS longs,"
        " [0.5, 'nan'::DOUBLE]::DOUBLE[] AS doubles, [true] AS truths,"
        " [12345678901234567.10]::DECIMAL(20, 2)[] AS amounts,"
        " {'at': DATE '2024-03-05', 'price': 1.10::DECIMAL(9, 2), 'tags': ['x']} AS thing,"
        " MAP {'k': 1, 'l': NULL} AS pairs"
        " UNION ALL SELECT NULL, [], NULL, NULL, NULL, NULL, NULL, NULL"
    )


@makes("nanoseconds.parquet")
def _nanoseconds() -> bytes:
    return parquet_of(
        "SELECT TIMESTAMP_NS '2024-03-05 14:30:15.123456789' AS fine,"
        " TIMESTAMP_NS '2024-03-05 14:30:15.5' AS coarse"
    )


@makes("bytes.parquet")
def _bytes() -> bytes:
    return parquet_of(
        r"SELECT '\xFF\x00'::BLOB AS picture, 'caf\xC3\xA9'::BLOB AS word"
        r" UNION ALL SELECT 'a'::BLOB, 'b'::BLOB"
    )


@makes("nul.parquet")
def _nul() -> bytes:
    return parquet_of("SELECT 'a' || chr(0) || 'b' AS k UNION ALL SELECT 'c'")


@makes("no_rows.parquet")
def _no_rows() -> bytes:
    return parquet_of("SELECT 1 AS n, 'x' AS k WHERE false")


@makes("same_names.parquet")
def _same_names() -> bytes:
    """Names that differ in case alone, which DuckDB takes for the same; so it is told another."""
    return parquet_of("SELECT 1 AS name, 2 AS nbme").replace(b"nbme", b"Name")


@makes("truncated.parquet")
def _truncated_parquet() -> bytes:
    return _types()[:-100]


@makes("encrypted.parquet")
def _encrypted_parquet() -> bytes:
    return b"PARE" + struct.pack("<I", zlib.crc32(b"secret")) + b"PARE"


@makes("late_misfit.csv.gz")
def _late_misfit() -> bytes:
    """More rows than are looked at first; the last value is no number."""
    return gzip.compress(b"id,n\n" + b"7,7\n" * 25_000 + b"7,n/a\n", mtime=0)


def main(names: list[str]) -> None:
    """Write the files."""
    makers: Makers = importlib.import_module(f"{__package__}.make_texts").MAKERS
    for name in names or makers:
        Path(FILES / name).write_bytes(makers[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
