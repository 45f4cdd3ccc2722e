"""The formats of PostgreSQL's ``to_char`` that DuckDB's ``strftime`` has, too."""

from __future__ import annotations

import re

_PARTS = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I",
    "MI": "%M", "SS": "%S", "MS": "%g", "US": "%f", "DDD": "%j", "Mon": "%b", "Dy": "%a",
    "AM": "%p", "PM": "%p", "IYYY": "%G", "IW": "%V", "ID": "%u", "FMMonth": "%B", "FMDay": "%A",
    "FMMM": "%-m", "FMDD": "%-d", "FMHH24": "%-H",
}  # fmt: skip
#: Of these alone the case of the letters is that of what is written.
_CASED = {"AM", "PM"}
_PARTS |= {
    part.lower(): code for part, code in _PARTS.items() if part.isupper() and part not in _CASED
}
_PATTERN = re.compile(
    "|".join(sorted(map(re.escape, _PARTS), key=len, reverse=True)) + '|"[^"]*"|[^A-Za-z"%]'
)


def translate_format(text: str) -> str | None:
    """Translate a format; None for one that has anything else."""
    parts, end = [], 0
    while end < len(text):
        match = _PATTERN.match(text, end)
        if match is None:
            return None
        part = match[0]
        parts.append(_PARTS.get(part) or part.strip('"').replace("%", "%%"))
        end = match.end()
    return "".join(parts)
