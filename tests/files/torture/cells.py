"""Cells that are easily read as something else, in workbooks and Parquet."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case
from .documents import build_skipped_rows_message
from .sheets import ERROR

_SKIP = LoadOptions(bad_rows="skip")

_NO_INT96 = (
    "The field “t” has INT96 timestamps that are finer than a microsecond, before the year 1 "
    "or after 9999. Write them as TIMESTAMP, or save the table as CSV."
)
_TEXTS = ["a\r\nb", "A _x0041_ _ _x41_", "Hà Nội", "東京", "<b> &amp; Đ", "<a&b>"]
_XLS_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")

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
        "new_errors.xlsx",
        "an error of newer programs",
        options=_SKIP,
        fields={"a": "int4", "b": "int4", "c": "int4"},
        records=[[5, 5, 0]],
        notices=[build_skipped_rows_message(3)],
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
        fields={"n": "int4", "m": "int4"},
        records=[[8, 5]],
        notices=[build_skipped_rows_message(7)],
        row_errors=[
            (row, "m", name, ERROR.format(name)) for row, name in enumerate(_XLS_ERRORS, start=2)
        ],
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
