"""The formats that users choose by name: the table's, and formats that are never inferred."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ....field_types import get_field_type
from ..formats.duckdb_sql import quote_literal
from ..messages.failures import UnknownType
from .field_formats import FieldFormat, field_formats, match_all
from .written_dates import find_written_format

#: Formats that need a choice, and that forms offer in addition to the table's.
OFFERED_FORMATS = (
    *("date:dmyy", "date:mdyy", "date:yymd"),
    *("date:dmy,en", "date:mdy,en", "date:ymd,en"),
    *(f"numeric:{unit}" for unit in ("%", "€", "$", "£", "¥", "₫", "R$")),
    *(f"numeric:comma,{unit}" for unit in ("%", "€", "$", "£", "¥", "₫", "R$")),
)


def parse_field_format(name: str) -> FieldFormat:
    """
    Parse the name of a format, as users choose it.

    See also ``written_dates`` and ``find_unit_format``.

    Raises: ``UnknownType``.
    """
    type_name, colon, format_name = name.partition(":")
    try:
        field_type = get_field_type(type_name)
    except KeyError:
        raise UnknownType(name, field_formats) from None
    found = find_format(f"{field_type.name}{colon}{format_name.strip()}")
    if found is None:
        raise UnknownType(name, field_formats)
    return found


def find_format(name: str) -> FieldFormat | None:
    """Find a format by the name of its type and its own; None if there is no such format."""
    type_name, _colon, format_name = name.partition(":")
    return (
        field_formats.get(name.lower())
        or find_written_format(type_name, format_name.lower())
        or find_unit_format(type_name, format_name)
    )


MAX_UNIT_LENGTH = 20

_UNIT = re.compile(r"[^\s0-9+−,|{}()'’-](?:[^0-9+−,|{}()'’-]*[^\s0-9+−,|{}()'’-])?")
_BLANKS = "[ \u00a0\u202f]*"
_SIGN = "([-+−]?)"
_NUMBER = "([0-9](?:[0-9., \u00a0\u202f'’]*[0-9])?)"
#: No unit has the name of a format.
_NAMES_OF_FORMATS = frozenset(each.format for each in field_formats.values())
_NUMBER_TYPES = ("int4", "int8", "numeric")


def _is_unit(text: str) -> bool:
    """Return whether a text can be the unit of numbers."""
    is_short = len(text) <= MAX_UNIT_LENGTH and text not in _NAMES_OF_FORMATS
    return is_short and _UNIT.fullmatch(text) is not None


@cache
def find_unit_format(type_name: str, format_name: str) -> FieldFormat | None:
    """Find a format of numbers with a unit by its name; None if there is no such format."""
    plain, comma, unit = format_name.rpartition(",")
    base = field_formats.get(f"{type_name}:{plain}" if comma else type_name)
    if base is None or type_name not in _NUMBER_TYPES or not _is_unit(unit):
        return None
    number = _build_number(unit)

    def bind(template: str) -> str:
        return template.replace("{v}", f"({number})")

    return replace(
        base,
        format=format_name,
        inference_conditions=tuple(
            tuple(map(bind, each)) for each in base.lossless_conditions or base.inference_conditions
        ),
        lossless_conditions=(),
        condition=bind(base.condition),
        json_expression=bind(base.json_expression),
        unit=unit,
    )


def _build_number(unit: str) -> str:
    """Build the number of a text ``{v}``, with a minus sign; null without the unit."""
    sign = re.escape(unit)
    before, after = f"{sign}{_BLANKS}", f"{_BLANKS}{sign}"
    plain = f"{_SIGN}{_BLANKS}(?:{before}{_SIGN}{_BLANKS}{_NUMBER}|{_NUMBER}{after})"
    negative = [
        rf"\({_BLANKS}{before}{_NUMBER}{_BLANKS}\)",
        rf"\({_BLANKS}{_NUMBER}{after}{_BLANKS}\)",
        rf"\({_BLANKS}{_NUMBER}{_BLANKS}\){after}",
        rf"{before}\({_BLANKS}{_NUMBER}{_BLANKS}\)",
    ]
    groups = "".join(rf"\{number}" for number in range(1, re.compile(plain).groups + 1))
    wrapped = f"(?:{'|'.join(negative)})"
    digits = "".join(rf"\{number}" for number in range(1, len(negative) + 1))
    return (
        f"CASE WHEN {match_all(plain)} THEN replace({_rewrite(plain, groups)}, '−', '-')"
        f" WHEN {match_all(wrapped)} THEN '-' || {_rewrite(wrapped, digits)} END"
    )


def _rewrite(pattern: str, groups: str) -> str:
    return f"regexp_replace({{v}}, {quote_literal(f'^(?:{pattern})$')}, {quote_literal(groups)})"
