"""
Numbers with a unit, which are read by choice only: percentages, currencies, accounting.

The unit is the last part of the format: ``numeric:comma,€`` reads ``1.234,50 €``, ``int4:%`` reads
``5 %`` as 5, and ``numeric:point,()`` reads ``(1,234.00)`` as a negative number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from ...exceptions.loads import LoadFailed
from ..readers.duckdb_sql import quote_literal
from .field_formats import FieldFormat, FormatGroup, field_formats

#: The unit of numbers without one, of which the negative ones are in parentheses.
ACCOUNTING = "()"

MAX_UNIT_LENGTH = 20

#: The units of one load: each is tested on all values.
MAX_UNITS = 20

_UNIT = re.compile(r"[^\s0-9+−,|{}()'’-](?:[^0-9+−,|{}()'’-]*[^\s0-9+−,|{}()'’-])?")
_BLANKS = "[ \u00a0\u202f]*"
_SIGN = "([-+−]?)"
_NUMBER = "([0-9](?:[0-9., \u00a0\u202f'’]*[0-9])?)"
#: No unit has the name of a format.
_NAMES_OF_FORMATS = frozenset(each.format for each in field_formats.values())
_NUMBER_TYPES = ("int4", "int8", "numeric")


def _is_unit(text: str) -> bool:
    """Return whether a text can be the unit of numbers."""
    if text == ACCOUNTING:
        return True
    if text in _NAMES_OF_FORMATS:
        return False
    return len(text) <= MAX_UNIT_LENGTH and _UNIT.fullmatch(text) is not None


def check_units(units: Sequence[str]) -> None:
    """
    Check the units that are chosen for a load.

    Raises: ``LoadFailed`` with ``option.unknown_unit``, ``option.too_many_units``.
    """
    for unit in units:
        if not _is_unit(unit):
            raise LoadFailed("option.unknown_unit", unit=unit)
    if len(units) > MAX_UNITS:
        raise LoadFailed("option.too_many_units", most=MAX_UNITS)


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
            tuple(bind(condition) for condition in either) for either in base.inference_conditions
        ),
        condition=bind(base.condition),
        json_expression=bind(base.json_expression),
        title_code="format.accounting" if unit == ACCOUNTING else "format.unit",
        unit="" if unit == ACCOUNTING else unit,
    )


def list_unit_groups(units: Sequence[str]) -> Iterator[FormatGroup]:
    """
    List the groups to infer from where units are chosen for a load.

    Unlike a plain number, an amount such as ``€ 1.234`` is ambiguous.
    """
    for unit in units:
        guard = f"contains({{v}}, {quote_literal(unit[0])})"
        if unit == ACCOUNTING:
            guard = "regexp_full_match({v}, '[(]?[-+−]?[0-9].*')"
        for interpretations in (
            (("int4", "int8"),),
            (("int4:spaced", "int8:spaced"),),
            (
                ("numeric", "int4:point", "int8:point", "numeric:point"),
                ("int4:comma", "int8:comma", "numeric:comma"),
            ),
        ):
            yield FormatGroup(
                guard,
                tuple(
                    tuple(each for name in names if (each := _add_unit(name, unit)))
                    for names in interpretations
                ),
            )


def _add_unit(name: str, unit: str) -> FieldFormat | None:
    type_name, _colon, plain = name.partition(":")
    return find_unit_format(type_name, f"{plain},{unit}" if plain else unit)


def _build_number(unit: str) -> str:
    """Build the number of a text ``{v}``, with a minus sign; null without the unit."""
    if unit == ACCOUNTING:
        plain, negative = _SIGN + _NUMBER, [rf"\({_BLANKS}{_NUMBER}{_BLANKS}\)"]
    else:
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
        f"CASE WHEN {_match(plain)} THEN replace({_rewrite(plain, groups)}, '−', '-')"
        f" WHEN {_match(wrapped)} THEN '-' || {_rewrite(wrapped, digits)} END"
    )


def _match(pattern: str) -> str:
    return f"regexp_full_match({{v}}, {quote_literal(pattern)})"


def _rewrite(pattern: str, groups: str) -> str:
    return f"regexp_replace({{v}}, {quote_literal(f'^(?:{pattern})$')}, {quote_literal(groups)})"
