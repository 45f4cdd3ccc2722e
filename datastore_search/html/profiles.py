"""
The fields of a resource on its page: names, types, and statistics of the values.

Bars and histograms are SVG without styles, since a portal's Content-Security-Policy may forbid
inline styles.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..models import Profiles
from .bidi import show_bidi_controls
from .columns import Column
from .records import format_count, format_number, format_value

#: The most common values of a field that get a bar, and the fields that get bars or a histogram.
MAX_BARS = 5
MAX_FIELDS_WITH_CHARTS = 100

#: A share of at least this has no decimals: two figures are enough.
_WHOLE_PERCENT = 10

#: A number with more digits is written with an exponent.
_MAX_DIGITS = 25

#: Means below this are written without an exponent.
_MIN_EXPONENT_MEAN = 1e15


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, the number of records that have it, and the width of its bar in percent."""

    value: str
    count: str
    width: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """An SVG path in a square of 100 units, and the lowest and highest bound."""

    outline: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class FieldNote:
    """A field with facts about its values, and a chart of them."""

    column: Column
    facts: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class FieldNotes:
    """
    All fields of a resource.

    Where the statistics are of older records, ``records`` is the number of those and
    ``made_at`` the time at which they were counted.
    """

    fields: tuple[FieldNote, ...]
    records: str = ""
    made_at: datetime | None = None


def describe_fields(columns: Sequence[Column], profiles: Profiles | None) -> FieldNotes:
    """Describe the fields of columns, with the statistics of their values if there are any."""
    if profiles is None:
        return FieldNotes(tuple(map(FieldNote, columns)))
    notes = tuple(
        _describe_field(
            column, profiles.fields.get(column.name), has_chart=position < MAX_FIELDS_WITH_CHARTS
        )
        for position, column in enumerate(columns)
    )
    if profiles.is_current:
        return FieldNotes(notes)
    return FieldNotes(notes, format_count(profiles.record_count), profiles.created_at)


def _describe_field(
    column: Column, profile: Mapping[str, Any] | None, *, has_chart: bool
) -> FieldNote:
    if profile is None:
        return FieldNote(column)
    facts = tuple(_list_facts(column, profile))
    if not has_chart:
        return FieldNote(column, facts)
    return FieldNote(column, facts, _build_bars(column, profile), draw_histogram(column, profile))


def _list_facts(column: Column, profile: Mapping[str, Any]) -> list[str]:
    count, nulls, distinct = profile["count"], profile["nulls"], profile["distinct"]
    facts = []
    if nulls:
        share = 100 * nulls / (count + nulls)
        decimals = 1 if share < _WHOLE_PERCENT else 0
        facts.append(_("%(share)s %% empty") % {"share": number_format(max(share, 0.1), decimals)})
    if profile.get("distinct_is_estimated"):
        two_figures = int(float(f"{distinct:.2g}"))
        facts.append(_("about %(number)s values") % {"number": format_count(two_figures)})
    elif count:
        facts.append(
            ngettext("%(number)s value", "%(number)s values", distinct)
            % {"number": format_count(distinct)}
        )
    if "min" in profile:
        facts.append(
            _("%(low)s to %(high)s")
            % {
                "low": _format_value(column, profile["min"]),
                "high": _format_value(column, profile["max"]),
            }
        )
    if "mean" in profile:
        facts.append(_("mean %(mean)s") % {"mean": format_number(_format_mean(profile["mean"]))})
    if profile.get("longest"):
        facts.append(
            _("%(shortest)s to %(longest)s characters")
            % {
                "shortest": format_count(profile["shortest"]),
                "longest": format_count(profile["longest"]),
            }
        )
    return facts


def _build_bars(column: Column, profile: Mapping[str, Any]) -> tuple[Bar, ...]:
    top = profile.get("top", ())[:MAX_BARS]
    return tuple(
        Bar(
            _format_value(column, each["value"]),
            format_count(each["count"]),
            round(100 * each["count"] / profile["count"]),
        )
        for each in top
    )


def draw_histogram(column: Column, profile: Mapping[str, Any]) -> Histogram | None:
    """Draw the histogram of a profile; None if it has none."""
    histogram = profile.get("histogram")
    if histogram is None:
        return None
    bounds = histogram["bounds"]
    ends = _format_value(column, bounds[0]), _format_value(column, bounds[-1])
    return draw_bins(histogram["counts"], *ends)


def draw_bins(counts: Sequence[int], low: str, high: str) -> Histogram:
    """Draw bins side by side: the fullest is 100 high, any with records at least 2."""
    most = max(counts) or 1
    tops = [100 - max(round(100 * each / most), 2 if each else 0) for each in counts]
    width = 100 / len(counts)
    outline = "".join(f"V{top}H{width * number:.4g}" for number, top in enumerate(tops, 1))
    return Histogram(f"M0 100{outline}V100Z", low, high)


def _format_value(column: Column, value: object) -> str:
    """Write a value of a profile as the table of records does."""
    if isinstance(value, bool) or (isinstance(value, str) and column.kind != "number"):
        return show_bidi_controls(format_value(column, value))
    text = value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
    return format_number(_shorten_number(text))


def _shorten_number(text: str) -> str:
    """Write a number of many digits with an exponent."""
    if len(text) <= _MAX_DIGITS:
        return text
    try:
        return str(Context(prec=6).create_decimal(text).normalize()).lower()
    except ArithmeticError:
        return text


def _format_mean(mean: float) -> str:
    """Write a mean with six figures, or more where it is a large whole number."""
    text = f"{mean:.6g}"
    return f"{mean:.0f}" if "e+" in text and abs(mean) < _MIN_EXPONENT_MEAN else text
