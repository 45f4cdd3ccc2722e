"""Headers over several rows."""

from __future__ import annotations

from datastore_search.loading.jobs import LoadOptions

from .cases import Case

_FOUND = "The header seems to have {} rows, from line {} on. Their names can be joined."
_ABOVE = "The header was found in row {}; what stands above it was left out."
_LINES_ABOVE = "The header was found on line {}; what stands above it was left out."
_MISSING = "Fields without a name were named by their place: {}."
_MERGED = (
    "Merged cells in the table: {}. The value is in the first cell of each, the others are empty."
)
_JOINED = {
    "Name": "text",
    "2020 | Budget": "int4",
    "2020 | Actual": "int4",
    "2021 | Budget": "int4",
    "2021 | Actual": "int4",
}

CASES = [
    Case(
        "header_merged.xlsx",
        "merged cells above the names",
        fields={
            "Name": "text",
            "2020": "text",
            "field_3": "text",
            "2021": "text",
            "field_5": "text",
        },
        records=[
            [None, "Budget", "Actual", "Budget", "Actual"],
            ["Roads", "1", "2", "3", "4"],
            ["Schools", "5", "6", "7", "8"],
        ],
        notices=[
            _ABOVE.format(3),
            _FOUND.format(2, 3),
            _MERGED.format(3),
            _MISSING.format("field_3, field_5"),
        ],
    ),
    Case(
        "header_merged.xlsx",
        "merged cells above the names, joined by choice",
        options=LoadOptions(header_rows=2),
        fields=_JOINED,
        records=[["Roads", 1, 2, 3, 4], ["Schools", 5, 6, 7, 8]],
        notices=[_ABOVE.format(3)],
    ),
    Case(
        "header_spanned.ods",
        "cells above the names that span two columns, joined by choice",
        options=LoadOptions(header_rows=2),
        fields=_JOINED,
        records=[["Roads", 1, 2, 3, 4]],
    ),
    Case(
        "header_two_lines.csv",
        "gaps in the header above a second line of names, below a title",
        fields={
            "Budgets of the city": "text",
            "field_2": "text",
            "field_3": "text",
            "field_4": "text",
            "field_5": "text",
        },
        records=[
            ["Name", "2020", None, "2021", None],
            [None, "Budget", "Actual", "Budget", "Actual"],
            ["Roads", "1", "2", "3", "4"],
            ["Schools", "5", "6", "7", "8"],
        ],
        notices=[
            _FOUND.format(2, 3),
            _MISSING.format("field_2, field_3, field_4, field_5"),
        ],
    ),
    Case(
        "header_two_lines.csv",
        "a header of two lines, joined by choice",
        options=LoadOptions(header_rows=2),
        fields=_JOINED,
        records=[["Roads", 1, 2, 3, 4], ["Schools", 5, 6, 7, 8]],
        notices=[_LINES_ABOVE.format(3)],
    ),
    Case(
        "header_three_lines.csv",
        "a header of three lines, whose groups end where the groups above them end",
        options=LoadOptions(header_rows=3),
        fields={
            "code": "text",
            "2020 | H1 | plan": "int4",
            "2020 | H1 | real": "int4",
            "2020 | H2 | plan": "int4",
            "2021 | plan": "int4",
            "2021 | H1 | real": "int4",
        },
        records=[["007", 1, 2, 3, 4, 5]],
    ),
    Case(
        "header_with_gap.csv",
        "a column without a name, which is no second line",
        fields={"name": "text", "field_2": "text", "n": "int4"},
        records=[["a", "b", 1], ["c", "d", 2]],
        notices=[_MISSING.format("field_2")],
    ),
]
