"""
The fields of a resource, made ready for a page: what they are, and what their values are like.

Bars and histograms are drawn with the attributes of SVG, since a portal's policy may forbid styles
within a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..models import Resource, kept_profiles
from .records import Column, columns_of, shown

#: Values of a field that are listed, fields of which more is shown than a few words.
_TOP = 5
_DRAWN_FIELDS = 100

#: From here on a share is said in whole percent: two figures are enough.
_WHOLE_PERCENT = 10

#: Numbers below this are written without an exponent.
_SPELT_OUT = 1e15


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, how many records have it, and the width of its bar in hundredths."""

    value: str
    count: str
    width: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """An outline in a square of a hundred units, and the ends of what it shows."""

    outline: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class FieldNote:
    """What a page says of a field."""

    column: Column
    facts: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class FieldNotes:
    """What a page says of all fields; of older records, how many and when they were looked at."""

    fields: tuple[FieldNote, ...]
    records: str = ""
    made: datetime | None = None


def field_notes(resource: Resource, *, using: str) -> FieldNotes:
    """Describe the fields of a resource as it was described by a database."""
    columns = columns_of(resource)
    profiles = kept_profiles(resource.current_load_id, using=using)
    if profiles is None:
        return FieldNotes(tuple(map(FieldNote, columns)))
    notes = tuple(
        _note(column, profiles.fields.get(column.name), draws=place < _DRAWN_FIELDS)
        for place, column in enumerate(columns)
    )
    if profiles.is_current:
        return FieldNotes(notes)
    return FieldNotes(notes, _grouped(profiles.records), profiles.made)


def _note(column: Column, profile: Mapping[str, Any] | None, *, draws: bool) -> FieldNote:
    if profile is None:
        return FieldNote(column)
    facts = tuple(_facts(column, profile))
    if not draws:
        return FieldNote(column, facts)
    return FieldNote(column, facts, _bars(column, profile), _histogram(column, profile))


def _facts(column: Column, profile: Mapping[str, Any]) -> list[str]:
    count, nulls, distinct = profile["count"], profile["nulls"], profile["distinct"]
    facts = []
    if nulls:
        share = 100 * nulls / (count + nulls)
        decimals = 1 if share < _WHOLE_PERCENT else 0
        facts.append(_("%(share)s %% empty") % {"share": number_format(max(share, 0.1), decimals)})
    if profile.get("distinct_is_estimated"):
        facts.append(_("about %(number)s values") % {"number": _grouped(_rounded(distinct))})
    elif count:
        facts.append(
            ngettext("%(number)s value", "%(number)s values", distinct)
            % {"number": _grouped(distinct)}
        )
    if "min" in profile:
        facts.append(
            _("%(low)s to %(high)s")
            % {"low": _shown(column, profile["min"]), "high": _shown(column, profile["max"])}
        )
    if "mean" in profile:
        facts.append(_("mean %(mean)s") % {"mean": _mean(profile["mean"])})
    if profile.get("longest"):
        facts.append(
            _("%(shortest)s to %(longest)s letters")
            % {"shortest": _grouped(profile["shortest"]), "longest": _grouped(profile["longest"])}
        )
    return facts


def _bars(column: Column, profile: Mapping[str, Any]) -> tuple[Bar, ...]:
    top = profile.get("top", ())[:_TOP]
    return tuple(
        Bar(
            _shown(column, each["value"]),
            _grouped(each["count"]),
            round(100 * each["count"] / profile["count"]),
        )
        for each in top
    )


def _histogram(column: Column, profile: Mapping[str, Any]) -> Histogram | None:
    """Draw the bins side by side, the fullest to the top; one that is not empty can be seen."""
    histogram = profile.get("histogram")
    if histogram is None:
        return None
    counts, bounds = histogram["counts"], histogram["bounds"]
    tops = [100 - max(round(100 * each / max(counts)), 2 if each else 0) for each in counts]
    width = 100 / len(counts)
    outline = "".join(f"V{top}H{width * place:.4g}" for place, top in enumerate(tops, 1))
    return Histogram(f"M0 100{outline}V100Z", _shown(column, bounds[0]), _shown(column, bounds[-1]))


def _shown(column: Column, value: object) -> str:
    """Write a value of a profile as the records are written."""
    if isinstance(value, bool | str):
        return shown(column, value)
    return json.dumps(value, ensure_ascii=False).removesuffix(".0")


def _mean(mean: float) -> str:
    """Write a mean to six figures, large ones to the last whole number."""
    text = f"{mean:.6g}"
    return f"{mean:.0f}" if "e+" in text and abs(mean) < _SPELT_OUT else text


def _rounded(number: int) -> int:
    """Round an estimate to two figures."""
    return int(float(f"{number:.2g}"))


def _grouped(number: int) -> str:
    return number_format(number, force_grouping=True)
