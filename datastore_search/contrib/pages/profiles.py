"""The fields of a resource on its page, with statistics as SVG and bars without inline styles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ...messages.bidi import show_bidi_controls
from ...messages.numbers import format_count
from ...models import Profiles
from .columns import Column
from .question import QueryString
from .values import format_number, format_value, shorten_number

#: The most common values of a field that get a bar.
MAX_BARS = 5

#: The longest bar of a facet.
_BAR_WIDTHS = 20

#: A profile cuts values to this length.
MAX_PROFILED_LENGTH = 100

#: A share of at least this has no decimals: two figures are enough.
_WHOLE_PERCENT = 10

#: Means below this are written without an exponent.
_MIN_EXPONENT_MEAN = 1e15


@dataclass(frozen=True, slots=True)
class Bar:
    """
    A value, the number of records that have it, and the width of its bar.

    The link finds these records; it is empty where the page cannot ask for the value.
    """

    value: str
    count: str
    width: str
    link: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """An SVG path, as many units wide as there are bins and 100 high, and the outer bounds."""

    outline: str
    width: int
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class FieldNote:
    """
    A field with facts about its values and a chart of them, and the ``id`` of its card.

    It is ``is_complete`` if every record has a value, as far as that is known.
    """

    column: Column
    id: str
    facts: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None
    is_complete: bool = False


def describe_fields(columns: Sequence[Column], profiles: Profiles | None) -> list[FieldNote]:
    """Describe the fields of columns, with the statistics of their values if there are any."""
    found = profiles.fields if profiles else {}
    return [
        _describe_field(column, f"about-{number}", found.get(column.name))
        for number, column in enumerate(columns, 1)
    ]


def _describe_field(column: Column, id_: str, profile: Mapping[str, Any] | None) -> FieldNote:
    if profile is None:
        return FieldNote(column, id_)
    return FieldNote(
        column,
        id_,
        tuple(_list_facts(column, profile)),
        _build_bars(column, profile),
        draw_histogram(column, profile.get("histogram")),
        is_complete=not profile["nulls"],
    )


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
            f"{100 * each['count'] / profile['count']:.3g}",
            _link_value(column, each["value"]),
        )
        for each in top
    )


def measure_bar(count: int, most: int) -> int:
    """Measure the width of a bar: a class of the style sheet, from 1 to 20."""
    return -(-_BAR_WIDTHS * count // most)


def _link_value(column: Column, value: object) -> str:
    """Link to all records that have a value; a profile cuts long ones."""
    if isinstance(value, Mapping | list) or len(str(value)) >= MAX_PROFILED_LENGTH:
        return ""
    text = value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
    return QueryString(((f"field.{column.name}", text),)).link


def draw_histogram(column: Column, histogram: Mapping[str, Any] | None) -> Histogram | None:
    """Draw ``counts`` of bins between ``bounds``: the fullest is 100 high, any other at least 2."""
    if histogram is None:
        return None
    counts, bounds = histogram["counts"], histogram["bounds"]
    most = max(counts) or 1
    tops = [100 - max(round(100 * each / most), 2 if each else 0) for each in counts]
    outline = "".join(f"V{top}h1" for top in tops)
    ends = (_format_value(column, bounds[position]) for position in (0, -1))
    return Histogram(f"M0 100{outline}V100Z", len(counts), *ends)


def _format_value(column: Column, value: object) -> str:
    """Write a value of a profile as the table of records does."""
    if isinstance(value, bool) or (isinstance(value, str) and column.kind != "number"):
        return show_bidi_controls(format_value(column.type, value))
    text = value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
    return format_number(shorten_number(text))


def _format_mean(mean: float) -> str:
    """Write a mean with six figures, or more where it is a large whole number."""
    text = f"{mean:.6g}"
    return f"{mean:.0f}" if "e+" in text and abs(mean) < _MIN_EXPONENT_MEAN else text
