"""The fields that get a facet on a data page: categories first, then dates and amounts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .columns import Column, has_few_values
from .question import PageQuery

#: Facets that a page shows, unless its address names more, which has at most this many values.
MAX_FACETS = 8

#: Values of a whole number that has checkboxes, and of a text.
MAX_NUMBERS = 20
MAX_CATEGORIES = 1_000

#: Values of a category that is offered before others, counting none as one.
_USEFUL_VALUES = range(3, 51)

#: Names of whole numbers that identify records.
_KEY_NAME = re.compile(r"(^|_| )(id|key|no|nr|number|uuid)$|^_?id_", re.IGNORECASE)

#: The share of all records in one bar, from which a histogram shows nothing else.
_SKEWED_SHARE = 0.75

Profiles = Mapping[str, Mapping[str, Any]]


class FacetKind(IntEnum):
    """What a facet has: a checkbox for each value, two ends of a range, or inputs of a text."""

    VALUES = 1
    RANGE = 2
    TEXT = 3


#: Facets that a page chooses itself: categories, a date and an amount, then others of these.
_MAX_CHOSEN: Sequence[Mapping[str, int]] = (
    {"categories": 6, "moment": 1, "number": 1},
    {"moment": 2, "number": 2},
)


@dataclass(frozen=True, slots=True)
class FacetField:
    """
    A field with the kind of its facet; it is ``wanted`` if the address names it.

    Its values ``can_be_searched`` if it is a text, and named first.  Nothing is known of them if it
    ``is_guessed``.  Ranges of equal width would put nearly all records into one if it
    ``is_skewed``.
    """

    column: Column
    kind: FacetKind
    is_wanted: bool = False
    can_be_searched: bool = False
    is_guessed: bool = False
    is_skewed: bool = False


def choose_facets(
    columns: Sequence[Column], query: PageQuery, profiles: Profiles, key: Collection[str]
) -> tuple[list[FacetField], list[Column]]:
    """
    Choose the fields with a facet, in the order of the page, and list those that could have one.

    What the address names is first, then what it asks for, then what the profiles propose.  Fields
    of the ``key`` are not proposed.
    """
    asked = {condition.field.name for condition in query.conditions}
    fields = list_facet_fields(columns, profiles, query.facets)
    chosen = [each for each in fields if each.is_wanted or each.column.name in asked]
    chosen = sorted(chosen, key=lambda each: not each.is_wanted)
    chosen = chosen[: max(MAX_FACETS, len(query.facets))]
    names = {each.column.name for each in chosen}
    free = [each for each in fields if each.column.name not in {*names, *key}]
    chosen += _propose(list_useful(free, profiles), chosen)
    # A facet stays in its place when something is chosen in it.
    chosen.sort(key=lambda each: (not each.is_wanted, _rank(each, profiles), fields.index(each)))
    names = {each.column.name for each in chosen}
    return chosen, [each.column for each in fields if each.column.name not in names]


def list_facet_fields(
    columns: Sequence[Column], profiles: Profiles, wanted: Sequence[str] = ()
) -> list[FacetField]:
    """Describe the facets that fields can have; ``wanted`` names always have one."""
    fields = []
    for column in columns:
        profile, is_text = profiles.get(column.name), column.field_type.is_text
        kind, is_wanted = find_kind(column, profile), column.name in wanted
        if is_wanted:
            kind = FacetKind.VALUES if is_text else kind or FacetKind.TEXT
        if kind:
            is_first = is_text and wanted[:1] == (column.name,)
            states = is_wanted, is_first, profile is None, is_skewed(column, profile)
            fields.append(FacetField(column, kind, *states))
    return fields


def find_kind(column: Column, profile: Mapping[str, Any] | None) -> FacetKind | None:
    """Find the kind of a field's facet; None for lists and nested data."""
    if column.field_type.is_boolean:
        return FacetKind.VALUES
    if column.field_type.is_integer and profile and has_few_values(profile, MAX_NUMBERS):
        return FacetKind.VALUES
    if column.field_type.has_range:
        return FacetKind.RANGE
    if not column.field_type.is_text:
        return None
    # Of a table without profiles, the number of values is known once they are counted.
    is_category = profile is None or has_few_values(profile, MAX_CATEGORIES)
    return FacetKind.VALUES if is_category else FacetKind.TEXT


def is_skewed(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether one bar of a histogram of numbers from 0 on holds nearly all records."""
    histogram = profile and profile.get("histogram")
    if not (histogram and column.field_type.is_number and histogram["bounds"][0] >= 0):
        return False
    counts = histogram["counts"]
    return len(counts) > 1 and max(counts) > _SKEWED_SHARE * sum(counts)


def list_useful(fields: Sequence[FacetField], profiles: Profiles) -> list[FacetField]:
    """List the fields that divide records, the most useful first."""
    useful = [each for each in fields if _is_useful(each.column, profiles.get(each.column.name))]
    return sorted(useful, key=lambda each: _rank(each, profiles))


def _is_useful(column: Column, profile: Mapping[str, Any] | None) -> bool:
    """Return whether a field has several values, and is not the key of the records."""
    if profile is None:
        return True
    count, distinct = profile["count"], profile["distinct"]
    if column.field_type.is_integer and distinct == count and "min" in profile:
        is_sequence = int(profile["max"]) - int(profile["min"]) + 1 == count
        return not is_sequence and not _KEY_NAME.search(column.name)
    return bool(count) and distinct + bool(profile["nulls"]) > 1


def _propose(fields: Sequence[FacetField], chosen: Sequence[FacetField]) -> list[FacetField]:
    """Propose fields in addition to those that are chosen."""
    numbers = Counter(map(_find_group, chosen))
    proposed: list[FacetField] = []
    for most in _MAX_CHOSEN:
        for field in fields:
            group = _find_group(field)
            if field not in proposed and numbers[group] < most.get(group, 0):
                numbers[group] += 1
                proposed.append(field)
    return proposed[: max(0, MAX_FACETS - len(chosen))]


def _find_group(field: FacetField) -> str:
    return "categories" if field.kind is FacetKind.VALUES else field.column.kind


def _rank(field: FacetField, profiles: Profiles) -> tuple[int, bool, bool, int]:
    """Rank by kind, fields that most records lack behind others, times of day behind days."""
    profile, kind = profiles.get(field.column.name), field.column.field_type
    is_sparse = profile is not None and profile["nulls"] > profile["count"]
    if field.kind is not FacetKind.VALUES or not profile:
        return field.kind, is_sparse, kind.is_timestamp or (kind.is_moment and not kind.has_day), 0
    values = profile["distinct"] + bool(profile["nulls"])
    return field.kind, is_sparse, values not in _USEFUL_VALUES or kind.is_number, values
