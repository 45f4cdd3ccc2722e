"""
Profiles of fields: what the values of all records are like, as the engine counts them.

A profile is what JSON can hold; values in it are as the API shows them, texts cut short:

- ``count``, ``nulls`` and ``empty``: records with a value, without one, with the empty text (of
  ``count``);
- ``distinct``: the number of different values; ``distinct_is_estimated`` where it is an estimate;
- ``min``, ``max`` and ``mean`` of finite values, the mean unless it is too large for a double;
- ``top``: the most common values with their counts, at most ten, where values are repeated;
- ``examples`` of texts where none is repeated, at most ten;
- ``histogram`` of numbers and days: the ``bounds`` of its bins, one more than its ``counts``;
- ``shortest`` and ``longest``: characters of texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from decimal import ROUND_FLOOR, Context, Decimal, DecimalException, localcontext
from itertools import count as count_up
from math import isfinite
from typing import Any

from ...field_types import FieldType, refuse_constant
from ...guards.cache import BoundedCache
from ...search import ConsistentRead, Query, VersionKey, translate_database_errors
from .engine.columns import Column, quote_text
from .engine.source import Source
from .groups import GroupBy, GroupKey, ask_span

MAX_BINS = 20
_MAX_TOP_VALUES, _MAX_VALUE_LENGTH = 10, 100

#: Where a larger share of more values is different, the most common ones say nothing; longer values
#: are not compared with each other.
_MAX_DISTINCT_SHARE, _MAX_VALUES_COUNTED, _MAX_COMPARED_LENGTH = 0.9, 1_000, 100_000

#: Fields of one statement.
_MAX_FIELDS = 20

#: Profiles by name, of the version of a resource; the sizes are numbers of fields.
_profiles: BoundedCache[VersionKey, dict[str, dict[str, Any]]] = BoundedCache(
    "profiles", 1_000, max_size=5_000, max_value_size=1_000, measure=len
)


def read_profiles(read: ConsistentRead, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read profiles, once in a process until the resource changes.  Raises: as ``Source``."""
    key = read.version_key
    known = (_profiles.get(key) or {}) if key else {}
    if missing := [name for name in names if name not in known]:
        with translate_database_errors(), read.session.hold_slot():
            source = Source(read, Query(limit=None), missing, can_wait=False)
            for start in range(0, len(missing), _MAX_FIELDS):
                known = known | _count(source, missing[start : start + _MAX_FIELDS])
        if key:
            _profiles.add(key, known)
    return {name: known[name] for name in names}


