"""Workbooks: their cells, sheets, headers and ranges."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case, explain_skipped_rows, explain_text

_SKIP = LoadOptions(bad_rows="skip")
ERROR = "The cell has an error. List “{0}” among the texts that mean “no value”, or correct it."
_MERGED = "Empty rows of merged cells: 1, in “province” (1). The value can be repeated in them."
_NO_DATE = (
    "The cell is formatted as a date or a time, but its number is not a valid date or time."
    " Correct it, or list “{0}” among the texts that mean “no value”."
)

_FOUND = (
    "The last rows, from line {} on, look like notes or totals below the table: {}. They can be"
    " left out."
)
_TEXTS = ["a\r\nb", "A _x0041_ _ _x41_", "Hà Nội", "東京", "<b> &amp; Đ", "<a&b>"]
_XLS_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")

CASES = [
    Case(
        "formulas.xlsx",
        "formulas count by the values that were kept; one that gives an empty text is empty",
        fields="n: int4, double: int4, word: text",
        records=[[2, 4, "many"], [1, 2, None]],
    ),
    Case(
        "merged.xlsx",
        "a cell merged over two rows",
        fields="province: text, district: text",
        records=[["Hanoi", "Ba Dinh"], [None, "Hoan Kiem"]],
        notices=[_MERGED],
    ),
    Case(
        "merged.xlsx",
        "a cell merged over two rows, filled down",
        options=LoadOptions(fill_merged=True),
        fields="province: text, district: text",
        records=[["Hanoi", "Ba Dinh"], ["Hanoi", "Hoan Kiem"]],
        notices=["Merged cells were filled down: 1, in “province” (1)."],
    ),
    Case(
        "texts.xlsx",
        "a return as Excel writes it, and blanks, which count where the file keeps them",
        fields="k: text",
        records=[["a\r\nb"], [" kept "], ["_x000D_"], ["&amp;"], ["trimmed"]],
    ),
    Case(
        "footer.xlsx",
        "notes below the table",
        fields="year: text, n: text, m: int4, rate: numeric",
        records=[
            ["2023", "1", 2, 0.5],
            ["2024", None, None, None],
            ["2025", "3", 4, 0.25],
            ["Source: the ministry", None, None, None],
            ["Note", "preliminary", None, None],
        ],
        notices=[
            "Rows without any value were left out: 2.",
            _FOUND.format(7, 2),
            explain_text("year", 2, 5, 7, "“Source: the ministry” (1), “Note” (1)"),
            explain_text("n", 1, 3, 8, "“preliminary”"),
        ],
    ),
    Case(
        "footer.xlsx",
        "notes below the table, left out by choice",
        options=LoadOptions(footer="skip"),
        fields="year: int4, n: int4, m: int4, rate: numeric",
        records=[[2023, 1, 2, 0.5], [2024, None, None, None], [2025, 3, 4, 0.25]],
        notices=[
            "Rows without any value were left out: 1.",
            "Notes or totals below the table, from line 7 on, were left out: 2.",
        ],
    ),
    Case(
        "second_sheet.xlsx",
        "the first sheet is empty",
        fields="n: int4",
        records=[[1]],
        notices=["Read the sheet “2023”, the first with cells. Others with cells: “2024”."],
    ),
    Case(
        "second_sheet.xlsx",
        "a sheet that is called like a number",
        options=LoadOptions(sheet="2024"),
        fields="n: int4",
        records=[[2]],
    ),
    Case(
        "hidden_sheet.xlsx",
        "the first sheet is hidden and only helps",
        fields="n: int4",
        records=[[1]],
    ),
    Case(
        "errors.xlsx",
        "cells with errors, one of which means nothing by choice",
        options=LoadOptions(bad_rows="skip", nulls=("#N/A",)),
        fields="k: text, n: int4",
        records=[["a", 1], ["b", None], ["d", 4]],
        notices=[explain_skipped_rows(1)],
        row_errors=[(4, "n", "#DIV/0!", ERROR.format("#DIV/0!"))],
    ),
    Case(
        "preamble.xlsx",
        "a title and a source above a header of texts, a year and a date",
        fields="province: text, area: numeric, 2023: numeric, 2024-07-01: int4",
        records=[["Hanoi", 3359.82, 8587.1, 8718], ["Da Nang", 1284.73, 1245.2, 1269]],
        notices=["The header was found in row 4; the rows above it were left out."],
    ),
    Case(
        "preamble.xlsx",
        "rows to skip, by choice",
        options=LoadOptions(skip=4),
        fields="Hanoi: text, 3359.82: numeric, 8587.1: numeric, 8718: int4",
        records=[["Da Nang", 1284.73, 1245.2, 1269]],
        notices=[
            (
                "The first row looks like a record, not like the names of fields: “Hanoi”, "
                "“3359.82”, “8587.1”, “8718”. The file may have no header."
            )
        ],
    ),
    Case(
        "old.xls",
        "a workbook as of 1997",
        fields="code: text, n: numeric",
        records=[["007", 1.5], ["số", 2]],
    ),
    Case(
        "values.ods",
        "dates, amounts of money, rates, times and truth values of OpenDocument",
        fields=(
            "day: date, moment: timestamp, price: numeric, rate: numeric, clock: time, "
            "true: bool, code: text"
        ),
        records=[
            ["2024-03-05", "2024-03-05T14:30:15.000", 1234.5, 0.125, "14:30:00", True, "007"],
            ["2024-03-06", "2024-03-06T00:00:00.000", 2, 1, "00:00:01", False, "12"],
        ],
    ),
    Case(
        "texts.ods",
        "breaks and blanks, durations, cells below a merged one",
        fields="k: text, m: text",
        records=[
            ["a\tb\nc  d\n<e>", "x"],
            ["negative", "-01:00:00"],
            ["long", "30:05:00.5"],
            ["r\t", "covered"],
            ["r\t", "covered"],
        ],
    ),
    Case(
        "cells.xls",
        "an error, and dates, durations and numbers that stand for neither",
        options=LoadOptions(bad_rows="skip"),
        fields="n: int4, day: text, clock: text, text: text, truth: bool",
        records=[
            [1, "1900-01-01", "24:00:00", " kept ", False],
            [2, "1900-02-28", "1416:00:00", "_x000D_", True],
            [3, "1900-02-29", "1440:00:00", "a\r\nb", False],
            [4, "1900-03-01", "1464:00:00", "&amp;", True],
            [6, "2023-03-15 12:00:00", "1080012:00:00", "y", True],
        ],
        notices=[
            (
                "Field “day”: text: all values look like dates, but 1 of 5, the first in line 4:"
                " “1900-02-29”."
            ),
            explain_skipped_rows(3),
        ],
        row_errors=[
            (6, "day", "-1.5", _NO_DATE.format("-1.5")),
            (8, "day", "2958466", _NO_DATE.format("2958466")),
            (9, "day", "#N/A", ERROR.format("#N/A")),
        ],
    ),
    Case(
        "strings.xlsx",
        "escapes, formats within a text, readings of Japanese, entities; in the cells and shared",
        fields="k: text, shared: text",
        records=[[text, text] for text in _TEXTS],
    ),
    Case(
        "forms.xlsx",
        "rows and cells out of order, dates as ISO has them, truth values as words",
        fields="a: text, b: date, c: bool",
        records=[["a", "2024-03-05", True], ["b", None, False], ["c", "1850-12-31", None]],
    ),
    Case(
        "unsaved.xlsx",
        "formulas that no program has computed",
        fields="k: text, n: int4",
        records=[["x", None], ["x", None], ["x", None], ["x", 3]],
        notices=[
            (
                "Formulas whose values are not in the file: 2. Their cells are empty. Open the"
                " workbook in a spreadsheet program, and save it there."
            )
        ],
    ),
    Case(
        "new_errors.xlsx",
        "an error of newer programs",
        options=_SKIP,
        fields="a: int4, b: int4, c: int4",
        records=[[5, 5, 0]],
        notices=[explain_skipped_rows(3)],
        row_errors=[
            (row, "b", name, ERROR.format(name))
            for row, name in enumerate(("#SPILL!", "#GETTING_DATA", "#N/A"), start=2)
        ],
    ),
    Case(
        "unplaced.xlsx",
        "an error in a cell without its place",
        failure=(
            "Rows that cannot be loaded: 1. The first: Line 2, field “b”, value “#N/A”: "
            + ERROR.format("#N/A")
        ),
        row_errors=[(2, "b", "#N/A", ERROR.format("#N/A"))],
    ),
    Case(
        "errors.xls",
        "each error",
        options=_SKIP,
        fields="n: int4, m: int4",
        records=[[8, 5]],
        notices=[explain_skipped_rows(7)],
        row_errors=[
            (row, "m", name, ERROR.format(name)) for row, name in enumerate(_XLS_ERRORS, start=2)
        ],
    ),
    Case(
        "header_merged.xlsx",
        "merged cells above the names",
        fields="Name: text, 2020: text, field_3: text, 2021: text, field_5: text",
        records=[
            [None, "Budget", "Actual", "Budget", "Actual"],
            ["Roads", "1", "2", "3", "4"],
            ["Schools", "5", "6", "7", "8"],
        ],
        notices=[
            "The header was found in row 3; the rows above it were left out.",
            (
                "Merged cells in the table: 3. The value is in the first cell of each, the "
                "others are empty."
            ),
            "Fields without a name were named by their position: field_3, field_5.",
            explain_text("2020", 1, 3, 4, "“Budget”"),
            explain_text("field_3", 1, 3, 4, "“Actual”"),
            explain_text("2021", 1, 3, 4, "“Budget”"),
            explain_text("field_5", 1, 3, 4, "“Actual”"),
        ],
    ),
    Case(
        "tables_beside.xlsx",
        "the table on the right, chosen by its cells",
        options=LoadOptions(cell_range="D1:E3"),
        fields="year: int4, rate: numeric",
        records=[[2024, 0.5], [2025, 0.25]],
    ),
    Case(
        "tables_beside.xlsx",
        "fewer rows than the table has",
        options=LoadOptions(cell_range="$a$1:$b$3"),
        fields="town: text, people: int4",
        records=[["Huế", 1], ["Đà Lạt", 2]],
        notices=["The row below A1:B3 has values in the same columns, which were left out."],
    ),
]
