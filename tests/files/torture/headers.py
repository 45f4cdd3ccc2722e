"""Headers with merged cells, and chosen cells of a sheet with several tables."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

_ABOVE = "The header was found in row {}; the rows above it were left out."
_MISSING = "Fields without a name were named by their position: {}."
_MERGED = (
    "Merged cells in the table: {}. The value is in the first cell of each, the others are empty."
)
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
            "The header was found in row 3; the rows above it were left out.",
            (
                "Merged cells in the table: 3. The value is in the first cell of each, the "
                "others are empty."
            ),
            "Fields without a name were named by their position: field_3, field_5.",
            (
                "Field “2020”: text: all values look like numbers, but 1 of 3, the first in line "
                "4: “Budget”."
            ),
            (
                "Field “field_3”: text: all values look like numbers, but 1 of 3, the first in "
                "line 4: “Actual”."
            ),
            (
                "Field “2021”: text: all values look like numbers, but 1 of 3, the first in line "
                "4: “Budget”."
            ),
            (
                "Field “field_5”: text: all values look like numbers, but 1 of 3, the first in "
                "line 4: “Actual”."
            ),
        ],
    ),
    Case(
        "header_with_gap.csv",
        "a column without a name, which is no second line",
        fields={"name": "text", "field_2": "text", "n": "int4"},
        records=[["a", "b", 1], ["c", "d", 2]],
        notices=[_MISSING.format("field_2")],
    ),
    Case(
        "tables_beside.xlsx",
        "the table on the right, chosen by its cells",
        options=LoadOptions(cell_range="D1:E3"),
        fields={"year": "int4", "rate": "numeric"},
        records=[[2024, 0.5], [2025, 0.25]],
    ),
    Case(
        "tables_beside.xlsx",
        "fewer rows than the table has",
        options=LoadOptions(cell_range="$a$1:$b$3"),
        fields={"town": "text", "people": "int4"},
        records=[["Huế", 1], ["Đà Lạt", 2]],
        notices=["The row below A1:B3 has values in the same columns, which were left out."],
    ),
    Case(
        "tables_beside.xlsx",
        "cells that the sheet does not have",
        options=LoadOptions(cell_range="G1:H9"),
        failure="The sheet “Sheet” has no cells at G1:H9.",
    ),
    Case(
        "tables_beside.xlsx",
        "what is no range of cells",
        options=LoadOptions(cell_range="D20:A1"),
        failure="“D20:A1” is not a range of cells: write A1:D20, or A1:D for all rows below.",
    ),
]