def _count(source: Source, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Profile fields by two statements: the bounds of histograms depend on the values."""
    fields = [(name, source.get_type(name), source.columns[name]) for name in names]
    measured = [_measure(kind, column) for _name, kind, column in fields]
    figures = ", ".join(f"[{', '.join(each)}]" for each in measured)
    ((total, *found),) = source.fetch(f"SELECT count(*), {figures} FROM matches")
    profiles, selects = dict[str, dict[str, Any]](), list[str]()
    for (name, kind, column), (low, high, *numbers) in zip(fields, found, strict=True):
        profile = profiles[name] = _describe(kind, total, low, high, numbers)
        has_value = f"FROM matches WHERE {column.value} IS NOT NULL GROUP BY 1"
        if "distinct" not in profile:
            profile["distinct"] = 0
            asked = GroupKey(GroupBy(name), kind).ask(source)
            text = "text" if kind.is_number else f"left(text, {_MAX_VALUE_LENGTH + 1})"
            common = f"min({{number: -number, key: key, text: {text}}}, {_MAX_TOP_VALUES})"
            selects.append(
                f"SELECT {quote_text(name)}, count(*), list_transform({common},"
                " lambda each: [each.text, CAST(-each.number AS VARCHAR)]) FROM (SELECT"
                f" {asked.by} AS key, {asked.texts[0]} AS text,"
                f" count(*) AS number {has_value})"
            )
        group = GroupKey(GroupBy(name, bins=MAX_BINS), kind)
        if bounds := _compute_bounds(source, group, low, high):
            shown = [_read_value(kind, bound) for bound in bounds]
            profile["histogram"] = {"bounds": shown, "counts": dict.fromkeys(bounds[:-1], 0)}
            selects.append(
                f"SELECT {quote_text(name)}, NULL, list([key, CAST(number AS VARCHAR)]) FROM"
                f" (SELECT {group.ask(source, bounds).by} AS key, count(*) AS number {has_value})"
            )
    for name, distinct, pairs in source.fetch(" UNION ALL ".join(selects)) if selects else ():
        profile, counted = profiles[name], [(text, int(number)) for text, number in pairs or ()]
        if distinct is None:
            counts = profile["histogram"]["counts"]
            counts |= {key: number for key, number in counted if key in counts}
            profile["histogram"]["counts"] = [*counts.values()]
            continue
        profile["distinct"], kind = distinct, source.get_type(name)
        top = [{"value": _read_value(kind, each), "count": n} for each, n in counted]
        repeated = [each for each in top if each["count"] > 1]
        if repeated:
            profile["top"] = repeated
        elif kind.is_text and top:
            profile["examples"] = [each["value"] for each in top]
    return profiles


def _measure(kind: FieldType, column: Column) -> list[str]:
    """Ask for the ends and the numbers that ``_describe`` takes, all as texts."""
    number = f"try_cast({column.value} AS DOUBLE)"
    length = f"length({column.text})" if kind.is_text or kind.is_nested else "NULL"
    asked = [
        *(ask_span(column) if kind.has_range else ("NULL", "NULL")),
        f"count({column.value})",
        f"count(*) FILTER ({column.value} = '')" if kind.is_text else "0",
        f"approx_count_distinct({column.value})",
        f"min({length})",
        f"max({length})",
        f"avg({number}) FILTER (isfinite({number}))" if kind.is_number else "NULL",
    ]
    return [f"CAST({each} AS VARCHAR)" for each in asked]


def _describe(
    kind: FieldType, total: int, low: str | None, high: str | None, numbers: Sequence[str | None]
) -> dict[str, Any]:
    """Describe the values of a field, without ``distinct`` where they are still to be counted."""
    mean = float(numbers[-1] or "nan")
    count, empty, distinct, shortest, longest = (int(each or 0) for each in numbers[:-1])
    profile: dict[str, Any] = {"count": count, "nulls": total - count}
    if kind.is_text:
        profile |= {"empty": empty, "shortest": shortest, "longest": longest}
    if low is not None and high is not None:
        profile |= {"min": _read_value(kind, low), "max": _read_value(kind, high)}
    if isfinite(mean):
        profile["mean"] = float(f"{mean:.10g}")
    are_different = count > _MAX_VALUES_COUNTED and distinct > _MAX_DISTINCT_SHARE * count
    if are_different or longest > _MAX_COMPARED_LENGTH:
        profile |= {"distinct": min(distinct, count), "distinct_is_estimated": True}
    elif not count:
        profile["distinct"] = 0
    return profile


#: ``json.loads`` would make one for each value.  A number that a double cannot hold stays a text.
_DECODER = json.JSONDecoder(
    parse_float=lambda text: float(text) if Decimal(repr(float(text))) == Decimal(text) else text,
    parse_constant=refuse_constant,
)


def _read_value(kind: FieldType, text: str) -> Any:
    """Read the text of a value as JSON; one that is long stays a text, and is cut."""
    if kind.is_number:
        return _DECODER.decode(text) if text[-1:].isdigit() else text
    if len(text) > _MAX_VALUE_LENGTH or not (kind.is_nested or kind.is_boolean):
        return text[:_MAX_VALUE_LENGTH]
    with suppress(ValueError):  # the text of a JSON string has no quotes
        return _DECODER.decode(text)
    return text


def _compute_bounds(
    source: Source, group: GroupKey, low: str | None, high: str | None
) -> list[str]:
    """Compute the bounds of bins, those of numbers readable; none where all values are equal."""
    if low is None or high is None or low == high:
        return []
    if group.kind.is_number:
        bounds = compute_number_bounds(Decimal(low), Decimal(high), whole=group.kind.is_integer)
        return [f"{bound:f}" for bound in bounds]
    return group.read_bounds(source.read, low, high) if group.kind.has_day else []


def compute_number_bounds(low: Decimal, high: Decimal, *, whole: bool) -> list[Decimal]:
    """Compute bounds around both: multiples of 1, 2, 5, 10, 20 …; none of too many digits."""
    with localcontext(Context(prec=80)), suppress(DecimalException):
        lowest = (high - low).adjusted() - 2
        for exponent in count_up(max(0, lowest) if whole else lowest):
            for digit in (1, 2, 5):
                width = Decimal(digit).scaleb(exponent)
                first = (low / width).to_integral_value(ROUND_FLOOR)
                bins = int((high / width).to_integral_value(ROUND_FLOOR) - first) + 1
                if bins <= MAX_BINS:
                    return [(first + number) * width for number in range(bins + 1)]
    return []
