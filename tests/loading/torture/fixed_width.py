"""Text files whose cells have fixed widths."""

from __future__ import annotations

from typing import Any

from datastore_search.loading.jobs import LoadOptions

from .cases import Case

_FOUND = "The cells seem to have fixed widths: 1-6,7-14,15-20. They can be read as fields."
_RENAMED = "Line breaks and unusual blanks were taken out of names: code name people."
_LENGTH = "The line has {} characters; the widths have 20."
_BETWEEN = "The line has text between the characters of its cells."
_LEFT_OUT = "Rows that could not be loaded and were left out: {}."
_FIELDS = {"code": "text", "name": "text", "people": "int4"}
_RECORDS: list[list[Any]] = [["007", "Huế", 351], ["008", "北京市", 21893], ["009", None, 12]]

CASES = [
    Case(
        "fixed_width.txt",
        "blanks at the same characters of all lines, in two scripts",
        fields={"code name people": "text"},
        records=[["007   Huế        351"], ["008   北京市      21893"], ["009               12"]],
        notices=[_FOUND, _RENAMED],
        labels={"code name people": "code  name    people"},
    ),
    Case(
        "fixed_width.txt",
        "the characters of each cell, by choice",
        LoadOptions(fixed_widths="1-6,7-14,15-20"),
        fields=_FIELDS,
        records=_RECORDS,
    ),
    Case(
        "fixed_width.txt",
        "the widths of each cell, by choice",
        LoadOptions(fixed_widths="6,8,6"),
        fields=_FIELDS,
        records=_RECORDS,
    ),
    Case(
        "fixed_width.txt",
        "what are no widths",
        LoadOptions(fixed_widths="1-8,8-20"),
        failure=(
            "“1-8,8-20” are no widths of cells: write the characters of each, such as 1-8,9-20,21-."
        ),
    ),
    Case(
        "fixed_width_ragged.txt",
        "lines that are too short or too long, and text between cells",
        LoadOptions(fixed_widths="1-5,7-14,15-20", bad_rows="skip"),
        fields=_FIELDS,
        records=[["007", "Huế", 351], ["011", "Vinh", 4]],
        notices=[_LEFT_OUT.format(3)],
        row_errors=[
            (3, "", "", _LENGTH.format(13)),
            (4, "", "", _LENGTH.format(21)),
            (7, "", "", _BETWEEN),
        ],
    ),
    Case(
        "fixed_width_ragged.txt",
        "a last cell without an end",
        LoadOptions(fixed_widths="1-6,7-14,15-", bad_rows="skip"),
        fields=_FIELDS,
        records=[
            ["007", "Huế", 351],
            ["009", "Lào Cai", 1234567],
            ["011", "Vinh", 4],
            ["012121", "Mỹ Tho", 5],
        ],
        notices=[_LEFT_OUT.format(1)],
        row_errors=[(3, "", "", "The line has 13 characters; the widths have 14.")],
    ),
]
