"""Files of delimited cells."""

from __future__ import annotations

from .cases import Case

CASES = [
    Case(
        "leading_zeros.csv",
        "a code that looks like a number",
        fields={"code": "text", "n": "int4"},
        records=[["007", 1], ["8", 2]],
    ),
]
