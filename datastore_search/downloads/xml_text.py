"""Text for XML 1.0, which does not have every character that PostgreSQL stores."""

from __future__ import annotations

import re

_CONTROLS = "\0-\x08\x0b\x0c\x0e-\x1f"
_NONCHARACTERS = "\ufffe\uffff"

#: The class of a pattern: the characters that XML 1.0 forbids, even as references.
FORBIDDEN = _CONTROLS + _NONCHARACTERS

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_FORBIDDEN = re.compile(f"[{FORBIDDEN}]")
_FORBIDDEN_IN_SHEETS = re.compile(f"[{_NONCHARACTERS}]")


def clean_xml(text: str) -> str:
    """Replace the characters that XML forbids in a text, or in a whole document."""
    return _FORBIDDEN.sub(REPLACEMENT, text)


def clean_sheet_xml(text: str) -> str:
    """Replace them in a text of a workbook, whose format escapes controls without loss."""
    return _FORBIDDEN_IN_SHEETS.sub(REPLACEMENT, text)
