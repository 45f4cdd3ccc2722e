"""Cells that are easily read as something else, in workbooks and Parquet."""

from __future__ import annotations

from typing import Any

from datastore_search.loading.jobs import LoadOptions

from .cases import Case
from .documents import build_skipped_rows_message
from .sheets import ERROR, NO_DATE

_SKIP = LoadOptions(bad_rows="skip")

_NO_INT96 = (
    "The field “t” has moments as INT96 that are finer than a microsecond, before the year 1 or"
    " after 9999. Write them as TIMESTAMP, or save the table as CSV."
)
_TEXTS = ["a\r\nb", "A _x0041_ _ _x41_", "Hà Nội", "東京", "<b> &amp; Đ", "<a&b>"]
_EDGES: dict[str, Any] = {
    "fields": {"n": "numeric", "day": "text", "duration": "text"},
    "records": [
        [0.25, "06:00:00", "06:00:00"],
        [1, "1904-01-02", "24:00:00"],
        [59, "1904-02-29", "1416:00:00"],
        [60, "1904-03-01", "1440:00:00"],
        [2957003, "9999-12-31", "70968072:00:00"],
        [2957004, "2957004", "70968096:00:00"],
    ],
    "notices": [
        (
            "The field “day” has dates and times of day. The workbook counts days from 1904: what"
            " is read as a time of day may be 1 January 1904, as its number is the same."
        ),
        build_skipped_rows_message(2),
    ],
    "row_errors": [(2, "day", "-1", NO_DATE), (3, "day", "-0.5", NO_DATE)],
}
_XLS_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")

_DISORDERED = (
    "The sheet has errors in cells that are not in order, or do not say which cells they are. Open"
    " the workbook in a spreadsheet program, and save it there."
)

CASES = [
    Case(
        "strings.xlsx",
        "escapes, formats within a text, readings of Japanese, entities; in the cells and shared",
        fields={"k": "text", "shared": "text"},
        records=[[text, text] for text in _TEXTS],
    ),
    Case(
        "forms.xlsx",
        "rows and cells out of order, dates as ISO has them, truth values as words",
        fields={"a": "text", "b": "date", "c": "bool"},
        records=[["a", "2024-03-05", True], ["b", None, False], ["c", "1850-12-31", None]],
    ),
    Case(
        "unsaved.xlsx",
        "formulas that no program has computed",
        fields={"k": "text", "n": "int4"},
        records=[["x", None], ["x", None], ["x", None], ["x", 3]],
        notices=[
            (
                "Formulas whose values are not in the file: 2. Their cells are empty. Open the"
                " workbook in a spreadsheet program, and save it there."
            )
        ],
    ),
    Case(
        "twice.xlsx",
        "a cell that is there twice: the last value counts, as spreadsheet programs show it",
        fields={"a": "int4", "b": "int4", "c": "int4"},
        records=[[1, 3, None], [4, 5, None], [8, 7, 9]],
    ),
    Case(
        "new_errors.xlsx",
        "errors of newer programs",
        options=_SKIP,
        fields={"a": "int4", "b": "int4", "c": "int4"},
        records=[[5, 5, 0]],
        notices=[build_skipped_rows_message(3)],
        row_errors=[
            (row, "b", name, ERROR.format(name))
            for row, name in enumerate(("#SPILL!", "#GETTING_DATA", "#N/A"), start=2)
        ],
    ),
    Case("disordered.xlsx", "errors in rows that are not in order", failure=_DISORDERED),
    Case("unplaced.xlsx", "an error in a cell without its place", failure=_DISORDERED),
    Case(
        "ruby.ods",
        "readings above letters, which are not part of the text",
        fields={"k": "text"},
        records=[["A 東京 z"], ["東京\tz"], ["plain"]],
    ),
    Case(
        "long_duration.xlsx",
        "a duration that Python cannot hold",
        failure=(
            "A cell of the sheet shows a number as a duration of millions of years. Correct it, or"
            " show it as a number."
        ),
    ),
    Case("edges_1904.xlsx", "the first and last days, counted from 1904", _SKIP, **_EDGES),
    Case("edges_1904.xls", "the first and last days, counted from 1904", _SKIP, **_EDGES),
    Case(
        "errors.xls",
        "each error",
        options=_SKIP,
        fields={"n": "int4", "m": "int4"},
        records=[[8, 5]],
        notices=[build_skipped_rows_message(7)],
        row_errors=[
            (row, "m", name, ERROR.format(name)) for row, name in enumerate(_XLS_ERRORS, start=2)
        ],
    ),
    Case(
        "no_values.ods",
        "cells whose text is there and whose value is not, zones, durations without all parts",
        fields={"truth": "text", "n": "text", "day": "text", "clock": "text"},
        records=[
            ["true", "1.5", "2024-03-05T14:30:15+07:00", "00:05:00"],
            ["FALSE", "2 %", "5 March", "-01:30:30.5"],
            ["FALSCH", "1,00 €", "0001-01-01", "P1DT2H"],
        ],
    ),
    Case(
        "grouped.ods",
        "rows in groups, and errors of older programs, which stand beside a 0",
        options=_SKIP,
        fields={"k": "text", "n": "int4"},
        records=[["first", 1], ["c\td", 2]],
        notices=[build_skipped_rows_message(3)],
        row_errors=[
            (3, "n", "#NAME?", ERROR.format("#NAME?")),
            (5, "n", "#DIV/0!", ERROR.format("#DIV/0!")),
            (6, "n", "Err:508", ERROR.format("Err:508")),
        ],
    ),
    Case(
        "grouped.ods",
        "errors that mean nothing by choice, one of them beside a 0",
        options=LoadOptions(nulls=("#NAME?", "#DIV/0!", "Err:508")),
        fields={"k": "text", "n": "int4"},
        records=[["first", 1], ["a\tb", None], ["c\td", 2], ["e", None], ["f", None]],
    ),
    Case(
        "int96.parquet",
        "moments from the first day to the last, in a form of old programs",
        fields={"t": "timestamp"},
        records=[
            ["0001-01-01T00:00:00.000"],
            ["1970-01-01T00:00:00.000001"],
            ["9999-12-31T00:00:00.000"],
        ],
    ),
    Case(
        "int96_nanoseconds.parquet",
        "finer than a microsecond, in a form of old programs",
        failure=_NO_INT96,
    ),
    Case(
        "int96_far.parquet",
        "a day that would become another one",
        failure=_NO_INT96,
    ),
]
