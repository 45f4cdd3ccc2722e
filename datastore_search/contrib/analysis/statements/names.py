"""
Names of PostgreSQL in DuckDB, whose names ignore case.

A capital letter is written as a mark and its small letter, so that ``"A"`` and ``a`` differ; names
without quotes are folded, as in PostgreSQL.
"""

from __future__ import annotations

import re

_MARK = "^"
_CODED = re.compile(r"\^(?:\{([0-9a-f]+)\}|(.))", re.DOTALL)


def encode_name(name: str, *, is_quoted: bool = True) -> str:
    folded = name if is_quoted else re.sub("[A-Z]", lambda match: match[0].lower(), name)
    return "".join(map(_encode, folded))


def _encode(letter: str) -> str:
    small = letter.lower()
    if letter == _MARK:
        return _MARK * 2
    if small == letter and letter.upper().lower() == letter:
        return letter
    if small.upper() == letter and len(small) == 1:
        return _MARK + small
    return f"{_MARK}{{{ord(letter):x}}}"


def decode_name(name: str) -> str:
    return _CODED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2].upper(), name)
