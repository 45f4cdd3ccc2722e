"""Builds the files whose cells are easily read as something else."""

from __future__ import annotations

import importlib
import io
import re
import struct
from datetime import datetime, timedelta
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl import Workbook

from .make_files import (
    build_archive,
    edit_archive,
    register_builder,
    save_workbook,
)

_SHEET = "xl/worksheets/sheet1.xml"


def _replace_rows(workbook: Workbook, rows: str) -> bytes:
    """Save a workbook, with other rows in its sheet."""

    def replace(text: str) -> str:
        return re.sub("<sheetData>.*</sheetData>", lambda _: f"<sheetData>{rows}</sheetData>", text)

    return edit_archive(save_workbook(workbook), {_SHEET: replace})


def _build_row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def _build_inline(place: str, content: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is>{content}</is></c>'


def _build_text(text: str) -> str:
    return f'<t xml:space="preserve">{text}</t>'


_TEXTS = (
    _build_text("a_x000D_\nb"),
    _build_text("_x0041_ _x005F_x0041_ _x005f_ _x41_"),
    "<r><t>Hà </t></r><r><rPr><b/></rPr><t xml:space='preserve'> Nội</t></r>",
    '<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/>',
    _build_text("&lt;b&gt; &amp;amp; &#272;"),
    "<t><![CDATA[<a&b>]]></t>",
)


@register_builder("strings.xlsx")
def _build_strings() -> bytes:
    """Texts with escapes, formats, readings and entities: in the cells, and shared."""
    rows = [_build_row(1, _build_inline("A1", "<t>k</t>"), _build_inline("B1", "<t>shared</t>"))]
    rows += [
        _build_row(row, _build_inline(f"A{row}", text), f'<c r="B{row}" t="s"><v>{row - 2}</v></c>')
        for row, text in enumerate(_TEXTS, start=2)
    ]
    relation = (
        '<Relationship Id="rId99" Target="sharedStrings.xml" Type="http://schemas.openxmlformats'
        '.org/officeDocument/2006/relationships/sharedStrings"/></Relationships>'
    )
    saved = edit_archive(
        _replace_rows(Workbook(), "".join(rows)),
        {
            "xl/_rels/workbook.xml.rels": lambda text: text.replace("</Relationships>", relation),
        },
    )
    shared = "".join(f"<si>{text}</si>" for text in _TEXTS)
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return _add_member(saved, "xl/sharedStrings.xml", f'<sst xmlns="{space}">{shared}</sst>')


def _add_member(archive: bytes, name: str, content: str) -> bytes:
    with ZipFile(io.BytesIO(archive)) as source:
        members = {each: source.read(each) for each in source.namelist()}
    return build_archive({**members, name: content})


@register_builder("forms.xlsx")
def _build_forms() -> bytes:
    """Rows and cells out of order, dates as ISO has them, truth values as words."""
    rows = (
        _build_row(1, *(_build_inline(f"{name.upper()}1", f"<t>{name}</t>") for name in "abc")),
        _build_row(4, _build_inline("A4", "<t>c</t>"), '<c r="B4" t="d"><v>1850-12-31</v></c>'),
        _build_row(
            2,
            '<c r="C2" t="b"><v>true</v></c>',
            '<c r="B2" t="d"><v>2024-03-05</v></c>',
            _build_inline("A2", "<t>a</t>"),
        ),
        _build_row(3, _build_inline("A3", "<t>b</t>"), '<c r="C3" t="b"><v>0</v></c>'),
    )
    return _replace_rows(Workbook(), "".join(rows))


@register_builder("unsaved.xlsx")
def _build_unsaved() -> bytes:
    """Formulas whose values no program has computed, one that is shared, and an empty text."""
    cells = (
        '<c r="B2"><f>1+1</f><v></v></c>',
        '<c r="B3"><f t="shared" si="0"/></c>',
        '<c r="B4" t="str"><f>""</f><v></v></c>',
        '<c r="B5"><f>2+1</f><v>3</v></c>',
    )
    rows = [_build_row(1, _build_inline("A1", "<t>k</t>"), _build_inline("B1", "<t>n</t>"))]
    rows += [
        _build_row(row, _build_inline(f"A{row}", "<t>x</t>"), cell)
        for row, cell in enumerate(cells, start=2)
    ]
    return _replace_rows(Workbook(), "".join(rows))


_HEADER = _build_row(1, *(_build_inline(f"{name.upper()}1", f"<t>{name}</t>") for name in "abc"))


@register_builder("new_errors.xlsx")
def _build_new_errors() -> bytes:
    """Errors of newer programs, and one with a formula, beside a value."""
    cells = (
        '<c r="B2" t="e"><v>#SPILL!</v></c>',
        '<c r="B3" t="e"><f>IF(A1&lt;2,1,2)</f><v>#GETTING_DATA</v></c>',
        '<c r="B4" t="e"><v>#N/A</v></c>',
        '<c r="B5"><v>5</v></c>',
    )
    rows = (
        _build_row(row, f'<c r="A{row}"><v>{row}</v></c>', cell, f'<c r="C{row}"><v>0</v></c>')
        for row, cell in enumerate(cells, start=2)
    )
    return _replace_rows(Workbook(), _HEADER + "".join(rows))


@register_builder("unplaced.xlsx")
def _build_unplaced() -> bytes:
    """Cells that do not say where they are, one of them with an error."""
    return _replace_rows(Workbook(), _HEADER + '<row><c><v>1</v></c><c t="e"><v>#N/A</v></c></row>')


@register_builder("errors.xls")
def _build_xls_errors() -> bytes:
    """All errors, and a formula that no program has computed; built once with xlwt."""
    xlwt = importlib.import_module("xlwt")
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("S")
    sheet.write(0, 0, "n")
    sheet.write(0, 1, "m")
    for row, code in enumerate((0x00, 0x07, 0x0F, 0x17, 0x1D, 0x24, 0x2A), start=1):
        sheet.write(row, 0, row)
        sheet.row(row).set_cell_error(1, code)
    sheet.write(8, 0, 8)
    sheet.write(8, 1, 5)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


@register_builder("int96.parquet")
def _build_int96() -> bytes:
    """Moments from the first day to the last."""
    return _patch_int96([(1721426, 0), (2440588, 1_000), (5373484, 0)])


@register_builder("int96_nanoseconds.parquet")
def _build_int96_nanoseconds() -> bytes:
    """Moments with nanoseconds, by themselves and in lists, and moments without."""
    moments = pa.array([1709649015_123456789, 1709649015_500000000, None], pa.timestamp("ns"))
    lists = pa.array([[1709649015_123456789, None], [], None], pa.list_(pa.timestamp("ns")))
    target = io.BytesIO()
    pq.write_table(
        pa.table({"t": moments, "coarse": moments.cast("timestamp[s]", safe=False), "list": lists}),
        target,
        use_deprecated_int96_timestamps=True,
    )
    return target.getvalue()


@register_builder("int96_far.parquet")
def _build_far_int96() -> bytes:
    """A day that DuckDB makes another one of."""
    return _patch_int96([(2**31 - 1, 0)])


def _patch_int96(moments: list[tuple[int, int]]) -> bytes:
    """Write INT96 of Julian days and nanoseconds, which no program would write."""
    start = datetime.fromisoformat("2024-03-05")
    written = [start + timedelta(microseconds=each + 1) for each in range(len(moments))]
    target = io.BytesIO()
    pq.write_table(
        pa.table({"t": pa.array(written, type=pa.timestamp("ns"))}),
        target,
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
        write_statistics=False,
        compression="none",
    )
    content = target.getvalue()
    for each, (day, nanoseconds) in enumerate(moments):
        place = struct.pack("<qi", (each + 1) * 1_000, 2460375)
        content = content.replace(place, struct.pack("<qi", nanoseconds, day))
    return content
